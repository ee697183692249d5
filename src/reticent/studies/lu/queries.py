"""Lu et al., Theorem 6 and §5.4.5: what one answer may spend, and what many answers cost."""

from reticent.bounds.published import lu
from reticent.mechanisms.profiles import gaussian
from reticent.results.table import Table
from reticent.studies.lu.tables import NETWORKS, Network

EPSILONS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1000.0)
"""Of Figs. 3 to 13."""
STATED = {(10.0, 1_000): "0.01", (10.0, 100): "0.01"}
"""(ε, queries): ε of each as §5.4.5 prints it."""


def delta_of(network: Network) -> float:
    """δ = 1/(10n), Table 4."""
    return 1 / (10 * network.records)


def splits() -> Table:
    """Theorem 6: the parts of a budget for choice and neuron, and what they claim."""
    rows = [
        (
            name,
            str(network.classes),
            f"{lu.laplace_part(1.0, network.classes):.4f}",
            f"{lu.gaussian_part(1.0, network.classes):.4f}",
            f"{delta_of(network):.2g}",
            f"{gaussian.epsilon(1.0, delta_of(network)):.3f}",
            f"{_choice(network):.4f}",
            f"{_choice_of_proof(network):.4f}",
        )
        for name, network in NETWORKS.items()
    ]
    return Table(
        title="Lu et al.: what choice and neuron get of a budget of 1 for one answer",
        columns=(
            "data",
            "C",
            "laplace part",
            "gaussian part",
            "δ",
            "ε of μ = 1",
            "Δq = Δp",
            "Δq = exp(Δp)",
        ),
        rows=tuple(rows),
        notes=(
            "Grade published: Theorem 6 is false for three classes and more. ε/(2C+1) for Laplace "
            "noise, μ/√(4C+1) for Gaussian noise; the paper calls μ = ε “ε-GDP” and plots it "
            "beside ε-DP, but at its own δ = 1/(10n) it is the ε of the sixth column.",
            "Algorithm 1 divides the scores of the choice by Δp, the proof of Theorem 6 by "
            "exp(Δp). Both are at least the tight tanh(Δz/2), so given a valid Δz either choice is "
            "as private as claimed; the proof's is closer to uniform.",
        ),
    )


def queries() -> Table:
    """§5.4.5: the budget of each of k answers, by sequential composition and by Gaussian DP."""
    rows = [_divided(budget, many) for budget in (1.0, 10.0) for many in (1, 100, 1_000, 10_000)]
    return Table(
        title="Lu et al., §5.4.5: the budget of each of k answers",
        columns=("budget", "answers", "printed", "ε each", "μ each", "TPR − FPR ≤", "tight"),
        rows=tuple(rows),
        notes=(
            "Grade published. ε each by Theorem 1 (budget/k), μ each by Theorem 3 (budget/√k), "
            "which the paper does not use there. Its second sentence has an error of print: "
            "ε = 10 for 100 queries is 0.1 each, not 0.01.",
            "TPR − FPR of any attack on all k answers is at most e^ε − 1 as the paper plots it, "
            "and tanh(ε/2), which is tight: bounds for what is ε-DP, which Algorithm 1 is not.",
        ),
    )


def _choice(network: Network) -> float:
    return lu.probability_change(network.calculated().neuron)


def _choice_of_proof(network: Network) -> float:
    return lu.score_change_of_proof(_choice(network))


def _divided(budget: float, many: int) -> tuple[str, ...]:
    return (
        f"{budget:g}",
        f"{many:,}",
        STATED.get((budget, many), "–"),
        f"{budget / many:g}",
        f"{budget / many**0.5:.4g}",
        f"{min(lu.leakage_bound(budget), 1.0):.4f}",
        f"{lu.tight_leakage_bound(budget):.4f}",
    )
