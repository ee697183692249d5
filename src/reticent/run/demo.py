"""The demonstration: real digits, an encoder trained on public ones, and the whole job on the rest.

Accuracies are measured on records that no training saw. Earlier settings (other sizes, add-remove,
parts not split by class) had been run on these very digits before today's were settled, on images
of MNIST's test set; ``reticent reproduce beyond demonstration`` repeats them there.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reticent.attacks.context import ProgressCallback
from reticent.audit.one_outlier import one_outlier
from reticent.data import Dataset, load, split
from reticent.guarantee import Relation
from reticent.parallel import begun
from reticent.results import Features, Outlier, Results, conversions
from reticent.run import Finished, RunData, RunSpec, attacking, heads, releases, run_job
from reticent.run.spec import whitened
from reticent.training import PublicStep, public_step

if TYPE_CHECKING:
    from reticent.training.contrastive import SimCLRSpec

PIXELS, ENCODED = "pixels", "SimCLR features"


@dataclass(frozen=True, kw_only=True)
class DemoSpec:
    """All choices of a demonstration."""

    data: str
    sizes: dict[str, int]
    """Public: the encoder's; private: the head's; others: not trained on, scored; own: the
    adversary's. Accuracies are taken on the last two."""
    encoder: SimCLRSpec
    run: RunSpec
    kind: str = ENCODED
    """The features that the whole job is done on; the others get a row for comparison."""
    outlier: int = 10_000
    """Records of the data set with one outlier."""
    command: str = "reticent demo"

    @classmethod
    def full(cls) -> DemoSpec:
        """5,000 MNIST images: under two minutes on two cores."""
        from reticent.training.contrastive import SimCLRSpec

        sizes = {"public": 1000, "private": 3000, "others": 800, "own": 200}
        return cls(data="mnist5k", sizes=sizes, encoder=SimCLRSpec.digits(), run=_run(sizes))

    @classmethod
    def quick(cls) -> DemoSpec:
        """1,797 small digits, on their pixels, since an encoder has hardly learnt in seconds."""
        from reticent.training.contrastive import SimCLRSpec

        sizes = {"public": 400, "private": 600, "others": 400, "own": 397}
        run = replace(
            _run(sizes),
            epsilons=(1.0, 4.0),
            mechanisms=("gaussian", "logistic"),
            draws=3,
            shadows=10,
            pairs=100,
            sampled=10,
            audit_runs=2_000,
        )
        encoder = replace(SimCLRSpec.digits(), epochs=10, width=16)
        return cls(
            data="digits",
            sizes=sizes,
            encoder=encoder,
            run=run,
            kind=PIXELS,
            outlier=2_000,
            command="reticent demo --quick",
        )


def _run(sizes: dict[str, int]) -> RunSpec:
    """Rows are whitened by public ones and scaled to norm 1.

    Parts of fixed sizes put replace-one to the test, and sampled and published sensitivities are
    about it, so the proven releases are too.
    """
    return RunSpec(
        epsilon=1.0,
        delta=1e-5,
        relation=Relation.REPLACE_ONE,
        records=sizes["private"],
        bound=1.0,
        norms="scale",
        epsilons=(1.0, 2.0, 4.0, 8.0),
        sampled=30,
        jobs=-1,
    )


def demonstrate(
    spec: DemoSpec, *, cache: Path | None = None, stage: ProgressCallback | None = None
) -> Finished:
    """All of it; nothing is fetched from a network. ``cache`` keeps the trained encoder."""
    progress = stage or (lambda *_: None)
    demo = Prepared(spec=spec, images=parts_of(load(spec.data), spec), cache=cache)
    # Training an encoder keeps one core busy; what does not need it has the other one.
    rest = PIXELS if spec.kind == ENCODED else ENCODED
    compared = begun(demo.in_short, rest, jobs=spec.run.jobs)
    outlier = begun(_outlier, spec, jobs=spec.run.jobs)
    finished = run_job(
        demo.data(spec.kind, progress), spec.run, command=spec.command, stage=progress
    )
    progress(f"the same on {rest}", 0, 1)
    rows = {spec.kind: row_of(finished.results), rest: compared()}
    progress(f"the same on {rest}", 1, 1)
    results = finished.results.model_copy(
        update={"features": (rows[PIXELS], rows[ENCODED]), "outlier": outlier()}
    )
    return replace(finished, results=results)


@dataclass(frozen=True, kw_only=True, eq=False)
class Prepared:
    """Images in their roles, and features of either kind."""

    spec: DemoSpec
    images: dict[str, Dataset]
    cache: Path | None = None

    def data(self, kind: str, progress: ProgressCallback) -> RunData:
        """The parts of a run on features of this kind."""
        parts = self.images
        if kind == ENCODED:
            parts = _encoded(parts, self.spec, self.cache, progress)
        return _roles(kind, self.spec, parts)

    def in_short(self, kind: str) -> Features:
        """The row of the other kind, made beside the whole job."""
        alone = replace(self.spec.run, jobs=1)
        return feature_row(self.data(kind, _silent), alone, _silent)


def _silent(*_: object) -> None:
    pass


def parts_of(data: Dataset, spec: DemoSpec) -> dict[str, Dataset]:
    """Every part has the classes in the same shares: attacks shall not tell parts by them."""
    parts = split(data, sizes=spec.sizes, seed=spec.run.seed, stratify=data.labels)
    return {role: data.take(parts[role]) for role in spec.sizes}


def _encoded(
    images: dict[str, Dataset], spec: DemoSpec, cache: Path | None, progress: ProgressCallback
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
        progress=lambda record: progress("SimCLR epochs", record.epoch, spec.encoder.epochs),
    )
    rows = {}
    for number, (role, data) in enumerate(images.items()):
        rows[role] = replace(data, inputs=encoder.encode(data.images))
        progress("encoding", number + 1, len(images))
    return rows


def _state_name(spec: DemoSpec, public: Dataset) -> str:
    settings = json.dumps(asdict(spec.encoder), sort_keys=True)
    digest = hashlib.sha256(f"{settings}; {public.checksum}".encode()).hexdigest()
    return f"simclr-{digest[:32]}.state.safetensors"


def _roles(kind: str, spec: DemoSpec, parts: dict[str, Dataset]) -> RunData:
    """Centred and whitened by the public records, whose labels only the sampler uses."""
    step = PublicStep(public_step.PublicWhitening().fit(parts["public"].features))
    white = {role: whitened(data, step) for role, data in parts.items()}
    return RunData(
        name=spec.data,
        kind=kind,
        private=white["private"],
        others=white["others"],
        own=white["own"],
        test=_together(white["others"], white["own"]),
        pool=white["public"],
        public=spec.sizes["public"],
        test_is_public=True,
    )


def _together(one: Dataset, other: Dataset) -> Dataset:
    return replace(
        one,
        inputs=np.concatenate([one.inputs, other.inputs]),
        labels=np.concatenate([one.labels, other.labels]),
    )


def _outlier(spec: DemoSpec) -> Outlier:
    """Where the published sensitivity falls."""
    outlier = one_outlier(records=spec.outlier, epsilon=spec.run.epsilon, delta=spec.run.delta)
    audit = outlier.audit
    return Outlier(
        title=f"{outlier.records:,} digits, one of them a negative: Algorithm 2 misses it",
        claim=conversions.claim_of(audit.claim),
        audit=conversions.audit_of(audit, pair=audit.pair),
        text=outlier.words,
    )


def feature_row(data: RunData, spec: RunSpec, progress: ProgressCallback) -> Features:
    """The same job in short, so that two kinds of features stand side by side."""
    head = heads.unprotected_head(data, spec)
    few = replace(spec, shadows=max(spec.shadows // 2, 10))
    attacked, strengths = attacking.Adversaries(
        data=data, spec=few, progress=progress
    ).on_unprotected(head, ("lira-online", "rmia-online"))
    (release,) = releases.drawn(
        [releases.recommended_kind(data, spec)], data, spec, head, lambda *_: None
    )
    return Features(
        name=data.kind,
        width=data.features,
        unprotected=conversions.accuracy_of(
            [releases.correct_predictions(head, *data.rows("test"))]
        ),
        released=release.accuracy,
        loss=conversions.interval_of(release.loss),
        strongest=conversions.interval_of(attacked.reports[next(iter(strengths))].auc),
    )


def row_of(results: Results) -> Features:
    """The same of a job that is done."""
    return Features(
        name=results.facts.feature_kind,
        width=results.facts.features,
        unprotected=results.unprotected.accuracy,
        released=results.recommended.accuracy,
        loss=results.recommended.loss,
        strongest=results.conclusion.before,
    )
