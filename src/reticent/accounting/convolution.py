"""The ε of many independent losses on one grid, by one Fourier transform, errors included.

The masses are tilted by e^{θ·loss} so that their sum is centred near the ε sought; the transform is
then accurate exactly where it is read. Three errors are bounded and charged to δ: the mass at +∞,
the mass above the window (Chernoff), and the rounding of the transform. Mass that wraps into the
window only adds to the result.

A privacy loss on a grid, never smaller than the loss it stands for.

Connect-the-dots (Doroshenko et al. 2022): the hockey-stick divergence of any pair is convex in
e^ε, so the chords between its values at the grid points lie above it, and they are the divergence
of a pair whose losses are grid points. All masses below are rounded up; every later step is
monotone in them, so the result stays an upper bound in floating point too.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.linalg import blas

from reticent.accounting.dominating import PoissonPair
from reticent.arrays import Floats
from reticent.validation import NotCoveredError

Divergence = Callable[[Floats], Floats]

_ULP = 2.0**-52
_BLOCK = 2**15
"""Points of a damped sum at a time, with their bands within a processor's cache."""
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
    log_masses: Floats
    infinite: float
    log_reversed: Floats
    infinite_reversed: float

    @property
    def losses(self) -> Floats:
        """The finite privacy losses of the grid, ascending."""
        indices: Floats = self.first + np.arange(len(self.log_masses), dtype=np.float64)
        return indices * self.step

    def reverse(self) -> "LossGrid":
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


def _dots(divergence: Divergence, reach: float, step: float) -> Floats:
    """δ at 0, step, … until a whole step beyond ``reach``, rounded up."""
    count = math.ceil(reach / step) + 2
    return divergence(step * np.arange(count, dtype=np.float64)) * (1 + _SLACK)


def _outer_masses(dots: Floats, step: float) -> Floats:
    """The masses at step, 2·step, …: (e^h(δ_{i−1} − δ_i) − (δ_i − δ_{i+1}))/(e^h − 1)."""
    drops = -np.diff(dots)
    before = drops / -math.expm1(-step)
    after = np.append(drops[1:], 0.0) / math.expm1(step)
    rounding = 4 * _ULP * (np.abs(before) + np.abs(after))
    return np.maximum(before - after + rounding, 0.0)


def _middle_mass(removed: Floats, added: Floats, step: float) -> float:
    """The mass at 0 under both: 1 − [(e^h·δ₀ − δ⁺) + (δ₀ − δ⁻)]/(e^h − 1).

    δ⁻ and δ⁺ are the divergences at one step in the two directions.
    """
    down = (removed[0] - removed[1]) / math.expm1(step)
    up = (removed[0] - added[1] * math.exp(-step)) / -math.expm1(-step)
    rounding = 4 * _ULP * (1 + abs(down) + abs(up))
    return max(float(1 - down - up + rounding), 0.0)


Parts = Sequence[tuple[LossGrid, int]]
"""Each loss with the number of times that it occurs."""

HALF_WIDTH = 7.0
"""Half the window, in standard deviations of the tilted sum."""

MOST_POINTS = 2**24
"""The longest transform; beyond it the other accountants answer."""


@dataclass(frozen=True)
class Tilt:
    """The sum of the losses under the weights e^{θ·loss}/e^{K(θ)}: its K, mean and deviation."""

    theta: float
    cumulant: float
    mean: float
    deviation: float

    @property
    def rate(self) -> float:
        """θ·K′(θ) − K(θ): the sum exceeds its tilted mean with probability at most e^{−rate}."""
        return self.theta * self.mean - self.cumulant


def tilted(parts: Parts, theta: float) -> Tilt:
    """θ with the cumulant, mean and standard deviation of the tilted sum of losses."""
    cumulant = mean = variance = 0.0
    for grid, count in parts:
        log_total, weights = _tilted_masses(grid, theta)
        losses = grid.losses
        centre = float(np.sum(weights * losses))
        cumulant += count * log_total
        mean += count * centre
        variance += count * float(np.sum(weights * (losses - centre) ** 2))
    return Tilt(theta, cumulant, mean, math.sqrt(variance))


def tilt_for(parts: Parts, delta: float, near: float | None = None) -> Tilt:
    """A tilt whose rate is about ln(1/δ), so that its mean is the Chernoff bound on ε.

    The rate rises with θ; the search starts at ``near``. Any θ > 0 gives a valid ε; for bounded
    losses the rate may never get there, and the search ends where the spread is mostly lost.
    """
    target = math.log(1 / delta)
    spread = tilted(parts, 0.0).deviation
    if not spread > 0:
        raise NotCoveredError("pld needs a loss that varies, got a constant one")
    low, high = 0.0, math.inf
    theta = near or math.sqrt(2 * target) / spread
    for _ in range(40):
        tilt = tilted(parts, theta)
        if abs(tilt.rate - target) < 0.05 * target or high < 1.02 * low:
            break
        if tilt.rate > target or tilt.deviation < 0.1 * spread:
            high = theta
        else:
            low = theta
        theta = _next(theta, tilt.rate / target, low, high)
    return tilt


def _next(theta: float, share: float, low: float, high: float) -> float:
    """A better θ: the rate is θ²K″/2 for a Gaussian sum; else bisection within the bracket."""
    guess = theta / math.sqrt(share) if share > 0 else 2 * theta
    if low < guess < high:
        return guess
    if low == 0:
        return high / 2
    return math.sqrt(low * high) if high < math.inf else 2 * low


def epsilon(parts: Parts, delta: float, near: float | None = None) -> float:
    """The smallest ε at which the sum of the losses has δ(ε) ≤ δ, from above.

    ``near`` is a guess of the tilt.
    """
    tilt = tilt_for(parts, delta, near)
    step = parts[0][0].step
    points = _length(parts, tilt)
    if points > MOST_POINTS:
        raise NotCoveredError(f"pld needs a grid of at most {MOST_POINTS} points, got {points}")
    start = math.floor(tilt.mean / step) - points // 2
    top = (start + points) * step
    infinite = sum(count * grid.infinite for grid, count in parts)
    left = delta - infinite - _mass_above(parts, tilt, top)
    left *= 1 - 1e-9 - 1e-13 * sum(count for _, count in parts)
    if not left > 0:
        return math.inf
    losses = step * (start + np.arange(points, dtype=np.float64))
    masses = _sum_masses(parts, tilt, start, points)
    masses[losses > _largest(parts) + step / 2] = 0.0
    # No point has more than the whole mass, so an untilted mass is at most 1.
    with np.errstate(divide="ignore"):
        logs = np.minimum(np.log(masses) + tilt.cumulant - tilt.theta * losses, 0.0)
    return _solve(np.exp(logs), losses, step, left)


def _tilted_masses(grid: LossGrid, theta: float) -> tuple[float, Floats]:
    """ln Σ p·e^{θ·loss} and the masses under the tilt."""
    logs = grid.log_masses + theta * grid.losses
    largest = float(np.max(logs))
    weights = np.exp(logs - largest)
    total = float(np.sum(weights))
    return largest + math.log(total), weights / total


def _length(parts: Parts, tilt: Tilt) -> int:
    """A window for the tilted sum, or for all of its range where that is not much longer."""
    window = math.ceil(2 * HALF_WIDTH * tilt.deviation / parts[0][0].step)
    whole = sum(count * len(grid.log_masses) for grid, count in parts)
    points = whole if whole < max(4 * window, 2**14) else window
    return int(fft.next_fast_len(max(points, 16), real=True))


def _largest(parts: Parts) -> float:
    return sum(count * float(grid.losses[-1]) for grid, count in parts)


def _mass_above(parts: Parts, tilt: Tilt, top: float) -> float:
    """Pr[sum ≥ top] ≤ e^{K(λ) − λ·top} for every λ ≥ 0; none if the largest loss is below."""
    if _largest(parts) < top:
        return 0.0
    tilts = [tilt, *(tilted(parts, factor * tilt.theta) for factor in (1.4, 2.0))]
    return min(math.exp(min(t.cumulant - t.theta * top, 0.0)) for t in tilts)


def _sum_masses(parts: Parts, tilt: Tilt, start: int, points: int) -> Floats:
    """The tilted masses of the sum at start, start + 1, …, from above."""
    spectra = [(fft.rfft(_folded(grid, tilt.theta, points)), count) for grid, count in parts]
    with np.errstate(divide="ignore"):
        logs = sum(count * np.log(spectrum) for spectrum, count in spectra)
    masses = fft.irfft(np.exp(logs), points)
    rolled: Floats = np.maximum(np.roll(masses, -(start % points)), 0.0)
    return rolled + _rounding(spectra, points)


def _folded(grid: LossGrid, theta: float, points: int) -> Floats:
    """The tilted masses modulo the window."""
    _, weights = _tilted_masses(grid, theta)
    indices = (grid.first + np.arange(len(weights))) % points
    return np.bincount(indices, weights=weights, minlength=points).astype(np.float64)


def _rounding(spectra: Sequence[tuple[NDArray[np.complex128], int]], points: int) -> float:
    """What the rounding of the transforms can take from one mass of the sum.

    A transform of masses that sum to 1, of a length N with prime factors up to 5 only, is within
    e = 8·ulp·log₂N of the truth at every frequency; the k-th power of a number of modulus m
    multiplies that by k·m^{k−1} and adds its own relative rounding of 4k + 1,000 ulps; the
    transform back takes the mean over the frequencies.
    """
    each = 8 * _ULP * math.log2(points)
    moduli = [(np.log(np.abs(spectrum) + each), count) for spectrum, count in spectra]
    total = sum(count * log for log, count in moduli)
    forward = sum(count * each * float(np.mean(np.exp(total - log))) for log, count in moduli)
    powers = _ULP * sum(4 * count + 1000 for _, count in spectra)
    return 2 * (forward + (powers + each) * float(np.mean(np.exp(total))))


def _solve(masses: Floats, losses: Floats, step: float, delta: float) -> float:
    """The ε in the window where δ(ε) = Σ_{loss > ε} mass·(1 − e^{ε − loss}) falls to ``delta``.

    At a grid point δ_i = (1 − e^{−h})·Σ_{j ≥ i} tail_j·e^{−(j−i)h}, a sum of positive terms;
    between grid points δ is linear in e^ε.
    """
    tails = np.append(np.cumsum(masses[::-1])[::-1][1:], 0.0)
    shrink = math.exp(-step)
    deltas = _damped_sums(-math.expm1(-step) * tails[::-1], shrink)[::-1]
    enough = np.flatnonzero(deltas <= delta)
    first = int(enough[0])
    if first == 0:
        return max(0.0, float(losses[0]))
    above, below = float(deltas[first - 1]), float(deltas[first])
    share = (above - delta) / (above - below)
    return max(0.0, float(losses[first - 1]) + math.log1p(share * math.expm1(step)))


def _damped_sums(terms: Floats, shrink: float) -> Floats:
    """y_i = terms_i + shrink·y_{i−1}, in this order: a triangular system of two bands, by blocks.

    ``scipy.signal.lfilter`` gives the same sums, but takes a second to import.
    """
    band = np.empty((2, min(len(terms), _BLOCK)), order="F")
    band[0], band[1] = 1.0, -shrink
    sums = np.empty_like(terms)
    last = 0.0
    for start in range(0, len(terms), _BLOCK):
        block = terms[start : start + _BLOCK].copy()
        block[0] += shrink * last
        sums[start : start + _BLOCK] = blas.dtbsv(1, band[:, : len(block)], block, lower=1, diag=1)
        last = float(sums[start + len(block) - 1])
    return sums
