"""What scattering does between Fourier transforms, entry by entry; one order of summation.

Memory is torch's, which begins at multiples of 64 bytes: libraries of transforms and products may
round differently in memory that is aligned otherwise.
"""

import numpy as np

from reticent.arrays import Floats32
from reticent.mechanisms.rounded.kernels import compiled
from reticent.training.encoders.torch_extra import torch


def modulus(signal: torch.Tensor) -> torch.Tensor:
    """|z| of each entry; several times faster than torch's, which guards against overflow."""
    pairs = torch.view_as_real(signal.contiguous()).flatten()
    lengths = torch.empty(signal.shape)
    _modulus(pairs.numpy(), lengths.flatten().numpy())
    return lengths


def filtered_at_half(spectra: torch.Tensor, filters: torch.Tensor) -> torch.Tensor:
    """Spectra (…, H, W) times k real filters (k, H, W), of each second sample: (…, k, H/2, W/2).

    Taking each second sample adds up the four quarters of a spectrum and divides by 4, which is
    left to the filters.
    """
    *outer, height, width = spectra.shape
    pairs = torch.view_as_real(spectra.contiguous()).view(-1, height, 2 * width)
    twice = np.repeat(filters.numpy(), 2, axis=2)  # for real and imaginary parts
    half = torch.empty(*outer, len(twice), height // 2, width // 2, 2)
    _add_quarters(pairs.numpy(), twice, half.view(-1, len(twice), height // 2, width).numpy())
    return torch.view_as_complex(half)


@compiled
def _modulus(pairs: Floats32, lengths: Floats32) -> None:
    for i in range(len(lengths)):
        real, imaginary = pairs[2 * i], pairs[2 * i + 1]
        lengths[i] = np.sqrt(real * real + imaginary * imaginary)


@compiled
def _add_quarters(spectra: Floats32, filters: Floats32, half: Floats32) -> None:
    maps, kinds, rows, columns = half.shape
    for i in range(maps):
        for k in range(kinds):
            for row in range(rows):
                above, below = spectra[i, row], spectra[i, row + rows]
                first, second = filters[k, row], filters[k, row + rows]
                out = half[i, k, row]
                for j in range(columns):
                    far = j + columns
                    top = above[j] * first[j] + above[far] * first[far]
                    out[j] = top + (below[j] * second[j] + below[far] * second[far])
