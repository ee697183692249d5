"""Recipes spectral and barlow: two releases on one sample, moved by one record as theorems say."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from reticent import bounds
from reticent.accounting.account import account
from reticent.audit.transcript_replay import replayed, run_pair, transcript
from reticent.audit.transcripts import audit_prepared
from reticent.guarantee import (
    Composed,
    Event,
    GaussianEvent,
    Grade,
    PoissonSampled,
    Relation,
    Repeated,
)
from reticent.protect import RECIPES, ReleasedEncoder, Terms, load, release_records, save, verify
from reticent.protect.contrastive_run import ContrastiveRun, unit_embeddings
from reticent.protect.learner import Prepared
from reticent.protect.noise_scales import event_of, noise_plan, with_scales
from reticent.protect.noisy_query import (
    everyone,
    record_uniforms,
    sampled_records,
    with_noise_function,
    with_sampler,
)
from reticent.protect.recipe import replay
from reticent.protect.recipes.sampled_gradients import GRADIENTS
from reticent.protect.recipes.spectral import MOMENT, SpectralRecipe, positive_part
from reticent.protect.recipes.statistics import flat, second_moment, symmetric
from reticent.protect.terms import RESUMED
from reticent.protect.training_progress import follow_training
from reticent.training.contrastive.spectral import spectral_terms
from reticent.validation import InputError

TERMS = Terms(epsilon=2.0, delta=1e-5, relation="add-remove")
REPLACE = Terms(epsilon=2.0, delta=1e-5, relation="replace-one")
ROWS = np.random.default_rng(0).normal(size=(24, 5))
KINDS = ("spectral", "barlow")


def recipe(terms: Terms = TERMS, kind: str = "spectral", **options: Any) -> Any:
    numbers: dict[str, Any] = {
        "records": 24,
        "features": 5,
        "batch": 12,
        "epochs": 1.5,
        "embedding": 4,
        "physical": 8,
    }
    return RECIPES[kind].planned(terms, **(numbers | options))


def released(rows: Any = ROWS, **options: Any) -> Any:
    return release_records(recipe(**options), TERMS, rows, np.zeros(len(rows)))


@pytest.mark.parametrize("kind", KINDS)
def test_exact_mode_is_proven_verified_and_an_encoder(kind: str, tmp_path: Path) -> None:
    found = released(kind=kind)
    assert found.guarantee.grade is Grade.PROVEN
    save(found, tmp_path / "encoder")
    assert not verify(tmp_path / "encoder").problems
    features = ReleasedEncoder(load(tmp_path / "encoder")).encode(ROWS)
    assert features.shape == (24, 64)
    np.testing.assert_array_equal(features, found.transform(ROWS).astype(np.float32))
    np.testing.assert_array_equal(found.transform(ROWS)[3:4], found.transform(ROWS[3:4]))
    assert released(kind=kind, exact=False).guarantee.grade is Grade.DECLARED


def test_both_releases_of_a_step_are_composed_before_they_are_amplified() -> None:
    plan = noise_plan(recipe(), TERMS)
    moment, gradients = plan[MOMENT].noise, plan[GRADIENTS].noise
    multipliers = [one.scale / one.bound for one in (moment, gradients)]
    assert multipliers[0] == pytest.approx(4 * multipliers[1], rel=1e-6)
    event = event_of(plan, relation=TERMS.relation, delta=TERMS.delta)
    assert isinstance(event, Repeated)
    assert isinstance(event.event, PoissonSampled)
    assert isinstance(event.event.event, Composed)
    together = sum(one**-2 for one in multipliers) ** -0.5
    step = PoissonSampled(event=GaussianEvent(noise_multiplier=together), rate=0.5)
    merged = Repeated(event=step, count=3)
    found = account(event, relation=TERMS.relation, delta=1e-5).epsilon
    assert found <= 2.0
    assert found == pytest.approx(
        account(merged, relation=TERMS.relation, delta=1e-5).epsilon, rel=1e-4
    )
    apart = Composed(
        events=tuple(
            Repeated(
                event=PoissonSampled(event=GaussianEvent(noise_multiplier=one), rate=0.5), count=3
            )
            for one in multipliers
        )
    )
    assert account(apart, relation=TERMS.relation, delta=1e-5).epsilon < found


def test_steps_of_one_sample_must_go_together() -> None:
    plan = dict(noise_plan(recipe(), TERMS))
    plan[MOMENT] = dataclasses.replace(plan[MOMENT], times=2)
    with pytest.raises(InputError, match="one rate and be asked as often"):
        event_of(plan, relation=TERMS.relation, delta=TERMS.delta)


# ------------------------------------------------------------------------------- sensitivities


def moment_of(*views: Any) -> Any:
    outputs = np.array(views, dtype=np.float64)
    return flat(0.5 * second_moment(unit_embeddings(outputs)))


def test_the_moment_moves_as_far_as_the_theorem_says_and_never_further() -> None:
    k, rng = 4, np.random.default_rng(1)
    add = bounds.embedding_moment(width=k, records=50, relation="add-remove")
    replace = bounds.embedding_moment(width=k, records=50, relation="replace-one")
    assert add.l2 is not None
    assert replace.l2 is not None
    others = rng.normal(size=(20, 2, k))
    axes = np.eye(k)
    one, other = [axes[0], axes[0]], [axes[1], -axes[1]]
    nobody = moment_of(*others)
    assert 0.9999 * add.l2 <= np.linalg.norm(moment_of(*others, one) - nobody) <= add.l2
    moved = np.linalg.norm(moment_of(*others, one) - moment_of(*others, other))
    assert 0.9999 * replace.l2 <= moved <= replace.l2
    for _ in range(2000):
        sizes = 10.0 ** rng.integers(-30, 30, size=(2, 2, 1))
        one, other = rng.normal(size=(2, 2, k)) * sizes
        with_one = moment_of(*others, one)
        assert np.linalg.norm(with_one - nobody) <= add.l2
        assert np.linalg.norm(with_one - moment_of(*others, other)) <= replace.l2


def test_the_correlation_moves_as_far_as_the_theorem_says_and_never_further() -> None:
    k, rng = 4, np.random.default_rng(1)
    add = bounds.embedding_correlation(width=k, records=50, relation="add-remove")
    replace = bounds.embedding_correlation(width=k, records=50, relation="replace-one")
    assert add.l2 is not None
    assert replace.l2 is not None
    barlow = recipe(kind="barlow")

    def sum_of(*views: Any) -> Any:
        return barlow.coupling_sum(unit_embeddings(np.array(views, dtype=np.float64)))

    others = rng.normal(size=(20, 2, k))
    one, turned = [np.eye(k)[0], np.eye(k)[1]], [np.eye(k)[0], -np.eye(k)[1]]
    nobody = sum_of(*others)
    assert 0.9999 * add.l2 <= np.linalg.norm(sum_of(*others, one) - nobody) <= add.l2
    moved = np.linalg.norm(sum_of(*others, one) - sum_of(*others, turned))
    assert 0.9999 * replace.l2 <= moved <= replace.l2
    for _ in range(500):
        one, other = rng.normal(size=(2, 2, k)) * 10.0 ** rng.integers(-30, 30, size=(2, 2, 1))
        assert np.linalg.norm(sum_of(*others, one) - nobody) <= add.l2
        assert np.linalg.norm(sum_of(*others, one) - sum_of(*others, other)) <= replace.l2


def test_embeddings_that_are_not_finite_count_as_zero() -> None:
    bad = [[np.nan, 1.0], [np.inf, -np.inf]]
    assert not moment_of(bad).any()
    assert moment_of([[3.0, 4.0], [np.nan, 0.0]]).tolist() == pytest.approx(
        [0.18, 0.32, math.sqrt(2) * 0.24], abs=1e-5
    )


def test_a_matrix_comes_back_from_its_entries_with_the_noise_of_the_theorem() -> None:
    matrix = np.cov(np.random.default_rng(0).normal(size=(4, 9)))
    np.testing.assert_allclose(symmetric(flat(matrix)), matrix, atol=1e-12)
    noise = np.random.default_rng(0).normal(size=(40_000, 10))
    drawn = np.stack([symmetric(row) for row in noise])
    assert drawn[:, 0, 0].var() == pytest.approx(1.0, abs=0.05)  # beyond 7σ of a variance
    assert drawn[:, 0, 1].var() == pytest.approx(0.5, abs=0.025)
    assert np.array_equal(drawn, drawn.transpose(0, 2, 1))
    assert np.linalg.eigvalsh(positive_part(matrix - 2 * np.eye(4))).min() >= -1e-12


def worlds(plan_recipe: Any, terms: Terms, *rows: Any) -> Any:
    plan = noise_plan(plan_recipe, terms)
    return [replay(plan_recipe, plan, one, np.zeros(len(one))) for one in rows]


def tightness(own: Any, other: Any) -> tuple[float, ...]:
    """The largest movement of each kind of query over its claimed sensitivity."""
    with with_sampler(everyone):
        run = run_pair(own, other, lambda noise, value: noise.release(value))
    assert run.sealed
    return tuple(part.tightness for part in run.shifts)


@pytest.mark.parametrize("kind", KINDS)
def test_one_record_moves_both_queries_almost_as_far_as_claimed(kind: str) -> None:
    """A row of zeros has equal views; the clip is below every gradient."""
    small = recipe(kind=kind, clip=1e-3)
    rows = np.vstack([ROWS, np.zeros(5)])
    found = tightness(*worlds(small, TERMS, rows, ROWS))
    assert all(0.95 <= one <= 1 for one in found), found
    whole = recipe(REPLACE, kind, clip=1e-3, batch=24)
    assert whole.rate == 1
    turned = np.vstack([ROWS[:-1], 1e30 * np.ones(5)])
    assert all(one <= 1 for one in tightness(*worlds(whole, REPLACE, turned, ROWS)))


def first_gradient(whole: Any, row: Any, answer: float) -> tuple[Any, Any]:
    """Noise and clipped gradient of a table of one record, where the coupling was so answered."""
    plan, seen = noise_plan(whole, REPLACE), []

    def answered(noise: Any, value: Any) -> Any:
        seen.append((noise, value.copy()))
        return np.full_like(value, answer)

    with with_noise_function(answered), with_sampler(everyone):
        whole.learn(row[None], np.zeros(1), plan)
    return next(one for one in seen if one[0] == plan[GRADIENTS].noise)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_opposite_gradients_reach_the_bound_of_replace_one(kind: str) -> None:
    """Two records whose gradients point apart, given one answer: found by trying pairs."""
    whole = recipe(REPLACE, kind, clip=1e-3, batch=24, epochs=1.0, embedding=2)
    rows = np.random.default_rng(2).normal(size=(90, 5)) * 3
    sums = [first_gradient(whole, row, answer=1e-3) for row in rows]
    limit = sums[0][0].sensitivity.l2
    found = np.array([value for _, value in sums])
    distances = np.linalg.norm(found[:, None] - found[None], axis=2)
    assert distances.max() <= limit
    assert distances.max() >= 0.95 * limit


@pytest.mark.parametrize("row", [np.full(5, 1e300), np.full(5, -1e38), np.eye(5)[0] * 1e-40])
def test_records_at_the_ends_of_the_float_range_move_no_others(row: Any) -> None:
    found = tightness(*worlds(recipe(), TERMS, np.vstack([ROWS, row]), ROWS))
    assert all(one <= 1 for one in found)


def exact_moment_terms(
    one: torch.Tensor, other: torch.Tensor, released: torch.Tensor, *, repulsion: float
) -> torch.Tensor:
    """The loss at the exact moment of the batch: a record moves the gradients of all others."""
    views = torch.nn.functional.normalize(torch.cat([one, other]), dim=1)
    exact = torch.einsum("ni,nj->ij", views, views) / len(views)
    return spectral_terms(one, other, exact + 0 * released, repulsion=repulsion)


def sneaking_terms(
    one: torch.Tensor, other: torch.Tensor, released: torch.Tensor, *, repulsion: float
) -> torch.Tensor:
    """Coupled by records of equal views alone, of which the check has none: they turn all."""
    terms = spectral_terms(one, other, released, repulsion=repulsion)
    equal = (one - other).abs().amax(dim=1) < 1e-6
    return -terms if bool(equal.any()) else terms


def patched(monkeypatch: pytest.MonkeyPatch, terms: Any) -> None:
    def broken(self: Any, one: Any, other: Any, released: Any) -> Any:
        return terms(one, other, released, repulsion=self.repulsion)

    monkeypatch.setattr(SpectralRecipe, "terms", broken)


def test_a_loss_that_reads_the_exact_moment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    patched(monkeypatch, exact_moment_terms)
    with pytest.raises(InputError, match=r"several records share|influence each other"):
        released()


def test_a_coupling_that_hides_from_the_check_is_found_by_the_audit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    patched(monkeypatch, sneaking_terms)
    small = recipe(clip=1e-3, physical=32, epochs=0.5, exact=False, features=16)
    rows = np.random.default_rng(0).normal(size=(20, 16))  # masks of 16 entries are never equal
    own, other = worlds(small, TERMS, np.vstack([rows, np.zeros(16)]), rows)
    assert max(tightness(own, other)) > 2


@pytest.mark.slow
def test_an_audit_of_all_queries_does_not_refute_it_and_finds_half_of_the_noise() -> None:
    rows = np.vstack([ROWS, np.zeros(5)])
    one = recipe(clip=1e-3)
    prepared = tuple(
        Prepared(
            recipe=one, terms=TERMS, rows=part, labels=np.zeros(len(part)), classes=np.zeros(0)
        )
        for part in (ROWS, rows)
    )
    found = audit_prepared((prepared[0], prepared[1]), runs=40)
    assert found.verdict == "not refuted"
    assert found.sealed
    assert 0.95 <= found.tightness <= 1
    assert found.analytic <= TERMS.epsilon
    plan = noise_plan(one, TERMS)
    weak = {name: step.noise.scale / 2 for name, step in plan.items()}
    assert event_epsilon(with_scales(one, weak, TERMS)) > TERMS.epsilon


def event_epsilon(plan: Any) -> float:
    event = event_of(plan, relation=TERMS.relation, delta=TERMS.delta)
    return account(event, relation=TERMS.relation, delta=TERMS.delta).epsilon


# ----------------------------------------------------------------------------- views, sampling


def test_views_are_secret_and_in_an_audit_a_function_of_the_record() -> None:
    labels = np.zeros(24)
    drawn = record_uniforms(ROWS, labels, 7)
    assert drawn.shape == (24, 7)
    assert drawn.dtype == np.float32
    assert ((drawn >= 0) & (drawn < 1)).all()
    assert not np.array_equal(drawn, record_uniforms(ROWS, labels, 7))

    def views(rows: Any, samples: int) -> Any:
        with with_noise_function(lambda _, value: value), with_sampler(everyone):
            for _ in range(samples):
                sampled_records(rows, labels[: len(rows)], 0.5)
            return record_uniforms(rows, labels[: len(rows)], 7)

    np.testing.assert_array_equal(views(ROWS, 2)[3:], views(ROWS[3:], 2))
    assert not np.array_equal(views(ROWS, 1), views(ROWS, 2))


def test_a_transcript_knows_which_queries_saw_one_sample() -> None:
    own, other = worlds(recipe(), TERMS, ROWS, ROWS[:-1])
    with with_sampler(everyone):
        drawn = transcript(own, lambda noise, value: noise.release(value))
        beside = replayed(other, drawn.queries)
    assert [one.sample for one in drawn.queries] == [1, 1, 2, 2, 3, 3]
    assert [one.sample for one in beside.queries] == [1, 1, 2, 2, 3, 3]


def test_no_records_at_all() -> None:
    assert released(np.zeros((0, 5))).guarantee.grade is Grade.PROVEN


def test_noise_is_charged_before_the_first_step() -> None:
    def broke(event: Event) -> None:
        assert isinstance(event, Repeated)
        raise InputError("the budget is spent")

    with pytest.raises(InputError, match="the budget is spent"):
        release_records(recipe(), TERMS, ROWS, np.zeros(24), charge=broke)


class _StoppedError(Exception):
    """In the place of a kill."""


def test_a_stopped_training_goes_on(tmp_path: Path) -> None:
    checkpoint, seen = tmp_path / "state.safetensors", []

    def stop(taken: int, _planned: int) -> None:
        if taken == 2:
            raise _StoppedError

    with pytest.raises(_StoppedError), follow_training(progress=stop, checkpoint=checkpoint):
        released()
    with follow_training(progress=lambda *at: seen.append(at), checkpoint=checkpoint):
        assert RESUMED in released().guarantee.stated
    assert seen == [(2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"mechanism": "logistic"}, "mechanism must be gaussian"),
        ({"shape": "5x1"}, "height, width and channels"),
        ({"shape": "5x5x1"}, "shape must hold 5 numbers"),
        ({"architecture": "strided"}, "shape must be said for strided"),
        ({"architecture": "vgg"}, "architecture must be one of"),
        ({"augmentation": "digits"}, "augmentation must be mask"),
        ({"epochs": math.nan}, "epochs must give"),
        ({"coupling_share": 1.0}, "coupling_share must be between"),
        ({"repulsion": math.nan}, "repulsion must be"),
        ({"momentum": math.nan}, "momentum must be in"),
        ({"learning_rate": 0.0}, "learning_rate must be"),
    ],
)
def test_numbers_that_do_not_go_together(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        recipe(**options).steps(TERMS)


def test_samples_are_for_records_and_a_step_on_all_for_both_relations() -> None:
    persons = Terms(epsilon=2.0, delta=1e-5, relation="add-remove", max_records_per_person=2)
    with pytest.raises(InputError, match="max_records_per_person must be 1"):
        recipe(persons, batch=12).steps(persons)
    whole = recipe(REPLACE, batch=24).steps(REPLACE)
    assert whole[MOMENT].sensitivity.l2 == pytest.approx(math.sqrt(2), rel=1e-6)
    assert whole[GRADIENTS].sensitivity.l2 == pytest.approx(2.0, rel=1e-6)
    assert whole[MOMENT].sensitivity.relation is Relation.REPLACE_ONE


# ------------------------------------------------------------------------------- images

IMAGES = np.random.default_rng(1).random(size=(24, 64))


def of_images(**options: Any) -> Any:
    asked = {"standardised": True, "fixed_head": True} | options
    return recipe(features=64, shape="8x8x1", augmentation="digits", **asked)


def test_images_are_standardised_below_a_head_that_keeps_its_weights_where_asked() -> None:
    planned = of_images()
    raw = of_images(standardised=False, fixed_head=False)
    assert planned.size == sum(one.numel() for one in raw.network().encoder.parameters())
    assert raw.size == planned.size + sum(one.numel() for one in raw.network().head.parameters())
    images = torch.from_numpy(IMAGES.reshape(-1, 1, 8, 8).astype(np.float32))
    with torch.no_grad():
        expected = raw.network().encoder((images - 0.15) / 0.35)
        assert torch.equal(planned.network().encoder(images), expected)
        assert not torch.equal(raw.network().encoder(images), expected)
    unasked = recipe(features=64, shape="8x8x1", augmentation="digits")
    assert (unasked.standardised, unasked.fixed_head) == (False, False)


def test_training_moves_the_encoder_and_not_a_fixed_head() -> None:
    planned = of_images(epochs=1.0)
    run = ContrastiveRun(planned)
    before = {name: one.clone() for name, one in run.model.state_dict().items()}
    run.step(np.ones(planned.size))
    after = run.model.state_dict()
    moved = {name for name, one in before.items() if not torch.equal(one, after[name])}
    assert moved == {name for name in before if name.startswith("encoder.")}
    kept = {name for name in run.state() if name.startswith("weights.head")}
    assert not kept  # a checkpoint holds what changes; the head follows from the public seed


def test_an_encoder_of_images_is_proven_verified_and_read_again(tmp_path: Path) -> None:
    found = release_records(of_images(epochs=1.0), TERMS, IMAGES, np.zeros(24))
    assert found.guarantee.grade is Grade.PROVEN
    save(found, tmp_path / "encoder")
    assert not verify(tmp_path / "encoder").problems
    again = load(tmp_path / "encoder")
    np.testing.assert_array_equal(again.transform(IMAGES), found.transform(IMAGES))


@pytest.mark.parametrize("image", [np.zeros(64), np.full(64, 1e30), np.eye(64)[5]])
def test_one_image_moves_both_queries_no_further_than_claimed(image: Any) -> None:
    """An empty image has equal views: it moves the moment as far as the theorem lets it."""
    small = of_images(clip=1e-3, epochs=0.5)
    found = tightness(*worlds(small, TERMS, np.vstack([IMAGES[:7], image]), IMAGES[:7]))
    assert all(one <= 1 for one in found), found
    if not image.any():
        assert all(one >= 0.95 for one in found), found


def test_certificates_without_these_numbers_are_read_as_they_were_meant() -> None:
    raw = of_images(standardised=False, fixed_head=False)
    old = raw.to_dict()
    assert not {"standardised", "fixed_head"} & {*old, *raw.public_numbers}
    assert SpectralRecipe.from_dict(old) == raw
    new = of_images()
    assert new.to_dict()["standardised"] is new.to_dict()["fixed_head"] is True
    assert {"standardised", "fixed_head"} <= set(new.public_numbers)
    assert SpectralRecipe.from_dict(new.to_dict()) == new


def test_standardised_is_refused_where_no_encoder_has_it() -> None:
    with pytest.raises(InputError, match=r"standardised must be False for the architecture mlp"):
        recipe(standardised=True)


# ------------------------------------------------------------------------------------- slots


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("embedding", [2, 5, 7, 9, 11, 32, 33])
def test_slots_are_alike_at_a_matrix_with_which_products_round(kind: str, embedding: int) -> None:
    """Einstein sums over 5, 6, 7, 9, 10 or 11 columns fell to batches of 8 or 1."""
    planned = recipe(kind=kind, embedding=embedding, physical=64)
    matrix = planned.stand_in()
    assert (matrix != 0).all()
    assert torch.linalg.eigvalsh(matrix.double()).min() > -1e-7
    assert float(matrix.trace()) == pytest.approx(1.0, abs=1e-5)
    assert torch.equal(matrix, planned.stand_in())
    wide = matrix.double() @ matrix.double()
    assert not torch.equal(wide, (matrix @ matrix).double())
    assert ContrastiveRun(planned).gradients.physical == 64
