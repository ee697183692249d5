"""The report as files: all of them or none, and a public one that holds nothing internal."""

import csv
import errno
import io
import os
import re
import stat
import subprocess
import sys

import pytest

from reticent.report import write_report
from reticent.report.figures import INTERNAL
from reticent.report.tables import MOST_EXPOSED, NAMES, tables
from reticent.validation import InputError
from tests.report.sample import certified, sample_results


@pytest.fixture(scope="module")
def written(sample, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    outside = write_report(sample, folder, public=True, released=certified(sample)[1])
    return folder, write_report(sample, folder), outside


def everything(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_the_files_are_those_that_are_named(written, internal, public):
    folder, inside, outside = written
    assert everything(folder) == {str(path.relative_to(folder)) for path in (*inside, *outside)}
    assert (folder / "report.html").read_text("utf-8") == internal
    assert (folder / "report-public.html").read_text("utf-8") == public
    assert {path.stem for path in (folder / "figures").glob("*.svg")} == set(INTERNAL)
    assert {path.stem for path in (folder / "figures").glob("*.png")} == set(INTERNAL)
    assert {path.stem for path in (folder / "tables").glob("*.csv")} == set(NAMES)


def test_public_files_stand_apart_and_internal_ones_are_for_their_owner(written):
    folder, inside, outside = written
    assert {str(path.relative_to(folder)) for path in outside} == {
        "report-public.html",
        "figures-public/ceiling.svg",
        "figures-public/ceiling.png",
        "tables-public/noise.csv",
        "tables-public/versions.csv",
    }
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in inside)


def test_tables_hold_all_digits(written, sample):
    folder, _, _ = written
    rows = list(
        csv.DictReader(io.StringIO((folder / "tables/releases.csv").read_text("utf-8-sig")))
    )
    assert len(rows) == len(sample.releases)
    for row, one in zip(rows, sample.releases, strict=True):
        assert float(row["claim epsilon"]) == one.claim.epsilon
        assert float(row["claim delta"]) == one.claim.delta
        assert row["claim grade"] == one.claim.grade
        for part in ("value", "low", "high", "confidence"):
            assert float(row[f"accuracy {part}"]) == getattr(one.accuracy, part)
            assert float(row[f"utility loss {part}"]) == getattr(one.loss, part)


def test_every_attack_on_every_model_is_in_a_file(written, sample):
    folder, _, _ = written
    text = (folder / "tables/every-attack.csv").read_text("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    models = [sample.unprotected, *sample.releases]
    wanted = [(model.name, made.name, made.auc.value) for model in models for made in model.attacks]
    assert [(row["model"], row["attack"], float(row["AUC value"])) for row in rows] == wanted


def test_the_page_shows_some_of_the_exposed_and_the_file_all(sample):
    twice = sample.exposure.model_copy(update={"most": sample.exposure.most * 2})
    table = tables(sample_results(exposure=twice))["exposed"]
    assert len(table.printed) == MOST_EXPOSED
    assert len(table.csv().splitlines()) - 1 == 2 * len(sample.exposure.most) > MOST_EXPOSED


def test_no_cell_is_a_formula(sample):
    evil = sample.made.model_copy(update={"settings": {"=cmd|' /C calc'!A0": "@SUM(1)"}})
    table = tables(sample_results(made=evil))["settings"]
    (row,) = list(csv.reader(io.StringIO(table.csv())))[1:]
    assert row == ["'=cmd|' /C calc'!A0", "'@SUM(1)"]


@pytest.mark.slow
def test_files_of_an_earlier_report_go_and_others_stay(tmp_path):
    for name in ("figures", "tables"):
        (tmp_path / name).mkdir()
    for name in ("figures/exposure.svg", "tables/features.csv", "figures/mine.svg", "notes.txt"):
        (tmp_path / name).write_text("old")
    write_report(sample_results(exposure=None, features=()), tmp_path)
    found = everything(tmp_path)
    assert {"figures/mine.svg", "notes.txt"} <= found
    assert not {"figures/exposure.svg", "tables/features.csv"} & found
    assert (tmp_path / "notes.txt").read_text() == "old"


@pytest.mark.parametrize("nth", [1, 4])
def test_a_full_disk_leaves_the_folder_as_it_was(sample, tmp_path, monkeypatch, nth):
    (tmp_path / "report-public.html").write_text("before")
    calls, release = [], certified(sample)[1]

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) == nth:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left on device") as caught:
        write_report(sample, tmp_path, public=True, released=release)
    assert len(calls) == nth
    assert ".report-" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["report-public.html"]
    assert (tmp_path / "report-public.html").read_text() == "before"


@pytest.mark.parametrize("bad", ["file", "below a file", "nowhere to write"])
def test_a_folder_that_cannot_be_is_said_in_one_line(sample, tmp_path, bad):
    (tmp_path / "file").write_text("mine")
    folder = {
        "file": tmp_path / "file",
        "below a file": tmp_path / "file" / "report",
        "nowhere to write": "/proc/report",  # for root too
    }[bad]
    with pytest.raises(InputError, match="must be a folder to write to, got: ") as caught:
        write_report(sample, folder, public=True, released=certified(sample)[1])
    assert "\n" not in str(caught.value)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_what_is_not_installed_is_said_in_one_line(package):
    code = f"""
import sys
sys.modules[{package!r}] = None
from reticent.report import page
from reticent.validation import InputError
try:
    page(None)
except InputError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        f"{package} must be installed for the report: pip install 'reticent[report]'\n"
    )


def test_report_is_loaded_without_what_draws():
    code = (
        "import sys, reticent.report, reticent.cli.app;"
        "print(sorted({'matplotlib', 'jinja2', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_pyplot_is_never_loaded():
    code = (
        "import sys; from tests.report.sample import certified, sample_results;"
        "from reticent.report import page; results, released = certified(sample_results());"
        "page(results, public=True, released=released);"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_no_figure_holds_the_time_or_the_program_that_drew_it(written):
    _, inside, _ = written
    for path in inside:
        if path.suffix == ".svg":
            text = path.read_text("utf-8")
            assert not re.search(r"matplotlib v|dc:date|<!DOCTYPE", text)
        if path.suffix == ".png":
            assert b"atplotlib" not in path.read_bytes()
