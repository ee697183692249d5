"""Trained encoders that studies attack: SimCLR without privacy, and a proven one by DP-SGD."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import stats

from reticent.data import Dataset
from reticent.guarantee import Relation
from reticent.protect import ReleasedEncoder, ReleaseRequest, release_encoder
from reticent.results.table import Cell, Limits
from reticent.training.contrastive import SimCLRSpec, digits, pretrain
from reticent.training.encoders.base import Encoder

CONFIDENCE: Final = 0.95


@dataclass(frozen=True, kw_only=True)
class AttackedEncoders:
    """Every number is public and was chosen before an attack was run."""

    on: str
    shape: str
    members: int
    """As many of each: members, others, and what the adversary has."""
    epochs: int
    """Of SimCLR without privacy: so many that it remembers."""
    width: int
    batch: int
    steps: int
    """Of the proven encoder."""
    epsilon: float = 3.0
    delta: float = 1e-5
    views: int = 10
    seeds: int = 5

    def request(self, seed: int) -> ReleaseRequest:
        """The proven encoder, as the command line would ask for it."""
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
    "mnist5k": AttackedEncoders(
        on="mnist5k", shape="28x28x1", members=1_000, epochs=200, width=32, batch=250, steps=40
    ),
    "digits": AttackedEncoders(
        on="digits", shape="8x8x1", members=300, epochs=60, width=8, batch=150, steps=10, seeds=2
    ),
}


def trained_encoder(spec: AttackedEncoders, data: Dataset, privacy: str, seed: int) -> Encoder:
    """SimCLR without privacy, long enough to remember; or the proven encoder."""
    if privacy == "proven":
        return ReleasedEncoder(release_encoder(data, spec.request(seed)))
    plain = SimCLRSpec(
        width=spec.width,
        epochs=spec.epochs,
        batch=125,
        temperature=0.2,
        learning_rate=2e-3,
        augmentation=digits(),
        seed=seed,
    )
    return pretrain(data.images, plain)


def interval(values: Sequence[float]) -> Cell:
    """The mean with the half-width of Student's interval, where there are several."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Cell(f"{mean:.3f}", mean)
    quantile = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
    half = float(quantile * np.std(values, ddof=1) / math.sqrt(len(values)))
    return Cell(f"{mean:.3f} ± {half:.3f}", Limits(mean, mean - half, mean + half))
