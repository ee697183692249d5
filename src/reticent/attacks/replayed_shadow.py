"""Shadows of a release that go its way again: the same recipe, noise of the same scales."""

from dataclasses import dataclass, replace

import numpy as np

from reticent.arrays import Array, Floats
from reticent.mechanisms import AdditiveMechanism
from reticent.protect import Release, noise_scales
from reticent.protect.recipe import replay, tensors_of
from reticent.randomness import seeded


@dataclass(frozen=True, kw_only=True)
class ReplayedShadow:
    """Goes the way of a release again, with noise of its scales: plain floats will do."""

    released: Release

    def __call__(self, rows: Floats, labels: Array, seed: int) -> Release:
        """The release with the tensors that came of these records."""
        generator, own = seeded("noise of a shadow", seed), self.released

        def answer(noise: AdditiveMechanism, value: Floats) -> Floats:
            return np.asarray(noise.with_float_noise(generator).release(value))

        plan = noise_scales.with_scales(own.recipe, own.scales, own.terms)
        numbers = replay(own.recipe, plan, rows, labels)(answer)
        return replace(own, tensors=tensors_of(own.recipe, numbers))
