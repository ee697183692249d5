"""A picture of the top of a page, as README.md shows it: ``python tools/screenshot.py PAGE OUT``.

Opens the page in the Chromium that is installed, light, without network, and writes a PNG.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTH, HEIGHT = 1200, 1040
LARGEST = 300_000
"""Bytes: README.md is opened on slow lines too."""


def screenshot(page: Path, out: Path, *, width: int = WIDTH, height: int = HEIGHT) -> Path:
    """The first ``height`` pixels of the page, whose window is ``width`` pixels wide."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit("no Chromium: install it (Debian: apt install chromium)")
    if not page.is_file():
        raise SystemExit(f"{page} must be a page, got no such file")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=browser, args=root)
        context = launched.new_context(
            viewport={"width": width, "height": height}, color_scheme="light", offline=True
        )
        opened = context.new_page()
        opened.goto(page.resolve().as_uri())
        content = opened.screenshot(type="png")
        launched.close()
    if len(content) > LARGEST:
        raise SystemExit(f"the picture must have at most {LARGEST} bytes, got {len(content)}")
    out.write_bytes(content)
    return out


def main(arguments: list[str] | None = None) -> int:
    """Write the picture and say how large it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("page", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--width", type=int, default=WIDTH)
    parser.add_argument("--height", type=int, default=HEIGHT)
    said = parser.parse_args(arguments)
    out = screenshot(said.page, said.out, width=said.width, height=said.height)
    print(f"{out}: {said.width} × {said.height} pixels, {out.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
