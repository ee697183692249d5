"""The whole job on real digits: encoder, head, bound, release, attack, verdict.

Every number of the specification was fixed before the private records were looked at; accuracies
and attacks are measured on records that no training saw.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.attacks import MetricAttack, Records
from reticent.audit import Measured, UtilityLoss, auc, utility_loss
from reticent.data import Dataset, load, split
from reticent.guarantee import Relation
from reticent.guarantee.rounding import upper_text
from reticent.pipeline.attack_recipes import Stage
from reticent.pipeline.demo_attacks import Stronger, stronger
from reticent.pipeline.protecting import HeadSpec, Wanted, fit_head
from reticent.pipeline.table import Table
from reticent.protect import ReleasedHead, release_weights
from reticent.randomness import seeded
from reticent.training import PublicStep, SoftmaxHead
from reticent.training.public_whitening import PublicWhitening

if TYPE_CHECKING:
    from reticent.training.contrastive import SimCLRSpec


@dataclass(frozen=True, kw_only=True)
class DemoSpec:
    """All choices of a demonstration."""

    data: str
    sizes: dict[str, int]
    encoder: SimCLRSpec
    epsilons: tuple[float, ...] = (1.0, 4.0, 16.0)
    delta: float = 1e-5
    mechanisms: tuple[tuple[str, bool], ...] = (
        ("gaussian", False),
        ("logistic", False),
        ("l2-laplace", True),
        ("logistic", True),
        ("laplace", True),
    )
    """Each with or without δ = 0."""
    draws: int = 5
    shadows: int = 16
    unprotected_penalty: float = 1e-5
    intercept: float = 0.1
    seed: int = 0

    @classmethod
    def full(cls) -> DemoSpec:
        """5,000 MNIST images: under two minutes on two cores, seconds the second time."""
        from reticent.training.contrastive import SimCLRSpec

        return cls(
            data="mnist5k",
            sizes={"public": 1000, "private": 1500, "others": 1500, "test": 1000},
            encoder=SimCLRSpec.digits(),
        )

    @classmethod
    def quick(cls) -> DemoSpec:
        """1,797 small digits, and an encoder that has hardly learnt: to see that it works."""
        from reticent.training.contrastive import SimCLRSpec

        return cls(
            data="digits",
            sizes={"public": 400, "private": 600, "others": 400, "test": 397},
            encoder=dataclasses.replace(SimCLRSpec.digits(), epochs=40, width=16),
            epsilons=(1.0, 16.0),
            draws=3,
            shadows=8,
        )


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """Tables, verdict, and the release that is handed over."""

    tables: tuple[Table, ...]
    verdict: tuple[str, ...]
    released: ReleasedHead

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file."""
        return {
            "tables": [table.to_dict() for table in self.tables],
            "verdict": list(self.verdict),
            "guarantee": self.released.guarantee.to_dict(),
        }


@dataclass(frozen=True, kw_only=True)
class _Parts:
    """The same records as pixels or as features, by their roles."""

    name: str
    rows: dict[str, Dataset]

    def features(self, role: str) -> NDArray[np.float64]:
        return self.rows[role].features.astype(np.float64)

    def labels(self, role: str) -> NDArray[Any]:
        data = self.rows[role]
        return np.asarray(data.classes)[data.labels]


@dataclass(frozen=True, kw_only=True)
class _Judged:
    """A model's accuracy on new records, and what the loss attack makes of it."""

    accuracy: float
    attack: Measured


def demonstrate(
    spec: DemoSpec, *, cache: Path | None = None, stage: Stage | None = None
) -> Demonstration:
    """All of it; nothing is fetched from a network. ``cache`` keeps the trained encoder."""
    tell = stage or (lambda *_: None)
    images = _images(spec)
    pixels = _whitened("pixels", images)
    features = _whitened("SimCLR features", _encoded(images, spec, cache, tell))
    heads = {}
    for number, parts in enumerate((pixels, features)):
        heads[parts.name] = _unprotected(parts, spec)
        tell("unprotected heads", number + 1, 2)
    before = {parts.name: _judged(heads[parts.name], parts) for parts in (pixels, features)}
    rows = _releases(features, heads[features.name], spec, tell)
    attacks = _stronger(features, heads[features.name], rows, spec, tell)
    third = attacks.table(f"3. Stronger attacks on the head on {features.name}")
    return Demonstration(
        tables=(_before_table(before, spec), _release_table(rows, spec), third),
        verdict=_verdict(before, features.name, rows, attacks),
        released=rows[0].draws[0],
    )


def _images(spec: DemoSpec) -> dict[str, Dataset]:
    data = load(spec.data)
    parts = split(data, sizes=spec.sizes, seed=spec.seed)
    return {role: data.take(parts[role]) for role in spec.sizes}


def _encoded(
    images: dict[str, Dataset], spec: DemoSpec, cache: Path | None, tell: Stage
) -> dict[str, Dataset]:
    """SimCLR on the public images, then features of all."""
    from reticent.training.contrastive import pretrain

    state = None
    if cache is not None:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = cache / _state_name(spec, images["public"])
    encoder = pretrain(
        images["public"].images,
        spec.encoder,
        state=state,
        progress=lambda record: tell("SimCLR epochs", record.epoch, spec.encoder.epochs),
    )
    rows = {}
    for number, (role, data) in enumerate(images.items()):
        rows[role] = dataclasses.replace(data, inputs=encoder.encode(data.images))
        tell("encoding", number + 1, len(images))
    return rows


def _state_name(spec: DemoSpec, public: Dataset) -> str:
    settings = json.dumps(dataclasses.asdict(spec.encoder), sort_keys=True)
    digest = hashlib.sha256(f"{settings}; {public.checksum}".encode()).hexdigest()
    return f"simclr-{digest[:32]}.state.safetensors"


def _whitened(name: str, rows: dict[str, Dataset]) -> _Parts:
    """Centred and scaled by the public records."""
    step = PublicStep(PublicWhitening().fit(rows["public"].features))
    white = {
        role: dataclasses.replace(
            data, inputs=step.transform(data.features).astype(np.float32), columns=()
        )
        for role, data in rows.items()
    }
    return _Parts(name=name, rows=white)


def _unprotected(parts: _Parts, spec: DemoSpec) -> SoftmaxHead:
    return fit_head(
        parts.rows["private"],
        HeadSpec(
            records=spec.sizes["private"],
            bound=1.0,
            penalty=spec.unprotected_penalty,
            intercept=spec.intercept,
            norms="scale",
        ),
    )


def _judged(model: Any, parts: _Parts) -> _Judged:
    hits = model.predict(parts.features("test")) == parts.labels("test")
    inside, outside = (
        MetricAttack("loss").scores(model, Records.of(parts.rows[role]))
        for role in ("private", "others")
    )
    return _Judged(accuracy=float(np.mean(hits)), attack=auc(inside.values, outside.values))


@dataclass(frozen=True, kw_only=True)
class _Release:
    """Independent draws of one release."""

    draws: list[ReleasedHead]
    loss: UtilityLoss
    judged: _Judged


def _releases(
    parts: _Parts, unprotected: SoftmaxHead, spec: DemoSpec, tell: Stage
) -> list[_Release]:
    """Smallest ε first within each mechanism; the first of all is the one handed over."""
    wishes = [
        _wanted(spec, mechanism, pure, epsilon)
        for mechanism, pure in spec.mechanisms
        for epsilon in sorted(spec.epsilons)
    ]
    found = []
    for number, wanted in enumerate(wishes):
        draws = _draws(parts.rows["private"], wanted, spec.draws)
        loss = utility_loss(
            draws,
            unprotected,
            parts.features("test"),
            parts.labels("test"),
            rng=seeded(spec.seed, "demo", str(number)),
        )
        found.append(_Release(draws=draws, loss=loss, judged=_judged(draws[0], parts)))
        tell("releases", number + 1, len(wishes))
    return found


def _stronger(
    parts: _Parts, unprotected: SoftmaxHead, rows: list[_Release], spec: DemoSpec, tell: Stage
) -> Stronger:
    """On the release with the largest ε of the first mechanism, which is Gaussian."""
    weakest = rows[len(spec.epsilons) - 1].draws[0]
    members, others = (Records.of(parts.rows[role]) for role in ("private", "others"))
    return stronger(
        unprotected, weakest, members, others, shadows=spec.shadows, seed=spec.seed, stage=tell
    )


def _draws(private: Dataset, wanted: Wanted, number: int) -> list[ReleasedHead]:
    """One fit, released several times: to show the spread, each at the full ε."""
    head = fit_head(private, wanted.head(private.features.shape[1], len(private.classes)))
    return [release_weights(head, **wanted.budget) for _ in range(number)]


def _wanted(spec: DemoSpec, mechanism: str, pure: bool, epsilon: float) -> Wanted:
    return Wanted(
        epsilon=epsilon,
        delta=0.0 if pure else spec.delta,
        relation=Relation.ADD_REMOVE,
        records=spec.sizes["private"],
        bound=1.0,
        mechanism=mechanism,
        intercept=spec.intercept,
        norms="scale",
    )


def _before_table(before: dict[str, _Judged], spec: DemoSpec) -> Table:
    return Table(
        title=f"1. Heads on {spec.sizes['private']:,} private digits, unprotected",
        columns=("on", "accuracy", "loss attack: AUC [95 %]"),
        rows=tuple(
            (name, f"{found.accuracy:.3f}", str(found.attack)) for name, found in before.items()
        ),
        notes=(
            f"The encoder saw {spec.sizes['public']:,} public digits without their labels. The "
            f"attack tells members from {spec.sizes['others']:,} others by their loss; 0.5 is "
            "guessing.",
        ),
    )


def _release_table(rows: list[_Release], spec: DemoSpec) -> Table:
    grades = sorted({str(row.draws[0].guarantee.grade) for row in rows})
    return Table(
        title="2. Weights of the head on SimCLR features, released once",
        columns=("mechanism", "ε", "δ", "penalty", "accuracy", "utility loss [95 %]", "attack"),
        rows=tuple(_release_row(row) for row in rows),
        notes=(
            f"Grade: {', '.join(grades)}. Accuracy and utility loss over {spec.draws} releases "
            "each; the attack's AUC on the first. Penalties follow from public numbers.",
        ),
    )


def _release_row(row: _Release) -> tuple[str, ...]:
    head, loss = row.draws[0], row.loss
    return (
        head.mechanism,
        upper_text(head.guarantee.epsilon),
        upper_text(head.guarantee.delta),
        f"{head.public.penalty:.2g}",
        f"{loss.metric_protected:.3f}",
        f"{loss.value:.3f} [{loss.low:.3f}, {loss.high:.3f}]",
        f"{row.judged.attack.value:.3f}",
    )


def _verdict(
    before: dict[str, _Judged], encoded: str, rows: list[_Release], attacks: Stronger
) -> tuple[str, ...]:
    first = rows[0].draws[0].mechanism
    released = [row for row in rows if row.draws[0].mechanism == first]
    return (
        *(_told(name, found) for name, found in before.items()),
        *attacks.verdict,
        f"Without protection the head on {encoded} is right for {before[encoded].accuracy:.1%}. "
        "Released weights:",
        *(f"  {row.draws[0].guarantee}: {row.loss}" for row in released),
        "Each guarantee covers every attack, these and stronger ones, under the assumptions that "
        "its certificate lists.",
    )


def _told(name: str, found: _Judged) -> str:
    if found.attack.low > 0.5:
        return (
            f"On {name} the unprotected head gives members away by their loss: AUC {found.attack}."
        )
    return f"On {name} the loss does not rank members higher: AUC {found.attack}."
