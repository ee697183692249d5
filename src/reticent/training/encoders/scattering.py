"""Wavelet scattering (Bruna and Mallat 2013): from an image to features, with nothing learnt.

With * the circular convolution of an image that was padded by reflection, J = 2 scales and L = 8
orientations, one colour plane x has 1 + 16 + 64 = 81 maps at a quarter of the resolution:

    S₀ = x * φ,    S₁(j, θ) = |x * ψ(j, θ)| * φ,    S₂(θ, θ′) = ||x * ψ(0, θ)| * ψ(1, θ′)| * φ.

ψ(j, θ) is a Morlet wavelet, an oriented wave of frequency 3π/4·2⁻ʲ under a Gaussian of width
0.8·2ʲ (half as narrow along its crests), less as much of that Gaussian as makes its mean 0; φ is a
Gaussian of width 1.6. The constants and the order of maps are those of the library kymatio. What
was filtered by ψ(1, ·) is kept at half the resolution.

Features are the maps' means over the cells of a grid, and of each mean v the root sign(v)·√|v|
(power normalisation, Perronnin et al. 2010): entries with long tails become comparable.
"""

import functools
import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from reticent.arrays import Array, Floats, Floats32
from reticent.training.encoders.base import ImageShape
from reticent.validation import InputError, count

if TYPE_CHECKING:
    import torch

SCALES: Final = 2
ANGLES: Final = 8
MAPS: Final = 1 + SCALES * ANGLES + ANGLES**2
GRID: Final = 4
_STRIDE: Final = 2**SCALES
_WIDTH: Final = 0.8
_FREQUENCY: Final = 3 * math.pi / 4
_SLANT: Final = 4 / ANGLES
_ALIASES: Final = range(-2, 3)
"""Periods of the spectrum that are added up; what is left out is below 10⁻²⁰."""


class Scattering:
    """The frozen encoder ``scattering``: 81·k² features for each colour, k = ``grid``.

    Images are uint8, which are divided by 255, or real numbers, which are taken as they are; one
    channel or three, sides of 8 pixels or more. The maps are averaged over a grid of k × k cells
    (fewer, where they have fewer places); None takes every place, for a network on top.

    No image was needed to make it, so it tells of none. Each image is transformed by itself: its
    features are a function of that image alone, to the last bit, and two data sets that differ in
    one image differ in one row of features.

    >>> Scattering().encode(np.zeros((2, 32, 32, 3), dtype=np.uint8)).shape
    (2, 3888)
    >>> Scattering(grid=None).shape(32, 32, 3)
    (243, 8, 8)
    """

    def __init__(self, *, grid: int | None = GRID) -> None:
        self.grid = None if grid is None else count("grid", grid)

    def fingerprint(self) -> str:
        """SHA-256 of the definition of the map, which is all that it is made of."""
        return hashlib.sha256(f"{_MAP}; grid {self.grid}".encode()).hexdigest()

    def shape(self, height: int, width: int, channels: int) -> tuple[int, int, int]:
        """Of the maps of one image, channels first; a row of features is these maps, flat."""
        ImageShape(channels=channels, height=height, width=width)
        rows, columns = (self._places(side) for side in (height, width))
        return MAPS * channels, rows, columns

    def _places(self, side: int) -> int:
        places = _padded(side) // _STRIDE - 2
        return places if self.grid is None else min(places, self.grid)

    def encode(self, inputs: Array) -> Floats32:
        """Features (n, 81·channels·k²) of images (n, height, width, 1 or 3)."""
        from reticent.training.encoders import torch_encoder, torch_extra

        images = torch_encoder.checked_images(inputs)
        shape = self.shape(*images.shape[1:])
        bank = filters(*images.shape[1:3])
        sizes = zip(bank.places, shape[1:], strict=True)
        above, beside = (_to_torch(pooling(places, cells)) for places, cells in sizes)
        features = np.empty((len(images), math.prod(shape)), dtype=np.float32)
        with torch_extra.torch.inference_mode():
            for row in range(len(images)):
                maps = scattered(torch_encoder.prepared(images[row : row + 1])[0], bank)
                features[row] = (above @ maps @ beside.T).flatten().numpy()
        if not np.isfinite(features).all():
            raise InputError("images must be small enough to be filtered in float32, got larger")
        return np.copysign(np.sqrt(np.abs(features)), features)


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What filters images of one shape: spectra of wavelets, matrices of the low-pass filter."""

    padding: tuple[int, int, int, int]
    """Left, right, above, below."""
    fine: "torch.Tensor"
    """Spectra of ψ(0, θ), one for each of 8 orientations."""
    coarse: "torch.Tensor"
    """Those of ψ(1, θ), divided by 4: what is filtered by them is kept at half the resolution."""
    smooth: tuple["torch.Tensor", "torch.Tensor"]
    """φ and a sample of each fourth pixel, along rows and along columns."""
    smooth_half: tuple["torch.Tensor", "torch.Tensor"]
    places: tuple[int, int]


@functools.lru_cache(maxsize=8)
def filters(height: int, width: int) -> Filters:
    """The filters of images of that size; nothing but the size goes in."""
    sides = (_padded(height), _padded(width))
    before = ((sides[0] - height) // 2, (sides[1] - width) // 2)
    fine, coarse = (np.stack([morlet(sides, scale, k) for k in range(ANGLES)]) for scale in (0, 1))
    smooth, smooth_half = (tuple(_to_torch(low_pass(s, step)) for s in sides) for step in (1, 2))
    return Filters(
        padding=(
            *(before[1], sides[1] - width - before[1]),
            *(before[0], sides[0] - height - before[0]),
        ),
        fine=_to_torch(fine),
        coarse=_to_torch(coarse / 4),
        smooth=(smooth[0], smooth[1]),
        smooth_half=(smooth_half[0], smooth_half[1]),
        places=(sides[0] // _STRIDE - 2, sides[1] // _STRIDE - 2),
    )


def scattered(image: "torch.Tensor", bank: Filters) -> "torch.Tensor":
    """The maps (81·channels, places, places) of one image (channels, height, width)."""
    from reticent.training.encoders.scattering_kernels import filtered_at_half, modulus
    from reticent.training.encoders.torch_extra import functional, torch

    planes = functional.pad(image[None], bank.padding, mode="reflect")[0]
    fine = modulus(torch.fft.ifft2(torch.fft.fft2(planes)[:, None] * bank.fine))
    high = torch.cat([planes[:, None], fine], dim=1)  # x and |x * ψ(0, θ)|
    low = modulus(torch.fft.ifft2(filtered_at_half(torch.fft.fft2(high), bank.coarse)))
    (rows, columns), (half_rows, half_columns) = bank.smooth, bank.smooth_half
    smooth = (rows @ high @ columns.T, half_rows @ low.flatten(1, 2) @ half_columns.T)
    return torch.cat(smooth, dim=1).flatten(0, 1)


def morlet(sides: tuple[int, int], scale: int, angle: int) -> Floats:
    """The spectrum of ψ(scale, θ) on a torus of that size; it is real, and 0 at frequency 0."""
    wave = _bump(sides, scale, angle, _FREQUENCY / 2**scale)
    envelope = _bump(sides, scale, angle, 0.0)
    spectrum: Floats = wave - wave[0, 0] / envelope[0, 0] * envelope
    return spectrum


def _bump(sides: tuple[int, int], scale: int, angle: int, frequency: float) -> Floats:
    """The spectrum of a Gaussian times a wave of that frequency, sampled at whole pixels."""
    theta = (ANGLES // 2 - 1 - angle) * math.pi / ANGLES
    total = np.zeros(sides)
    for period in _ALIASES:
        for other in _ALIASES:
            y = _frequencies(sides[0])[:, None] + 2 * math.pi * period
            x = _frequencies(sides[1])[None, :] + 2 * math.pi * other
            along = y * math.cos(theta) + x * math.sin(theta) - frequency
            across = x * math.cos(theta) - y * math.sin(theta)
            total += np.exp(-((_WIDTH * 2**scale) ** 2) / 2 * (along**2 + (across / _SLANT) ** 2))
    return total


def low_pass(side: int, step: int) -> Floats:
    """(side/4 − 2, side/step): φ of a signal with a sample each ``step`` pixels; then each fourth.

    The first and the last place are padding, and left out.
    """
    spread = _WIDTH * 2 ** (SCALES - 1)
    shifts = [2 * math.pi * period for period in _ALIASES]
    spectrum = sum(np.exp(-((spread * (_frequencies(side) + shift)) ** 2) / 2) for shift in shifts)
    samples = side // step
    if step > 1:  # the frequencies that half the samples can hold
        spectrum = np.concatenate([spectrum[: samples // 2], spectrum[-samples // 2 :]])
    kernel = np.fft.ifft(spectrum).real
    outputs = np.arange(1, side // _STRIDE - 1) * (_STRIDE // step)
    rows: Floats = kernel[(outputs[:, None] - np.arange(samples)[None, :]) % samples]
    return rows


def pooling(places: int, cells: int) -> Floats:
    """(cells, places): averages over cells that cover all places, of whole places each."""
    matrix = np.zeros((cells, places))
    for cell in range(cells):
        first, last = cell * places // cells, -(-(cell + 1) * places // cells)
        matrix[cell, first:last] = 1 / (last - first)
    return matrix


def _padded(side: int) -> int:
    """A multiple of 4, with 2 to 4 pixels more on either side."""
    return (side // _STRIDE + 2) * _STRIDE


def _frequencies(side: int) -> Floats:
    """Those of a discrete Fourier transform, in radians a pixel."""
    return np.asarray(2 * math.pi * np.fft.fftfreq(side), dtype=np.float64)


def _to_torch(values: Floats) -> "torch.Tensor":
    from reticent.training.encoders.torch_extra import torch

    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32)).clone()  # torch's place


_MAP: Final = (
    "scattering 1: Morlet, J=2, L=8, orders 0 to 2 as in kymatio; padded by reflection;"
    " bytes divided by 255, other numbers as they are; one image at a time;"
    " signed roots of means; float32"
)
