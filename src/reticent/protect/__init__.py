"""Releases: what leaves the house, with its guarantee. The only layer that mints proven ones."""

from reticent.protect.weights import ReleasedHead, release_weights

__all__ = ["ReleasedHead", "release_weights"]
