"""simclr by released embeddings and by clipped similarities: samples of one size, replace-one."""

from __future__ import annotations

import math
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from reticent import bounds
from reticent.accounting.account import account
from reticent.audit.transcript_replay import run_pair
from reticent.guarantee import Composed, Grade, Relation, Repeated, SampledWithoutReplacement
from reticent.protect import RECIPES, Terms, load, release_records, save, verify
from reticent.protect.contrastive_run import ContrastiveRun, unit_embeddings
from reticent.protect.noise_scales import event_of, noise_plan
from reticent.protect.noisy_query import FixedSize, sampled_records, with_noise_function
from reticent.protect.recipe import replay
from reticent.protect.recipes.contrastive import Sample
from reticent.protect.recipes.sampled_gradients import GRADIENTS
from reticent.protect.recipes.simclr_ways import RELEASED
from reticent.randomness import secret_order
from reticent.training.contrastive.networks import contrastive_network
from reticent.training.contrastive.nt_xent import nt_xent_terms, released_embedding_terms
from reticent.training.gradients.pair_sum import jacobians, pair_sum
from reticent.validation import InputError

TERMS = Terms(epsilon=2.0, delta=1e-5, relation="replace-one")
ROWS = np.random.default_rng(0).normal(size=(12, 5))
WAYS = ("released-embeddings", "logit-clipping")


def recipe(way: str, **options: Any) -> Any:
    asked = {"embedding": 3, "epochs": 0.5, "physical": 4, "batch": 4, "way": way}
    return RECIPES["simclr"].planned(TERMS, records=12, features=5, **(asked | options))


def released(way: str, rows: Any = ROWS, **options: Any) -> Any:
    return release_records(recipe(way, **options), TERMS, rows, np.zeros(len(rows)))


# ------------------------------------------------------------------------- samples of one size


def uniformity(orders: list[tuple[int, ...]]) -> float:
    """χ² over all ordered pairs of 4 places: the p-value of a uniform draw."""
    counted = [orders.count(one) for one in permutations(range(4), 2)]
    return float(stats.chisquare(counted).pvalue)


def test_samples_are_each_set_in_each_order_as_often() -> None:
    """False alarms: 10⁻⁶. Sets in index order, as the wrong implementation has them, fail."""
    drawn = [
        tuple(sampled_records(np.zeros((4, 1)), np.zeros(4), FixedSize(2, 4)).tolist())
        for _ in range(2400)
    ]
    assert uniformity(drawn) > 1e-6
    assert uniformity([(min(one), max(one)) for one in drawn]) < 1e-6
    assert sorted(secret_order(50).tolist()) == list(range(50))


def test_a_rate_of_samples_of_one_size_is_no_poisson_rate() -> None:
    assert FixedSize(2, 4) == FixedSize(2, 4)
    assert FixedSize(2, 4) != FixedSize(3, 6)
    assert FixedSize(2, 4) != 0.5
    assert FixedSize(2, 4) < 1
    with pytest.raises(InputError, match="size must be between 1 and 4, got 5"):
        FixedSize(5, 4)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("batch", [4, 12])
def test_no_step_sees_its_records_in_table_order(
    way: str, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of all 12 places too: two orders are equal, or that of the table, with probability
    below 10⁻³ at 4 of 12, and 10⁻⁸ at 12; each of six pairs has to be."""
    planned, seen = recipe(way, batch=batch, epochs=6 * batch / 12), []

    def noted(_: Any, run: Any, sample: Any, plan: Any) -> Any:
        seen.append([ROWS.tolist().index(row) for row in sample.rows.tolist()])
        return np.zeros(planned.size)

    monkeypatch.setattr(type(planned), "total", noted)
    planned.learn(ROWS, np.zeros(12), noise_plan(planned, TERMS))
    assert len(seen) >= 6
    assert all(len(set(one)) == batch for one in seen)
    assert [sorted(one) for one in seen] != seen
    assert len({tuple(one) for one in seen}) > 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("leaves", [0, 5, 11])
@pytest.mark.parametrize("place", [0, 4, 11])
def test_a_newcomer_may_stand_elsewhere_in_a_batch_of_all_records(
    way: str, leaves: int, place: int
) -> None:
    """As a file has it, where the first person leaves and the new one is written at the end."""
    planned = recipe(way, batch=12, clip=1e-3)
    plan = noise_plan(planned, TERMS)
    newcomer = np.full(5, 1e3) * np.sign(ROWS[leaves])
    other = np.insert(np.delete(ROWS, leaves, axis=0), place, newcomer, axis=0)
    worlds = [replay(planned, plan, one, np.zeros(12)) for one in (ROWS, other)]
    found = run_pair(*worlds, lambda noise, value: noise.release(value))
    assert found.sealed
    for one in found.shifts:
        assert 0 < one.norms["l2"].max() <= one.noise.sensitivity.l2


def test_releases_of_a_step_are_composed_and_then_sampled_without_replacement() -> None:
    plan = noise_plan(recipe("released-embeddings"), TERMS)
    event = event_of(plan, relation=TERMS.relation, delta=TERMS.delta)
    assert isinstance(event, Repeated)
    assert isinstance(event.event, SampledWithoutReplacement)
    assert (event.event.size, event.event.population, event.count) == (4, 12, 2)
    assert isinstance(event.event.event, Composed)
    spent = account(event, relation=TERMS.relation, delta=TERMS.delta).epsilon
    assert 1.99 < spent <= 2.0
    apart = Composed(
        events=tuple(
            Repeated(
                event=SampledWithoutReplacement(event=one, size=4, population=12), count=event.count
            )
            for one in event.event.event.events
        )
    )
    assert account(apart, relation=TERMS.relation, delta=TERMS.delta).epsilon < spent  # is false


@pytest.mark.parametrize("way", WAYS)
def test_each_way_is_proven_and_verified(way: str, tmp_path: Path) -> None:
    found = released(way)
    assert found.guarantee.grade is Grade.PROVEN
    assert found.guarantee.relation is Relation.REPLACE_ONE
    assert any("without replacement" in line for line in found.guarantee.checked)
    save(found, tmp_path / "encoder")
    assert not verify(tmp_path / "encoder").problems
    again = load(tmp_path / "encoder").transform(ROWS)
    np.testing.assert_array_equal(again, found.transform(ROWS))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rows", [ROWS[:0], ROWS[:7], np.vstack([ROWS, ROWS])])
def test_every_table_ends_in_a_release(way: str, rows: Any) -> None:
    planned = recipe(way)
    table, marks = planned.table(rows, np.zeros(len(rows)))
    assert table.shape == (12, 5)
    assert len(marks) == 12
    assert np.isfinite(released(way, rows).transform(ROWS)).all()


def test_what_no_theorem_covers_is_refused() -> None:
    added = Terms(epsilon=2.0, delta=1e-5, relation="add-remove")
    persons = Terms(epsilon=2.0, delta=1e-5, relation="replace-one", max_records_per_person=2)
    for way in WAYS:
        for terms in (added, persons):
            with pytest.raises(InputError, match="relation must be replace-one, with one record"):
                noise_plan(recipe(way), terms)
    with pytest.raises(InputError, match="coupling_share must be given with --way released"):
        recipe("logit-clipping", coupling_share=0.2)
    with pytest.raises(InputError, match="negatives must be given with --way public-negatives"):
        recipe("released-embeddings", negatives=3)
    with pytest.raises(InputError, match="way must be one of public-negatives, released-"):
        recipe("luck")
    with pytest.raises(InputError, match="exact must be kept with --way logit-clipping"):
        recipe("logit-clipping", exact=False)
    with pytest.raises(InputError, match="batch must be at most 1048576"):
        RECIPES["simclr"].planned(
            TERMS, records=2**22, features=5, way="released-embeddings", batch=2**21
        )
    with pytest.raises(InputError, match="batch must be at most"):
        RECIPES["simclr"].planned(
            TERMS, records=9000, features=784, shape="28x28x1", way="logit-clipping", batch=4000
        )


# ------------------------------------------------------------------------------ sensitivities


def shifts(way: str, own: Any, other: Any, **options: Any) -> dict[str, float]:
    """Of each kind of query the furthest that it moved, over what is claimed; whole batches."""
    planned = recipe(way, batch=12, **options)
    plan = noise_plan(planned, TERMS)
    worlds = [replay(planned, plan, rows, np.zeros(len(rows))) for rows in (own, other)]
    run = run_pair(*worlds, lambda noise, value: noise.release(value))
    assert run.sealed
    names = {step.noise: name for name, step in plan.items()}
    return {names[part.noise]: part.tightness for part in run.shifts}


@pytest.mark.slow
def test_one_record_moves_embeddings_and_gradients_by_no_more_than_claimed() -> None:
    """Embeddings of a record and of its opposite, far out where tanh is flat, are opposite."""
    reached: dict[str, float] = {}
    rng = np.random.default_rng(1)
    for _ in range(3):
        far = 1e6 * rng.normal(size=5)
        own, other = np.vstack([far, ROWS[1:]]), np.vstack([-far, ROWS[1:]])
        found = shifts("released-embeddings", own, other, clip=1e-3, embedding=2)
        for name, value in found.items():
            assert value <= 1
            reached[name] = max(value, reached.get(name, 0.0))
    assert reached[RELEASED] >= 0.95
    assert reached[GRADIENTS] >= 0.5  # of these rows; the next test finds rows that reach it


@pytest.mark.slow
def test_opposite_gradients_reach_the_bound_of_released_embeddings() -> None:
    """One answer in both worlds: all others add the same, and one record's term is turned round."""
    planned = recipe("released-embeddings", batch=12, epochs=1.0, clip=1e-3, embedding=2)
    plan = noise_plan(planned, TERMS)
    limit = plan[GRADIENTS].noise.sensitivity.l2

    def gradient_sum(row: Any) -> Any:
        seen = []

        def answered(noise: Any, value: Any) -> Any:
            if noise == plan[GRADIENTS].noise:
                seen.append(value.copy())
            return np.full_like(value, 1e-3)

        with with_noise_function(answered):
            planned.learn(np.vstack([row, ROWS[1:]]), np.zeros(12), plan)
        return seen[0]

    candidates = np.random.default_rng(2).normal(size=(60, 5)) * 3
    found = np.array([gradient_sum(row) for row in candidates])
    distances = np.linalg.norm(found[:, None] - found[None], axis=2)
    assert 0.95 * limit <= distances.max() <= limit


@pytest.mark.slow
@pytest.mark.parametrize("row", [np.full(5, 1e300), np.zeros(5), -30 * ROWS[0]])
def test_one_record_moves_clipped_similarities_by_no_more_than_claimed(row: Any) -> None:
    other = np.vstack([row, ROWS[1:]])
    found = shifts("logit-clipping", ROWS, other, clip=1e-3)
    assert 0.005 < found[GRADIENTS] <= 1


def test_adversarial_pairs_never_exceed_the_bound_of_clipped_similarities() -> None:
    """Embeddings and derivatives at will, of the last record both worlds' own; ≥ .3 is reached."""
    rng, images, best = np.random.default_rng(2), 6, 0.0
    limit = bounds.clipped_similarity_sum(clip=1.0, temperature=1.0, images=images, size=2).l2
    assert limit is not None

    def world(outputs: Any, slopes: Any) -> Any:
        units = unit_embeddings(outputs)
        return pair_sum(outputs, slopes, units, clip=1.0, temperature=1.0)

    for trial in range(400):
        outputs = np.repeat(rng.normal(size=(images, 1, 2)), 2, axis=1)
        outputs += 0.3 * rng.random() * rng.normal(size=outputs.shape)
        if trial % 2:  # all others look one way, and the last record at them or away
            outputs[:-1] = [1.0, 0.05] + 0.1 * rng.random() * rng.normal(size=(images - 1, 2, 2))
        slopes = 1e4 * rng.normal(size=(2 * images, 2, 2))
        here = outputs.reshape(-1, 2).copy(), slopes
        there = here[0].copy(), slopes.copy()
        there[0][-2:], there[1][-2:] = -here[0][-2:], rng.choice([-1, 1]) * slopes[-2:]
        if trial % 2:
            here[0][-2:], there[0][-2:] = [1.0, -0.05], [-1.0, 0.05]
        moved = float(np.linalg.norm(world(*here) - world(*there)))
        assert moved <= limit
        best = max(best, moved / limit)
    assert best > 0.3


def test_the_rounding_is_on_top_of_the_theorem() -> None:
    at: dict[str, Any] = {"clip": 0.5, "temperature": 1.0, "images": 16}
    exact = bounds.clipped_similarities(relation="replace-one", views=2, **at).l2
    computed = bounds.clipped_similarity_sum(size=100, **at)
    assert exact is not None
    assert computed.l2 is not None
    assert exact < computed.l2 < exact * (1 + 1e-9)
    assert computed.grade is Grade.PROVEN


# ---------------------------------------------------------------- gradients, one by one and plain


def network() -> tuple[Any, Any]:
    model = contrastive_network("strided", 64, (1, 8, 8), width=3, seed=0)
    return model, torch.randn(8, 1, 8, 8, generator=torch.Generator().manual_seed(1))


def flat_gradient(value: torch.Tensor, model: Any) -> Any:
    found = torch.autograd.grad(value, list(model.parameters()), retain_graph=True)
    return torch.cat([one.flatten() for one in found]).double().numpy()


def similarities(model: Any, views: Any) -> torch.Tensor:
    units = torch.nn.functional.normalize(model(views), dim=1)
    return units @ units.T


def clipped_sum(model: Any, views: Any, clip: float, temperature: float = 1.0) -> Any:
    outputs, derivatives = jacobians(model, views)
    units = unit_embeddings(outputs)
    return pair_sum(outputs, derivatives, units, clip=clip, temperature=temperature)


def test_with_an_infinite_clip_the_pair_sum_is_the_gradient_of_nt_xent() -> None:
    model, views = network()
    outputs = model(views)
    loss = nt_xent_terms(outputs[0::2], outputs[1::2], temperature=0.7).sum()
    plain = flat_gradient(loss, model)
    ours = clipped_sum(model, views, 1e100, 0.7)
    assert np.linalg.norm(ours - plain) <= 1e-5 * np.linalg.norm(plain)


def test_clipped_pairs_equal_a_loop_over_pairs() -> None:
    model, views = network()
    found = similarities(model, views)
    logits = found.detach().double().fill_diagonal_(-math.inf)
    weights = torch.softmax(logits, dim=1).numpy()
    total: Any = 0.0
    norms = []
    for one in range(8):
        for other in set(range(8)) - {one}:
            gradient = flat_gradient(found[one, other], model)
            norms.append(np.linalg.norm(gradient))
            weight = weights[one, other] - (other == one ^ 1)
            total = total + weight * gradient * min(1.0, 15 / norms[-1])
    assert min(norms) < 15 < max(norms)
    ours = clipped_sum(model, views, 15)
    assert np.linalg.norm(ours - total) <= 1e-5 * np.linalg.norm(total)


def test_without_noise_and_clip_released_embeddings_are_plain_training() -> None:
    """Σ over images of their own NT-Xent, the views of all others taken as constants."""
    planned = recipe("released-embeddings", batch=12, clip=1e6)
    run = ContrastiveRun(planned)
    plan = noise_plan(planned, TERMS)
    with with_noise_function(lambda noise, value: value):
        inputs = run.views.inputs(torch.from_numpy(ROWS.astype(np.float32)))
        sample = Sample(inputs, ROWS, np.zeros(12), 0)
        total = planned.total(run, sample, plan)
        inputs, uniforms = sample.batch(run.draws)
    halves = uniforms[:, : run.views.draws], uniforms[:, run.views.draws :]
    pairs = torch.stack([run.model(run.views.view(inputs, one)) for one in halves], dim=1)
    constants = pairs.detach().reshape(24, 3)
    loss = torch.zeros(())
    for place in range(12):
        others = [row for row in range(24) if row // 2 != place]
        for view in (0, 1):
            own, partner = (
                torch.nn.functional.normalize(pairs[place, one], dim=0) for one in (view, 1 - view)
            )
            public = torch.nn.functional.normalize(constants[others], dim=1)
            logits = torch.cat([(own @ partner)[None], public @ own]) / planned.temperature
            loss = loss - torch.log_softmax(logits, dim=0)[0]
    plain = flat_gradient(loss, run.model)
    assert np.linalg.norm(total - plain) <= 1e-5 * np.linalg.norm(plain)


def test_a_record_is_not_told_from_its_own_noisy_embeddings() -> None:
    generator = torch.Generator().manual_seed(0)
    pairs, noisy = torch.randn(3, 2, 4, generator=generator), torch.randn(6, 4, generator=generator)
    changed = noisy.clone()
    changed[2:4] = 7.0
    places = torch.arange(3)
    one, other = (
        released_embedding_terms(pairs, places, rows, temperature=0.5) for rows in (noisy, changed)
    )
    assert one[1] == other[1]
    assert (one != other).tolist() == [True, False, True]
