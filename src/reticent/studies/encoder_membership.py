"""Who was among the images of an encoder: EncoderMI without privacy, and on a proven encoder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import stats

from reticent.attacks.encoder import EncoderMI, ShadowEncoder, Views
from reticent.attacks.records import Records
from reticent.audit.metrics import auc
from reticent.data import Dataset, load, split
from reticent.guarantee import Relation
from reticent.guarantee.rounding import upper_text
from reticent.protect import ReleasedEncoder, ReleaseRequest, release_encoder
from reticent.results.table import Table
from reticent.studies.trained import Outcome, Run
from reticent.training.contrastive import SimCLRSpec, digits, pretrain
from reticent.training.encoders.base import Encoder

CONFIDENCE: Final = 0.95
_PARTS: Final = ("members", "others", "shadow members", "shadow others")


@dataclass(frozen=True, kw_only=True)
class EncoderMembership:
    """Every number is public and was chosen before an attack was run."""

    on: str
    shape: str
    members: int
    """As many of each: members, others, and both of the adversary's shadow encoder."""
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


SPECS: Mapping[str, EncoderMembership] = {
    "mnist5k": EncoderMembership(
        on="mnist5k", shape="28x28x1", members=1_000, epochs=200, width=32, batch=250, steps=40
    ),
    "digits": EncoderMembership(
        on="digits", shape="8x8x1", members=300, epochs=60, width=8, batch=150, steps=10, seeds=2
    ),
}


def study(spec: EncoderMembership, run: Run) -> Outcome:
    """EncoderMI on an encoder without privacy, and on one that is proven."""
    run.steps.plan(2 * spec.seeds)
    found: dict[str, list[float]] = {"none": [], "proven": []}
    for seed in range(spec.seeds):
        for privacy, values in found.items():
            values.append(run.cell((spec, privacy, seed), _attacked, spec, privacy, seed))
    return Outcome(specifications=(spec,), tables=(_shown(spec, found),))


def _attacked(spec: EncoderMembership, privacy: str, seed: int) -> float:
    """The AUC of one target, attacked with one shadow encoder of the same kind."""
    data = load(spec.on)
    places = split(data, sizes=dict.fromkeys(_PARTS, spec.members), seed=seed)
    parts = {name: data.take(places[name]) for name in _PARTS}
    target, shadow = (
        trained_encoder(spec, parts[name], privacy, number)
        for number, name in ((2 * seed, "members"), (2 * seed + 1, "shadow members"))
    )
    attack = EncoderMI(
        shadows=[
            ShadowEncoder(
                encoder=shadow,
                members=_records(parts["shadow members"]),
                others=_records(parts["shadow others"]),
            )
        ],
        views=Views(augmentation=digits(), number=spec.views, seed=seed),
        classifier="set",
        seed=seed,
    )
    scores = [attack.scores(target, _records(parts[name])).values for name in _PARTS[:2]]
    return float(auc(scores[0], scores[1]).value)


def trained_encoder(spec: EncoderMembership, data: Dataset, privacy: str, seed: int) -> Encoder:
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


def _records(data: Dataset) -> Records:
    return Records(data.images, np.zeros(len(data), dtype=np.int64))


def _shown(spec: EncoderMembership, found: Mapping[str, Sequence[float]]) -> Table:
    words = {
        "none": ("SimCLR", "–", "–", "none"),
        "proven": ("spectral", upper_text(spec.epsilon), upper_text(spec.delta), "proven"),
    }
    return Table(
        title=f"EncoderMI on encoders of {spec.members:,} images of {spec.on}",
        columns=("encoder", "ε", "δ", "privacy", "AUC", "seeds"),
        rows=tuple(
            (*words[privacy], interval(values), str(len(values)))
            for privacy, values in found.items()
        ),
        notes=(
            f"{spec}.",
            "One shadow encoder of the same kind, of other images; the attack on a set of cosines"
            " between views. Mean over seeds with its 95 % interval (Student's t).",
        ),
    )


def interval(values: Sequence[float]) -> str:
    """The mean with the half-width of Student's interval, where there are several."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return f"{mean:.3f}"
    quantile = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
    half: Any = quantile * np.std(values, ddof=1) / math.sqrt(len(values))
    return f"{mean:.3f} ± {half:.3f}"
