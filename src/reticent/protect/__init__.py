"""Releases: what leaves the house, with its guarantee. The only layer that mints proven ones."""

from reticent.protect.certificate import Verification, load, save, verify
from reticent.protect.penalty import public_penalty
from reticent.protect.weights import PublicNumbers, ReleasedHead, release_weights

__all__ = [
    "PublicNumbers",
    "ReleasedHead",
    "Verification",
    "load",
    "public_penalty",
    "release_weights",
    "save",
    "verify",
]
