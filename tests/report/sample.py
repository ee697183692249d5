"""A document as a run writes it, of made-up figures that fit together; always the same."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from scipy import stats

from reticent.audit import ceiling
from reticent.guarantee import Relation
from reticent.guarantee.rounding import upper_text
from reticent.protect import RECIPES, Release, Terms
from reticent.protect.release import release_records
from reticent.results import (
    Attack,
    Audit,
    Bound,
    ByClass,
    Claim,
    Conclusion,
    Curve,
    DataSummary,
    Exposed,
    Exposure,
    Features,
    Interval,
    Outlier,
    Provenance,
    Rate,
    Recall,
    ReleaseRow,
    Results,
    SensitivityRow,
    Unprotected,
)
from reticent.results.allowed import allowed_auc
from reticent.results.conversions import claim_of
from reticent.results.protections import Protection, Protections

PRIVATE, OTHERS, TEST = 1500, 1500, 1000
ACCURACY = 0.948
DELTA = 1e-5
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
RECOMMENDED = "noisy-gradient gaussian proven ε=2"
CHOSEN = "lira-offline"
SEEN = "black box: probabilities of all classes; knows: shadow data"
WHITE = "white box: released weights and noise; knows: all other records"
BLACK = {"gap": 0.35, "loss": 0.62, "modified-entropy": 0.6, "alm": 0.55, CHOSEN: 1.0}
"""How strong each black-box attack is, relative to the chosen one."""
NOISE = {"laplace": 1.55, "gaussian": 1.0, "logistic": 1.6}
GRADES = {"proven": 0.21, "sampled": 0.05, "published": 0.016}
"""Utility loss of Gaussian noise at ε = 1."""
CHECKED = (
    "the sensitivity is a theorem about public numbers: softmax head, theory D: λ = 0.03, N = 1500",
    "ε from the exact privacy curve of gaussian noise",
    "each output is the grid point nearest to value + noise, so no floating-point attack applies",
    "features are brought within the public bound in float64, row by row",
)
STATED = (
    "one record is one row of features and its label",
    "encoder, bound, penalty and ε were chosen without looking at the private data",
    "nothing else computed from the private data is published: no loss, accuracy or timing, nor"
    " that a job on them failed",
)


def interval(value: float, half: float, *, low: float = 0.0, confidence: float = 0.95) -> Interval:
    """A figure with limits on both sides, within [low, 1]."""
    return Interval(
        value=round(value, 6),
        low=round(max(value - half, low), 6),
        high=round(min(value + half, 1.0), 6),
        confidence=confidence,
    )


@functools.cache
def attack(name: str, shift: float, *, records: int = PRIVATE, threat: str = SEEN) -> Attack:
    """Scores of members are normal and lie ``shift`` standard deviations above the others'."""
    half = 1.5 / math.sqrt(records)
    area = interval(float(stats.norm.cdf(shift / math.sqrt(2))), 0.7 * half, confidence=0.99)
    advantage = float(2 * stats.norm.cdf(shift / 2) - 1)
    leaks = area.low > 0.5
    return Attack(
        name=name,
        threat=threat,
        black_box=threat != WHITE,
        members=records,
        others=records,
        auc=area,
        balanced_accuracy=interval((1 + advantage) / 2, half, confidence=0.99),
        leakage=interval(advantage, 2 * half, low=-1.0, confidence=0.99),
        rates=tuple(
            Rate(fpr=fpr, tpr=interval(_power(fpr, shift), half / 3, confidence=0.99))
            for fpr in (0.01, 0.001)
        ),
        roc=_curve(shift, records),
        leaks=leaks,
        verdict=f"leak found by {name}: AUC ≥ {area.low:.3f}"
        if leaks
        else f"no leak found by {name}: AUC {area}",
        notes=("threshold from a random half of the records (seed 0)",),
        smallest_auc=0.5 + 0.8 * half,
    )


def claim(epsilon: float, grade: str = "proven", *, delta: float = DELTA) -> Claim:
    """A claim as ``Guarantee.to_dict`` gives it."""
    gamma = 0.05 if grade == "sampled" else None
    words = "sampled with γ ≤ 0.05" if gamma else grade
    text = (
        f"ε ≤ {upper_text(epsilon)}, δ ≤ {upper_text(delta)} ({words}; neighbours: add-remove;"
        " unit: one record)"
    )
    return Claim(
        epsilon=epsilon,
        delta=delta,
        grade=grade,
        relation="add-remove",
        unit="one record",
        checked=CHECKED,
        stated=STATED,
        gamma=gamma,
        text=text,
    )


@functools.cache
def real_release(learner: str, mechanism: str, epsilon: float, delta: float) -> Release:
    """A release of this kind, minted here, on a few records."""
    terms = Terms(epsilon=epsilon, delta=delta, relation=Relation.ADD_REMOVE)
    options = {"bound": 1.0} if learner == "weights" else {}
    recipe = RECIPES[learner].planned(
        terms, records=PRIVATE, features=3, classes=2, mechanism=mechanism, **options
    )
    rows = np.random.default_rng(0).normal(size=(60, 3))
    return release_records(recipe, terms, rows, np.arange(60) % 2, classes=["no", "yes"])


def with_real_release(row: ReleaseRow) -> tuple[ReleaseRow, Release]:
    """The row with the claim and the noise of a real release, and that release."""
    real = real_release(row.learner, row.mechanism, row.claim.epsilon, row.claim.delta)
    changes = {"claim": claim_of(real.guarantee), "scales": dict(real.scales)}
    return row.model_copy(update=changes), real


def certified(results: Results) -> tuple[Results, Release]:
    """The document with a real release behind the recommended row, and that release."""
    own, real = with_real_release(results.recommended)
    rows = tuple(own if one.name == own.name else one for one in results.releases)
    return results.model_copy(update={"releases": rows}), real


def audit(epsilon: float, delta: float, *, ratio: float, pair: str, exact: bool = True) -> Audit:
    """The worst pair found has ``ratio`` times the claimed ε, and most of it is measured."""
    analytic = ratio * epsilon
    measured = round(max(0.82 * analytic - 0.04, 0.0), 4)
    by_measure, by_pair = measured > epsilon, exact and analytic > epsilon
    reasons = ("measured bound, for every mechanism", "exact pair of neighbours")
    return Audit(
        verdict="refuted" if by_measure or by_pair else "not refuted",
        refuted_by=reasons[0] if by_measure else reasons[1] if by_pair else None,
        measured=Bound(
            epsilon=measured,
            delta=delta,
            confidence=0.95,
            method="Clopper–Pearson",
            text=f"ε ≥ {measured:g} at δ = {delta:g} with 95 % confidence (Clopper–Pearson)",
        ),
        analytic=analytic,
        exact=exact,
        tightness=min(ratio, 40.0),
        pair=pair,
        runs=20000,
    )


def release(learner: str, mechanism: str, grade: str, epsilon: float) -> ReleaseRow:
    """One release: less noise and more leak with each step from proven to published."""
    at_one = 0.045 if learner == "noisy-gradient" else GRADES[grade] * NOISE[mechanism]
    loss = at_one / (at_one + epsilon**1.4 * (1 - at_one))
    shift = 0.75 * (1 - loss) * epsilon / (epsilon + (6 if grade == "proven" else 1.2))
    exact = () if learner != "weights" else (attack("released-weights", 0.4 * epsilon**0.7,
                                                    threat=WHITE),)  # fmt: skip
    delta = 0.0 if mechanism != "gaussian" else DELTA
    audited = learner == "weights" and epsilon in (1.0, 4.0)
    ratio = {"proven": 0.55, "sampled": 0.97, "published": 1.7}[grade]
    return ReleaseRow(
        name=f"{learner} {mechanism} {grade} ε={epsilon:g}",
        learner=learner,
        mechanism=mechanism,
        claim=claim(epsilon, grade, delta=delta),
        scales={"weights": round(0.02 / epsilon * 10 * at_one, 6)},
        accuracy=interval(ACCURACY * (1 - loss), 0.008 + 0.03 * loss),
        loss=interval(loss, 0.007 + 0.03 * loss, low=-1.0),
        draws=10,
        attacks=(*(attack(name, shift * part) for name, part in BLACK.items()), *exact),
        audit=audit(epsilon, delta, ratio=ratio, pair="record moved to the bound")
        if audited
        else None,
        by_class=by_class(ACCURACY * (1 - loss), loss),
        file="head" if (learner, epsilon) == ("noisy-gradient", 2.0) else None,
    )


def by_class(recall: float, loss: float | None = None) -> ByClass:
    """Ten classes with one recall each; what is lost is no more than half of it."""
    lost = None if loss is None else interval(min(loss, 0.5), 0.2, low=-1.0)
    return ByClass(
        balanced_accuracy=interval(recall, 0.01),
        balanced_loss=lost,
        recalls=tuple(
            Recall(label=str(label), test=TEST // 10, recall=interval(recall, 0.09), loss=lost)
            for label in range(10)
        ),
    )


@functools.cache
def releases() -> tuple[ReleaseRow, ...]:
    """Forty of them; the recommended one is among the last five."""
    kinds = [("weights", mechanism, grade) for grade in ("proven", "published")
             for mechanism in NOISE]  # fmt: skip
    kinds += [("weights", "gaussian", "sampled"), ("noisy-gradient", "gaussian", "proven")]
    made = (release(*kind, epsilon) for kind in kinds for epsilon in EPSILONS)
    return tuple(with_real_release(one)[0] if one.name == RECOMMENDED else one for one in made)


def sample_results(**changes: Any) -> Results:
    """The whole document, with a real release behind its best row; ``changes`` replace its fields.

    >>> len(sample_results().releases), sample_results(title="mine").title
    (40, 'mine')
    """
    made = releases()
    best = next(one for one in made if one.name == RECOMMENDED)
    unprotected = Unprotected(
        name="softmax head",
        accuracy=interval(ACCURACY, 0.009),
        by_class=by_class(ACCURACY),
        attacks=tuple(attack(name, 0.75 * part) for name, part in BLACK.items()),
    )
    parts: dict[str, Any] = {
        "title": "Digits, tuned on 1,500 private records",
        "facts": facts(),
        "made": made_how(),
        "conclusion": conclusion(unprotected, best),
        "unprotected": unprotected,
        "releases": made,
        "sensitivities": sensitivities(),
        "features": features(),
        "exposure": exposure(best),
        "outlier": outlier(),
        "protections": protections(best.claim),
    }
    return Results(**(parts | changes))


def protections(claim: Claim) -> Protections:
    """Two places for noise at the run's ε, one of them left out."""
    rows = [
        Protection(
            recipe=recipe, mechanism="gaussian", place="gradients", claim=claim, draws=5,
            accuracy=interval(accuracy, 0.01), seconds=0.2, attacks=(attack("loss", 0.1),),
        )
        for recipe, accuracy in (("noisy-gradient", 0.93), ("class-means", 0.9))
    ]  # fmt: skip
    return Protections(
        name="mnist5k", private=PRIVATE, test=TEST, features=128, classes=10, epsilon=2.0,
        delta=1e-5, relation="add-remove", unprotected=interval(ACCURACY, 0.01),
        unprotected_attacks=(attack("loss", 0.4),), rows=tuple(rows),
        skipped={"objective, δ = 0": "mechanism must be gaussian, got laplace"},
        notes=("AUC is that of the attack that found most (0.5 is guessing).",),
    )  # fmt: skip


@functools.cache
def short_results() -> Results:
    """The same with its last six releases, the recommended one among them: read in a tenth of time.

    >>> len(short_results().releases)
    6
    """
    return sample_results(releases=releases()[-6:])


def facts(**changes: Any) -> DataSummary:
    """Of the data."""
    parts: dict[str, Any] = {
        "name": "mnist5k",
        "private": PRIVATE,
        "others": OTHERS,
        "test": TEST,
        "public": 1000,
        "features": 128,
        "feature_kind": "SimCLR features",
        "classes": tuple(map(str, range(10))),
        "relation": "add-remove",
        "unit": "one record",
    }
    return DataSummary(**(parts | changes))


def made_how() -> Provenance:
    """How it was made."""
    return Provenance(
        command="reticent run --data mnist5k --epsilon 2 --delta 1e-5 --out run",
        created="2026-01-02T03:04:05Z",
        seconds=81.5,
        seed=7,
        versions={"reticent": "0.1.0", "numpy": "2.4.6", "python": "3.11.7"},
        random=("the noise of each release", "what the audit draws"),
        settings={"shadow models": "32", "penalty": "0.03"},
    )


def conclusion(unprotected: Unprotected, best: ReleaseRow, **changes: Any) -> Conclusion:
    """The verdict, with the figures of the chosen attack."""
    before, after = (_area(one.attacks) for one in (unprotected, best))
    cost = f"{100 * (unprotected.accuracy.value - best.accuracy.value):.1f} points of accuracy"
    parts: dict[str, Any] = {
        "headline": (
            "Published as it is, this model tells who was in its training data; the release with"
            f" ε ≤ {upper_text(best.claim.epsilon)} ({best.claim.grade}) tells less, within what"
            " its guarantee allows."
        ),
        "forbids": False,
        "sentences": (
            f"Of {len(BLACK)} black-box attacks {CHOSEN} was the strongest on shadow targets.",
            f"{CHOSEN} tells members from others with AUC {before}; after the release {after}.",
            f"The release costs {cost}.",
        ),
        "enough": True,
        "attack": CHOSEN,
        "before": before,
        "after": after,
        "allowed": allowed_auc(best),
        "recommended": best.name,
    }
    return Conclusion(**(parts | changes))


@functools.cache
def sensitivities() -> tuple[SensitivityRow, ...]:
    """One row for each grade."""
    rows = (
        ("proven", 1.21, 0.0471, "softmax head, theory D", None, "worst case, any data"),
        ("declared", None, 0.02, "typed by the user", None, "as true as the number typed"),
        ("sampled", 0.197, 0.0113, "sensitivity sampler", 0.05, "random DP with γ = 0.05"),
        ("published", 0.0622, 0.0036, "Algorithm 2 of the ALM paper", None, "nothing: refuted"),
    )
    names = ("grade", "l1", "l2", "source", "gamma", "verdict")
    return tuple(
        SensitivityRow(relation="add-remove", **dict(zip(names, row, strict=True))) for row in rows
    )


@functools.cache
def features() -> tuple[Features, ...]:
    """Pixels against SimCLR."""
    rows = (("pixels", 784, 0.902, 0.741, 0.735), ("SimCLR features", 128, ACCURACY, 0.93, 0.702))
    return tuple(
        Features(
            name=name,
            width=width,
            unprotected=interval(plain, 0.009),
            released=interval(released, 0.012),
            loss=interval(1 - released / plain, 0.013, low=-1.0),
            strongest=interval(strongest, 0.027),
        )
        for name, width, plain, released, strongest in rows
    )


def exposure(best: ReleaseRow) -> Exposure:
    """Of all private records; the most exposed are the last of the sorted powers."""
    fpr = 0.01
    allowed = float(ceiling([fpr], best.claim.epsilon, best.claim.delta)[0])
    shares = (np.arange(PRIVATE) + 0.5) / PRIVATE
    powers = fpr + (0.8 * allowed - fpr) * shares**9
    most = tuple(
        Exposed(row=(389 * place + 17) % PRIVATE, label=str(place % 10), power=float(power))
        for place, power in enumerate(powers[::-1][:8])
    )
    return Exposure(
        release=best.name,
        fpr=fpr,
        allowed=allowed,
        powers=tuple(map(float, powers)),
        most=most,
        warning="computed from private records without noise: to publish it needs budget",
    )


@functools.cache
def outlier() -> Outlier:
    """The published release, refuted by one record."""
    claimed = claim(1.0, "published")
    return Outlier(
        title="One outlier among 1,500 records",
        claim=claimed,
        audit=audit(1.0, DELTA, ratio=9.4, pair="the outlier in or out"),
        text=(
            "One record lies far from all others: Algorithm 2 samples pairs and misses it.",
            "With the noise that it asks for, the release tells whether that record was in.",
        ),
    )


def too_few() -> Results:
    """A run of forty records, which could show nothing."""
    few = sample_results()
    before, after = (
        tuple(attack(name, shift * part, records=40) for name, part in BLACK.items())
        for shift in (0.1, 0.05)
    )
    unprotected = few.unprotected.model_copy(update={"attacks": before})
    best = few.recommended.model_copy(update={"attacks": after})
    verdict = conclusion(
        unprotected, best, headline="Too few records to tell", enough=False, records_needed=712
    )
    return sample_results(
        facts=facts(private=40, others=40),
        unprotected=unprotected,
        releases=tuple(best if one.name == best.name else one for one in few.releases),
        conclusion=verdict,
    )


def _area(attacks: tuple[Attack, ...]) -> Interval:
    return next(one.auc for one in attacks if one.name == CHOSEN)


def _power(fpr: float, shift: float) -> float:
    return float(stats.norm.cdf(stats.norm.ppf(fpr) + shift))


def _curve(shift: float, records: int) -> Curve:
    fpr = np.geomspace(1 / records, 1.0, 60)
    tpr = stats.norm.cdf(stats.norm.ppf(fpr) + shift)
    return Curve(fpr=(0.0, *map(float, fpr)), tpr=(0.0, *map(float, tpr)))
