"""Banks of fixed filters, and the synthetic images that their constants are computed from."""

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from reticent.randomness import seeded
from reticent.training.encoders.base import ImageShape
from reticent.training.encoders.scattering import pooling
from reticent.training.encoders.torch_extra import functional, torch

Tensor = torch.Tensor
Bank = Callable[[Tensor], Tensor]
"""From images (n, channels, height, width) with values in [0, 1] to features (n, d)."""
_MEAN, _DEVIATION = 0.46, 0.25
_OPPONENT: Final = ((0.577, 0.577, 0.577), (0.707, 0.0, -0.707), (0.408, -0.816, 0.408))
_COLOURS: Final = ((1.0, 0.25, 0.1), (1.0, 0.0, -0.2), (1.0, -0.25, 0.1))
"""Of synthetic images: a common plane, and two weaker ones."""
_ORIENTATIONS, _SCALES = 8, 3
_THUMBNAIL: Final = 0.3
_FILTERS, _PATCH, _THRESHOLD = 96, 6, 0.5
_RECTANGLES: Final = 12


def bank_of(name: str, shape: ImageShape) -> Bank:
    """The bank of that name for images of one shape."""
    return _gabor(shape) if name == "gabor" else _patches(shape)


def synthetic_images(number: int, shape: ImageShape, purpose: str) -> Tensor:
    """Nobody's images: noise of spectrum 1/f, its colours correlated, under random rectangles.

    Twelve rectangles of one colour each, half transparent, lie above one another. Values are about
    in [0, 1].
    """
    high, wide = shape.height, shape.width
    rng = seeded("synthetic images", purpose, number, high, wide, shape.channels)

    def normal(*size: int) -> Tensor:
        return torch.from_numpy(rng.standard_normal((number, *size), np.float32))

    squared = torch.fft.fftfreq(high)[:, None] ** 2 + torch.fft.rfftfreq(wide)[None] ** 2
    spectrum = torch.fft.rfft2(normal(shape.channels, high, wide)) / (squared + 1e-3).sqrt()
    images = torch.fft.irfft2(spectrum, s=(high, wide))
    images = images / images.std((1, 2, 3), keepdim=True)
    if shape.channels == len(_COLOURS):
        images = torch.einsum("ij,njhw->nihw", torch.tensor(_COLOURS), images)
    for _ in range(_RECTANGLES):
        sides = [_between(rng, number, side) for side in (high, wide)]
        inside = sides[0][:, None, :, None] & sides[1][:, None, None, :]
        colour = normal(1, 1, 1) + 0.3 * normal(shape.channels, 1, 1)
        images = torch.where(inside, 0.3 * images + colour, images)
    scaled: Tensor = _MEAN + _DEVIATION * images
    return scaled


def _between(rng: np.random.Generator, number: int, side: int) -> Tensor:
    """(number, side): whether a place lies between two random ones."""
    ends = np.sort(rng.integers(0, side, (number, 2)), axis=1)
    places = np.arange(side)
    return torch.from_numpy((places >= ends[:, :1]) & (places < ends[:, 1:]))


def _gabor(shape: ImageShape) -> Bank:
    """Roots of moduli over their mean, on 3 × 3 cells; beside them a thumbnail."""
    scales = [_gabor_filters(scale) for scale in range(_SCALES)]
    channels = shape.channels
    colours = torch.tensor(_OPPONENT) if channels == len(_OPPONENT) else torch.eye(channels)
    half = -(-shape.height // 2), -(-shape.width // 2)
    cells, thumbnail = _cells(half, 3), _cells((shape.height, shape.width), 4)

    def features(images: Tensor) -> Tensor:
        planes = torch.einsum("ij,njhw->nihw", colours, (images - _MEAN) / _DEVIATION)
        single = planes.reshape(-1, 1, *planes.shape[2:])
        moduli = torch.cat([_moduli(single, one) for one in scales], dim=1)
        moduli = moduli.reshape(len(images), -1, half[0] * half[1])
        moduli = moduli / (moduli.mean((1, 2), keepdim=True) + 1e-3)
        small = (planes.flatten(2) @ thumbnail).flatten(1)
        small = small / (planes.std((1, 2, 3)).reshape(-1, 1) + 0.1)
        return torch.cat([(moduli.sqrt() @ cells).flatten(1), _THUMBNAIL * small], dim=1)

    return features


def _moduli(planes: Tensor, filters: Tensor) -> Tensor:
    """√(even² + odd²) at every second pixel; the first half of the filters is even."""
    padding = filters.shape[-1] // 2
    squares = functional.conv2d(planes, filters, padding=padding, stride=2).square()
    even, odd = squares.chunk(2, dim=1)
    return (even + odd + 1e-4).sqrt()


def _cells(places: tuple[int, int], number: int) -> Tensor:
    """(places, cells): flat maps times this are their means over number × number cells."""
    down, across = (pooling(side, min(side, number)) for side in places)
    return torch.from_numpy(np.kron(down, across).T.astype(np.float32))


def _gabor_filters(scale: int) -> Tensor:
    """Even and then odd waves under a Gaussian, each of norm 1, the even ones of mean 0."""
    reach = torch.arange(-2 - 2 * scale, 3 + 2 * scale)
    down, across = torch.meshgrid(reach, reach, indexing="ij")
    width, frequency = 0.72 * 2**scale, 2.3 / 2**scale
    even, odd = [], []
    for place in range(_ORIENTATIONS):
        angle = math.pi * place / _ORIENTATIONS
        along = across * math.cos(angle) + down * math.sin(angle)
        beside = down * math.cos(angle) - across * math.sin(angle)
        window = torch.exp(-(along**2 + (0.6 * beside) ** 2) / (2 * width**2))
        wave, turned = (window * of(frequency * along) for of in (torch.cos, torch.sin))
        wave = wave - window * wave.sum() / window.sum()
        even.append(wave / wave.norm())
        odd.append(turned / turned.norm())
    return torch.stack(even + odd)[:, None]


def _patches(shape: ImageShape) -> Bank:
    """Responses at every second pixel above a threshold, of both signs, on 2 × 2 cells.

    Averaged with those of the mirror image.
    """
    filters = _patch_filters(shape)
    half = [(side - _PATCH) // 2 + 1 for side in (shape.height, shape.width)]
    cells = _cells((half[0], half[1]), 2)
    box = torch.ones(1, shape.channels, _PATCH, _PATCH) / filters[0].numel()

    def one_side(images: Tensor) -> Tensor:
        mean = functional.conv2d(images, box, stride=2)
        spread = (functional.conv2d(images.square(), box, stride=2) - mean.square()).clamp(min=0)
        responses = functional.conv2d(images, filters, stride=2) / (spread + 1e-3).sqrt()
        signs = torch.cat([responses, -responses], dim=1)
        above = (signs - _THRESHOLD).clamp(min=0).flatten(2)
        return (above @ cells).flatten(1).sqrt()

    def features(images: Tensor) -> Tensor:
        return (one_side(images) + one_side(images.flip(3))) / 2

    return features


def _patch_filters(shape: ImageShape) -> Tensor:
    """Whitened patches of synthetic images, as filters of patches of contrast 1; each of mean 0."""
    images = synthetic_images(1000, shape, "patches")
    rng = seeded("patches", shape.height, shape.width, shape.channels)
    all_ = images.unfold(2, _PATCH, 1).unfold(3, _PATCH, 1)  # n, channels, rows, columns, 6, 6
    rows, columns = all_.shape[2:4]
    number = 20 * len(images)
    chosen = (
        torch.from_numpy(rng.integers(0, len(images), number)),
        slice(None),
        torch.from_numpy(rng.integers(0, rows, number)),
        torch.from_numpy(rng.integers(0, columns, number)),
    )
    patches = all_[chosen].reshape(number, -1).double()
    patches = patches - patches.mean(dim=1, keepdim=True)
    patches = patches / (patches.square().mean(dim=1, keepdim=True) + 1e-3).sqrt()
    values, vectors = torch.linalg.eigh(patches.T @ patches / number)
    white = (vectors * (values.clamp(min=0) + 0.1).rsqrt()) @ vectors.T
    directions = patches[:_FILTERS] @ white
    directions = directions / directions.norm(dim=1, keepdim=True)
    filters = directions @ white
    filters = filters - filters.mean(dim=1, keepdim=True)
    whitened: Tensor = filters.float().reshape(_FILTERS, shape.channels, _PATCH, _PATCH)
    return whitened
