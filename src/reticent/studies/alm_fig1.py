"""ALM Fig. 1: ε against utility loss, with a proven sensitivity and with the paper's own.

Proven rows are real releases (``release_weights``). Published rows take the
sensitivity of Algorithm 2 and the noise scales of Remark 4.2, as the paper does.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from reticent.arrays import Floats
from reticent.guarantee import Relation
from reticent.mechanisms import AdditiveMechanism, ClassicalGaussian, Gaussian, Laplace, Logistic
from reticent.neighbours import published_sensitivity
from reticent.protect import Release, ReleaseRequest, release_mean, release_weights
from reticent.protect.table import HeadSpec
from reticent.randomness import seeded
from reticent.results.table import Judged
from reticent.studies import alm_encoder, losses
from reticent.studies.tasks import Task, task
from reticent.studies.trained import Outcome, Run, Table
from reticent.training import SoftmaxHead
from reticent.training.features import Norms, public_map

PURE = 0.0
SMALL_LOSS = "“loss < 10 % at ε < 1”"


@dataclass(frozen=True, kw_only=True)
class Fig1:
    """One panel; every number is public and was chosen before a query was asked."""

    on: str
    records: int
    bound: float
    intercept: float = 0.1
    norms: Norms = "clip"
    centre: Literal["none", "mean"] = "none"
    epsilons: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
    delta: float = 1e-5
    proven: tuple[str, ...] = ("laplace", "logistic", "l2-laplace", "gaussian", "logistic by zCDP")
    draws: int = 10
    pairs: int = 20
    """Of Algorithm 2; 0 leaves the published rows out."""
    seeds: tuple[int, ...] = (0,)
    """Of the splits; the queries of all splits are pooled."""

    @property
    def steps(self) -> int:
        """Fits of one ε, more or less."""
        return len(self.seeds) * (1 + 2 * self.pairs + len(self.proven))


OWN_ENCODER = (
    "The encoder is the paper's small one (SimCLR as in the Keras example, 20 epochs, batches of"
    " 525), trained without labels on 40,000 images that are not the head's, as in the paper."
)
_ENCODED = Fig1(on="cifar10", records=10_000, bound=1.0, norms="scale", centre="mean")
SPECS: Mapping[str, tuple[Fig1, ...]] = {
    "digits": (Fig1(on="digits", records=1_400, bound=2.5, seeds=(0, 1, 2, 3, 4)),),
    "cifar10": (
        _ENCODED,
        Fig1(
            on="cifar10",
            records=50_000,
            bound=1.0,
            norms="scale",
            centre="mean",
            epsilons=(0.5, 1.0, 2.0),
            pairs=0,
        ),
    ),
    "cifar10-simclr": (replace(_ENCODED, on="cifar10-simclr"),),
    "cifar100": (replace(_ENCODED, on="cifar100"),),
    "stl10": (replace(_ENCODED, on="stl10", records=5_000),),
}


def study(specs: tuple[Fig1, ...], run: Run) -> Outcome:
    """Fig. 1: ε against utility loss, proven and as published.

    One table for each panel.
    """
    first = specs[0].on  # panels of one study are of one task, or of tasks without an encoder
    own = sum(len(spec.epsilons) * spec.steps for spec in specs)
    run.steps.plan(alm_encoder.epochs_before(first) + own)
    alm_encoder.train_encoder(first, run)
    return Outcome(specifications=specs, tables=tuple(table(spec, run) for spec in specs))


def table(spec: Fig1, run: Run) -> Table:
    """All rows of a panel, and what they say about the paper's three claims."""
    tasks = [
        task(spec.on, records=spec.records, seed=seed, folder=run.folder) for seed in spec.seeds
    ]
    key = replace(spec, epsilons=())
    rows = losses.rows_of(
        run.cell((key, epsilon), _cell, spec, tasks, epsilon, run, steps=spec.steps)
        for epsilon in spec.epsilons
    )
    return Table(
        title=f"ALM Fig. 1 on {spec.on}: {spec.records:,} private records",
        columns=(*losses.CLAIMED, *losses.MEASURED),
        rows=tuple((*row.claimed(), *row.measured()) for row in _in_order(rows)),
        notes=(*_conditions(spec), *claims(rows)),
    )


def claims(rows: list[losses.LossRow]) -> tuple[Judged, ...]:
    """The paper's sentences about Fig. 1, each beside what the rows say."""
    verdicts: list[Judged] = []
    for grade, gaussian in (("proven", "gaussian"), ("published", "classical gaussian")):
        at = {(row.mechanism, row.epsilon): row for row in rows if row.grade == grade}
        epsilons = sorted({epsilon for _, epsilon in at})
        named = {mechanism for mechanism, _ in at}
        if {"logistic", "laplace"} <= named:
            verdicts.append(losses.verdict("“logistic ≈ Laplace”", epsilons, _equal(at), of=grade))
        if {"logistic", "laplace", gaussian} <= named:
            worse = _worse(at, gaussian)
            verdicts.append(
                losses.verdict("“Gaussian clearly worse than both”", epsilons, worse, of=grade)
            )
        small = [epsilon for epsilon in epsilons if epsilon < 1]
        for mechanism in ("logistic", "logistic by zCDP"):
            if mechanism in named and small:
                below = _below(at, mechanism)
                verdicts.append(losses.verdict(SMALL_LOSS, small, below, of=grade, by=mechanism))
    return tuple(verdicts)


Rows = Mapping[tuple[str, float], losses.LossRow]


def _equal(at: Rows) -> Callable[[float], bool]:
    """Their intervals meet."""

    def holds(epsilon: float) -> bool:
        one, other = at["logistic", epsilon], at["laplace", epsilon]
        return one.low <= other.high and other.low <= one.high

    return holds


def _worse(at: Rows, gaussian: str) -> Callable[[float], bool]:
    """The Gaussian's interval lies above the other two."""

    def holds(epsilon: float) -> bool:
        others = (at["logistic", epsilon], at["laplace", epsilon])
        return at[gaussian, epsilon].low > max(other.high for other in others)

    return holds


def _below(at: Rows, mechanism: str) -> Callable[[float], bool]:
    """The whole interval is below 10 %."""
    return lambda epsilon: at[mechanism, epsilon].high < 0.1


def _in_order(rows: list[losses.LossRow]) -> list[losses.LossRow]:
    """By grade, mechanism, ε; mechanisms as they first come."""
    kinds = list(dict.fromkeys((row.grade, row.mechanism) for row in rows))
    return sorted(rows, key=lambda row: (kinds.index((row.grade, row.mechanism)), row.epsilon))


def _conditions(spec: Fig1) -> tuple[str, ...]:
    shared = (
        "One head per ε, with the penalty that public_penalty gives for Gaussian noise at that ε"
        f" and δ = {spec.delta:g}; all mechanisms protect the same weights."
        if spec.centre == "none"
        else "One penalty per ε, what public_penalty gives for Gaussian noise at that ε and δ = "
        f"{spec.delta:g}. Proven: rows are centred by a noisy mean with the same kind of noise, "
        "released once a row; ε covers it and one draw of the weights. Before is the head centred "
        "by the exact mean; published draws add noise to that head and leave its mean unprotected."
    )
    drawn = (
        f"{spec.draws} draws a row"
        + (f", the queries of {len(spec.seeds)} splits pooled. " if len(spec.seeds) > 1 else ". ")
        + losses.READING
    )
    proven = (
        f"Proven: neighbours add-remove, N = {spec.records:,} public; L1 = √p·L2 for the p "
        "released coordinates."
    )
    sampled = (
        f"Published: Algorithm 2 from {spec.pairs} pairs of refits, L1 for logistic and Laplace, L2"
        " for the Gaussians, classical σ of Remark 4.2; not a bound."
    )
    return (
        shared,
        drawn,
        proven,
        *((sampled,) if spec.pairs else ()),
        *((OWN_ENCODER,) if spec.on == "cifar10-simclr" else ()),
    )


def _cell(spec: Fig1, tasks: list[Task], epsilon: float, run: Run) -> list[dict[str, Any]]:
    """All rows of one ε; draw k of a row holds the answers of draw k of every split."""
    splits = [
        _split(spec, task, epsilon, seed, run) for task, seed in zip(tasks, spec.seeds, strict=True)
    ]
    truth = np.concatenate([task.truth for task in tasks])
    unprotected = np.concatenate([answers for answers, _ in splits])
    rows = []
    for claim in splits[0][1]:
        draws = [
            np.concatenate(parts) for parts in zip(*(d[claim] for _, d in splits), strict=True)
        ]
        rows.append(losses.loss_row(claim, draws, unprotected=unprotected, truth=truth).plain())
    return rows


def _split(
    spec: Fig1, task: Task, epsilon: float, seed: int, run: Run
) -> tuple[losses.Answers, losses.Drawn]:
    """The unprotected answers, and those of every draw of every mechanism."""
    head = unprotected_head(task, _request(spec, task, epsilon, "gaussian"))
    run.steps.step()
    drawn: losses.Drawn = {}
    for name in spec.proven:
        for released in _released(task, head, _request(spec, task, epsilon, name), spec.draws):
            claim = losses.Claim.of(released.guarantee, name)
            drawn.setdefault(claim, []).append(released.predict(task.queries))
        run.steps.step()
    if spec.pairs:
        drawn |= _published(spec, task, head, epsilon, seed, run)
    return head.predict(task.queries), drawn


def _request(spec: Fig1, task: Task, epsilon: float, name: str) -> ReleaseRequest:
    """The release of this name; its penalty is that of the Gaussian at this ε."""
    asked: dict[str, Any] = {
        "epsilon": epsilon,
        "relation": Relation.ADD_REMOVE,
        "records": spec.records,
        "bound": spec.bound,
        "intercept": spec.intercept,
        "norms": spec.norms,
        "mean_bound": spec.bound if spec.centre == "mean" else None,
    }
    features, classes = task.queries.shape[1], len(task.private.classes)
    gaussian = ReleaseRequest.of(delta=spec.delta, **asked).planned(features, classes)
    mechanism = name.removesuffix(" by zCDP")
    delta = spec.delta if name in ("gaussian", "logistic by zCDP") else PURE
    penalty = gaussian.to_dict()["penalty"]
    return ReleaseRequest.of(delta=delta, mechanism=mechanism, penalty=penalty, **asked)


def unprotected_head(task: Task, request: ReleaseRequest) -> SoftmaxHead:
    """The head without any noise, centred by the exact mean where the release has a noisy one."""
    rows, classes = task.rows, task.private.classes
    recipe = request.planned(rows.shape[1], len(classes))
    head = HeadSpec.of(recipe, request.terms).unfitted(classes)
    if request.options.get("mean_bound") is not None:
        head.set_params(centre=rows.mean(axis=0))
    return head.fit(rows, task.labels)


def _released(task: Task, head: SoftmaxHead, request: ReleaseRequest, draws: int) -> list[Release]:
    """Draws of the weights; where rows are centred by a noisy mean, that mean is drawn once."""
    mean, bound = None, request.options.get("mean_bound")
    if bound is not None:
        rows = task.rows
        share = request.planned(rows.shape[1], len(task.private.classes)).to_dict()["mean_share"]
        mean = release_mean(
            rows, records=request.records, bound=bound, share=share, **request.budget
        )
        start, centre = head.coordinates_, mean.tensors["mean"]
        head = clone(head).set_params(centre=centre).fit(rows, task.labels, start=start)
    return [release_weights(head, mean=mean, **request.budget) for _ in range(draws)]


def _published(
    spec: Fig1, task: Task, head: SoftmaxHead, epsilon: float, seed: int, run: Run
) -> losses.Drawn:
    """The paper's way: Δ from refits, plain float noise on all C·d weights."""
    sensitivity = published_sensitivity(
        refits(task, head),
        len(task.private),
        spec.pairs,
        seed,
        jobs=run.jobs,
        on_done=run.steps.step,
    )
    noises: list[AdditiveMechanism] = [
        Laplace.calibrate(sensitivity, epsilon=epsilon, delta=PURE),
        Logistic.calibrate(sensitivity, epsilon=epsilon, delta=PURE),
        ClassicalGaussian.calibrate(sensitivity, epsilon=epsilon, delta=spec.delta),
        Gaussian.calibrate(sensitivity, epsilon=epsilon, delta=spec.delta),
    ]
    queries = mapped(head, task.queries)
    drawn: losses.Drawn = {}
    for noise in noises:
        delta = spec.delta if isinstance(noise, Gaussian) else PURE
        claim = losses.Claim(
            grade=str(sensitivity.grade), mechanism=noise.name, epsilon=epsilon, delta=delta
        )
        source = noise.with_float_noise(seeded("alm fig1", noise.name, repr(epsilon), seed))
        drawn[claim] = [
            head.classes_[(queries @ source.release(head.weights_).T).argmax(axis=1)]
            for _ in range(spec.draws)
        ]
    return drawn


def refits(task: Task, head: SoftmaxHead) -> Callable[[Any], Floats]:
    """Training on some of the records, as the head was trained, from the head's own optimum."""
    rows, labels, start = task.rows, task.labels, head.coordinates_
    parameters = head.get_params() | {"records": None}  # the mean loss over the records that stay

    def refit(kept: Any) -> Floats:
        twin = SoftmaxHead(**parameters).fit(rows[kept], labels[kept], start=start)
        return twin.weights_.ravel()

    return refit


def mapped(head: SoftmaxHead, queries: Floats) -> Floats:
    """Queries as the head sees them."""
    return public_map(
        queries, bound=head.bound, intercept=head.intercept, centre=head.centre, norms=head.norms
    )
