"""A hidden attribute guessed from an encoder's features: the same recipe with and without noise.

The attribute of an image is its digit, which no encoder here was told. The first weights, which saw
no image, are the third row.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from reticent.attacks import AttributeInference, Records
from reticent.data import Dataset, load, split
from reticent.guarantee.rounding import upper_text
from reticent.results.table import Table
from reticent.studies import attacked_encoders
from reticent.studies.trained import Outcome, Run

_PARTS: Final = ("members", "others", "known")
_FOUND: Final = ("members", "others", "gap", "most common")


@dataclass(frozen=True, kw_only=True)
class AttributeStudy:
    """Every number is public and was chosen before an attack was run."""

    encoders: attacked_encoders.AttackedEncoders
    """What is trained, on how many members; as many others, and records that the adversary has."""


SPECS: Mapping[str, AttributeStudy] = {
    name: AttributeStudy(encoders=replace(spec, seeds=5))
    for name, spec in attacked_encoders.SPECS.items()
}


def study(spec: AttributeStudy, run: Run) -> Outcome:
    """Attribute inference before and after: one recipe with exact answers, and with its noise."""
    encoders = spec.encoders
    privacies = attacked_encoders.PRIVACIES
    run.steps.plan(len(privacies) * encoders.seeds)
    cells: dict[str, list[dict[str, float]]] = {privacy: [] for privacy in privacies}
    for seed in range(encoders.seeds):
        for privacy, values in cells.items():
            values.append(run.cell((spec, privacy, seed), _attacked, encoders, privacy, seed))
    return Outcome(specifications=(spec,), tables=(_shown(encoders, cells),))


def _attacked(
    spec: attacked_encoders.AttackedEncoders, privacy: str, seed: int
) -> dict[str, float]:
    data = load(spec.on)
    places = split(data, sizes=dict.fromkeys(_PARTS, spec.members), seed=seed)
    parts = {name: data.take(places[name]) for name in _PARTS}
    encoder = attacked_encoders.trained_encoder(spec, parts["members"], privacy, seed)
    known, members, others = (_records(parts[name]) for name in ("known", "members", "others"))
    attack = AttributeInference(encoder=encoder, known=known)
    correct_shares = [float(attack.correct_guesses(one).mean()) for one in (members, others)]
    common = float((others.labels == attack.most_common).mean())
    return dict(
        zip(_FOUND, (*correct_shares, correct_shares[0] - correct_shares[1], common), strict=True)
    )


def _records(data: Dataset) -> Records:
    return Records(data.images, np.asarray(data.labels).astype(np.int64))


def _shown(
    spec: attacked_encoders.AttackedEncoders, cells: Mapping[str, list[dict[str, float]]]
) -> Table:
    claim = upper_text(spec.epsilon), upper_text(spec.delta)
    words: dict[str, tuple[Any, ...]] = {
        "untrained": ("spectral, first weights", "–", "–", "untrained"),
        "none": ("spectral, exact answers", "∞", "–", "none"),
        "proven": ("spectral, with noise", *claim, "proven"),
    }
    return Table(
        title=f"Attribute inference on encoders of {spec.members:,} images of {spec.on}: the digit",
        columns=("encoder", "ε", "δ", "privacy", *_FOUND, "seeds"),
        rows=tuple(
            (
                *words[privacy],
                *(attacked_encoders.interval([one[name] for one in values]) for name in _FOUND),
                str(len(values)),
            )
            for privacy, values in cells.items()
        ),
        notes=(
            f"{spec}.",
            "The share of records whose digit is guessed right from features, by ridge regression"
            f" on {spec.members:,} records of the adversary: of members of the training, of others,"
            " and the gap between both; most common: without a look at features. What both kinds"
            " show is what features tell of everybody; the gap is what training gave away. Mean"
            " over seeds with its 95 % interval (Student's t).",
        ),
    )
