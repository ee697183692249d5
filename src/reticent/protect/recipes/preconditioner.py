"""Whitening by a noisy second moment: public numbers in, a public matrix out."""

import math
from dataclasses import dataclass

import numpy as np

from reticent.arrays import Floats

_LARGEST_CONDITION = 1e3
UNKNOWN_SPREAD = 16.0
"""How many directions rows are taken to spread over where no second moment was released."""


@dataclass(frozen=True, kw_only=True)
class Preconditioner:
    """B = (S + λ)^−½, its norm, and over how many directions whitened unit rows spread."""

    matrix: Floats
    norm: float
    spread: float
    energy: float
    """E‖x B‖² for a unit row x."""


def edge(*, features: int, noise: float, records: float) -> float:
    """Twice the edge of the noise's spectrum (Wigner): λ, and what is not to be told from 0."""
    return 2 * math.sqrt(features / 2) * noise / records


def preconditioner(moment: Floats, *, noise: float, records: float) -> Preconditioner:
    """From a noisy sum of x xᵀ of unit rows, with noise std ``noise`` on its diagonal.

    Eigenvalues above the edge of the noise are corrected for what noise adds to them; those below
    share what is left of the trace, which is 1.
    """
    width = len(moment)
    values, vectors = np.linalg.eigh(moment / records)
    half = edge(features=width, noise=noise, records=records) / 2
    seen = values > 2 * half
    clean = np.where(seen, (values + np.sqrt(np.maximum(values**2 - 4 * half**2, 0.0))) / 2, 0.0)
    clean[~seen] = max(1 - float(clean.sum()), 1e-3) / max(int(np.sum(~seen)), 1)
    damping = max(2 * half, float(clean.max()) / _LARGEST_CONDITION)
    roots = 1 / np.sqrt(clean + damping)
    kept = clean / (clean + damping)
    return Preconditioner(
        matrix=(vectors * roots) @ vectors.T,
        norm=float(roots.max()),
        spread=float(kept.sum() / kept.max()),
        energy=float(kept.sum()),
    )
