"""The picture in README.md, and the tool that takes it."""

import struct
from pathlib import Path

import pytest

from tools import screenshot

ROOT = Path(__file__).parent.parent
PAGE = "<body style='margin: 0'><h1>A page</h1><div style='height: 5000px'></div>"


def size_of(picture):
    """Width and height, which stand in the first chunk of a PNG."""
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", picture[16:24])


def test_the_picture_of_the_readme_is_small():
    picture = (ROOT / "docs" / "images" / "report.png").read_bytes()
    width, height = size_of(picture)
    assert width <= 1200
    assert 600 <= height <= 1400
    assert len(picture) <= screenshot.LARGEST
    assert "(docs/images/report.png)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_page_that_is_not_there_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(screenshot.shutil, "which", lambda name: f"/usr/bin/{name}")
    with pytest.raises(SystemExit, match="must be a page"):
        screenshot.main([str(tmp_path / "absent.html"), str(tmp_path / "out.png")])
    monkeypatch.setattr(screenshot.shutil, "which", lambda name: None)
    with pytest.raises(SystemExit, match="apt install chromium"):
        screenshot.main([str(tmp_path / "absent.html"), str(tmp_path / "out.png")])


@pytest.mark.browser
@pytest.mark.slow
def test_the_top_of_a_page_is_taken(tmp_path, capsys):
    (tmp_path / "page.html").write_text(PAGE)
    said = [str(tmp_path / "page.html"), str(tmp_path / "out.png"), "--width", "600"]
    assert screenshot.main(said) == 0
    assert size_of((tmp_path / "out.png").read_bytes()) == (600, screenshot.HEIGHT)
    assert "600 × 1040 pixels" in capsys.readouterr().out
