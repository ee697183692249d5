"""Folders for long work: there before it, and gone where it failed."""

import os

import pytest

from reticent.files import folder_for, partial_folder
from reticent.validation import InputError


def stopped(path, error, writes=None):
    with folder_for(path) as folder:
        assert folder.is_dir()
        if writes is not None:
            (folder / "file").write_text(writes)
        raise error


def test_a_folder_that_was_made_for_nothing_goes(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        stopped(tmp_path / "out", KeyboardInterrupt)
    assert not (tmp_path / "out").exists()


def test_what_was_there_or_was_written_stays(tmp_path):
    (tmp_path / "old").mkdir()
    with pytest.raises(InputError):
        stopped(tmp_path / "old", InputError)
    assert (tmp_path / "old").is_dir()
    with pytest.raises(InputError):
        stopped(tmp_path / "new", InputError, writes="kept")
    assert (tmp_path / "new" / "file").read_text() == "kept"


def test_after_good_work_it_stays(tmp_path):
    with folder_for(tmp_path / "out") as folder:
        pass
    assert folder.is_dir()


def test_a_folder_that_another_run_cleared_before_it_was_locked_is_made_again(
    tmp_path, monkeypatch
):
    opened, cleared = os.open, []

    def clearing(path, *arguments, **named):
        if str(path).startswith(str(tmp_path)) and not cleared:
            cleared.append(path)
            os.rmdir(path)
        return opened(path, *arguments, **named)

    monkeypatch.setattr(os, "open", clearing)
    with partial_folder("work-", within=tmp_path) as folder:
        assert folder.is_dir()
    assert cleared == [folder]
