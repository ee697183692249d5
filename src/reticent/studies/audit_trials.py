"""One audit of one proven release, as the study of audits repeats it.

Claims are audited on another data set each time, real digits and built ones in turn. Data are
small, so that an audit draws thousands of releases in a second. A claim of privacy is about every
data set, so any will do; built ones come close to the worst case.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from reticent import protect
from reticent.arrays import Array, Floats, Integers
from reticent.attacks.released_weights import noise_of
from reticent.audit import release, transcripts
from reticent.audit.end_to_end.adversarial import held_records
from reticent.audit.many_runs import could_refute
from reticent.audit.release_audit import ReleaseAudit, TranscriptAudit
from reticent.data import load
from reticent.mechanisms import AdditiveMechanism
from reticent.protect.learner import Prepared
from reticent.protect.noisy_query import NoiseFunction
from reticent.randomness import seeded
from reticent.studies import place_worlds
from reticent.training import SoftmaxHead

World = tuple[Floats, Array]


@dataclass(frozen=True, kw_only=True)
class HeadData:
    """Records of a softmax head with the public numbers of its fit."""

    rows: Floats
    labels: Integers
    classes: int
    penalty: float
    norms: Literal["clip", "scale"]

    @property
    def records(self) -> int:
        """The public normaliser N of the head."""
        return len(self.rows)


def head_data(place: int, *, built: bool, few_coordinates: bool) -> HeadData:
    """Records for one audit of a head."""
    rng = seeded("audited heads", place)
    if not built:
        rows, labels = few_digits(rng, records=int(rng.integers(40, 121)), pixels=4)
        penalty = float(rng.choice([1e-2, 3e-2, 1e-1]))
        return HeadData(rows=rows, labels=labels, classes=3, penalty=penalty, norms="scale")
    rows, labels = _held(rng, few_coordinates)
    return HeadData(rows=rows, labels=labels, classes=2, penalty=1e-3, norms="clip")


def _held(rng: np.random.Generator, few_coordinates: bool) -> tuple[Floats, Integers]:
    """Pure noise tells most on few coordinates, other noise where many hold the head."""
    if few_coordinates:
        directions, along = int(rng.integers(1, 3)), float(rng.uniform(0.45, 0.55))
        each = int(rng.integers(800, 1_001)) // directions
        return held_records(directions=directions, each=each, along=along, spread=True)
    directions, along = int(rng.integers(80, 111)), float(rng.uniform(0.23, 0.27))
    return held_records(directions=directions, each=10, along=along, spread=True)


def centred_data(place: int, *, built: bool) -> HeadData:
    """A few records for one audit that solves a head in each run."""
    rng = seeded("audited centred heads", place)
    if built:
        rows, labels = held_records(directions=1, each=int(rng.integers(20, 41)), along=0.5)
        return HeadData(rows=rows, labels=labels, classes=2, penalty=3e-2, norms="clip")
    rows, labels = few_digits(rng, records=int(rng.integers(8, 25)), pixels=2, classes=2)
    return HeadData(rows=rows, labels=labels, classes=2, penalty=1e-1, norms="clip")


def neighbours(rows: Floats, labels: Array, *, replaced: bool) -> tuple[World, World]:
    """Without the last record, and with it; or with the one before it in its place."""
    without: World = rows[:-1], labels[:-1]
    if not replaced:
        return without, (rows, labels)
    order = [*range(len(rows) - 2), len(rows) - 1]
    return without, (rows[order], labels[order])


def learner_worlds(
    place: int, *, built: bool, replaced: bool, targets: bool
) -> tuple[World, World]:
    """Neighbouring records for one audit of a learner: rows of four features, classes 0, 1, 2."""
    rng = seeded("audited learners", place)
    if built:
        shared = rng.normal(size=(int(rng.integers(0, 7)), 4))
        turned = [-0.5, math.sqrt(0.75), 0.0, 0.0] if targets else [-1.0, 0.0, 0.0, 0.0]
        rows = np.vstack([shared, turned, np.eye(4)[0]])
        labels = np.append(rng.integers(0, 3, size=len(shared)), [1, 1])
    else:
        rows, labels = few_digits(rng, records=int(rng.integers(3, 9)), pixels=2)
    first, second = neighbours(rows, labels, replaced=True)
    if not replaced:  # the longest record against none
        first = second[0][:-1], second[1][:-1]
    # The regressor clips targets to 1: nothing moves its sums more.
    return (_numbered(first), _numbered(second)) if targets else (first, second)


def _numbered(world: World) -> World:
    return world[0], world[1].astype(np.float64)


def few_digits(
    rng: np.random.Generator, *, records: int, pixels: int, classes: int = 3
) -> tuple[Floats, Integers]:
    """Records of a few digits as images of ``pixels`` × ``pixels``, pixel − 0.3."""
    images, digits = _pooled(pixels)
    chosen = rng.permutation(10)[:classes]
    among = np.flatnonzero(np.isin(digits, chosen))
    taken = rng.choice(among, size=records, replace=False)
    names = np.argsort(chosen)[np.searchsorted(np.sort(chosen), digits[taken])]
    return images[taken], names.astype(np.int64)


@functools.cache
def _pooled(pixels: int) -> tuple[Floats, Integers]:
    data = load("digits")
    side = 8 // pixels
    images = data.features.astype(np.float64).reshape(-1, pixels, side, pixels, side)
    assert data.labels is not None
    rows = images.mean(axis=(2, 4)).reshape(len(data), -1) - 0.3
    return rows, np.asarray(data.labels, dtype=np.int64)


WEIGHTS, CENTRED, TOGETHER = "weights", "weights after a mean", "mean and weights"
NETWORK = protect.PrivateNetwork.recipe.name
LEARNERS = {
    "class-means": protect.ClassMeansHead,
    "lda": protect.LDAHead,
    "adassp": protect.AdaSSPHead,
    "adassp-regressor": protect.AdaSSPRegressor,
    "noisy-gradient": protect.NoisyGradientHead,
}
PURE_LEARNERS = {
    kind.recipe.name: kind for kind in (protect.PureClassMeansHead, protect.MatrixLDAHead)
}
REGRESSION: Final = "functional-regression"
_BOUNDS: Final = {"bound": 1.0, "target_bound": 1.0}
PLACES: Mapping[str, Mapping[str, int]] = {
    "functional": {},
    "objective": {},
    "pate": {"queries": 20, "teachers": place_worlds.TEACHERS},
    "input": {},
}
"""Recipes that have no estimator, with their options: 200 queries of PATE would take as long as the
audits of all others."""
BOTH = "both"
"""Relations in turn, from audit to audit."""
RELATIONS = ("add-remove", "replace-one")
_MEAN_SHARE = 0.1


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A release, the terms of its claim, and how hard one audit looks."""

    what: str
    mechanism: str = "gaussian"
    delta: float = 1e-5
    relation: str = BOTH
    epsilons: tuple[float, ...] = (1.0, 2.0, 3.0)
    """In turn, from audit to audit."""
    runs: int = 2_000


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One audit: which release, on which data, with how much of its noise."""

    kind: Kind
    place: int
    beta: float
    share: float = 1.0
    built: bool

    @property
    def relation(self) -> str:
        """The kind's own; or each in turn, so that either meets digits and built data."""
        return RELATIONS[self.place // 2 % 2] if self.kind.relation == BOTH else self.kind.relation

    @property
    def terms(self) -> dict[str, Any]:
        """ε, δ, relation and mechanism of the audited claim."""
        return {
            "epsilon": self.kind.epsilons[self.place // 4 % len(self.kind.epsilons)],
            "delta": self.kind.delta,
            "relation": self.relation,
            "mechanism": self.kind.mechanism,
        }

    @property
    def effort(self) -> dict[str, Any]:
        """How hard the audit looks."""
        return {"runs": self.kind.runs, "beta": self.beta}


def audited(trial: Trial) -> dict[str, Any]:
    """One audit, in the few figures that the tables need."""
    audit = _AUDITS.get(trial.kind.what, _learner)(trial)
    conditional = getattr(audit, "conditional", None)
    claimed = audit.claim.epsilon
    return {
        "refuted": audit.verdict == "refuted",
        "able": could_refute(audit.measured, audit.claim),
        "bound": audit.measured.epsilon / claimed,
        "tightness": audit.tightness,
        "above": None if conditional is None else conditional.epsilon > claimed,
    }


def _weights(trial: Trial) -> ReleaseAudit:
    data = head_data(trial.place, built=trial.built, few_coordinates=trial.kind.delta == 0)
    released = _released(trial, data, with_mean=trial.kind.what == CENTRED)
    draw = None if trial.share == 1 else _weaker(noise_of(released), trial.share).release
    return release.audit_release(
        released, data.rows, data.labels, draw=draw, candidates=4, **trial.effort
    )


def _together(trial: Trial) -> TranscriptAudit:
    data = centred_data(trial.place, built=trial.built)
    released = _released(trial, data, with_mean=True)
    worlds = neighbours(data.rows, data.labels, replaced=trial.relation == RELATIONS[1])
    return transcripts.audit_release_queries(
        released, *worlds, draw=_drawn(trial.share), **trial.effort
    )


def _learner(trial: Trial) -> TranscriptAudit:
    kind = (LEARNERS | PURE_LEARNERS)[trial.kind.what]
    numbers = kind is protect.AdaSSPRegressor
    worlds = learner_worlds(
        trial.place, built=trial.built, replaced=trial.relation == RELATIONS[1], targets=numbers
    )
    own = _BOUNDS if numbers else {"classes": range(3)}
    learner = kind(records=8 + trial.place % 25, **own, **trial.terms)
    return transcripts.audit_learner(learner, *worlds, draw=_drawn(trial.share), **trial.effort)


def _network(trial: Trial) -> TranscriptAudit:
    """Two steps of DP-SGD, on samples of half of the records or on all of them, in turn."""
    worlds = learner_worlds(trial.place, built=trial.built, replaced=False, targets=False)
    records, half = 8 + trial.place % 25, trial.place // 2 % 2 == 0
    network = protect.PrivateNetwork(
        classes=range(3),
        records=records,
        batch=-(-records // 2) if half else records,
        epochs=1.0 if half else 2.0,
        clip=1.0,
        **trial.terms,
    )
    return transcripts.audit_learner(network, *worlds, draw=_drawn(trial.share), **trial.effort)


def _place(trial: Trial) -> TranscriptAudit:
    """A recipe of another place for noise; PATE with few teachers, so that each record counts."""
    worlds, records = _place_worlds(trial)
    numbers = dict(trial.terms)
    mechanism, terms = numbers.pop("mechanism"), protect.Terms(**numbers)
    recipe = protect.RECIPES[trial.kind.what].planned(
        terms,
        records=records,
        features=place_worlds.FEATURES,
        classes=3,
        mechanism=mechanism,
        **PLACES[trial.kind.what],
    )
    one, other = (
        Prepared(recipe=recipe, terms=terms, rows=rows, labels=labels, classes=np.arange(3))
        for rows, labels in worlds
    )
    return transcripts.audit_prepared((one, other), draw=_drawn(trial.share), **trial.effort)


def _regression(trial: Trial) -> TranscriptAudit:
    """The functional mechanism for numbers, on the worlds of the other regressor."""
    numbers, records = dict(trial.terms), 8 + trial.place % 25
    mechanism, terms = numbers.pop("mechanism"), protect.Terms(**numbers)
    worlds = learner_worlds(
        trial.place, built=trial.built, replaced=trial.relation == RELATIONS[1], targets=True
    )
    recipe = protect.RECIPES[trial.kind.what].planned(
        terms,
        records=records,
        features=worlds[0][0].shape[1],
        classes=1,
        mechanism=mechanism,
        **_BOUNDS,
    )
    one, other = (
        Prepared(recipe=recipe, terms=terms, rows=rows, labels=targets, classes=np.arange(0))
        for rows, targets in worlds
    )
    return transcripts.audit_prepared((one, other), draw=_drawn(trial.share), **trial.effort)


def _place_worlds(trial: Trial) -> tuple[tuple[World, World], int]:
    """Neighbours, and the public normaliser; built ones are the furthest of their recipe."""
    replaced, records = trial.relation == RELATIONS[1], 8 + trial.place % 25
    what = trial.kind.what if trial.built else ""
    if what == "objective":
        worlds = place_worlds.objective_worlds(trial.place, replaced=replaced)
        return worlds, len(worlds[1][0])
    if what == "pate":
        return place_worlds.vote_worlds(trial.place, replaced=replaced), records
    if what == "input":
        lines = place_worlds.line_worlds(trial.place, lines=records, replaced=replaced)
        return lines, records
    worlds = learner_worlds(trial.place, built=trial.built, replaced=replaced, targets=False)
    return worlds, records


_AUDITS: Mapping[str, Callable[[Trial], ReleaseAudit | TranscriptAudit]] = {
    **dict.fromkeys(PLACES, _place),
    REGRESSION: _regression,
    WEIGHTS: _weights,
    CENTRED: _weights,
    TOGETHER: _together,
    NETWORK: _network,
}


def _released(trial: Trial, data: HeadData, *, with_mean: bool) -> protect.Release:
    mean = None
    if with_mean:
        mean = protect.release_mean(
            data.rows, bound=1.0, records=data.records, share=_MEAN_SHARE, **trial.terms
        )
    head = SoftmaxHead(
        penalty=data.penalty,
        bound=1.0,
        classes=range(data.classes),
        records=data.records,
        intercept=0.0,
        norms=data.norms,
        centre=None if mean is None else mean.tensors["mean"],
    )
    head.fit(data.rows, data.labels)
    return protect.release_weights(head, mean=mean, **trial.terms)


def _weaker(noise: AdditiveMechanism, share: float) -> AdditiveMechanism:
    return dataclasses.replace(noise, scale=share * noise.scale)


def _drawn(share: float) -> NoiseFunction | None:
    """Code under audit that adds this share of the noise; None for what is released."""
    if share == 1:
        return None

    def draw(noise: AdditiveMechanism, value: Floats) -> Floats:
        return _weaker(noise, share).release(value)

    return draw
