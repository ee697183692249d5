"""A privacy loss on a grid, never smaller than the loss it stands for.

Connect-the-dots (Doroshenko et al. 2022): the hockey-stick divergence of any pair is convex in
e^ε, so the chords between its values at the grid points lie above it, and they are the divergence
of a pair whose losses are grid points. All masses below are rounded up; every later step is
monotone in them, so the result stays an upper bound in floating point too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reticent.accounting.dominating import PoissonPair
from reticent.arrays import Floats

Array = Floats
Divergence = Callable[[Array], Array]

_ULP = 2.0**-52
_SLACK = 1e-11
"""Relative; the divergences are evaluated to 1e-12 and tested against 50 digits."""


@dataclass(frozen=True)
class LossGrid:
    """Loss (first + i)·step with probability e^{log_masses[i]} under P, +∞ with ``infinite``.

    ``log_reversed`` and ``infinite_reversed`` are the same for Q: the loss of the other direction
    is the negative, with these masses.
    """

    step: float
    first: int
    log_masses: Array
    infinite: float
    log_reversed: Array
    infinite_reversed: float

    @property
    def losses(self) -> Array:
        """The finite privacy losses of the grid, ascending."""
        indices: Array = self.first + np.arange(len(self.log_masses), dtype=np.float64)
        return indices * self.step

    def reverse(self) -> LossGrid:
        """The loss of Q against P."""
        last = self.first + len(self.log_masses) - 1
        return LossGrid(
            self.step,
            -last,
            self.log_reversed[::-1],
            self.infinite_reversed,
            self.log_masses[::-1],
            self.infinite,
        )


def connect_dots(pair: PoissonPair, step: float, negligible: float) -> LossGrid:
    """The pair on a grid that reaches as far as its δ(ε) exceeds ``negligible``."""
    removed = _dots(pair.removed, pair.reach_removed(negligible), step)
    added = _dots(pair.added, pair.reach_added(negligible), step)
    above = _outer_masses(removed, step)
    below = _outer_masses(added, step)
    middle = _middle_mass(removed, added, step)
    with np.errstate(divide="ignore"):
        above, below, middle = np.log(above), np.log(below), np.log(middle)
    rising = step * np.arange(1, len(above) + 1)
    falling = step * np.arange(1, len(below) + 1)
    return LossGrid(
        step=step,
        first=-len(below),
        log_masses=np.concatenate([(below - falling)[::-1], [middle], above]),
        infinite=float(removed[-1]),
        log_reversed=np.concatenate([below[::-1], [middle], above - rising]),
        infinite_reversed=float(added[-1]),
    )


def _dots(divergence: Divergence, reach: float, step: float) -> Array:
    """δ at 0, step, … until a whole step beyond ``reach``, rounded up."""
    count = math.ceil(reach / step) + 2
    dots: Array = divergence(step * np.arange(count, dtype=np.float64)) * (1 + _SLACK)
    return dots


def _outer_masses(dots: Array, step: float) -> Array:
    """The masses at step, 2·step, …: (e^h(δ_{i−1} − δ_i) − (δ_i − δ_{i+1}))/(e^h − 1)."""
    drops = -np.diff(dots)
    before = drops / -math.expm1(-step)
    after = np.append(drops[1:], 0.0) / math.expm1(step)
    rounding = 4 * _ULP * (np.abs(before) + np.abs(after))
    masses: Array = np.maximum(before - after + rounding, 0.0)
    return masses


def _middle_mass(removed: Array, added: Array, step: float) -> float:
    """The mass at 0 under both: 1 − [(e^h·δ₀ − δ⁺) + (δ₀ − δ⁻)]/(e^h − 1).

    δ⁻ and δ⁺ are the divergences at one step in the two directions.
    """
    down = (removed[0] - removed[1]) / math.expm1(step)
    up = (removed[0] - added[1] * math.exp(-step)) / -math.expm1(-step)
    rounding = 4 * _ULP * (1 + abs(down) + abs(up))
    return max(float(1 - down - up + rounding), 0.0)
