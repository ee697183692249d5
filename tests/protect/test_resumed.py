"""A training that goes on from a state file says so: whoever writes the file decides its end."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reticent.guarantee import Grade
from reticent.protect import Release, Terms, load, release_records, save, training_progress, verify
from reticent.protect.recipes.network import NetworkRecipe
from reticent.protect.sealed_pair import read_pair, write_pair
from reticent.protect.terms import RESUMED
from reticent.protect.training_progress import FORMAT, follow_training, read_state
from reticent.training.encoders.torch_encoder import write_sealed
from reticent.validation import InputError

TERMS = Terms(epsilon=4.0, delta=1e-5, relation="add-remove")
ROWS = np.random.default_rng(0).normal(size=(40, 3))
LABELS = np.arange(40) % 2
STEPS = 4


class _StoppedError(Exception):
    """In the place of a kill."""


def released(**options: Any) -> Release:
    numbers = {"records": 40, "features": 3, "classes": 2, "batch": 20, "epochs": STEPS / 2}
    recipe = NetworkRecipe.planned(TERMS, **(numbers | options))
    return release_records(recipe, TERMS, ROWS, LABELS, classes=["no", "yes"])


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """After two of four steps."""
    return stopped(tmp_path / "state", at=2)


def stopped(path: Path, *, at: int) -> Path:
    def stop(taken: int, _: int) -> None:
        if taken == at + 1:
            raise _StoppedError

    with pytest.raises(_StoppedError), follow_training(progress=stop, checkpoint=path):
        released()
    return path


def resumed(state: Path) -> Release:
    with follow_training(checkpoint=state):
        return released()


def forged(state: Path, *, tensors: Any = lambda one: one, **changed: Any) -> None:
    """As whoever may write the file writes it: sealed anew."""
    document, held = read_state(state, format=FORMAT)
    kept = {name: tensors(one) for name, one in held.items() if tensors(one) is not None}
    write_sealed(state, kept, document | changed, format=FORMAT, private=True)


def test_only_a_training_that_went_on_from_a_state_says_so(state: Path, tmp_path: Path) -> None:
    found = resumed(state)
    assert found.guarantee.grade is Grade.PROVEN
    assert RESUMED in found.guarantee.stated
    assert found.terms.resumed
    save(found, tmp_path / "net")
    assert verify(tmp_path / "net").holds
    assert RESUMED in load(tmp_path / "net").guarantee.stated
    with follow_training(checkpoint=tmp_path / "whole"):
        assert RESUMED not in released().guarantee.stated
    assert RESUMED not in released().guarantee.stated  # nor the next of this process


def test_before_the_first_step_there_is_nothing_to_trust(tmp_path: Path) -> None:
    state = stopped(tmp_path / "state", at=0)
    forged(state, taken=0, tensors=lambda one: one + 100)
    found = resumed(state)
    assert RESUMED not in found.guarantee.stated
    assert max(np.abs(one).max() for one in found.tensors.values()) < 50


def test_weights_that_somebody_put_into_the_file_are_released_under_that_line(state: Path) -> None:
    """Nobody can tell them from true ones, so the certificate says on whose word they are."""
    forged(state, tensors=lambda one: 0 * one + 123, taken=STEPS)
    found = resumed(state)
    np.testing.assert_array_equal(found.tensors["3.bias"], [123, 123])
    assert RESUMED in found.guarantee.stated


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda one: one["guarantee"]["stated"].remove(RESUMED), "lines under stated lack"),
        (lambda one: one["terms"].pop("resumed"), "lines under stated are not those"),
    ],
)
def test_verify_requires_the_line(state: Path, tmp_path: Path, change: Any, problem: str) -> None:
    save(resumed(state), tmp_path / "net")
    pair = read_pair(tmp_path / "net")
    claims = json.loads(json.dumps(dict(pair.claims)))
    change(claims)
    write_pair(tmp_path / "other", claims, dict(pair.tensors))
    assert any(problem in one for one in verify(tmp_path / "other").problems)


@pytest.mark.parametrize("value", [1, "true", None])
def test_terms_are_resumed_or_not(value: Any) -> None:
    with pytest.raises(InputError, match="resumed must be true or false"):
        Terms.from_dict(TERMS.to_dict() | {"resumed": value})


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_state_that_others_may_write_is_refused(state: Path, mode: int) -> None:
    state.chmod(mode)
    with pytest.raises(InputError, match=f"must be writable by you alone, got mode {mode:o}"):
        resumed(state)


def test_a_state_of_another_owner_is_refused(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = os.geteuid() + 1
    monkeypatch.setattr(training_progress.os, "geteuid", lambda: owner)
    with pytest.raises(InputError, match="must be your own file"):
        resumed(state)


def test_a_link_or_a_folder_is_no_state(state: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(state)
    (tmp_path / "folder").mkdir()
    for name, message in (("link", "must be a readable file"), ("folder", "must be your own file")):
        with pytest.raises(InputError, match=message):
            resumed(tmp_path / name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"taken": STEPS + 1}, "must be of at most 4 steps, got 5"),
        ({"taken": -1}, "must say how many steps"),
        ({"taken": 2.5}, "must say how many steps"),
        ({"taken": True}, "must say how many steps"),
        ({"tensors": lambda _: None}, "must hold the weights of its plan"),
        ({"tensors": lambda one: one.reshape(-1)[:1]}, "must hold the weights of its plan"),
    ],
)
def test_a_state_that_is_no_state_of_the_plan_is_one_line(
    state: Path, change: dict[str, Any], message: str
) -> None:
    forged(state, **change)
    with pytest.raises(InputError, match=message):
        resumed(state)
