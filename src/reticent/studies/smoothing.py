"""Randomised smoothing on MNIST: the share of queries that are right within a certified radius."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reticent.audit.intervals import Share
from reticent.protect.smoothing import NO_PRIVACY, SmoothedClassifier, certified_accuracy
from reticent.randomness import seeded
from reticent.studies.losses import bare
from reticent.studies.tasks import Task, task
from reticent.studies.trained import Outcome, Run, Table
from reticent.training import SoftmaxHead

_TAIL = 0.025


@dataclass(frozen=True, kw_only=True)
class Smoothing:
    """Every number was chosen before a query was asked."""

    on: str
    records: int
    queries: int
    sigmas: tuple[float, ...] = (0.25, 0.5)
    radii: tuple[float, ...] = (0.0, 0.25, 0.5)
    copies: int = 1
    """Noisy copies of each training record, beside itself."""
    choose: int = 100
    draws: int = 1_000
    alpha: float = 1e-3
    penalty: float = 1e-3
    seed: int = 0


SPECS: Mapping[str, tuple[Smoothing, ...]] = {
    "digits": (Smoothing(on="digits", records=1_400, queries=60, sigmas=(0.25,)),),
    "mnist5k": (Smoothing(on="mnist5k", records=4_000, queries=200),),
    "mnist": (Smoothing(on="mnist", records=20_000, queries=500),),
}


def study(specs: tuple[Smoothing, ...], run: Run) -> Outcome:
    """Randomised smoothing: certified accuracy at radii, with its confidence."""
    run.steps.plan(sum(len(spec.sigmas) for spec in specs))
    return Outcome(specifications=specs, tables=tuple(_table(spec, run) for spec in specs))


def _table(spec: Smoothing, run: Run) -> Table:
    data = task(spec.on, records=spec.records, seed=spec.seed, folder=run.folder)
    rows = [run.cell((spec, sigma), _certified, spec, data, sigma) for sigma in spec.sigmas]
    return Table(
        title=f"Randomised smoothing on {spec.on}: {spec.queries} queries",
        columns=("σ", "plain", "abstains", *(f"radius ≥ {r:g}" for r in spec.radii)),
        rows=tuple(tuple(row) for row in rows),
        notes=(
            "A softmax head trained on rows with noise of σ. Plain is its accuracy without noise;"
            " the others are shares of queries that are answered rightly within the radius (L2),"
            f" each certificate with probability 1 − {spec.alpha:g}: {spec.choose} draws choose"
            f" the class, {spec.draws:,} others bound its probability. In brackets the 95 %"
            " interval over queries.",
            f"{NO_PRIVACY[0].upper()}{NO_PRIVACY[1:]}.",
        ),
    )


def _certified(spec: Smoothing, data: Task, sigma: float) -> list[str]:
    head = _trained(spec, data, sigma)
    chosen = seeded("smoothed queries", spec.seed).permutation(len(data.queries))[: spec.queries]
    queries, truth = data.queries[chosen], data.truth[chosen]
    smooth = SmoothedClassifier(
        model=head, sigma=sigma, choose=spec.choose, draws=spec.draws, alpha=spec.alpha
    )
    certified = smooth.certify(queries)
    plain = float(np.mean(head.predict(queries) == truth))
    abstains = float(np.mean([one.label is None for one in certified]))
    shares = [_share(certified_accuracy(certified, truth, radius)) for radius in spec.radii]
    return [f"{sigma:g}", bare(plain, 3), bare(abstains, 3), *shares]


def _trained(spec: Smoothing, data: Task, sigma: float) -> Any:
    """A head on the records and noisy copies of them; public data, so seeded noise will do."""
    noise = seeded("noisy copies", spec.seed, repr(sigma))
    copies = [
        data.rows + noise.normal(scale=sigma, size=data.rows.shape) for _ in range(spec.copies)
    ]
    rows, labels = np.concatenate([data.rows, *copies]), np.tile(data.labels, 1 + spec.copies)
    bound = float(np.linalg.norm(rows, axis=1).max())
    head = SoftmaxHead(
        classes=data.private.classes,
        records=len(rows),
        penalty=spec.penalty,
        bound=bound,
    )
    return head.fit(rows, labels)


def _share(correct: Any) -> str:
    share = Share(hits=float(correct.sum()), of=float(len(correct)))
    return f"{bare(share.value, 3)} [{bare(share.low(_TAIL), 3)}, {bare(share.high(_TAIL), 3)}]"
