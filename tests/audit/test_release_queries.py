"""Releases run again by their certificates: every recipe, and a head with the mean it needs."""

import dataclasses

import numpy as np
import pytest

from reticent.audit.transcripts import audit_release_queries
from reticent.mechanisms.profiles import gaussian
from reticent.protect import RECIPES, Terms, release_mean, release_records, release_weights
from reticent.protect.recipes.mean import exact_sum
from reticent.training import SigmoidHead, SoftmaxHead
from reticent.validation import InputError

RARELY = 1e-6


def with_less(share):
    """Code that adds less noise than the plan says."""
    return lambda noise, value: dataclasses.replace(noise, scale=share * noise.scale).release(value)


NOISY_MEANS = np.random.default_rng(6).normal(scale=6.0, size=(20, 3))
"""What two worlds of ten runs each are answered for the sum of their rows."""


def centred_head(centre):
    return SoftmaxHead(
        penalty=0.1, bound=1.0, classes=range(2), records=12, intercept=0.0, centre=centre
    )


@pytest.fixture(scope="module")
def centred():
    rng = np.random.default_rng(5)
    rows, labels = rng.normal(size=(12, 3)) / 2, np.arange(12) % 2
    terms = {"epsilon": 0.25, "delta": 1e-5, "relation": "add-remove"}
    mean = release_mean(rows, bound=1.0, records=12, share=0.3, **terms)
    head = centred_head(mean.tensors["mean"]).fit(rows, labels)
    return rows, labels, mean, release_weights(head, mean=mean, **terms)


@pytest.mark.slow
def test_mean_and_weights_together(centred):
    rows, labels, _, released = centred
    worlds = (rows[:-1], labels[:-1]), (rows, labels)
    found = audit_release_queries(released, *worlds, runs=30, beta=RARELY)
    assert found.queries == 2
    assert found.verdict == "not refuted"
    assert 0 < found.analytic <= 0.25
    fewer = audit_release_queries(released, *worlds, runs=100, draw=with_less(1e-3))
    assert fewer.refuted_by == "measured bound, for every mechanism"


def test_both_queries_are_those_of_two_releases_one_after_the_other(centred):
    """The noisy sum of the rows, and the optimum of the head that was centred by its answer."""
    rows, labels, mean, released = centred
    worlds = (rows[:-1], labels[:-1]), (rows, labels)
    noises, answers = (mean.noises["mean"], released.noises["coordinates"]), iter(NOISY_MEANS)
    assert noises[0] == released.noises["mean"]
    drawn = []

    def draw(noise, value):
        """Public answers in place of noise: both worlds and this test go the same way."""
        given = next(answers) if noise == noises[0] else np.zeros_like(value)
        drawn.append(given)
        return given

    found = audit_release_queries(released, *worlds, runs=10, draw=draw)
    spent, tight = [], []
    for total in NOISY_MEANS:
        sums = [exact_sum(part, 1.0) for part, _ in worlds]
        heads = [centred_head(total / 12).fit(*world).coordinates_ for world in worlds]
        moved = [np.linalg.norm(one - other) for one, other in (sums, heads)]
        spent.append(sum((m / noise.scale) ** 2 for m, noise in zip(moved, noises, strict=True)))
        tight += [m / noise.bound for m, noise in zip(moved, noises, strict=True)]
    assert (found.queries, len(drawn)) == (2, 2 * len(NOISY_MEANS))
    assert found.mu == pytest.approx(np.sqrt(max(spent)), rel=1e-6)
    assert found.tightness == pytest.approx(max(tight), rel=1e-6)
    assert found.analytic == pytest.approx(gaussian.epsilon(np.sqrt(max(spent)), 1e-5), rel=1e-6)


def test_a_head_that_was_centred_by_a_public_vector_is_not_run_again(centred):
    rows, labels, _, _ = centred
    terms = {"epsilon": 0.25, "delta": 1e-5, "relation": "add-remove"}
    public = release_weights(centred_head(np.ones(3)).fit(rows, labels), **terms)
    with pytest.raises(InputError, match="centre must be a noisy mean here, got a public one"):
        audit_release_queries(public, (rows[:-1], labels[:-1]), (rows, labels))


NUMBERS = {"bound": 1.0, "target_bound": 5.0, "penalty": 0.1}


def released_by(name, rows, labels):
    """By the recipe of this name; a head of several labels beside them."""
    terms = {"epsilon": 2.0, "delta": 1e-5, "relation": "add-remove"}
    if name == "several labels":
        head = SigmoidHead(classes=["a", "b", "c"], records=10, bound=1.0, penalty=0.1)
        return release_weights(head.fit(rows, labels), **terms)
    kind, said = RECIPES[name], Terms(**terms)
    names = range(3) if kind.task == "classification" else ()
    planned = kind.planned(
        said,
        records=10,
        features=4,
        classes={"classification": 3, "regression": 1, "statistic": 0, "encoding": 0}[kind.task],
        **{option: value for option, value in NUMBERS.items() if option in kind.options},
    )
    return release_records(planned, said, rows, labels, classes=names)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*RECIPES, "several labels"])
def test_every_release_is_audited_by_its_certificate_alone(name):
    """Its noise is that of its scales: of a hundredth the claim would be far exceeded."""
    rows = np.random.default_rng(4).normal(size=(8, 4))
    labels = np.eye(3)[np.arange(8) % 3] if name == "several labels" else np.arange(8) % 3
    if name == "input":  # of two records with one hash one is dropped: the last of these is
        rows, labels = rows[::-1], labels[::-1]
    found = released_by(name, rows, labels)
    worlds = (rows[:-1], labels[:-1]), (rows, labels)
    audit = audit_release_queries(found, *worlds, runs=10, beta=RARELY)
    assert audit.verdict == "not refuted"
    assert audit.claim is found.guarantee
    assert 0 < audit.tightness <= 1
    assert 0 < audit.analytic <= 2.0
    scales = {step: scale / 100 for step, scale in found.scales.items()}
    less = dataclasses.replace(found, scales=scales)
    weaker = audit_release_queries(less, *worlds, runs=10, beta=RARELY)
    if audit.mu is None:  # noise of its own, that has no μ
        assert weaker.analytic > 20 * audit.analytic
    else:
        assert weaker.mu > 20 * audit.mu
