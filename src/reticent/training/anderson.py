"""Fixed-point steps of many heads at once, each mixed with its own last ones (Anderson 1965)."""

import numpy as np

from reticent.arrays import Flags, Floats, Floats32

MEMORY = 3
"""Steps that the mixing looks back."""
ROUNDING = 5e-6
"""What float32 leaves of a difference, relatively."""


class AndersonMixing:
    """One column for each head; ``memory`` steps are looked back."""

    def __init__(self, start: Floats32, step: Floats32, *, memory: int = MEMORY) -> None:
        self._memory = memory
        self._points = [start]
        self._steps = [step]
        self._sizes = [_norms(step)]
        self._stretch = np.ones(step.shape[1])
        self.point = start + step

    @property
    def last(self) -> Floats32:
        """The last plain fixed-point step, before mixing."""
        return self._steps[-1]

    def scale_first(self, factors: Floats32) -> None:
        """Go this far along the first step instead of its full length."""
        self.point = self._points[0] + self._steps[0] * factors.astype(np.float32)

    def add(self, step: Floats32) -> None:
        """Take the step found at ``point``, mixed so that the linear model's residual is least."""
        self._points = [*self._points[-self._memory :], self.point]
        self._steps = [*self._steps[-self._memory :], step]
        self._sizes.append(_norms(step))
        differences = [step - other for other in self._steps[:-1]]
        moves = [self.point - other for other in self._points[:-1]]
        self._stretch = np.maximum(
            1, _norms(moves[-1]) / np.maximum(_norms(differences[-1]), 1e-300)
        )
        mixed = self.point + step
        for factor, difference, move in zip(
            _least_squares(differences, step), differences, moves, strict=True
        ):
            mixed -= factor * (difference + move)
        self.point = mixed

    def relative_errors(self) -> Floats:
        """An estimate: three times what is left if residuals shrink as slowly as they did lately.

        Where the Hessian has changed much since the full optimum, a residual is shorter than the
        way it stands for; the last move, divided by what it did to the residual, says by how much.
        """
        sizes = np.stack(self._sizes[-3:])
        ratios = sizes[1:] / np.maximum(sizes[:-1], 1e-300)
        shrinking = np.clip(ratios.max(axis=0), 0.01, 1.0)
        size = np.maximum(_norms(self.point), 1e-300)
        return np.asarray(3 * self._stretch * sizes[-1] * shrinking / size + ROUNDING)

    def keep(self, chosen: Flags) -> None:
        """Go on with these heads alone."""
        if chosen.all():
            return
        self._points = [part[:, chosen] for part in self._points]
        self._steps = [part[:, chosen] for part in self._steps]
        self._sizes = [part[chosen] for part in self._sizes]
        self._stretch = self._stretch[chosen]
        self.point = self.point[:, chosen]


def _norms(columns: Floats32) -> Floats:
    return np.asarray(np.sqrt(np.einsum("pm,pm->m", columns, columns).astype(np.float64)))


def _least_squares(columns: list[Floats32], target: Floats32) -> list[Floats32]:
    """Per head, the factors with which the columns come nearest to the target."""
    k = len(columns)
    gram = np.empty((target.shape[1], k, k))
    rhs = np.empty((target.shape[1], k, 1))
    for i, one in enumerate(columns):
        rhs[:, i, 0] = np.einsum("pm,pm->m", one, target)
        for j in range(i + 1):
            gram[:, i, j] = gram[:, j, i] = np.einsum("pm,pm->m", one, columns[j])
    ridge = 1e-7 * np.trace(gram, axis1=1, axis2=2) + 1e-300
    gram += ridge[:, None, None] * np.eye(k)
    factors = np.linalg.solve(np.nan_to_num(gram) + 1e-300 * np.eye(k), np.nan_to_num(rhs))
    return [factors[:, i, 0].astype(np.float32) for i in range(k)]
