"""The step limit of a head on scattering, chosen on images that nobody protects.

The rule was written down before its figures were seen: of the limits of the specification the one
with the most right answers on held-out public images, over all its ε together. What it chooses is
a constant for any other images.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from reticent.data import Dataset, load
from reticent.protect import release_table
from reticent.studies import losses
from reticent.studies.scattering import ScatteringHead
from reticent.studies.tasks import Task
from reticent.studies.trained import Outcome, Run, Table
from reticent.training.encoders.cache import cached_features
from reticent.training.encoders.scattering import Scattering

_LUMA = np.array([0.299, 0.587, 0.114])
"""From colours to grey: ITU-R BT.601."""


@dataclass(frozen=True, kw_only=True)
class StepLimits:
    """Which limits are compared, on which public images, and at which ε."""

    on: str
    fitted: int
    held_out: int
    limits: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0)
    epsilons: tuple[float, ...] = (1.0, 3.0)
    draws: int = 1

    def head(self, limit: float) -> ScatteringHead:
        """The same learner with this limit on the length of a step."""
        return ScatteringHead(
            on=self.on, records=self.fitted, epsilons=self.epsilons, longest_step=limit
        )


SPECS: Mapping[str, StepLimits] = {
    "cifar10-grey": StepLimits(on="cifar10-grey", fitted=40_000, held_out=10_000),
    "digits": StepLimits(on="digits", fitted=1_400, held_out=397, epsilons=(3.0,)),
}

NOTES = (
    "CIFAR-10's training images in grey are about as many as MNIST's, as wide in features and of as"
    " many classes; the first 40,000 are fitted, the last 10,000 held out. None of them is"
    " protected here: they are public for whoever protects others. On CIFAR-10 itself a row with"
    " this limit is declared.",
    "The rule: the limit with the most right answers on held-out images, over all ε together.",
)


def study(spec: StepLimits, run: Run) -> Outcome:
    """The longest step of the head on scattering, by a written rule on public grey images."""
    run.steps.plan(len(spec.limits) * len(spec.epsilons) * spec.draws)
    data = _task(spec, run)
    shares = {limit: _right(spec, limit, data, run) for limit in spec.limits}
    return Outcome(specifications=(spec,), tables=(_table(spec, shares),))


def chosen(shares: Mapping[float, tuple[float, ...]]) -> float:
    """The limit with the largest sum of its shares of right answers; of equals the smallest."""
    return max(sorted(shares), key=lambda limit: sum(shares[limit]))


def grey(images: Dataset) -> Dataset:
    """Images of one channel, rounded to whole numbers."""
    plane = np.rint(images.inputs @ _LUMA).astype(np.uint8)[..., None]
    return replace(images, name=f"{images.name}-grey", inputs=plane)


def _task(spec: StepLimits, run: Run) -> Task:
    images = load("digits") if spec.on == "digits" else grey(load("cifar10-train", run.folder))
    whole = cached_features(images, Scattering())
    fitted = whole.take(np.arange(spec.fitted))
    held_out = whole.take(np.arange(len(whole) - spec.held_out, len(whole)))
    truth = np.asarray(held_out.classes)[held_out.labels]
    return Task(private=fitted, queries=held_out.features.astype(np.float64), truth=truth)


def _right(spec: StepLimits, limit: float, data: Task, run: Run) -> tuple[float, ...]:
    """The share of right answers at each ε."""
    return tuple(
        float(
            np.mean(
                [
                    run.cell((spec, limit, epsilon, draw), _drawn, spec, limit, epsilon, data)
                    for draw in range(spec.draws)
                ]
            )
        )
        for epsilon in spec.epsilons
    )


def _drawn(spec: StepLimits, limit: float, epsilon: float, data: Task) -> float:
    released = release_table(data.private, spec.head(limit).request(epsilon))
    return float(np.mean(released.predict(data.queries) == data.truth))


def _table(spec: StepLimits, shares: Mapping[float, tuple[float, ...]]) -> Table:
    best = chosen(shares)
    sizes = f"{spec.fitted:,} images fitted, {spec.held_out:,} held out"
    return Table(
        title=f"Step limits on {spec.on}: {sizes}",
        columns=("longest step", *(f"ε = {epsilon:g}" for epsilon in spec.epsilons), "chosen"),
        rows=tuple(
            (
                f"{limit:g}",
                *(losses.bare(one, 4) for one in accuracies),
                "yes" if limit == best else "–",
            )
            for limit, accuracies in shares.items()
        ),
        notes=NOTES,
    )
