"""Every proven release, audited hundreds of times: refuted no more often than β allows.

One audit that does not refute a claim says little. Two hundred on as many data sets are a test of
release, theorem and audit at once: were a sensitivity too small, noise too weak or a bound too
high, more of them would refute than β explains. That holds only where an audit can refute: so the
same audits, with the same runs, meet code that adds too little noise, and longer ones meet half.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from reticent.audit import intervals, release
from reticent.audit.end_to_end.adversarial import held_records
from reticent.data import load
from reticent.guarantee.rounding import lower_text, upper_text
from reticent.parallel import map_tasks
from reticent.protect import release_weights
from reticent.studies import audit_trials
from reticent.studies.trained import Outcome, Run, Table
from reticent.training import SoftmaxHead

_AT_A_TIME = 25
"""Audits that are kept together after a stop."""


@dataclass(frozen=True, kw_only=True)
class Planted:
    """Code that adds a share of the noise its certificate names, on built data."""

    kind: audit_trials.Kind
    share: float
    audits: int


@dataclass(frozen=True, kw_only=True)
class Tight:
    """One long audit: how near a data set comes to what the theorem allows."""

    data: str
    penalty: float
    runs: int
    epsilon: float = 1.0
    delta: float = 1e-5


@dataclass(frozen=True, kw_only=True)
class Audits:
    """All audits of the study."""

    kinds: tuple[audit_trials.Kind, ...]
    planted: tuple[Planted, ...]
    tight: tuple[Tight, ...]
    audits: int = 200
    beta: float = 0.05


_NOISES = (
    {"mechanism": "gaussian", "delta": 1e-5},
    {"mechanism": "logistic", "delta": 1e-5},
    {"mechanism": "logistic", "delta": 0.0},
    {"mechanism": "laplace", "delta": 0.0},
    {"mechanism": "l2-laplace", "delta": 0.0},
)
_LONG = "noisy-gradient"
"""A hundred gradients in a transcript: an audit of 80 runs takes as long as another's of 1,500."""


def _kinds() -> Iterator[audit_trials.Kind]:
    """Runs are so many that the claims could be refuted; see ``runs_to_refute``."""
    for what in (audit_trials.WEIGHTS, audit_trials.CENTRED):
        for noise in _NOISES:
            for relation in audit_trials.RELATIONS:
                yield audit_trials.Kind(what=what, relation=relation, **noise)  # type: ignore[arg-type]
    yield audit_trials.Kind(what=audit_trials.TOGETHER, epsilons=(2.0,), runs=80)
    for name in audit_trials.LEARNERS:
        if name == _LONG:
            yield audit_trials.Kind(what=name, epsilons=(2.0,), runs=80)
        else:
            yield audit_trials.Kind(what=name, epsilons=(2.0, 3.0), runs=400)


def _planted() -> Iterator[Planted]:
    """First the very audits of the proven releases, then longer ones that find what is nearer."""
    for kind in _kinds():
        heads = kind.what in (audit_trials.WEIGHTS, audit_trials.CENTRED)
        share = 0.25 if kind.what == audit_trials.WEIGHTS else 0.1
        yield Planted(kind=kind, share=share, audits=20 if heads else 10)
    for noise in _NOISES:
        kind = audit_trials.Kind(what=audit_trials.WEIGHTS, epsilons=(2.0,), **noise)  # type: ignore[arg-type]
        runs = 60_000 if kind.delta > 0 else 20_000
        yield Planted(kind=replace(kind, runs=runs), share=0.5, audits=10)
    for name in audit_trials.LEARNERS:
        kind = audit_trials.Kind(what=name, epsilons=(2.0,), runs=800)
        for share, audits in ((0.25, 3), (0.5, 1)) if name == _LONG else ((0.25, 10), (0.5, 10)):
            yield Planted(kind=kind, share=share, audits=audits)


def _networks(runs: int) -> Iterator[audit_trials.Kind]:
    """DP-SGD, at a δ at which half of the noise is found in a thousand runs.

    At δ = 1e-5 that takes 25,000 (``runs_to_refute``), each of them six trainings.
    """
    yield audit_trials.Kind(
        what=audit_trials.NETWORK,
        relation=audit_trials.RELATIONS[0],
        epsilons=(2.0,),
        delta=1e-2,
        runs=runs,
    )


def _pure(runs: int = 400, epsilons: tuple[float, ...] = (2.0, 3.0)) -> Iterator[audit_trials.Kind]:
    """Learners at δ = 0; of matrices the audit sees few directions of each answer (H.1)."""
    for name, kind in audit_trials.PURE_LEARNERS.items():
        noise = kind.recipe.noises[0]
        yield audit_trials.Kind(what=name, mechanism=noise, delta=0.0, epsilons=epsilons, runs=runs)


def _places(runs: int) -> Iterator[audit_trials.Kind]:
    """The other places for noise; a run of objective perturbation solves six heads."""
    for name in audit_trials.PLACES:
        yield audit_trials.Kind(
            what=name, epsilons=(2.0,), runs=100 if name == "objective" else runs
        )


def _at_zero() -> Iterator[audit_trials.Kind]:
    """Learners and places by Laplace noise (objective perturbation needs δ); more of regression."""
    pure = {"mechanism": "laplace", "delta": 0.0, "epsilons": (2.0,)}
    for name in (audit_trials.REGRESSION, *audit_trials.LEARNERS, *audit_trials.PLACES):
        if name != "objective":
            yield audit_trials.Kind(what=name, runs=80 if name == _LONG else 400, **pure)  # type: ignore[arg-type]
    yield audit_trials.Kind(what=audit_trials.REGRESSION, epsilons=(2.0,), runs=400)


def _longer_of_places() -> Iterator[Planted]:
    """A quarter of the noise, and half of it at the δ of networks.

    Objective perturbation meets a quarter at that δ: its bound has room (I.1), and 4,000 runs did
    not tell half of its noise from all of it.
    """
    for kind in _places(2_000):
        if kind.what == "objective":
            by_share = {0.25: replace(kind, delta=1e-2, runs=1_000)}
        else:
            by_share = {0.25: replace(kind, runs=600), 0.5: replace(kind, delta=1e-2)}
        yield from (Planted(kind=of, share=share, audits=10) for share, of in by_share.items())


SPECS: Mapping[str, Audits] = {
    "digits": Audits(
        kinds=tuple(_kinds()),
        planted=tuple(_planted()),
        tight=(
            Tight(data="built", penalty=1e-3, runs=200_000),
            Tight(data="digits", penalty=1e-2, runs=50_000),
        ),
    ),
    "network": Audits(
        kinds=tuple(_networks(200)),
        planted=(
            *(Planted(kind=kind, share=0.25, audits=2) for kind in _networks(200)),
            *(Planted(kind=kind, share=0.5, audits=1) for kind in _networks(1_200)),
        ),
        tight=(),
        audits=6,
    ),
    "pure": Audits(
        kinds=tuple(_pure()),
        planted=tuple(
            Planted(kind=kind, share=share, audits=10) for kind in _pure() for share in (0.1, 0.25)
        ),
        tight=(),
    ),
    "zero-delta": Audits(
        kinds=tuple(_at_zero()),
        planted=(
            *(Planted(kind=kind, share=0.1, audits=10) for kind in _at_zero()),
            *(Planted(kind=kind, share=0.5, audits=10) for kind in _pure(8_000, (2.0,))),
        ),
        tight=(),
    ),
    "places": Audits(
        kinds=tuple(_places(200)),
        planted=(
            *(Planted(kind=kind, share=0.1, audits=10) for kind in _places(200)),
            *_longer_of_places(),
        ),
        tight=(),
    ),
}


def study(spec: Audits, run: Run) -> Outcome:
    """Every proven release audited over and over, and the same with too little noise.

    Three tables: proven releases, the same with too little noise, and two worst cases.
    """
    run.steps.plan(
        len(spec.kinds) * spec.audits + sum(part.audits for part in spec.planted) + len(spec.tight)
    )
    proven = [_found(_true_trials(spec, kind), run) for kind in spec.kinds]
    planted = [_found(_planted_trials(spec, part), run) for part in spec.planted]
    tight = [
        run.cell(("tightness", part, spec.beta), _tightness, part, spec.beta) for part in spec.tight
    ]
    tables = [_proven_table(spec, proven), _planted_table(spec, planted)]
    if tight:
        tables.append(_tight_table(spec, tight))
    return Outcome(specifications=(spec,), tables=tuple(tables))


def _true_trials(spec: Audits, kind: audit_trials.Kind) -> list[audit_trials.Trial]:
    """Digits and built data in turn."""
    return [
        audit_trials.Trial(kind=kind, place=place, beta=spec.beta, built=place % 2 == 1)
        for place in range(spec.audits)
    ]


def _planted_trials(spec: Audits, part: Planted) -> list[audit_trials.Trial]:
    """Built data only: on others a quarter of the noise may still be enough for the claim."""
    return [
        audit_trials.Trial(
            kind=part.kind, place=2 * i + 1, beta=spec.beta, share=part.share, built=True
        )
        for i in range(part.audits)
    ]


def _found(trials: list[audit_trials.Trial], run: Run) -> list[dict[str, Any]]:
    """Their figures, kept a few at a time."""
    figures: list[dict[str, Any]] = []
    for start in range(0, len(trials), _AT_A_TIME):
        some = trials[start : start + _AT_A_TIME]
        compute = partial(
            map_tasks, audit_trials.audited, some, jobs=run.jobs, on_done=run.steps.step
        )
        figures += run.cell(("audits", some), compute, steps=len(some))
    return figures


def _tightness(part: Tight, beta: float) -> dict[str, Any]:
    """A Gaussian head, on all digits or on data built to be the worst case."""
    if part.data == "digits":
        data = load("digits")
        rows, labels, classes = data.features.astype(np.float64) - 0.3, data.labels, 10
    else:
        rows, labels = held_records(directions=400, each=10, along=0.2)
        classes = 2
    head = SoftmaxHead(
        penalty=part.penalty,
        bound=1.0,
        classes=range(classes),
        records=len(rows),
        intercept=0.0,
        norms="scale",
    )
    assert labels is not None
    released = release_weights(
        head.fit(rows, labels),
        epsilon=part.epsilon,
        delta=part.delta,
        relation=audit_trials.RELATIONS[0],
    )
    audit = release.audit_release(released, rows, labels, runs=part.runs, beta=beta)
    return {
        "records": len(rows),
        "coordinates": released.tensors["coordinates"].size,
    } | audit.to_dict()


_OF_HEADS = (
    "Half of the logistic noise at δ > 0 was given 60,000 runs after a pilot, in which 20,000"
    " refuted it in neither of two audits.",
    "Replaces a first run, in which noisy gradients had 30 runs and mean with weights 60, for ε = 2"
    " and 3: three quarters of these audits had too few to refute their claim.",
)
_TERMS = ("release", "noise", "ε", "δ", "neighbours")


def _terms(kind: audit_trials.Kind) -> tuple[str, ...]:
    epsilons = ", ".join(map(upper_text, kind.epsilons))
    return kind.what, kind.mechanism, epsilons, upper_text(kind.delta), kind.relation


def _proven_table(spec: Audits, cells: Sequence[list[dict[str, Any]]]) -> Table:
    return Table(
        title="Proven releases, audited over and over",
        columns=(*_TERMS, "runs", "audits", "able", "refuted", "allowed", "bound/ε", "tightness"),
        rows=tuple(
            (
                *_terms(kind),
                str(kind.runs),
                str(len(audits)),
                str(_count(audits, "able")),
                str(_count(audits, "refuted")),
                str(intervals.most_wrong(len(audits), beta=spec.beta)),
                lower_text(max(audit["bound"] for audit in audits), 3),
                f"{np.median([audit['tightness'] for audit in audits]):.3f}",
            )
            for kind, audits in zip(spec.kinds, cells, strict=True)
        ),
        notes=(
            f"An audit refutes a true claim with probability β = {spec.beta:g} at most. Allowed is "
            "the largest number of refutations with which the binomial test accepts that, wrong "
            f"once in {1 / intervals.FALSE_ALARM:,.0f}.",
            "Bound/ε is the largest measured lower bound over the claimed ε, for every mechanism; "
            "tightness is the median of how far the audited neighbours moved what is noised, over "
            "the claimed sensitivity. Runs are in each world. Able: so many audits have runs "
            "enough to refute the claim, if every run were told right; what they find in fact is "
            "in the next table.",
            "Every audit has another data set, real digits and built ones in turn. ε of several "
            "values, and neighbours of both kinds, are taken in turn, too.",
            f"{audit_trials.CENTRED}: the claim covers a noisy mean that the rows were centred by, "
            f"and the audit sees the weights alone; {audit_trials.TOGETHER}: it sees both. Of a "
            "learner it sees every noisy sum, and that equal answers give equal models.",
        ),
    )


def _planted_table(spec: Audits, cells: Sequence[list[dict[str, Any]]]) -> Table:
    return Table(
        title="Audits where the code adds too little noise",
        columns=(*_TERMS, "runs", "noise left", "audits", "refuted", "conditional"),
        rows=tuple(
            (
                *_terms(part.kind),
                str(part.kind.runs),
                f"{part.share:g}",
                str(len(audits)),
                str(_count(audits, "refuted")),
                "–" if audits[0]["above"] is None else str(_count(audits, "above")),
            )
            for part, audits in zip(spec.planted, cells, strict=True)
        ),
        notes=(
            "Certificate and theorem are as above; the code under audit draws noise of a share of "
            "the scale. Built data alone: where neighbours are less far apart than the theorem "
            "allows, less noise may still be enough for them.",
            f"The first {len(spec.kinds)} rows are the audits of the table above, with as many "
            "runs; the others are longer.",
            "Refuted: by a bound for every mechanism. Conditional: so many audits have a bound "
            "above the claim if the noise is Gaussian, which refutes nothing by itself. At ε = 2 "
            "and δ = 1e-5 half of a learner's noise takes about 25,000 runs in each world to be "
            "refuted for every mechanism, and a quarter about 600; at δ = 1e-2 1,000 and 90.",
            *(_OF_HEADS if any(kind.what == audit_trials.WEIGHTS for kind in spec.kinds) else ()),
        ),
    )


def _tight_table(spec: Audits, cells: Sequence[dict[str, Any]]) -> Table:
    return Table(
        title="How near data come to the worst case: a Gaussian head",
        columns=(
            "data",
            "records",
            "numbers",
            "λ",
            "ε",
            "δ",
            "tightness",
            "analytic",
            "measured",
            "runs",
        ),
        rows=tuple(
            (
                part.data,
                str(audit["records"]),
                str(audit["coordinates"]),
                f"{part.penalty:g}",
                upper_text(part.epsilon),
                upper_text(part.delta),
                f"{audit['tightness']:.3f}",
                upper_text(audit["analytic"]["epsilon"], 4),
                lower_text(audit["measured"]["epsilon"], 4),
                str(part.runs),
            )
            for part, audit in zip(spec.tight, cells, strict=True)
        ),
        notes=(
            "Analytic is the exact ε of the worst pair of neighbours found: it checks the theorem. "
            f"Measured is the lower bound of so many releases in each world, β = {spec.beta:g}: it "
            "checks the code.",
            "Built: mislabelled records, each with a feature of its own, among others that hold "
            "the head (``audit.worst_data``).",
        ),
    )


def _count(audits: list[dict[str, Any]], figure: str) -> int:
    return sum(bool(audit[figure]) for audit in audits)
