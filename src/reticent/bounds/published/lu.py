"""Lu et al., convexified loss and noise on one output neuron: their sensitivities, Eqs. 15–21.

None is a bound for the networks that the paper trains, and what follows from them is graded
*published*:

- Eq. 18 spreads the change of all weights evenly over them; one weight may take all of it.
- Corollary 1 holds the hidden activations still, which move with the weights before them.
- Lemma 5 and Proposition 1 are smaller than gradients that occur: √2 against 1/3 for three classes
  and two inputs.
- Theorem 4 itself has the right constant for an averaged convex loss at its exact minimiser, not
  for the loss that is trained (Eq. 23).

Lu et al., Table 1: five bounds on how far one record moves trained weights, in L2.

Each function states its conditions and refuses in one line where one is not met. What it returns
follows from ρ and λ as they are given; that ρ is a Lipschitz constant, that λ is the modulus of the
regulariser and that weights are the exact minimiser (rows 1, 2 and 5) cannot be seen from here.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from reticent.validation import InputError, count, describe, positive


def lipschitz_constant(classes: int, widths: Sequence[int], largest: float = 1.0) -> float:
    """ρ of the cross-entropy, Eq. 21: (C−1)/C · Π_t √|V_t|·x / |V_{T−1}|.

    Args:
        classes: C.
        widths: |V_0|, …, |V_{T−1}|: the neurons of each layer before the output.
        largest: x, the largest absolute value of any of them.

    >>> round(lipschitz_constant(2, (600, 128)), 4)
    1.0825
    """
    outputs, neurons = count("classes", classes, at_least=2), _widths(widths)
    sizes = math.prod(math.sqrt(width) * positive("largest", largest) for width in neurons)
    return (outputs - 1) / outputs * sizes / neurons[-1]


def weights_change(rho: float, penalty: float, records: int) -> float:
    """Δ₂W = 2ρ/(λn), Theorem 4 (Eq. 15)."""
    return 2 * positive("rho", rho) / (positive("penalty", penalty) * count("records", records))


def average_stability(rho: float, penalty: float, records: int) -> float:
    """2ρ²/(λn), the On-Average-Remove-One stability of the loss (Eq. 17)."""
    return rho * weights_change(rho, penalty, records)


def weight_change(all_weights: float, weights: int) -> float:
    """Δω = Δ₂W/√|W|, Eq. 18: false, a single weight may change by Δ₂W."""
    return positive("all_weights", all_weights) / math.sqrt(count("weights", weights))


def neuron_change(one_weight: float, inputs: int, largest: float = 1.0) -> float:
    """Δz = a·|V_{T−1}|·Δω, Corollary 1 (Eq. 19): false, the activations move too."""
    return positive("largest", largest) * count("inputs", inputs) * positive("Δω", one_weight)


def probability_change(neuron: float) -> float:
    """Δp = min(e^{2Δz} − 1, 1), Corollary 2 (Eq. 20): true and loose; tanh(Δz/2) is tight.

    >>> probability_change(0.1) < probability_change(0.4)
    True
    """
    return min(math.expm1(2 * min(positive("Δz", neuron), 1.0)), 1.0)


def bracketed_change(neuron: float) -> float:
    """e^{2Δz} − 1, Corollary 2 before the minimum with 1: the brackets of Table 6.

    >>> round(bracketed_change(0.1871), 4)
    0.4538
    """
    return math.expm1(2 * positive("Δz", neuron))


def tight_probability_change(neuron: float) -> float:
    """tanh(Δz/2): what Corollary 2 bounds, exactly; two classes at z = ±Δz/2 attain it."""
    return math.tanh(positive("Δz", neuron) / 2)


def score_change_of_proof(probability: float) -> float:
    """Δq = exp(Δp), which the proof of Theorem 6 has where Algorithm 1 has Δp.

    It is larger than Δp, so the choice of the neuron is closer to uniform.
    """
    return math.exp(positive("Δp", probability))


def leakage_bound(epsilon: float) -> float:
    """e^ε − 1, the paper's bound on TPR − FPR under ε-DP: true and loose; tanh(ε/2) is tight."""
    return math.expm1(positive("epsilon", epsilon))


def tight_leakage_bound(epsilon: float) -> float:
    """tanh(ε/2) = (e^ε − 1)/(e^ε + 1), attained by randomised response."""
    return math.tanh(positive("epsilon", epsilon) / 2)


def laplace_part(epsilon: float, classes: int) -> float:
    """ε/(2C+1) for the choice and for the neuron, Theorem 6."""
    return positive("epsilon", epsilon) / (2 * count("classes", classes, at_least=2) + 1)


def gaussian_part(mu: float, classes: int) -> float:
    """μ/√(4C+1) for the choice and for the neuron: Theorem 6 composed by Gaussian DP."""
    return positive("mu", mu) / math.sqrt(4 * count("classes", classes, at_least=2) + 1)


def _widths(widths: Sequence[int]) -> tuple[int, ...]:
    neurons = tuple(count("widths", width) for width in widths)
    if not neurons:
        raise InputError("widths must be those of the layers before the output, got none")
    return neurons


Steps = Literal["minimiser", "decreasing", "constant"]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is trained, and how: the columns of Table 1.

    Args:
        rho: The loss is ρ-Lipschitz in the weights.
        penalty: λ: the regulariser is λ-strongly convex.
        records: n.
        classes: C.
        largest_norm: The largest ‖x‖₂ of the data space.
        convex: The loss is convex in the weights.
        smoothness: β: its gradient is β-Lipschitz; None where it is not.
        steps: The weights are the exact minimiser, or come from SGD with such a step length.
        step_length: η of a constant step.
    """

    rho: float
    penalty: float
    records: int
    classes: int
    largest_norm: float = 1.0
    convex: bool = True
    smoothness: float | None = None
    steps: Steps = "minimiser"
    step_length: float | None = None

    def __post_init__(self) -> None:
        """Numbers in range."""
        for name in ("rho", "penalty", "largest_norm"):
            positive(name, getattr(self, name))
        count("records", self.records)
        count("classes", self.classes, at_least=2)
        for name in ("smoothness", "step_length"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))
        if self.steps not in ("minimiser", "decreasing", "constant"):
            raise InputError(
                f"steps must be minimiser, decreasing or constant, got {describe(self.steps)}"
            )


def chaudhuri_binary(setting: Setting) -> float:
    """2ρ/(λn), Chaudhuri et al. (2011): convex loss at its minimiser, ‖x‖ ≤ 1, two classes.

    >>> chaudhuri_binary(Setting(rho=1.0, penalty=0.01, records=1_000, classes=2))
    0.2
    """
    _convex(setting)
    _stepped(setting, "minimiser")
    _normalised(setting)
    if setting.classes != 2:
        raise InputError(f"classes must be 2 for this bound, got {setting.classes}")
    return weights_change(setting.rho, setting.penalty, setting.records)


def chaudhuri(setting: Setting) -> float:
    """C‖x‖ρ/(λn), as Table 1 cites Chaudhuri et al. (2011): convex loss at its minimiser."""
    _convex(setting)
    _stepped(setting, "minimiser")
    half = weights_change(setting.rho, setting.penalty, setting.records) / 2
    return setting.classes * setting.largest_norm * half


def wu_decreasing(setting: Setting) -> float:
    """2ρ/(λn), Wu et al. (2017): convex and smooth loss, SGD with a decreasing step length."""
    _convex(setting)
    _smooth(setting)
    _stepped(setting, "decreasing")
    return weights_change(setting.rho, setting.penalty, setting.records)


def wu_constant(setting: Setting) -> float:
    """2ηρ/(1 − (1−ηλ)ⁿ), Wu et al. (2017): convex, smooth loss, SGD with a constant η ≤ 1/β.

    >>> setting = Setting(
    ...     rho=1.0,
    ...     penalty=0.01,
    ...     records=1_000,
    ...     classes=2,
    ...     smoothness=1.0,
    ...     steps="constant",
    ...     step_length=0.5,
    ... )
    >>> round(wu_constant(setting), 4)
    1.0067
    """
    _convex(setting)
    beta = _smooth(setting)
    _stepped(setting, "constant")
    if setting.step_length is None or not setting.step_length <= 1 / beta:
        raise InputError(
            f"step_length must be <= 1/smoothness = {1 / beta:.6g} for this bound,"
            f" got {setting.step_length}"
        )
    shrunk = setting.step_length * setting.penalty
    if not shrunk < 1:
        raise InputError(f"step_length·penalty must be < 1 for this bound, got {shrunk:.6g}")
    left = -math.expm1(setting.records * math.log1p(-shrunk))
    return 2 * setting.step_length * setting.rho / left


def lu_theorem_4(setting: Setting) -> float:
    """2ρ/(λn), Theorem 4: convex averaged loss at its exact minimiser.

    The paper asks for convexity alone. Its proof needs the minimiser of an average over records,
    which the loss it trains (Eq. 23) is not.
    """
    _convex(setting)
    _stepped(setting, "minimiser")
    return weights_change(setting.rho, setting.penalty, setting.records)


TABLE_1: Mapping[str, Callable[[Setting], float]] = {
    "Chaudhuri et al., two classes": chaudhuri_binary,
    "Chaudhuri et al.": chaudhuri,
    "Wu et al., decreasing step": wu_decreasing,
    "Wu et al., constant step": wu_constant,
    "Lu et al., Theorem 4": lu_theorem_4,
}
"""By the name of the row."""


def _convex(setting: Setting) -> None:
    if not setting.convex:
        raise InputError("the loss must be convex for this bound, got one that is not")


def _normalised(setting: Setting) -> None:
    if not setting.largest_norm <= 1:
        raise InputError(f"largest_norm must be <= 1 for this bound, got {setting.largest_norm}")


def _smooth(setting: Setting) -> float:
    if setting.smoothness is None:
        raise InputError("the loss must be smooth for this bound, got no smoothness")
    return setting.smoothness


def _stepped(setting: Setting, wanted: Steps) -> None:
    if setting.steps != wanted:
        raise InputError(f"steps must be {wanted} for this bound, got {setting.steps}")
