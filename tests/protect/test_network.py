"""A network by DP-SGD: proven in exact mode, planned from public numbers, resumed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn

from reticent.accounting.account import account
from reticent.guarantee import Event, Grade
from reticent.protect import PrivateNetwork, Terms, load, network_run, release_records, save, verify
from reticent.protect.noise_scales import event_of, noise_plan
from reticent.protect.noisy_query import record_uniforms, with_noise_function
from reticent.protect.recipe import replay
from reticent.protect.recipes.network import NetworkRecipe
from reticent.protect.recipes.sampled_gradients import GRADIENTS
from reticent.protect.sealed_pair import read_pair, write_pair
from reticent.protect.training_progress import follow_training
from reticent.training.gradients import batch_sum
from reticent.validation import InputError

TERMS = Terms(epsilon=4.0, delta=1e-5, relation="add-remove")
DIGITS, LABELS = load_digits(return_X_y=True)
ROWS = DIGITS / 16


def recipe(terms: Terms = TERMS, **options: Any) -> NetworkRecipe:
    numbers = {"records": 1500, "features": 64, "classes": 10, "batch": 300, "epochs": 1.0}
    return NetworkRecipe.planned(terms, **(numbers | options))


def released(**options: Any) -> Any:
    return release_records(
        recipe(**options), TERMS, ROWS[:1500], LABELS[:1500], classes=np.arange(10)
    )


def test_exact_mode_is_proven_and_fast_mode_declared() -> None:
    exact, fast = released(), released(exact=False)
    assert exact.guarantee.grade is Grade.PROVEN
    assert any("check_slots" in line for line in exact.guarantee.checked)
    assert fast.guarantee.grade is Grade.DECLARED
    assert any("float32" in line for line in fast.guarantee.stated)
    assert not any("check_slots" in line for line in fast.guarantee.checked)


def test_a_certificate_of_fast_mode_cannot_say_proven(tmp_path: Path) -> None:
    save(released(exact=False), tmp_path / "fast")
    assert verify(tmp_path / "fast").holds
    pair = read_pair(tmp_path / "fast")
    raised = {**pair.claims, "guarantee": {**pair.claims["guarantee"], "grade": "proven"}}
    write_pair(tmp_path / "raised", raised, dict(pair.tensors))
    found = verify(tmp_path / "raised")
    assert not found.holds
    assert any("the grade cannot be proven" in problem for problem in found.problems)


def test_it_learns_digits() -> None:
    found = released(epochs=15.0, learning_rate=0.5)
    assert (found.predict(ROWS[1500:]) == LABELS[1500:]).mean() > 0.7


def test_the_noise_is_that_of_the_accountants() -> None:
    plan = noise_plan(recipe(), TERMS)
    step = plan[GRADIENTS]
    assert (step.times, step.sampling_rate) == (5, 0.2)
    event = event_of(plan, relation=TERMS.relation, delta=TERMS.delta)
    assert account(event, relation=TERMS.relation, delta=TERMS.delta).epsilon <= 4.0
    half = account(
        Event.from_dict(_with_noise(event.to_dict(), 0.9)), relation=TERMS.relation, delta=1e-5
    )
    assert half.epsilon > 4.0


def _with_noise(event: Any, factor: float) -> Any:
    inner = event["event"]["event"]
    inner["noise_multiplier"] *= factor
    return event


@pytest.mark.parametrize("mechanism", ["gaussian", "logistic"])
def test_both_kinds_of_noise(mechanism: str) -> None:
    assert released(mechanism=mechanism).guarantee.grade is Grade.PROVEN


def test_a_certificate_is_verified_without_the_records(tmp_path: Path) -> None:
    found = released()
    save(found, tmp_path / "network")
    assert not verify(tmp_path / "network").problems
    again = load(tmp_path / "network")
    np.testing.assert_array_equal(again.predict(ROWS[1500:]), found.predict(ROWS[1500:]))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"shape": "1x28x28"}, "shape must hold 64 numbers"),
        ({"shape": "8by8"}, "shape must be written as"),
        ({"shape": "-8x-8"}, "shape must hold 64 numbers"),
        ({"batch": 0}, "batch must be"),
        ({"batch": 10**400}, "must be below"),
        ({"batch": 1501}, "batch must be at most records.*got 1501 of 1500: say 1500 for steps"),
        ({"epochs": float("inf")}, "epochs must give"),
        ({"epochs": float("nan")}, "epochs must give"),
        ({"seed": 2**70}, "must be below"),
        ({"momentum": 1.0}, r"momentum must be in \[0, 1\), got 1.0"),
        ({"momentum": -0.1}, r"momentum must be in \[0, 1\), got -0.1"),
        ({"architecture": "nowhere:nothing"}, "network 'nowhere:nothing' must be importable"),
    ],
)
def test_numbers_that_do_not_go_together(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        recipe(**options).steps(TERMS)


def test_persons_and_replace_one_are_refused_with_the_reason() -> None:
    persons = Terms(epsilon=4.0, delta=1e-5, relation="add-remove", max_records_per_person=2)
    with pytest.raises(InputError, match="max_records_per_person must be 1"):
        recipe(persons).steps(persons)
    twice = recipe(persons, batch=1500).steps(persons)[GRADIENTS].sensitivity.l2
    assert twice is not None
    assert twice >= 2 * recipe().clip
    replaced = Terms(epsilon=4.0, delta=1e-5, relation="replace-one")
    with pytest.raises(InputError, match="relation must be add-remove"):
        recipe(replaced).steps(replaced)
    whole = recipe(replaced, batch=1500).steps(replaced)[GRADIENTS]
    assert whole.sampling_rate == 1
    assert whole.sensitivity.l2 is not None
    assert whole.sensitivity.l2 >= 2 * recipe().clip


def test_a_batch_that_nobody_said_is_at_most_all_records() -> None:
    few = recipe(records=100, batch=None)
    assert (few.batch, few.rate, few.steps_taken) == (100, 1.0, 1)
    older = NetworkRecipe.from_dict(few.to_dict() | {"batch": 512})  # as certificates had it
    assert older.rate == 1.0


class _StoppedError(Exception):
    """In the place of a kill."""


def test_a_stopped_training_goes_on_and_counts_its_steps(tmp_path: Path) -> None:
    checkpoint, seen = tmp_path / "state.safetensors", []

    def stop(taken: int, planned: int) -> None:
        assert planned == 20
        if taken == 7:
            raise _StoppedError

    def note(taken: int, planned: int) -> None:
        seen.append((taken, planned))

    with pytest.raises(_StoppedError), follow_training(progress=stop, checkpoint=checkpoint):
        released(epochs=4.0)
    with follow_training(progress=note, checkpoint=checkpoint):
        released(epochs=4.0)
    assert seen == [(taken, 20) for taken in range(7, 21)]  # the last save was at 6
    assert checkpoint.stat().st_mode & 0o077 == 0


def test_a_checkpoint_of_other_records_or_another_plan_is_refused(tmp_path: Path) -> None:
    checkpoint = tmp_path / "state.safetensors"
    with follow_training(checkpoint=checkpoint):
        released()
        with pytest.raises(InputError, match="same plan on the same records"):
            released(clip=2.0)
        with pytest.raises(InputError, match="same plan on the same records"):
            release_records(recipe(), TERMS, ROWS[1:1500], LABELS[1:1500], classes=np.arange(10))


def test_no_charge_no_step() -> None:
    def broke(event: Event) -> None:
        raise InputError("the budget is spent")

    network = PrivateNetwork(
        classes=range(10),
        records=1500,
        epsilon=1.0,
        delta=1e-5,
        relation="add-remove",
        charge=broke,
    )
    with pytest.raises(InputError, match="the budget is spent"):
        network.fit(ROWS[:1500], LABELS[:1500])


def test_the_moving_average_is_released_where_it_is_asked_for() -> None:
    found = released(average=0.9, learning_rate=1e-9)
    assert found.guarantee.grade is Grade.PROVEN


def test_no_records_at_all() -> None:
    empty = release_records(
        recipe(), TERMS, np.zeros((0, 64)), np.zeros(0, dtype=np.int64), classes=np.arange(10)
    )
    assert empty.guarantee.grade is Grade.PROVEN


def test_a_state_that_an_audit_led_to_is_never_gone_on_from(tmp_path: Path) -> None:
    plan = noise_plan(recipe(), TERMS)
    with follow_training(checkpoint=tmp_path / "state.safetensors"):
        replay(recipe(), plan, ROWS[:1500], LABELS[:1500])(lambda _, value: value)
    assert not (tmp_path / "state.safetensors").exists()


def test_what_is_released_is_checked_each_time_and_what_is_audited_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked = []
    check = batch_sum.check_slots

    def counted(*arguments: Any) -> None:
        checked.append(arguments)
        check(*arguments)

    monkeypatch.setattr(batch_sum, "check_slots", counted)
    monkeypatch.setattr(network_run, "_AUDITED", {})  # other tests audited such a network
    small = recipe(records=40, batch=20)
    plan = noise_plan(small, TERMS)
    run = replay(small, plan, ROWS[:40], LABELS[:40])
    assert np.array_equal(run(lambda _, value: value * 0), run(lambda _, value: value * 0))
    once = len(checked)
    assert once >= 1
    for times in (1, 2):
        release_records(small, TERMS, ROWS[:40], LABELS[:40], classes=np.arange(10))
        assert len(checked) == once * (1 + times)


_SHARED: list[nn.Module] = []


def one_module(shape: tuple[int, ...], classes: int) -> nn.Module:
    """A builder that gives the same module again and again."""
    if not _SHARED:
        _SHARED.append(nn.Sequential(nn.Flatten(), nn.Linear(shape[0], classes)))
    return _SHARED[0]


def test_foreign_code_sees_one_record_at_a_time_and_a_copy_of_its_own() -> None:
    foreign = recipe(architecture=f"{__name__}:one_module")
    assert (foreign.slots, recipe().slots) == (1, 64)
    release_records(foreign, TERMS, ROWS[:1500], LABELS[:1500], classes=np.arange(10))
    first = foreign._network().state_dict()
    assert all(torch.equal(one, _SHARED[0].state_dict()[name]) for name, one in first.items())


AUGMENTED = {"augmentation": "digits"}
IMAGES = {"shape": "8x8x1", "epochs": 0.4} | AUGMENTED


@pytest.mark.slow
def test_views_stand_in_the_certificate_and_are_verified(tmp_path: Path) -> None:
    found = released(**IMAGES, views=3)
    assert found.guarantee.grade is Grade.PROVEN
    assert any("record_uniforms" in line for line in found.guarantee.checked)
    assert any("number of views" in line for line in found.guarantee.stated)
    save(found, tmp_path / "network")
    assert verify(tmp_path / "network").problems == ()
    pair = read_pair(tmp_path / "network")
    numbers = pair.claims["numbers"]
    assert (numbers["augmentation"], numbers["views"]) == ("digits", 3)
    without = {name: one for name, one in numbers.items() if name not in ("augmentation", "views")}
    write_pair(tmp_path / "other", {**pair.claims, "numbers": without}, dict(pair.tensors))
    problems = verify(tmp_path / "other").problems
    assert any("the lines under checked are not those" in one for one in problems)
    same = released().guarantee
    assert (same.epsilon, same.relation) == (found.guarantee.epsilon, found.guarantee.relation)


@pytest.mark.parametrize("exact", [True, False])
def test_views_change_the_sum_and_not_how_far_a_record_moves_it(exact: bool) -> None:
    viewed, plain = (
        recipe(shape="8x8x1", epochs=0.4, exact=exact, **more) for more in (AUGMENTED, {})
    )
    assert (viewed.views, plain.views) == (4, 0)
    assert viewed.steps(TERMS) == plain.steps(TERMS)
    rows, labels = torch.from_numpy(ROWS[:20]).float().reshape(20, 8, 8, 1), LABELS[:20]
    totals = []
    with with_noise_function(lambda _, value: value):  # then views are functions of the records
        for one in (viewed, plain):
            run = network_run.NetworkRun(one, one._network())
            records = run.prepared(rows, torch.from_numpy(labels))
            totals.append(run.total(records, np.arange(20)))
            if one is viewed:
                drawn = record_uniforms(rows.flatten(1).double().numpy(), labels, run.draws)
                batch = torch.from_numpy(drawn), rows, torch.from_numpy(labels)
                np.testing.assert_allclose(totals[0], run.gradients.of(batch), atol=1e-6)
    assert np.linalg.norm(totals[0] - totals[1]) > 0.01 * np.linalg.norm(totals[1])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"views": 2}, "views must be 0 without an augmentation, got 2"),
        (IMAGES | {"augmentation": "mask"}, "augmentation must be one of natural, digits, got"),
        (IMAGES | {"views": 0}, "views must be"),
        (IMAGES | {"shape": ""}, r"shape must be of three sides.*got \(64,\)"),
    ],
)
def test_views_that_cannot_be_drawn(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        recipe(**options)


def test_public_weights_are_computed_once_and_have_no_views() -> None:
    viewed = recipe(**IMAGES)
    with pytest.raises(InputError, match="augmentation must not be given to mlp, got 'digits'"):
        dataclasses.replace(viewed, public_weights="x")


def dropping(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Half of its inputs are dropped."""
    return nn.Sequential(nn.Dropout(0.5), nn.Linear(shape[0], classes))


def test_dropout_is_stated_in_fast_mode_and_refused_in_exact_mode() -> None:
    own = {"architecture": f"{__name__}:dropping"}
    fast = released(**own, exact=False).guarantee
    assert any("dropout draws" in line for line in fast.stated)
    assert not any("dropout draws" in line for line in released(exact=False).guarantee.stated)
    with pytest.raises(InputError, match=r"module '0' must have p = 0 in exact mode, got dropout"):
        released(**own)
