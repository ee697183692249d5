"""Files of scores: both formats, exact numbers, nothing half-written, refusals."""

import csv
import stat
import sys

import numpy as np
import pytest
from pyarrow import parquet

from reticent.attacks import Scores
from reticent.attacks.targets import Access, Threat
from reticent.audit import write_scores
from reticent.validation import InputError

THREAT = Threat(access=Access.SCORES)
VALUES = [0.1, 1 / 3, -1e-300]


def scores(name="loss", values=VALUES):
    return Scores(attack=name, threat=THREAT, values=values)


def read(path):
    """Columns as texts (CSV) or values (parquet)."""
    if path.suffix == ".parquet":
        return parquet.read_table(path).to_pydict()
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    return {name: [row[place] for row in rows[1:]] for place, name in enumerate(rows[0])}


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".CSV"])
def test_one_attack(tmp_path, ending):
    path = tmp_path / f"scores{ending}"
    write_scores(path, scores())
    found = read(path)
    assert list(found) == ["attack", "row", "score"]
    assert [float(score) for score in found["score"]] == VALUES
    assert [int(row) for row in found["row"]] == [0, 1, 2]
    assert found["attack"] == ["loss"] * 3
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_several_attacks_with_labels_and_members(tmp_path, ending):
    path = tmp_path / f"scores{ending}"
    both = [scores(), scores("label-only, noise", [3.0, 2.0, 1.0])]
    write_scores(path, both, labels=["a", 'b "quoted", and\nmore', "c"], members=np.eye(3)[0] > 0)
    found = read(path)
    assert list(found) == ["attack", "row", "score", "label", "member"]
    assert found["attack"] == ["loss"] * 3 + ["label-only, noise"] * 3
    assert found["label"] == ["a", 'b "quoted", and\nmore', "c"] * 2
    assert [str(member) for member in found["member"]] == ["True", "False", "False"] * 2
    assert [float(score) for score in found["score"]] == [*VALUES, 3.0, 2.0, 1.0]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "scores.csv"
    write_scores(path, scores())
    before = path.read_bytes()
    with pytest.raises(InputError):
        write_scores(path, scores(), labels=[1])
    assert path.read_bytes() == before
    write_scores(path, scores("other"))
    assert path.read_bytes() != before


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("scores.txt", {}, r"path must end in \.csv or \.parquet, got 'scores.txt'"),
        ("scores", {}, "path must end in"),
        ("nowhere/scores.csv", {}, "must be writable"),
        ("s.csv", {"labels": [1, 2]}, r"labels must be one for each of 3 records, got \(2,\)"),
        ("s.csv", {"members": [True]}, "members must be one for each of 3 records"),
        ("s.csv", {"members": [1, 0, 1]}, "members must be true or false"),
        ("s.csv", {"scores": []}, "scores must be of one or more attacks on the same records"),
        ("s.csv", {"scores": [scores(), scores(values=[1.0])]}, "on the same records"),
    ],
)
def test_refusals(tmp_path, name, options, message):
    arguments = {"scores": scores(), **options}
    with pytest.raises(InputError, match=message) as caught:
        write_scores(tmp_path / name, **arguments)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_without_pyarrow_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'reticent\[tables\]'"):
        write_scores(tmp_path / "scores.parquet", scores())
    write_scores(tmp_path / "scores.csv", scores())
