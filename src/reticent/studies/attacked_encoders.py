"""Encoders that studies attack: one recipe by DP-SGD, with its noise and with exact answers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import stats

from reticent.arrays import Floats
from reticent.data import Dataset
from reticent.guarantee import Relation
from reticent.protect import ReleaseRequest, noise_scales, noisy_query, release_encoder
from reticent.protect.recipe import Recipe, Tensors
from reticent.protect.released_encoder import rows_of
from reticent.results.table import Cell, Limits
from reticent.training.encoders.base import Encoder, FunctionEncoder

CONFIDENCE: Final = 0.95
PRIVACIES: Final = ("untrained", "none", "proven")
"""The public first weights; all steps with exact answers; the same with noise."""


@dataclass(frozen=True, kw_only=True)
class AttackedEncoders:
    """Every number is public and was chosen before an attack was run."""

    on: str
    shape: str
    members: int
    """As many of each: members, others, and what the adversary has."""
    batch: int
    steps: int
    epsilon: float = 3.0
    delta: float = 1e-5
    seeds: int = 5

    def request(self, seed: int) -> ReleaseRequest:
        """The encoder, as the command line would ask for it."""
        return ReleaseRequest.of(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=Relation.ADD_REMOVE,
            records=self.members,
            recipe="spectral",
            shape=self.shape,
            augmentation="digits",
            batch=self.batch,
            epochs=self.steps * self.batch / self.members,
            seed=seed,
        )


SPECS: Mapping[str, AttackedEncoders] = {
    "mnist5k": AttackedEncoders(on="mnist5k", shape="28x28x1", members=1_000, batch=250, steps=200),
    "digits": AttackedEncoders(on="digits", shape="8x8x1", members=300, batch=150, steps=100),
}


def trained_encoder(spec: AttackedEncoders, data: Dataset, privacy: str, seed: int) -> Encoder:
    """The same recipe at its first weights, after all steps without noise, or released."""
    request = spec.request(seed)
    recipe = request.planned(data.features.shape[1], 0)
    if privacy == "proven":
        tensors = release_encoder(data, request).tensors
    elif privacy == "none":
        tensors = exact_tensors(recipe, request, data.features.astype(np.float64))
    else:
        tensors = {
            name: one.detach().double().numpy()
            for name, one in recipe.network().encoder.named_parameters()  # type: ignore[attr-defined]
        }
    return FunctionEncoder(lambda inputs: recipe.encoded(tensors, rows_of(inputs)))


def exact_tensors(recipe: Recipe, request: ReleaseRequest, rows: Floats) -> Tensors:
    """All steps with exact answers: what the loss reaches; nothing is claimed of it."""
    plan = noise_scales.noise_plan(recipe, request.terms)
    with noisy_query.with_noise_function(lambda noise, value: value):  # noqa: ARG005 - exact
        return recipe.learn(rows, np.zeros(len(rows)), plan)


def interval(values: Sequence[float]) -> Cell:
    """The mean with the half-width of Student's interval, where there are several."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Cell(f"{mean:.3f}", mean)
    quantile = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
    half = float(quantile * np.std(values, ddof=1) / math.sqrt(len(values)))
    return Cell(f"{mean:.3f} ± {half:.3f}", Limits(mean, mean - half, mean + half))
