"""A study run again is compared with what was committed."""

import json

import pytest

from tools.compare_results import main


@pytest.fixture
def files(tmp_path):
    def write(folder, rows, columns=("ε", "after", "low", "high")):
        (tmp_path / folder).mkdir(exist_ok=True)
        path = tmp_path / folder / "study.json"
        path.write_text(json.dumps({"tables": [{"columns": list(columns), "rows": rows}]}))
        return str(path)

    return write


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (["1", ".80", ".78", ".82"], ["1", ".80", ".78", ".82"], 0),
        (["1", ".80", ".78", ".82"], ["1", ".83", ".81", ".85"], 0),
        (["1", ".80", ".78", ".82"], ["1", ".85", ".83", ".87"], 1),
        (["1", "0.5 [0.4, 0.6]", "–", "–"], ["1", "0.7 [0.65, 0.75]", "–", "–"], 1),
        (["1", ".5±.1", "–", "–"], ["1", ".65±.1", "–", "–"], 0),
    ],
)
def test_intervals_decide(files, tmp_path, old, new, code):
    columns = ("ε", "after", "low", "high") if old[2] != "–" else ("ε", "after", "a", "b")
    files("results", [old], columns)
    assert main([files("new", [new], columns), "--committed", str(tmp_path / "results")]) == code


def test_other_tables_are_refused(files, tmp_path):
    files("results", [["1", "2"]], ("ε", "loss"))
    with pytest.raises(SystemExit, match="the same tables"):
        main([files("new", [["1", "2"]], ("ε", "gain")), "--committed", str(tmp_path / "results")])
