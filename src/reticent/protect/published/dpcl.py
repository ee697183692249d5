"""DPCL (DP-SGD on SimCLR and Barlow Twins), as it was published: noise, accounting and training.

Grade *published*: the gradient sensitivity 4C is exceeded by a factor of the batch size, and the
releases of a step are amplified one by one (docs/refutations.md). *Naive* is the paper's baseline,
noise for 4|B|C: that bound holds by the triangle inequality, the releases here have float gradients
without a bound of their rounding, so it is declared.
"""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from reticent.accounting import amplification, rdp
from reticent.accounting.account import account
from reticent.arrays import Floats, Integers
from reticent.bounds.published import dpcl
from reticent.guarantee import Grade, Guarantee, Relation, Sensitivity, events
from reticent.guarantee.rounding import up
from reticent.mechanisms import Gaussian
from reticent.mechanisms.profiles.conversions import rdp_to_epsilon
from reticent.protect.training_progress import training_progress
from reticent.randomness import SecureBits
from reticent.validation import InputError, count, positive, probability

if TYPE_CHECKING:
    from reticent.protect.recipe import Tensors
    from reticent.training.contrastive.networks import NetworkChoice

Method = Literal["simclr", "barlow"]
Privacy = Literal["naive", "published"]
METHODS: Final = ("simclr", "barlow")
_RELEASES: Final = {"simclr": 2, "barlow": 5}
"""Of a step: similarities and gradient; two means, two sums of squares and gradient."""
_TRIES: Final = 60
_FALSE: Final = (
    "the gradient sensitivity 4C of DPCL, Section 3.2.2: false, one example turns the gradients of"
    " all others",
    "each release of a step is amplified by sampling alone (DPCL, Section 3.2): false, releases on"
    " one sample are composed first",
)
_NAIVE: Final = (
    "one example moves the sum of clipped gradients by 4|B|C at most (DPCL, Section 3.2.1)",
    "gradients, norms and sums are kept in float32, whose rounding has no bound here",
)


def amplified_each(
    multipliers: Sequence[float], batch: int, records: int, steps: int
) -> events.Event:
    """The paper's way: each release of a step is amplified alone."""
    parts = [
        events.SampledWithoutReplacement(event=one, size=batch, population=records)
        for one in _gaussians(multipliers)
    ]
    return events.Repeated(event=_all(parts), count=steps)


def composed_first(
    multipliers: Sequence[float], batch: int, records: int, steps: int
) -> events.Event:
    """The right order: the releases of a step are one, then amplified."""
    step = events.SampledWithoutReplacement(
        event=composed_releases(multipliers), size=batch, population=records
    )
    return events.Repeated(event=step, count=steps)


def composed_releases(multipliers: Sequence[float]) -> events.Event:
    """The releases of one step as one event."""
    return _all(_gaussians(multipliers))


def theorem_nine(multipliers: Sequence[float], share: float, steps: float, delta: float) -> float:
    """The composed step by Theorem 9 of Wang et al. 2019 alone, as the paper accounts.

    Our own rdp takes the curve without sampling where that is smaller.
    """
    slope = sum(0.5 / noise**2 for noise in multipliers)
    nodes = amplification.without_replacement(lambda orders: slope * orders, share)
    curve = amplification.interpolate(nodes, lambda orders: np.full(orders.shape, np.inf), np.inf)
    return rdp_to_epsilon(rdp.ORDERS, steps * curve(rdp.ORDERS), delta)[0]


@dataclass(frozen=True, kw_only=True)
class DPCL:
    """The public numbers of one training by the paper's algorithm.

    Args:
        method: "simclr" (NT-Xent) or "barlow" (Barlow Twins).
        privacy: "published", noise on similarities (or on means and sums of squares) and for a
            gradient sensitivity of 4C; or "naive", noise for 4|B|C alone.
        epsilon: What is claimed for all steps.
        delta: The δ of the claim.
        records: How many there are; each step sees ``batch`` of them, without replacement.
        batch: |B|.
        steps: Of training.
        clip: C, of the gradient of each view.
        temperature: Of NT-Xent.
        learning_rate: Of SGD with momentum .9, on sums divided by |B|·C.
    """

    method: Method
    privacy: Privacy
    epsilon: float
    delta: float
    records: int
    batch: int
    steps: int
    clip: float = 1.0
    temperature: float = 0.5
    learning_rate: float = 0.5

    def __post_init__(self) -> None:
        """Numbers in range; the batch is a part of the records."""
        if self.method not in METHODS or self.privacy not in ("naive", "published"):
            raise InputError(
                f"method must be simclr or barlow, and privacy naive or published, got"
                f" {self.method!r} and {self.privacy!r}"
            )
        positive("epsilon", self.epsilon)
        probability("delta", self.delta)
        for name in ("records", "steps"):
            count(name, getattr(self, name))
        if not 2 <= count("batch", self.batch) <= self.records:
            raise InputError(f"batch must be between 2 and {self.records}, got {self.batch}")
        for name in ("clip", "temperature", "learning_rate"):
            positive(name, getattr(self, name))

    @property
    def releases(self) -> int:
        """How many Gaussian releases a step has."""
        return _RELEASES[self.method] if self.privacy == "published" else 1

    def multiplier(self) -> float:
        """The noise multiplier, one for all releases of a step, by the paper's accounting."""
        low, high = 1e-2, 1.0
        while self._claimed(high) > self.epsilon:
            low, high = high, 2 * high
        for _ in range(_TRIES):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self._claimed(middle) > self.epsilon else (low, middle)
            if high / low < 1 + 1e-4:
                break
        return high

    def _claimed(self, multiplier: float) -> float:
        event = amplified_each([multiplier] * self.releases, *self._sampling)
        return account(
            event, relation=Relation.REPLACE_ONE, delta=self.delta, methods=["rdp"]
        ).epsilon

    def composed_epsilon(self, multiplier: float) -> tuple[float, float]:
        """The ε of the same noise with the releases of a step composed first; rounded up.

        By the paper's own accountant, and by all of ours. Both take the sensitivities as claimed:
        what 4C hides comes on top.
        """
        multipliers = [multiplier] * self.releases
        own = theorem_nine(multipliers, self.batch / self.records, self.steps, self.delta)
        event = composed_first(multipliers, *self._sampling)
        tight = account(event, relation=Relation.REPLACE_ONE, delta=self.delta).epsilon
        return up(own), up(tight)

    @property
    def _sampling(self) -> tuple[int, int, int]:
        return self.batch, self.records, self.steps

    def guarantee(self) -> Guarantee:
        """What is claimed: published where it is the paper's claim, declared for the baseline."""
        is_naive = self.privacy == "naive"
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=Relation.REPLACE_ONE,
            grade=Grade.DECLARED if is_naive else Grade.PUBLISHED,
            stated=_NAIVE if is_naive else _FALSE,
        )

    def verdicts(self, multiplier: float) -> tuple[str, ...]:
        """Of the claim, line by line."""
        if self.privacy == "naive":
            return ("4|B|C: true, by the triangle inequality", "one release a step: nothing to add")
        own, tight = self.composed_epsilon(multiplier)
        times = math.hypot(self.batch - 1, 1) if self.method == "simclr" else self.batch - 1
        return (
            f"gradient sensitivity 4C: false, it is exceeded {times:.3g} times at |B| ="
            f" {self.batch} (docs/refutations.md)",
            "accounting, each release amplified alone: false; composed first, the same accountant"
            f" gives ε = {own:.6g} and privacy loss distributions {tight:.4g}, if the sensitivities"
            " were true",
        )

    def gradient_noise(self, multiplier: float) -> Gaussian:
        """On the sum of clipped gradients of all views."""
        naive = dpcl.naive_gradient_sensitivity(self.batch, self.clip)
        bound = naive if self.privacy == "naive" else dpcl.gradient_sensitivity(self.clip)
        return noise_for(bound, multiplier)


def noise_for(bound: float, multiplier: float) -> Gaussian:
    """Gaussian noise of so many times a sensitivity that the paper claims."""
    sensitivity = Sensitivity(
        l2=bound, grade=Grade.PUBLISHED, relation=Relation.REPLACE_ONE, source="DPCL"
    )
    return Gaussian(scale=multiplier * bound, sensitivity=sensitivity)


def sample_without_replacement(records: int, size: int) -> Integers:
    """So many distinct places, each set of them as likely, by secret bits."""
    return np.argsort(SecureBits().words(records), kind="stable")[:size]


def train(spec: DPCL, rows: Floats, network: "NetworkChoice") -> "tuple[Tensors, float]":
    """The encoder's weights after all steps, and the noise multiplier that they were made with.

    Progress, a log of noisy answers and checkpoints as ``follow_training`` asks for them.
    """
    from reticent.protect.published.dpcl_steps import DPCLRun

    if len(rows) != spec.records:
        raise InputError(
            f"records must be their number under replace-one, got {spec.records} for {len(rows)}"
        )
    multiplier = spec.multiplier()
    run = DPCLRun(spec, multiplier, rows, network)
    public = {
        "recipe": "DPCL",
        "numbers": dataclasses.asdict(spec) | network._asdict(),
        "scales": {"multiplier": multiplier},
    }
    with training_progress(public, run, (rows, np.zeros(len(rows)))) as progress:
        for step in progress.steps(spec.steps):
            run.step(sample_without_replacement(len(rows), spec.batch), step)
            progress.log(**run.norms)
    return run.encoder_tensors(), multiplier


def _gaussians(multipliers: Sequence[float]) -> list[events.Event]:
    return [events.GaussianEvent(noise_multiplier=float(one)) for one in multipliers]


def _all(parts: Sequence[events.Event]) -> events.Event:
    return events.Composed(events=tuple(parts)) if len(parts) > 1 else parts[0]
