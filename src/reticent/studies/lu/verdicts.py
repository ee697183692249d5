"""Every claim of Lu et al. with its verdict, and the case that decides it, computed."""

import math

import numpy as np

from reticent.bounds.published import lu
from reticent.results.table import Table
from reticent.studies.lu import counterexamples as cases
from reticent.studies.lu.tables import NETWORKS, PENALTY

Row = tuple[str, str, str]


def verdicts() -> Table:
    """Every lemma, theorem and corollary: true or false, and the figures of a deciding case."""
    rows = (*_about_weights(), *_about_neurons(), *_about_privacy())
    return Table(
        title="Lu et al., claim by claim",
        columns=("claim", "verdict", "why"),
        rows=rows,
        notes=(
            "Grade published: what follows from these claims is no guarantee for the networks that "
            "the paper trains. Figures are computed by this command.",
            "Theorem 4's cases: logistic regression with one weight, 9,999 records x = 1 of one "
            "class, and one of the other that is removed; ρ = 1 exactly, the loss convex in w. "
            "Averaged, it moves "
            f"{cases.theorem_4(None, 0.01, own_regulariser=False):.2f} times the bound.",
        ),
    )


def _about_weights() -> tuple[Row, ...]:
    steep, lemma = cases.steep_gradient()
    return (
        ("Lemma 1: 2λ‖W‖² is λ-strongly convex", "true, loose", "it is 4λ-strongly convex"),
        (
            "Theorem 4: Δ₂W ≤ 2ρ/(λn), averaged loss",
            "true",
            "at the exact minimiser: λ‖ΔW‖ ≤ ‖mean of other gradients − own‖/n ≤ 2ρ/n",
        ),
        ("Theorem 4 for the loss of Eq. 23", "false", _risk_averting()),
        (
            "Eq. 18: Δω = Δ₂W/√|W|",
            "false",
            f"100 features, one active: {cases.single_weight():.0f} times as much",
        ),
        (
            "Lemma 5, Proposition 1: ρ",
            "false",
            f"C = 3, two inputs: a gradient of {steep:.3f}, ρ “≤” {lemma:.3f}",
        ),
        ("Theorem 5: the loss of Eq. 22 is convex", "false for networks", _saddle()),
    )


def _about_neurons() -> tuple[Row, ...]:
    moved, allowed = cases.moved_activation()
    neuron = NETWORKS["US Adult"].calculated().neuron
    return (
        (
            "Corollary 1: Δz = a·|V|·Δω",
            "false",
            f"activations move too: z = 10·tanh(w₁), Δw₁ = .1: {moved:.3f}, “≤” {allowed:.1f}",
        ),
        (
            "Corollary 2: Δp ≤ min(e^2Δz − 1, 1)",
            "true, loose",
            f"tight is tanh(Δz/2): at Adult's Δz = {neuron:.4f} "
            f"{cases.probability_moves(neuron):.4f} for {lu.probability_change(neuron):.4f}",
        ),
    )


def _about_privacy() -> tuple[Row, ...]:
    hit, false = cases.told_apart()
    return (
        (
            "Theorem 6, C = 2: (2C+1)ε′-DP",
            "true, given a valid Δz",
            f"one difference is released: a claim of ε = 1 is {cases.two_classes(1.0):.1f}",
        ),
        (
            "Theorem 6, C ≥ 3",
            "false at any ε",
            "two logits carry no noise, so log(p_u/p_w) is exact: at a claim of ε = .01 "
            f"TPR {hit:g}, FPR {false:g}",
        ),
        (
            "Theorem 6: Δq in its proof",
            "inconsistent",
            f"exp(Δp) there ({math.e:.3f} at Δp = 1), Δp in Algorithm 1; ours is Algorithm 1's",
        ),
        (
            "Corollary 3: noise makes OARO stable",
            "proof invalid",
            "subtracts a c > 0 that it never shows to exist; measured by reproduce lu oaro",
        ),
        (
            "TPR − FPR ≤ e^ε − 1 under ε-DP",
            "true, loose",
            f"tight is tanh(ε/2): {lu.tight_leakage_bound(1.0):.3f} for 1 at ε = 1",
        ),
    )


def _risk_averting() -> str:
    """By how much, with either regulariser."""
    said = []
    for name, penalty, own in (
        ("(λ/2)w², λ = .01", 0.01, False),
        ("2λw², λ = .01", 0.01, True),
        ("2λw², λ = 5e-4", PENALTY, True),
    ):
        one, ten = (cases.theorem_4(alpha, penalty, own_regulariser=own) for alpha in (1.0, 10.0))
        said.append(f"{name}: {one:.3g} and {ten:.3g}")
    return f"times the bound at α = 1 and 10: {'; '.join(said)}"


def _saddle() -> str:
    lowest = np.linalg.eigvalsh(cases.Saddle(alpha=1.0).hessian(PENALTY)).min()
    above = [cases.Saddle(alpha=alpha).above_the_chord() for alpha in (1.0, 10.0, 100.0)]
    return (
        "L(W) = L(−W) without an output bias; at 0 the Hessian has an eigenvalue "
        f"{lowest:.3f} at every α, and L(0) is above the chord by "
        f"{', '.join(f'{value:.2f}' for value in above)} at α = 1, 10, 100"
    )
