"""Lu et al., convexified loss and noise on one output neuron: their sensitivities, Eqs. 15–21.

None is a bound for the networks that the paper trains, and what follows from them is graded
*published*:

- Eq. 18 spreads the change of all weights evenly over them; one weight may take all of it.
- Corollary 1 holds the hidden activations still, which move with the weights before them.
- Lemma 5 and Proposition 1 are smaller than gradients that occur: √2 against 1/3 for three classes
  and two inputs.
- Theorem 4 itself has the right constant for an averaged convex loss at its exact minimiser, not
  for the loss that is trained (Eq. 23).
"""

import math
from collections.abc import Sequence

from reticent.validation import InputError, count, positive


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
