"""Lu et al., Table 1: five bounds on how far one record moves trained weights, in L2.

Each function states its conditions and refuses in one line where one is not met. What it returns
follows from ρ and λ as they are given; that ρ is a Lipschitz constant, that λ is the modulus of the
regulariser and that weights are the exact minimiser (rows 1, 2 and 5) cannot be seen from here.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from reticent.bounds.published import lu
from reticent.validation import InputError, count, describe, positive

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
    return lu.weights_change(setting.rho, setting.penalty, setting.records)


def chaudhuri(setting: Setting) -> float:
    """C‖x‖ρ/(λn), as Table 1 cites Chaudhuri et al. (2011): convex loss at its minimiser."""
    _convex(setting)
    _stepped(setting, "minimiser")
    half = lu.weights_change(setting.rho, setting.penalty, setting.records) / 2
    return setting.classes * setting.largest_norm * half


def wu_decreasing(setting: Setting) -> float:
    """2ρ/(λn), Wu et al. (2017): convex and smooth loss, SGD with a decreasing step length."""
    _convex(setting)
    _smooth(setting)
    _stepped(setting, "decreasing")
    return lu.weights_change(setting.rho, setting.penalty, setting.records)


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
    return lu.weights_change(setting.rho, setting.penalty, setting.records)


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
