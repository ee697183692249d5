"""Releases: what leaves the house, with its guarantee. The only layer that mints proven ones."""

from reticent.protect.certificate import Verification, load, save, verify
from reticent.protect.weights import PublicNumbers, ReleasedHead, release_weights

__all__ = [
    "PublicNumbers",
    "ReleasedHead",
    "Verification",
    "load",
    "release_weights",
    "save",
    "verify",
]
