"""The items that the source documents contain, by the names that rows of the index begin with.

A row covers an item where its name is the item's, or begins with it.
"""

from collections.abc import Mapping
from typing import Final

CHECKLIST: Final[Mapping[str, tuple[str, ...]]] = {
    "alm": (
        "Eq. 3 pdf and sampler",
        "Theorem 4.1",
        "Remark 4.1",
        "Proposition 4.1",
        "Remark 4.2, Laplace",
        "Remark 4.2, classical Gaussian",
        "Definition 6.1",
        "noise std at ε = 1, CIFAR-10",
        "noise std at ε = 1, CIFAR-100",
        "noise std at ε = 1, STL-10",
        "analytic Gaussian std, CIFAR-10",
        "analytic Gaussian std, CIFAR-100",
        "analytic Gaussian std, STL-10",
        "Algorithm 1",
        "Algorithm 2",
        "Table 1, L1 of CIFAR-10",
        "Table 1, L2 of CIFAR-10",
        "Table 1, CIFAR-100",
        "Table 1, STL-10",
        *(
            f"Fig. {number}, {data}"
            for number in (1, 2)
            for data in ("CIFAR-10", "CIFAR-100", "STL-10")
        ),
        *(f"baseline attack, {data}" for data in ("CIFAR-10", "CIFAR-100", "STL-10")),
        "attack after noise about 50 %",
        "loss < 5 %",
        "loss < 10 % at ε < 1",
        "SimCLR set-up",
        "limitation",
        "future work",
    ),
    "lu": (
        "Table 1, five bounds",
        *(f"Theorem {number}" for number in range(1, 7)),
        "Eq. 18",
        "Corollary 1",
        "Corollary 2",
        "Corollary 3",
        "Proposition 1",
        "Table 6",
        "OARO column",
        "OARO measured",
        "Fig. 2 correlations",
        "Eq. 31",
        "Eq. 32",
        "leakage bound",
        "budget splits",
        "δ = 1/(10n)",
        "Δq = exp(Δp)",
        "Eqs. 22–23",
        "Algorithm 1 with laplace noise",
        "Algorithm 1 with gaussian noise",
        "Table 3",
        "Table 4",
        *(
            f"Table 5, {data}: {what}"
            for data in (
                "Location",
                "Texas Hospital",
                "Purchase-100",
                "Purchase-50",
                "Purchase-20",
                "Purchase-10",
                "Purchase-2",
                "MNIST",
                "US Adult",
                "CIFAR-10",
                "CIFAR-100",
            )
            for what in ("test accuracy", "leakage")
        ),
        *(f"Fig. {number}, " for number in range(3, 14)),
        "Figs. 3–13: DP-SGD",
        "DP-SGD by RDP, zCDP, advanced and naive composition",
        *(f"Finding {number}" for number in range(1, 6)),
        "§5.4.5",
        "the search for α",
        "open question: α against privacy",
    ),
    "slides": (
        "attack: shadow pipeline",
        "attack: Algorithm 1",
        "attack: statistics-based",
        "attack: noisy real",
        "attack: white box (",
        "attack: white box without data",
        "attack: Salem's adversaries 1 and 2",
        "attack: Salem's adversary 3",
        "attack: few false positives",
        "attack: discriminator",
        "attack: five metrics",
        "attack: Homer et al.",
        *(
            f"result table, {data}"
            for data in (
                "Adult",
                "MNIST",
                "Location",
                "Purchase-2 ",
                "Purchase-10 ",
                "Purchase-20",
                "Purchase-50",
                "Purchase-100",
                "Texas",
            )
        ),
        "definition of (ε, δ)-DP",
        "sequential composition",
        "parallel composition",
        "post-processing",
        "convexity",
        "global and local sensitivity",
        "Laplace mechanism",
        "Gaussian mechanism",
        "exponential mechanism",
        "Gaussian often adds less noise",
        "bit sum",
        "smokers at ε = 1",
        "smokers at ε = 0.1",
        "input-space DP",
        "randomised smoothing",
        "Algorithm 5.1",
        "Algorithm 5.2",
        "Taylor expansion",
        "public pre-training and DP fine-tuning",
        "DP-SGD on MNIST at ε = 1",
        "DP-SGD on MNIST at ε = 3",
        *(f"DP-SGD on CIFAR-10 at ε = {epsilon}" for epsilon in (3, 4, 8)),
        "DP-SGD on ImageNet",
        "challenge: better metrics",
        "challenge: attacks on large pre-trained models",
        "challenge: detecting attacks on the fly",
    ),
    "dpcl": (
        *(f"Theorem {number}" for number in range(1, 6)),
        "naive 4|B|C",
        "claimed 4C",
        "Corollary 1",
        "Lemma 1",
        "Lemma 2",
        "noise scale, SimCLR, naive",
        "noise scale, SimCLR, noisy similarity",
        "noise scale, Barlow Twins, naive",
        "noise scale, Barlow Twins, noisy mean and variance",
        "SimCLR set-up",
        "Barlow Twins set-up",
        "kNN, k = 5",
        *(f"Fig. {number}, {data}" for number in range(1, 6) for data in ("MNIST", "CIFAR-10")),
        "open end: how to split the budget",
        "open end: attribute inference",
    ),
    "known": (
        "CIFAR-10 at ε = 1, SimCLRv2",
        "CIFAR-10 at ε = 2, SimCLRv2",
        "CIFAR-10 at ε = 1, ImageNet features",
        "CIFAR-10 at ε = 1, large ViT",
        "least squares beats logistic",
        "pure-DP rival",
    ),
}


def uncovered(items: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Items of the checklist, by paper, that no row of these names covers."""
    return [
        f"{paper}: {wanted}"
        for paper, names in CHECKLIST.items()
        for wanted in names
        if not any(item.startswith(wanted) for item in items.get(paper, ()))
    ]
