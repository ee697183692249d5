"""Attacks on encoders (EncoderMI, Liu et al. 2021): how alike the views of a record are.

Contrastive training pulls the views of its images together, and an overfitted encoder does so less
for other images. The adversary makes n views of a record, and the n(n−1)/2 cosines between their
features are what it sees. Three ways to read them, all learnt on shadow encoders:

- "vector" (V): sorted, by a network with two hidden layers of 256;
- "set" (S): by a network that does not know their order (Zaheer et al. 2017);
- "threshold" (T): their mean, against the best threshold.

With several shadow encoders the mean is also LiRA's statistic: each record is compared with itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal

import numpy as np

from reticent.arrays import Flags, Floats, Floats32
from reticent.attacks import lira, metric
from reticent.attacks.attack import Attack, Scores
from reticent.attacks.encoder_views import AnyViews, unlabelled
from reticent.attacks.records import Records
from reticent.attacks.targets import Access, Threat
from reticent.training import optimisers
from reticent.training.encoders.base import Encoder
from reticent.training.encoders.torch_extra import functional, nn, torch
from reticent.validation import InputError, count, describe

Classifier = Literal["vector", "set", "threshold"]

WIDTHS: Final = {"vector": 256, "set": 64}
STEPS: Final = 60
LEARNING_RATE: Final = 1e-3
DECAY: Final = 1e-2


@dataclass(frozen=True, kw_only=True, eq=False)
class ShadowEncoder:
    """An encoder of the adversary, the records that it was trained on, and others."""

    encoder: Encoder
    members: Records
    others: Records

    def __post_init__(self) -> None:
        """An encoder, and records on both sides."""
        check_encoder("shadow", self.encoder)
        for side in (self.members, self.others):
            if not isinstance(side, Records) or len(side) == 0:
                raise InputError("members and others must be Records, at least one each, got none")

    def saw(self, records: Records) -> Flags:
        """Whether it was trained on an equal image; labels have no part in it."""
        inside = set(unlabelled(self.members).keys)
        return np.array([key in inside for key in unlabelled(records).keys], dtype=bool)


@dataclass(frozen=True, kw_only=True, eq=False)
class EncoderMI(Attack[Encoder]):
    """What shadow encoders teach about the cosines between a record's views; above 0: member.

    Args:
        shadows: Encoders of the adversary's, best of the target's kind, with their records.
        views: With the augmentation that the target was trained with, or a guess; stacked in the
            records where the target's own views are known.
        classifier: "vector", "set" or "threshold".
        seed: Of the initial weights of the network.
    """

    shadows: Sequence[ShadowEncoder]
    views: AnyViews
    classifier: Classifier = "set"
    seed: int = 0
    threat: Threat = field(init=False)

    def __post_init__(self) -> None:
        """Known words only, and a shadow."""
        _check_knowledge(self.shadows, self.views)
        lira.one_of("classifier", self.classifier, ("vector", "set", "threshold"))
        count("seed", self.seed, at_least=0)
        knows = ("shadow encoders with their records", self.views.known)
        object.__setattr__(self, "threat", Threat(access=Access.ENCODER, knows=knows))

    @property
    def name(self) -> str:
        """What stands in tables: the attack with its classifier."""
        return f"EncoderMI, {self.classifier}"

    def scores(self, target: Encoder, records: Records) -> Scores:
        """Log odds; for the threshold how far the mean is above it."""
        check_encoder("target", target)
        cosines = self.views.cosines(target, records)
        threshold, network = self._learnt
        values = cosines.mean(axis=1) - threshold if network is None else network.log_odds(cosines)
        return Scores(attack=self.name, threat=self.threat, values=values, decides_at=0.0)

    @cached_property
    def _learnt(self) -> tuple[float, CosineNetwork | None]:
        members, others = (
            np.concatenate(
                [
                    self.views.cosines(shadow.encoder, getattr(shadow, side))
                    for shadow in self.shadows
                ]
            )
            for side in ("members", "others")
        )
        if self.classifier == "threshold":
            return metric.best_threshold(members.mean(axis=1), others.mean(axis=1)), None
        return 0.0, learnt_network(members, others, classifier=self.classifier, seed=self.seed)


@dataclass(frozen=True, kw_only=True, eq=False)
class EncoderLira(Attack[Encoder]):
    """LiRA with the mean cosine between a record's views in the place of φ.

    Args:
        shadows: At least 2 that did not see a record; for "online" also 2 that saw it. One σ is
            used for all records, as encoders are few.
        views: The same ones are shown to the target and to all shadows.
        mode: "online" or "offline", see ``Lira``.
    """

    shadows: Sequence[ShadowEncoder]
    views: AnyViews
    mode: lira.Mode = "offline"
    threat: Threat = field(init=False)

    def __post_init__(self) -> None:
        """Known words only; the threat follows from the mode."""
        _check_knowledge(self.shadows, self.views)
        lira.one_of("mode", self.mode, ("online", "offline"))
        threat = replace(lira.shadow_threat(self.mode, augmented=True), access=Access.ENCODER)
        object.__setattr__(self, "threat", threat)

    @property
    def name(self) -> str:
        """What stands in tables: the attack with its mode, online or offline."""
        return f"LiRA on an encoder, {self.mode}"

    def scores(self, target: Encoder, records: Records) -> Scores:
        """Of the target's mean cosine among those of the shadows."""
        check_encoder("target", target)
        saw = np.stack([shadow.saw(records) for shadow in self.shadows])
        lira.require_shadows(~saw, at_least=2, which="did not see it")
        if self.mode == "online":
            lira.require_shadows(saw, at_least=2, which="saw it (or use mode='offline')")
        own, *others = (
            self.views.cosines(encoder, records).mean(axis=1)
            for encoder in (target, *(shadow.encoder for shadow in self.shadows))
        )
        compare = lira.online_scores if self.mode == "online" else lira.offline_scores
        return Scores(
            attack=self.name,
            threat=self.threat,
            values=compare(own, np.stack(others), saw, fixed=True),
            notes=(f"{len(self.shadows)} shadows, one σ for all records",),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class CosineNetwork:
    """A network with the centre and spread of the cosines that it learnt from."""

    network: nn.Module
    ordered: bool
    centre: Floats32
    spread: Floats32

    def log_odds(self, cosines: Floats) -> Floats:
        """One number for each record."""
        if cosines.shape[1:] != self.centre.shape:
            raise InputError(f"cosines must be {len(self.centre)}, got shape {cosines.shape}")
        with torch.inference_mode():
            odds = self.network(self.scaled(cosines))
        return np.asarray(odds.numpy(), dtype=np.float64)

    def scaled(self, cosines: Floats) -> torch.Tensor:
        """In units of the spread; sorted, the largest first, where the network knows an order."""
        rows = _descending(cosines) if self.ordered else cosines
        return torch.from_numpy((rows.astype(np.float32) - self.centre) / self.spread)


class SetNetwork(nn.Module):
    """A network of each cosine, the mean over them, and a network of the mean: no order counts."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.each = nn.Sequential(
            nn.Linear(1, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.all = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, cosines: torch.Tensor) -> torch.Tensor:
        """Log odds, one for each row."""
        odds: torch.Tensor = self.all(self.each(cosines[:, :, None]).mean(dim=1))[:, 0]
        return odds


def learnt_network(
    members: Floats, others: Floats, *, classifier: Literal["vector", "set"], seed: int
) -> CosineNetwork:
    """Fit a network to tell the cosines of members from others', both sides with equal weight."""
    rows = np.concatenate([members, others])
    ordered = classifier == "vector"
    with torch.random.fork_rng(devices=[]):  # torch's own generator is left as it was
        torch.manual_seed(seed)
        network = _vector_network(rows.shape[1]) if ordered else SetNetwork(WIDTHS["set"])
    learnt = _standardised(network, rows, ordered=ordered)
    labels = torch.cat([torch.ones(len(members)), torch.zeros(len(others))])
    weights = torch.where(labels > 0, 0.5 / len(members), 0.5 / len(others))
    _train(network, learnt.scaled(rows), labels, weights)
    return learnt


def _train(
    network: nn.Module, rows: torch.Tensor, wanted: torch.Tensor, weights: torch.Tensor
) -> None:
    """Few steps, each on all rows: shadows have few records, and many steps learn them by heart."""
    optimiser = optimisers.AdamW(network.parameters(), lr=LEARNING_RATE, weight_decay=DECAY)
    with torch.inference_mode(mode=False), torch.enable_grad():
        for _ in range(STEPS):
            optimiser.zero_grad()
            losses = functional.binary_cross_entropy_with_logits(
                network(rows), wanted, weights, reduction="sum"
            )
            losses.backward()  # type: ignore[no-untyped-call]
            optimiser.step()


def _standardised(network: nn.Module, rows: Floats, *, ordered: bool) -> CosineNetwork:
    """One centre for each place of the sorted cosines; the same for all where there is no order."""
    seen = _descending(rows) if ordered else rows
    axis = 0 if ordered else None
    shape = np.zeros(rows.shape[1], dtype=np.float32)
    return CosineNetwork(
        network=network,
        ordered=ordered,
        centre=(shape + seen.mean(axis=axis)).astype(np.float32),
        spread=np.maximum(shape + seen.std(axis=axis), 1e-6).astype(np.float32),
    )


def _descending(rows: Floats) -> Floats:
    return np.asarray(-np.sort(-rows, axis=1))


def _vector_network(pairs: int) -> nn.Module:
    width = WIDTHS["vector"]
    return nn.Sequential(
        nn.Linear(pairs, width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Linear(width, 1),
        nn.Flatten(0),
    )


def check_encoder(name: str, encoder: object) -> None:
    """Refuses what is no ``Encoder``; a text can encode itself, but is none."""
    if not all(callable(getattr(encoder, part, None)) for part in ("encode", "fingerprint")):
        raise InputError(
            f"{name} must be an encoder (have encode and fingerprint), got {describe(encoder)}"
        )


def _check_knowledge(shadows: object, views: object) -> None:
    if not isinstance(shadows, Sequence) or not shadows:
        raise InputError("shadows must be a list of at least one ShadowEncoder, got none")
    if not all(isinstance(shadow, ShadowEncoder) for shadow in shadows):
        raise InputError("shadows must be ShadowEncoder each, got something else")
    if not isinstance(views, AnyViews):
        raise InputError(f"views must be Views, MaskedViews or StackedViews, got {describe(views)}")
