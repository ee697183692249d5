"""Lu et al., Tables 3 to 6, as they are printed."""

from collections.abc import Mapping
from dataclasses import dataclass

from reticent.bounds.published import lu

HIDDEN = 128
PENALTY = 5e-4
"""λ: Table 4 has an L2 factor of 0.001, which is the 2λ of Eq. 23."""


@dataclass(frozen=True, kw_only=True)
class Printed:
    """One row of Table 6, and of Table 5 its last column, as texts."""

    rho: str
    weight: str
    neuron: str
    probability: str
    bracketed: str
    stability: str


@dataclass(frozen=True, kw_only=True)
class Calculated:
    """The same by the paper's formulas."""

    rho: float
    weight: float
    neuron: float
    stability: float

    @property
    def bracketed(self) -> float:
        """e^{2Δz} − 1 from the Δz of four decimals, as the paper has it."""
        return lu.bracketed_change(round(self.neuron, 4))

    def texts(self) -> Printed:
        """The calculated values as text, with four decimals."""
        bracketed = self.bracketed
        numbers = (self.rho, self.weight, self.neuron, min(bracketed, 1.0), bracketed)
        texts = [f"{number:.4f}" for number in (*numbers, self.stability)]
        return Printed(**dict(zip(Printed.__dataclass_fields__, texts, strict=True)))


@dataclass(frozen=True, kw_only=True)
class Network:
    """features–128–C on n records; α of its convexified loss (Tables 3 and 4)."""

    features: int
    classes: int
    records: int
    alpha: float
    stated_features: int | None = None
    """Table 3's number where Table 6 needs another."""

    @property
    def weights(self) -> int:
        """The number of weights |W|, without biases."""
        return HIDDEN * (self.features + self.classes)

    def calculated(self) -> Calculated:
        """Table 6 by Eqs. 15, 17 to 19 and 21, with all |x_t| = 1."""
        rho = lu.lipschitz_constant(self.classes, (self.features, HIDDEN))
        shift = lu.weights_change(rho, PENALTY, self.records)
        weight = lu.weight_change(shift, self.weights)
        return Calculated(
            rho=rho,
            weight=weight,
            neuron=lu.neuron_change(weight, HIDDEN),
            stability=lu.average_stability(rho, PENALTY, self.records),
        )


def _purchase(classes: int, alpha: float) -> Network:
    return Network(features=594, classes=classes, records=10_000, alpha=alpha, stated_features=600)


NETWORKS: Mapping[str, Network] = {
    "US Adult": Network(features=14, classes=2, records=10_000, alpha=1),
    "MNIST": Network(features=784, classes=10, records=10_000, alpha=1),
    "Location": Network(features=446, classes=30, records=1_200, alpha=1),
    "Purchase-2": _purchase(2, 1),
    "Purchase-10": _purchase(10, 5),
    "Purchase-20": _purchase(20, 5),
    "Purchase-50": _purchase(50, 5),
    "Purchase-100": _purchase(100, 5),
    "CIFAR-10": Network(features=3_072, classes=10, records=10_000, alpha=2),
    "CIFAR-100": Network(features=3_072, classes=100, records=10_000, alpha=1),
    "Texas Hospital": Network(features=6_169, classes=100, records=10_000, alpha=4),
}

TABLE_6: Mapping[str, Printed] = {
    name: Printed(**dict(zip(Printed.__dataclass_fields__, row.split(), strict=True)))
    for name, row in {
        "US Adult": "0.1654 0.0015 0.1871 0.4538 0.4538 0.0109",
        "MNIST": "2.2274 0.0028 0.3577 1.0000 1.0450 1.9845",
        "Location": "1.8044 0.0244 3.1190 1.0000 510.8338 10.8532",
        "Purchase-2": "1.0771 0.0016 0.2000 0.4918 0.4918 0.4641",
        "Purchase-10": "1.9388 0.0028 0.3570 1.0000 1.0421 1.5036",
        "Purchase-20": "2.0465 0.0029 0.3738 1.0000 1.1119 1.6750",
        "Purchase-50": "2.1111 0.0029 0.3765 1.0000 1.1234 1.7827",
        "Purchase-100": "2.1327 0.0029 0.3664 1.0000 1.0809 1.8193",
        "CIFAR-10": "4.4091 0.0028 0.3594 1.0000 1.0520 7.7760",
        "CIFAR-100": "4.8500 0.0030 0.3897 1.0000 1.1802 9.4090",
        "Texas Hospital": "6.8729 0.0031 0.3928 1.0000 1.1937 18.8945",
    }.items()
}


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """One row of Table 5."""

    original_training: float
    original_test: float
    original_gap: float
    training: float
    test: float
    gap: float
    leakage: float
    stability: float


TABLE_5: Mapping[str, Baseline] = {
    name: Baseline(**dict(zip(Baseline.__dataclass_fields__, map(float, row.split()), strict=True)))
    for name, row in {
        "Location": "1.0000 0.6068 0.3932 0.9916 0.6484 0.3432 0.3600 10.8532",
        "Texas Hospital": "0.7990 0.5689 0.2301 0.8770 0.5364 0.3406 0.2295 18.8945",
        "Purchase-100": "0.9992 0.7985 0.2007 0.9942 0.7723 0.2219 0.1664 1.8193",
        "Purchase-50": "0.9994 0.8636 0.1358 0.9985 0.8315 0.1670 0.1236 1.7827",
        "Purchase-20": "0.9986 0.9022 0.0964 0.9796 0.8759 0.1037 0.0727 1.6750",
        "Purchase-10": "0.9973 0.9203 0.0770 0.9735 0.8903 0.0832 0.0292 1.5036",
        "Purchase-2": "0.9963 0.9642 0.0321 0.9951 0.9642 0.0309 0.0073 0.4641",
        "MNIST": "0.9863 0.9528 0.0335 0.9494 0.9297 0.0197 0.0035 1.9845",
        "US Adult": "0.8310 0.8300 0.0010 0.8260 0.8262 0.0002 0.0023 0.0109",
        "CIFAR-10": "0.6198 0.4453 0.1745 0.5731 0.4236 0.1495 0.0111 7.7760",
        "CIFAR-100": "0.3224 0.1677 0.1647 0.2026 0.1389 0.0637 0.0099 9.4090",
    }.items()
}
