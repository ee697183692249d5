"""Pure noise for values that have a structure: a symmetric matrix, or blocks of a vector.

- Matrix Laplace: the difference of two Wishart matrices, pure ε = Δ_*/scale in nuclear norm.
- Blockwise L2-Laplace: noise of its own for each block, pure ε = Δ₂₁/scale.

Proofs in docs/theory.md, H. A symmetric matrix is released as the vector of its upper triangle,
row by row (``upper_triangle``, ``from_upper_triangle``).
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reticent.arrays import ArrayLike, Floats
from reticent.guarantee import Sensitivity
from reticent.mechanisms.additive import AdditiveMechanism, Norm
from reticent.mechanisms.pure import L2Laplace, PureMechanism
from reticent.validation import InputError, NotCoveredError, float_array

_LEAST_EIGENVALUE = 1e-9
"""Relative: what is smaller is rounding."""


def upper_triangle(matrix: Floats) -> Floats:
    """The entries of symmetric matrices on and above the diagonal, row by row; the last axes."""
    above = np.triu_indices(matrix.shape[-1])
    return np.ascontiguousarray(matrix[..., above[0], above[1]])


def from_upper_triangle(entries: Floats) -> Floats:
    """The symmetric matrices of these entries; the last axis is the vector."""
    order = order_of(entries.shape[-1])
    above = np.triu_indices(order)
    matrix = np.zeros((*entries.shape[:-1], order, order))
    matrix[..., above[0], above[1]] = entries
    matrix[..., above[1], above[0]] = entries
    return matrix


def order_of(size: int) -> int:
    """p of the p·(p + 1)/2 entries of an upper triangle."""
    order = (math.isqrt(8 * size + 1) - 1) // 2
    if size < 1 or order * (order + 1) // 2 != size:
        raise InputError(f"value must have p(p + 1)/2 entries, an upper triangle, got {size}")
    return order


@dataclass(frozen=True, kw_only=True)
class MatrixLaplace(PureMechanism, AdditiveMechanism):
    """T + scale·(G Gᵀ − H Hᵀ)/2, G and H of p × (p + 1) standard Gaussians: pure ε = Δ_*/scale.

    Δ_* is the sensitivity of T in nuclear norm, which is the trace for what one record adds to a
    sum of z zᵀ. For p = 1 it is the Laplace mechanism; for more, no closed form of the density is
    known, and ``log_ratio`` compares what two worlds say of one number of the answer.

    >>> noise = MatrixLaplace.calibrate(Sensitivity(nuclear=1.0), epsilon=2.0, delta=0.0)
    >>> round(noise.std_in(49 * 50 // 2), 6)
    2.5
    """

    norm: ClassVar[Norm] = "nuclear"
    structure = "matrix"
    is_joint: ClassVar[bool] = True
    name = "matrix-laplace"

    def __post_init__(self) -> None:
        """A bound in nuclear norm must be there."""
        super().__post_init__()
        self._bound(self.sensitivity)

    @classmethod
    def _bound(cls, sensitivity: Sensitivity) -> float:
        return sensitivity.require_nuclear(cls.name)

    @property
    def bound(self) -> float:
        """The sensitivity in nuclear norm."""
        return self._bound(self.sensitivity)

    @property
    def std(self) -> float:
        """Depends on p: ``std_in`` says it."""
        raise InputError("size must be known for the std of matrix-laplace noise: ask std_in(size)")

    def std_in(self, size: int) -> float:
        """scale·√((p + 1)/2) on an entry above the diagonal, √2 times that on the diagonal."""
        return self.scale * math.sqrt((order_of(size) + 1) / 2)

    def grid_in(self, size: int) -> float:
        """The grid of noise that is as wide as that of an entry."""
        from reticent.mechanisms.rounded.matrix_laplace import matrix_laplace_grid

        return matrix_laplace_grid(self.scale, order_of(size))

    def norms(self, moved: Floats) -> dict[str, Floats]:
        """The nuclear norms of matrices, each given by its upper triangle."""
        values = np.linalg.eigvalsh(from_upper_triangle(moved))
        return {"nuclear": np.asarray(np.abs(values).sum(axis=-1))}

    def log_ratio(self, noise: ArrayLike, other: ArrayLike) -> Floats:
        """ln of the density of the numbers v·N′v over that of v·N v, v where the worlds differ.

        The v are the eigenvectors of N′ − N whose eigenvalue is not 0. They are orthonormal, so
        the v·N v are independent, each the difference of two Gamma((p + 1)/2) of this scale. For
        p = 1 that is all that there is to see.
        """
        here, there = (
            from_upper_triangle(np.atleast_2d(float_array("noise", one))) for one in (noise, other)
        )
        values, vectors = np.linalg.eigh(there - here)
        sizes = np.abs(values)
        differing = sizes > _LEAST_EIGENVALUE * sizes.max(axis=-1, keepdims=True)
        shape = (here.shape[-1] + 1) / 2
        ratios = np.zeros(differing.shape)
        numbers = [np.einsum("nij,nik,njk->nk", one, vectors, vectors) for one in (there, here)]
        ratios[differing] = np.subtract(*(self._along(one[differing], shape) for one in numbers))
        return np.asarray(ratios.sum(axis=-1))

    def _rounded(self, value: Floats, grid: float | None) -> Floats:
        from reticent.mechanisms.rounded.matrix_laplace import rounded_matrix_laplace

        return rounded_matrix_laplace(value, scale=self.scale, grid=grid)

    def _log_density(self, noise: Floats) -> Floats:
        if noise.shape[-1] != 1:
            raise NotCoveredError(
                f"no density of {self.name} noise is known for more than one entry: use log_ratio"
            )
        return self._along(noise[..., 0], 1.0)

    def _along(self, number: Floats, shape: float) -> Floats:
        """ln of the density of a difference of two Gamma(shape, scale), at these numbers.

        With ν = shape − ½: (|x|/2)^ν·K_ν(|x|)/(√π·Γ(shape)) per scale, x in units of the scale.
        """
        order = shape - 0.5
        x = np.maximum(np.abs(number) / self.scale, 1e-8)
        constant = 0.5 * math.log(math.pi) + math.lgamma(shape) + math.log(self.scale)
        return np.asarray(order * np.log(x / 2) + _log_bessel(order, x) - constant)

    def _float_noise(self, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
        order = order_of(math.prod(shape))
        one, other = generator.normal(size=(2, order, order + 1))
        noise = self.scale / 2 * (one @ one.T - other @ other.T)
        return upper_triangle(noise).reshape(shape)


def _log_bessel(order: float, x: Floats) -> Floats:
    """ln K_ν(x) for x > 0, also where K itself is beyond floats: relative error below 1e-10.

    K_ν(x) = ∫₀^∞ e^{−x·cosh t}·cosh(ν·t) dt; the integrand peaks at sinh t = ν/x with curvature
    √(ν² + x²) at least from there on, and is smooth and even, so that the trapezoidal rule serves.
    """
    flat = x.reshape(-1)
    parts = [_log_integral(order, flat[i : i + _NUMBERS]) for i in range(0, flat.size, _NUMBERS)]
    return np.concatenate(parts).reshape(x.shape) if parts else np.zeros_like(x)


_NUMBERS, _NODES = 1024, 800


def _log_integral(order: float, x: Floats) -> Floats:
    end = np.arcsinh(order / x) + np.sqrt(100 / np.sqrt(order**2 + x**2))
    t = end[:, None] * np.linspace(0.0, 1.0, _NODES + 1)
    with np.errstate(under="ignore"):
        height = order * t + np.log1p(np.exp(-2 * order * t)) - math.log(2)
        height -= x[:, None] * np.cosh(t)
        top = height.max(axis=1)
        weights = np.exp(height - top[:, None])
    total = weights.sum(axis=1) - (weights[:, 0] + weights[:, -1]) / 2
    return np.asarray(top + np.log(total * end / _NODES))


@dataclass(frozen=True, kw_only=True)
class BlockL2Laplace(PureMechanism, AdditiveMechanism):
    """L2-Laplace noise of its own for each block of a vector: pure ε = Δ₂₁/scale.

    The sensitivity says how many blocks there are. Where a record touches one block of C, as the
    sums of classes, the noise is that of one block alone: √C times less than over the whole.

    >>> sums = Sensitivity(l21=1.0, blocks=10)
    >>> noise = BlockL2Laplace.calibrate(sums, epsilon=2.0, delta=0.0)
    >>> round(noise.std_in(10 * 99), 6)
    5.0
    """

    norm: ClassVar[Norm] = "l21"
    structure = "blocks"
    is_joint: ClassVar[bool] = True
    name = "block-l2-laplace"

    def __post_init__(self) -> None:
        """A bound with its blocks must be there."""
        super().__post_init__()
        self._bound(self.sensitivity)

    @classmethod
    def _bound(cls, sensitivity: Sensitivity) -> float:
        return sensitivity.require_l21(cls.name)

    @property
    def bound(self) -> float:
        """The sensitivity in the sum of the blocks' L2 norms."""
        return self._bound(self.sensitivity)

    @property
    def blocks(self) -> int:
        """How many equal parts a vector has."""
        assert self.sensitivity.blocks is not None
        return self.sensitivity.blocks

    @property
    def std(self) -> float:
        """Depends on the size of a block: ``std_in`` says it."""
        raise InputError(f"size must be known for the std of {self.name} noise: ask std_in(size)")

    def std_in(self, size: int) -> float:
        """scale·√(size of a block + 1)."""
        return self.scale * math.sqrt(self._width(size) + 1)

    def grid_in(self, size: int) -> float:
        """The grid of noise in one block."""
        from reticent.mechanisms.rounded.l2_laplace import l2_laplace_grid

        return l2_laplace_grid(self.scale, self._width(size))

    def norms(self, moved: Floats) -> dict[str, Floats]:
        """The sum of the blocks' L2 norms; the last axis is the vector."""
        lengths = np.linalg.norm(self._split(moved), axis=-1)
        return {"l21": np.asarray(lengths.sum(axis=-1))}

    def _rounded(self, value: Floats, grid: float | None) -> Floats:
        from reticent.mechanisms.rounded import rounded_l2_laplace

        parts = self._split(value.reshape(-1))
        noisy = [rounded_l2_laplace(part, scale=self.scale, grid=grid) for part in parts]
        return np.concatenate(noisy).reshape(np.shape(value))

    def _log_density(self, noise: Floats) -> Floats:
        one = L2Laplace(scale=self.scale, sensitivity=Sensitivity(l2=1.0))
        return np.asarray(one.log_density(self._split(noise)).sum(axis=-1))

    def _float_noise(self, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
        one = L2Laplace(scale=self.scale, sensitivity=Sensitivity(l2=1.0))
        width = (self._width(math.prod(shape)),)
        parts = [one._float_noise(width, generator) for _ in range(self.blocks)]
        return np.concatenate(parts).reshape(shape)

    def _split(self, vectors: Floats) -> Floats:
        """With an axis for the blocks before the last."""
        width = self._width(vectors.shape[-1])
        return vectors.reshape(*vectors.shape[:-1], self.blocks, width)

    def _width(self, size: int) -> int:
        if size < 1 or size % self.blocks:
            raise InputError(f"value must have {self.blocks} blocks of equal size, got {size}")
        return size // self.blocks
