"""What to use, and what it will cost, from public numbers alone.

The rule is documented in docs/theory.md E.4. Its constants are fitted to what every learner reached
on public data sets (``reticent reproduce beyond plan-grid`` and ``plan-uneven``, ``pure-grid`` for
δ = 0); a test fits them anew from the committed results and compares.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from reticent.bounds.structured import MOST_RECORDS
from reticent.guarantee import Relation, grade
from reticent.mechanisms.profiles import gaussian
from reticent.protect.noise_scales import noise_plan
from reticent.protect.plan_pure import LEARNERS, RULE, PureSignals
from reticent.protect.recipes import noisy_gradient, preconditioner, statistics, weights
from reticent.protect.recipes.class_means import ClassMeansRecipe
from reticent.protect.terms import Terms, checked_each, records_touched
from reticent.validation import InputError, count, open_probability, positive, probability

NOISY_GRADIENT, CLASS_MEANS = noisy_gradient.GradientRecipe.name, ClassMeansRecipe.name
WEIGHTS = weights.WeightsRecipe.name

PROTOTYPE_SIGNAL = 2.5
"""Where labels are clusters of the features: the signal above which class means are better."""
LARGEST_SIGNAL = 50.0
"""Beyond it the measured loss falls no further: what is left is not the noise's doing."""


@dataclass(frozen=True, kw_only=True)
class LossRange:
    """A predicted range of the utility loss 1 − after/before.

    It held the loss in 9 cells of 10, at δ = 0 in 8.
    """

    low: float
    likely: float
    high: float

    def __str__(self) -> str:
        """Percent."""
        return f"{self.likely:.1%} [{self.low:.1%}, {self.high:.1%}]"


@dataclass(frozen=True, kw_only=True)
class LossCurve:
    """logit(loss) = constant + slope·ln(signal) + rarest·ln(evenness), ± half the range's width."""

    constant: float
    slope: float
    half: float
    rarest: float = 0.0

    def range(self, signal: float, evenness: float = 1.0) -> LossRange:
        """The predicted losses at this signal; evenness as in ``Situation``."""
        centre = self.constant + self.slope * math.log(min(signal, LARGEST_SIGNAL))
        centre += self.rarest * math.log(evenness)
        low, likely, high = (_logistic(centre + side * self.half) for side in (-1, 0, 1))
        return LossRange(low=low, likely=likely, high=high)

    def signals(self, loss: float, evenness: float = 1.0) -> tuple[float, float]:
        """From which signal on the loss is likely below this, and the upper end of its range too.

        Beyond LARGEST_SIGNAL neither is measured.
        """
        rest = math.log(loss / (1 - loss)) - self.constant - self.rarest * math.log(evenness)
        return math.exp(rest / self.slope), math.exp((rest - self.half) / self.slope)


CURVE = LossCurve(constant=-1.1521, slope=-1.0557, rarest=-0.1183, half=1.6537)
"""Of noisy gradients, δ > 0."""
CLUSTER_CURVE = LossCurve(constant=-0.6936, slope=-1.8615, half=2.3342)
"""Of class means where labels are clusters of the features; from three data sets, so it is wide."""
PURE_CURVE = LossCurve(constant=0.1134, slope=-1.1467, half=1.5902)
"""Of what is chosen at δ = 0; the signal is that of the learner (``PureSignals``)."""


@dataclass(frozen=True, kw_only=True)
class Situation:
    """Public numbers: what may be known before a record is seen.

    ``prototypes`` says that the labels themselves were made by the nearest prototype (clusters of
    the features, as in Shokri's Location and Purchase data): a fact about the labels' making, which
    is public or is not used. ``max_records_per_person`` is the most records of one person, None
    where no persons are named. ``rarest_share`` is about the share of the rarest class, where that
    is public; None counts as classes of one size.
    """

    records: int
    features: int
    classes: int
    epsilon: float
    delta: float
    relation: Relation | str
    bound: float = 1.0
    max_records_per_person: int | None = None
    prototypes: bool = False
    rarest_share: float | None = None

    def __post_init__(self) -> None:
        """Every number is checked."""
        for name in ("records", "features"):
            count(name, getattr(self, name))
        checked_each(self.max_records_per_person)
        count("classes", self.classes, at_least=2)
        positive("epsilon", self.epsilon)
        probability("delta", self.delta)
        positive("bound", self.bound)
        grade.as_relation(self.relation)
        self._check_share()

    def _check_share(self) -> None:
        share = self.rarest_share
        if share is not None and open_probability("rarest_share", share) * self.classes > 1 + 1e-9:
            raise InputError(
                f"rarest_share must be <= 1/{self.classes}, one class of {self.classes}, got"
                f" {share:g}"
            )

    @property
    def evenness(self) -> float:
        """C times the share of the rarest class: 1 where all are equally large."""
        return 1.0 if self.rarest_share is None else self.classes * self.rarest_share

    @property
    def terms(self) -> Terms:
        """The terms that a release in this situation would have."""
        return Terms(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=grade.as_relation(self.relation),
            max_records_per_person=self.max_records_per_person,
        )

    @property
    def moved(self) -> int:
        """How many terms of a sum one neighbour step touches."""
        touched = 1 if grade.as_relation(self.relation) is Relation.ADD_REMOVE else 2
        return touched * records_touched(self.max_records_per_person)

    @property
    def shift(self) -> float:
        """The μ that (ε, δ) buys for a sum of terms of norm 1."""
        return gaussian.shift(self.epsilon, self.delta) / self.moved

    @property
    def signal(self) -> float:
        """N·μ/(C·√d): about the length of a class mean over its noise."""
        return self.records * self.shift / (self.classes * math.sqrt(self.features))


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Which learner and noise, why, and what to expect."""

    situation: Situation
    learner: str
    mechanism: str
    why: tuple[str, ...]
    logit_noise: float
    """The standard deviation of the noise on one logit, at most."""
    loss: LossRange | None
    """The predicted range of what is chosen."""

    def to_dict(self) -> dict[str, Any]:
        """The advice as plain values for a JSON file."""
        return asdict(self)


def plan(situation: Situation) -> Advice:
    """The learner that loses least, as far as public numbers tell.

    >>> advice = plan(
    ...     Situation(
    ...         records=50_000,
    ...         features=1_280,
    ...         classes=10,
    ...         epsilon=1.0,
    ...         delta=1e-5,
    ...         relation="add-remove",
    ...     )
    ... )
    >>> advice.learner, advice.mechanism
    ('noisy-gradient', 'gaussian')
    """
    if situation.delta == 0:
        return _pure(situation)
    if curve_of(situation) is CLUSTER_CURVE:
        why = (
            "The labels are clusters of the features: the nearest noisy mean is then the best rule,"
            f" once a mean stands out of its noise (signal {situation.signal:.2g} ≥"
            f" {PROTOTYPE_SIGNAL:g}).",
        )
        noise = _class_means_noise(situation)
        loss = predicted_loss(situation)
        return _advice(situation, CLASS_MEANS, "gaussian", why, noise, loss=loss)
    why = (
        "Noisy gradients lose least at every measured number of records and ε when δ > 0"
        f" (signal N·μ/(C·√d) = {situation.signal:.2g}).",
    )
    noise = _gradient_noise(situation)
    loss = predicted_loss(situation)
    return _advice(situation, NOISY_GRADIENT, "gaussian", why, noise, loss=loss)


def curve_of(situation: Situation) -> LossCurve:
    """The curve of the learner that is chosen (δ > 0)."""
    means = situation.prototypes and situation.signal >= PROTOTYPE_SIGNAL
    return CLUSTER_CURVE if means else CURVE


def predicted_loss(situation: Situation, curve: LossCurve | None = None) -> LossRange:
    """The range of the utility loss of the chosen learner, fitted on public data."""
    if situation.delta > 0:
        return (curve or curve_of(situation)).range(situation.signal, situation.evenness)
    signals = PureSignals.of(situation)
    learner = RULE.choice(signals, prototypes=situation.prototypes)
    return (curve or PURE_CURVE).range(signals.signal(learner))


def records_needed(
    situation: Situation, loss: float, curve: LossCurve | None = None
) -> tuple[int | None, int | None]:
    """From how many records on the loss would likely fall below this, and almost surely.

    The second number is where the upper end of the range does. None: not within what was measured.
    """
    wanted = open_probability("loss", loss)
    if situation.delta == 0:
        likely = _fewest(situation, lambda prediction: prediction.likely <= wanted, curve)
        surely = _fewest(situation, lambda prediction: prediction.high <= wanted, curve)
        return likely, surely
    likely, surely = (
        math.ceil(situation.records * signal / situation.signal)
        if signal <= LARGEST_SIGNAL
        else None
        for signal in (curve or curve_of(situation)).signals(wanted, situation.evenness)
    )
    return likely, surely


def _fewest(
    situation: Situation, enough: Callable[[LossRange], bool], curve: LossCurve | None
) -> int | None:
    """The smallest number from which on it is enough, to 1 %; None where no number is.

    At δ = 0 the signal is no multiple of N: the directions of a matrix grow with it. Beyond the
    largest signal the prediction falls no further, so that numbers are tried up to 2³¹.
    """

    def is_enough(records: int) -> bool:
        return enough(predicted_loss(replace(situation, records=records), curve))

    high = MOST_RECORDS
    if not is_enough(high):
        return None
    while is_enough(low := max(high * 3 // 4, 1)):
        if low == 1:
            return 1
        high = low
    while high - low > max(high // 100, 1):
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _pure(situation: Situation) -> Advice:
    """δ = 0: gradients do not compose well, so one release has to do."""
    signals = PureSignals.of(situation)
    learner = RULE.choice(signals, prototypes=situation.prototypes)
    seen = (
        f"a class mean stands {signals.means:.2g} times out of the noise on all features,"
        f" {signals.matrix:.2g} times on {signals.directions} directions with their moment"
    )
    return _advice(
        situation,
        learner,
        LEARNERS[learner],
        (f"δ = 0, and {seen}.",),
        signals.logit_noise(learner, situation),
        loss=predicted_loss(situation),
    )


def _advice(
    situation: Situation,
    learner: str,
    mechanism: str,
    why: tuple[str, ...],
    logit_noise: float,
    *,
    loss: LossRange | None,
) -> Advice:
    return Advice(
        situation=situation,
        learner=learner,
        mechanism=mechanism,
        why=why,
        logit_noise=logit_noise,
        loss=loss,
    )


def _gradient_noise(situation: Situation) -> float:
    """By the recipe that the learner will follow; whitened rows may spread over all directions."""
    recipe = noisy_gradient.GradientRecipe.planned(situation.terms, **_numbers(situation))
    noise = noise_plan(recipe, situation.terms)[noisy_gradient.GRADIENT].noise
    spread = situation.features if recipe.preconditioned else preconditioner.UNKNOWN_SPREAD
    std = noise.std_in(situation.features * situation.classes)
    gathered = recipe.gathered(std, records=situation.records, spread=spread)
    return recipe.step_length(gathered) * gathered


def _class_means_noise(situation: Situation) -> float:
    """σ·C/N on a mean of one class, over the variance that scores are divided by."""
    numbers = _numbers(situation)
    recipe = ClassMeansRecipe.planned(situation.terms, **numbers)
    noise = noise_plan(recipe, situation.terms)[statistics.STATISTICS].noise
    size = (situation.features + 1) * situation.classes
    std = noise.std_in(size) / recipe.sums * situation.classes / situation.records
    return std * min(preconditioner.UNKNOWN_SPREAD, situation.features)


def _numbers(situation: Situation) -> dict[str, Any]:
    return {
        "records": situation.records,
        "features": situation.features,
        "classes": situation.classes,
    }


def _logistic(value: float) -> float:
    return 0.5 * (1 + math.tanh(value / 2))
