"""Contrastive recipes under replace-one: samples of one size, drawn without replacement."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reticent.accounting.account import account
from reticent.audit.transcript_replay import run_pair
from reticent.guarantee import Composed, Grade, Relation, Repeated, SampledWithoutReplacement
from reticent.protect import RECIPES, Terms, load, release_records, save, verify
from reticent.protect.noise_scales import event_of, noise_plan
from reticent.protect.noisy_query import FixedSize, everyone, with_noise_function, with_sampler
from reticent.protect.recipe import replay
from reticent.protect.recipes.sampled_gradients import COINS, DRAWN, GRADIENTS, PLACES
from reticent.validation import InputError

REPLACE = Terms(epsilon=2.0, delta=1e-5, relation="replace-one")
ADDED = Terms(epsilon=2.0, delta=1e-5, relation="add-remove")
ROWS = np.random.default_rng(0).normal(size=(24, 5))
KINDS = ("spectral", "barlow", "simclr", "masked-patches")
COUPLINGS = {"spectral": math.sqrt(2), "barlow": 2.0}
"""Of the recipes that release a matrix of each sample, how far a replaced record moves it."""


def recipe(kind: str, terms: Terms = REPLACE, **options: Any) -> Any:
    asked: dict[str, Any] = {"batch": 12, "epochs": 1.5, "physical": 8, "embedding": 4}
    if kind == "masked-patches":
        del asked["embedding"]
    return RECIPES[kind].planned(terms, records=24, features=5, **(asked | options))


@pytest.mark.parametrize("kind", KINDS)
def test_all_releases_of_a_step_are_one_and_then_sampled_without_replacement(kind: str) -> None:
    planned = recipe(kind)
    assert planned.rate == FixedSize(12, 24)
    plan = noise_plan(planned, REPLACE)
    event = event_of(plan, relation=REPLACE.relation, delta=REPLACE.delta)
    assert isinstance(event, Repeated)
    assert event.count == 3
    assert isinstance(event.event, SampledWithoutReplacement)
    assert (event.event.size, event.event.population) == (12, 24)
    assert isinstance(event.event.event, Composed) == (kind in COUPLINGS)
    assert 1.99 < account(event, relation=REPLACE.relation, delta=REPLACE.delta).epsilon <= 2.0
    steps = planned.steps(REPLACE)
    assert steps[GRADIENTS].sensitivity.l2 == pytest.approx(2.0, rel=1e-6)
    for name in set(steps) - {GRADIENTS}:
        assert steps[name].sensitivity.l2 == pytest.approx(COUPLINGS[kind], rel=1e-6)
    assert {one.sensitivity.relation for one in steps.values()} == {Relation.REPLACE_ONE}


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_is_proven_verified_and_says_that_records_have_places(
    kind: str, tmp_path: Path
) -> None:
    found = release_records(recipe(kind), REPLACE, ROWS, np.zeros(24))
    assert found.guarantee.grade is Grade.PROVEN
    assert found.guarantee.relation is Relation.REPLACE_ONE
    assert DRAWN in found.guarantee.checked
    assert COINS not in found.guarantee.checked
    assert PLACES in found.guarantee.stated
    save(found, tmp_path / "encoder")
    assert not verify(tmp_path / "encoder").problems
    again = load(tmp_path / "encoder")
    np.testing.assert_array_equal(again.transform(ROWS), found.transform(ROWS))
    added = recipe(kind, ADDED)
    assert COINS in added.checked
    assert PLACES not in added.stated


@pytest.mark.parametrize("kind", KINDS)
def test_what_no_theorem_covers_is_refused(kind: str) -> None:
    """Places are for replace-one also where a step sees all: one record more moves others out."""
    sized = recipe(kind)
    for one in (sized, dataclasses.replace(sized, batch=24)):
        with pytest.raises(InputError, match="relation must be replace-one for samples of one"):
            one.steps(ADDED)
    with pytest.raises(InputError, match="relation must be add-remove for Poisson samples"):
        recipe(kind, ADDED).steps(REPLACE)
    persons = dataclasses.replace(REPLACE, max_records_per_person=2)
    with pytest.raises(InputError, match="max_records_per_person must be 1"):
        recipe(kind, persons).steps(persons)
    assert recipe(kind, persons, batch=None).batch == 24


def test_samples_are_planned_where_records_are_replaced_and_stand_in_the_certificate() -> None:
    many = RECIPES["spectral"].planned(REPLACE, records=2000, features=5)
    assert many.rate == FixedSize(512, 2000)
    few = RECIPES["spectral"].planned(REPLACE, records=300, features=5)
    assert (few.rate, few.fixed_size) == (1.0, False)
    assert many.to_dict()["fixed_size"] is True
    assert "fixed_size" not in few.to_dict()
    for one in (many, few):
        assert type(one).from_dict(one.to_dict()) == one
    way = RECIPES["simclr"].planned(REPLACE, records=24, features=5, way="released-embeddings")
    assert not way.fixed_size
    assert way.is_of_places


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [ROWS[:0], ROWS[:7], np.vstack([ROWS, ROWS])])
def test_every_table_has_n_places_and_ends_in_a_release(kind: str, rows: Any) -> None:
    planned = recipe(kind)
    table, marks = planned.table(rows, np.zeros(len(rows)))
    held = min(24, len(rows))
    assert np.array_equal(table[:held], rows[:24])
    assert not table[held:].any()
    assert len(table) == len(marks) == 24
    if len(rows) != 7:  # the least and the most
        found = release_records(planned, REPLACE, rows, np.zeros(len(rows)))
        assert np.isfinite(found.transform(ROWS)).all()


# ------------------------------------------------------------------------------ sensitivities


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row", [np.zeros(5), np.full(5, 1e30), -5 * ROWS[0]])
def test_a_replaced_record_moves_no_query_further_than_claimed(kind: str, row: Any) -> None:
    """In the first place, which an audit's sample sees; all others have the same neighbours."""
    planned = recipe(kind, clip=1e-3)
    plan = noise_plan(planned, REPLACE)
    tables = ROWS, np.vstack([row, ROWS[1:]])
    worlds = [replay(planned, plan, one, np.zeros(24)) for one in tables]
    seen: dict[str, list[float]] = {}
    answers: list[Any] = []

    def first(noise: Any, value: Any) -> Any:
        answers.append((value.copy(), noise.release(value)))
        return answers[-1][1]

    left = iter(answers)

    def second(noise: Any, value: Any) -> Any:
        before, answer = next(left)
        moved = np.linalg.norm(value - before) / noise.sensitivity.l2
        seen.setdefault("all", []).append(float(moved))
        return answer

    with with_sampler(everyone):
        models = [worlds[0](first), worlds[1](second)]
    assert np.array_equal(*models)
    assert 0.01 < max(seen["all"]) <= 1


def queries(planned: Any, row: Any) -> list[tuple[Any, Any]]:
    """Noise and exact value of the queries of one step, where each was answered alike."""
    found: list[tuple[Any, Any]] = []

    def answered(noise: Any, value: Any) -> Any:
        found.append((noise, value.copy()))
        return np.full_like(value, 1e-3)

    with with_noise_function(answered), with_sampler(everyone):
        planned.learn(row[None], np.zeros(1), noise_plan(planned, REPLACE))
    return found[: len(planned.steps(REPLACE))]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_search_over_pairs_reaches_the_bounds_of_replace_one(kind: str) -> None:
    """One record among empty places, given one answer: 2C to .95, the matrix to .9."""
    narrow = {} if kind == "masked-patches" else {"embedding": 2}
    more = narrow | ({"negatives": 1} if kind == "simclr" else {})
    planned = recipe(kind, clip=1e-3, epochs=0.5, **more)
    rows = np.random.default_rng(2).normal(size=(90, 5)) * 3
    rows[::2, 1:] = 0.0  # one entry alone: a view shows it or nothing, and both views often agree
    asked = [queries(planned, row) for row in rows]
    for place, (noise, _) in enumerate(asked[0]):
        values = np.array([one[place][1] for one in asked])
        apart = np.linalg.norm(values[:, None] - values[None], axis=2).max()
        assert apart <= noise.sensitivity.l2
        is_gradient = noise == noise_plan(planned, REPLACE)[GRADIENTS].noise
        assert apart >= (0.95 if is_gradient else 0.9) * noise.sensitivity.l2


def test_an_audit_that_draws_answers_says_that_it_cannot_sample_by_size() -> None:
    planned = recipe("spectral")
    world = replay(planned, noise_plan(planned, REPLACE), ROWS, np.zeros(24))
    with pytest.raises(InputError, match="batch must be all records where an audit draws answers"):
        run_pair(world, world, lambda noise, value: noise.release(value))
