"""Trainings of DPCL's Figs. 1–5: four ways to train one contrastive network, judged as they go.

Every way starts from the same weights (a public seed) and is judged by the same four figures: the
exact loss of a fixed batch, the mean norm of its gradients view by view, kNN and a linear probe.
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from reticent.arrays import Floats, Integers
from reticent.data import Dataset
from reticent.guarantee import Relation
from reticent.protect import ReleaseRequest, release_encoder
from reticent.protect.published.dpcl import DPCL, Method, sample_without_replacement
from reticent.protect.published.dpcl_steps import EMBEDDING, DPCLRun
from reticent.protect.recipes.pate import public_text
from reticent.protect.training_progress import FORMAT, follow_training
from reticent.randomness import seeded
from reticent.training.contrastive import networks
from reticent.training.contrastive.barlow_twins import barlow_twins
from reticent.training.contrastive.nt_xent import nt_xent
from reticent.training.encoders.evaluation import Memory, knn_accuracy, ridge_probe
from reticent.training.encoders.torch_encoder import read_sealed
from reticent.training.encoders.torch_extra import functional, torch
from reticent.training.gradients import Clipper

Way = Literal["none", "naive", "published", "proven"]
WAYS: Final[tuple[Way, ...]] = ("none", "naive", "published", "proven")
NO_NOISE: Final = 1e-9
"""The noise multiplier of ``none``: the same steps, with noise that nobody sees."""
PARTS: Final = 8
"""Of the queries, and batches of private images: what one training was judged by, part by part."""
_ENCODED: Final = 500


@dataclass(frozen=True, kw_only=True)
class Loss:
    """The numbers of one loss: noise multipliers are the paper's, at its ε of 1,000.

    Args:
        naive: Of the gradient, whose sensitivity is 4|B|C.
        gradient: Of the gradient where the coupling is noised too.
        coupling: Of each release of the coupling.
        clip: C, of the gradient through one view.
        naive_clip: C of the naive way.
        learning_rate: On sums divided by |B|.
    """

    method: Method
    naive: float
    gradient: float
    coupling: float
    clip: float
    naive_clip: float
    learning_rate: float = 0.1
    temperature: float = 0.5

    def clip_of(self, way: Way) -> float:
        """The clipping norm C that was fixed for this way of clipping."""
        return self.naive_clip if way == "naive" else self.clip


PAPER: Final[Mapping[str, Loss]] = {
    "SimCLR": Loss(
        method="simclr", naive=0.3812, gradient=0.4021, coupling=0.4021, clip=0.02, naive_clip=0.02
    ),
    "Barlow Twins": Loss(
        method="barlow", naive=0.3633, gradient=0.3931, coupling=0.416, clip=1.0, naive_clip=50.0
    ),
}
"""Sections 5.2 and 5.3."""


@dataclass(frozen=True, kw_only=True)
class Images:
    """Private images without labels, public ones; others to judge by, with labels."""

    private: Dataset
    public: Dataset
    """What the proven way of SimCLR tells private images from."""
    labelled: Dataset
    queries: Dataset


@dataclass(frozen=True, kw_only=True)
class Training:
    """What all ways share: sizes, network and the marks at which they are judged."""

    shape: str
    augmentation: str
    architecture: str
    batch: int
    steps: int
    marks: tuple[int, ...]
    delta: float
    penalty: float

    def network(self, features: int, seed: int) -> networks.ContrastiveNetwork:
        """Encoder and head with the first weights of this seed."""
        image = networks.image_shape(self.shape, features)
        return networks.contrastive_network(
            self.architecture, features, image, width=EMBEDDING, seed=seed
        )


class Job(NamedTuple):
    """One training: what, with which loss, from which first weights."""

    training: Training
    loss: Loss
    seed: int


class Judge:
    """The four figures of a network at a mark; they read true losses, so they are private."""

    def __init__(self, job: Job, images: Images) -> None:
        self.job, self.images = job, images
        features = images.private.features.shape[1]
        self.image = networks.image_shape(job.training.shape, features)
        self.views = networks.views_of(job.training.augmentation, features, self.image)

    def __call__(self, model: networks.ContrastiveNetwork) -> dict[str, float]:
        """Loss, gradient norm, kNN and probe; all but the norm also part by part (``in_parts``)."""
        loss, norm = self._loss_and_norm(model)
        memory = self._memory(model)
        whole = {"loss": loss, "gradient norm": norm, **self._accuracies(memory)}
        return whole | self._parts(model, memory)

    def _accuracies(self, memory: Memory) -> dict[str, float]:
        probe = ridge_probe(memory, penalty=self.job.training.penalty)
        return {"kNN": knn_accuracy(memory), "probe": probe}

    def _parts(self, model: networks.ContrastiveNetwork, memory: Memory) -> dict[str, float]:
        """The same of parts of the queries, and the loss of as many fixed batches."""
        figures: dict[str, float] = {}
        for part, queries in enumerate(np.array_split(np.arange(len(memory.queries)), PARTS)):
            asked = replace(memory, queries=memory.queries[queries], truth=memory.truth[queries])
            figures |= {part_of(name, part): one for name, one in self._accuracies(asked).items()}
        for part in range(min(PARTS, len(self.images.private) // self.job.training.batch)):
            with torch.no_grad():
                loss = self._loss(*model(self._pairs_of(part)).chunk(2))
            figures[part_of("loss", part)] = float(loss)
        return figures

    @cached_property
    def _pairs(self) -> torch.Tensor:
        return self._pairs_of(0)

    def _pairs_of(self, part: int) -> torch.Tensor:
        """Two views of each image of a fixed batch, one half after the other."""
        batch = self.job.training.batch
        inputs = self._inputs(self.images.private.features[part * batch : (part + 1) * batch])
        name = "views of the fixed batch"
        rng = seeded(name, part) if part else seeded(name)
        drawn = rng.random((batch, 2 * self.views.draws))
        halves = np.split(drawn.astype(np.float32), 2, axis=1)
        return torch.cat([self.views.view(inputs, torch.from_numpy(one)) for one in halves])

    def _loss_and_norm(self, model: networks.ContrastiveNetwork) -> tuple[float, float]:
        clipper = Clipper(model)
        try:
            with clipper.watch(len(self._pairs)):
                loss = self._loss(*model(self._pairs).chunk(2))
                terms = (loss / len(self._pairs)).expand(len(self._pairs))
            norms = clipper.clipped_sums(terms, clip=1.0).norms
        finally:
            clipper.remove()
        return float(loss.detach()), float(norms.mean())

    def _loss(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        one, other = (functional.normalize(views, dim=1) for views in (first, second))
        if self.job.loss.method == "simclr":
            return nt_xent(one, other, temperature=self.job.loss.temperature)
        return barlow_twins(one, other)

    def _memory(self, model: networks.ContrastiveNetwork) -> Memory:
        """Features of the encoder alone, centred by those with labels."""
        labelled, queries = self.images.labelled, self.images.queries
        rows, asked = (self._encoded(model, data) for data in (labelled, queries))
        centre = rows.mean(axis=0)
        return Memory.of(
            rows - centre,
            np.asarray(labelled.labels),
            asked - centre,
            np.asarray(queries.labels),
            classes=len(labelled.classes),
        )

    def _encoded(self, model: networks.ContrastiveNetwork, data: Dataset) -> Floats:
        parts = []
        with torch.no_grad():
            for start in range(0, len(data), _ENCODED):
                inputs = self._inputs(data.features[start : start + _ENCODED])
                parts.append(model.encoder(inputs).numpy().astype(np.float64))
        features: Floats = np.nan_to_num(np.concatenate(parts), posinf=0.0, neginf=0.0)
        return features

    def _inputs(self, rows: Any) -> torch.Tensor:
        return self.views.inputs(torch.from_numpy(np.array(rows, dtype=np.float32)))


def part_of(metric: str, part: int) -> str:
    """The name of a figure of one part of what is judged."""
    return f"{metric}, part {part}"


def in_parts(figures: Mapping[str, float], metric: str) -> list[float]:
    """A figure of each part, in their order."""
    names = (part_of(metric, part) for part in range(PARTS))
    return [figures[name] for name in names if name in figures]


def trained(
    way: Way, job: Job, images: Images, advance: Callable[[], None]
) -> list[dict[str, float]]:
    """The figures at each mark of one training."""
    judge = Judge(job, images)
    if way == "proven":
        return _proven(job, images, judge, advance)
    return _by_the_paper(way, job, images, (judge, advance))


def _by_the_paper(
    way: Way, job: Job, images: Images, judge_and_advance: tuple[Judge, Callable[[], None]]
) -> list[dict[str, float]]:
    """The paper's own steps: each takes |B| records without replacement."""
    training, loss, (judge, advance) = job.training, job.loss, judge_and_advance
    rows = images.private.features.astype(np.float64)
    multiplier = loss.coupling if way == "published" else loss.naive
    network = networks.NetworkChoice(
        training.architecture, training.shape, training.augmentation, job.seed
    )
    spec = paper_spec(way, job, len(rows))
    run = DPCLRun(spec, multiplier, rows, network)
    run.noise = spec.gradient_noise(_gradient_multiplier(way, loss))
    figures = [judge(run.model)] if 0 in training.marks else []
    for step in range(training.steps):
        run.step(_sample(len(rows), training.batch), step)
        advance()
        if step + 1 in training.marks:
            figures.append(judge(run.model))
    return figures


def paper_spec(way: Way, job: Job, records: int) -> DPCL:
    """The public numbers as ``protect.published`` has them; noise multipliers are given apart.

    Its steps divide sums by |B|·C, the paper's by |B|: so does the learning rate here.
    """
    return DPCL(
        method=job.loss.method,
        privacy="published" if way == "published" else "naive",
        epsilon=1_000.0,
        delta=job.training.delta,
        records=records,
        batch=job.training.batch,
        steps=job.training.steps,
        clip=job.loss.clip_of(way),
        temperature=job.loss.temperature,
        learning_rate=job.loss.learning_rate * job.loss.clip_of(way),
    )


def _gradient_multiplier(way: Way, loss: Loss) -> float:
    return {"none": NO_NOISE, "naive": loss.naive, "published": loss.gradient}[way]


def _sample(records: int, batch: int) -> Integers:
    return sample_without_replacement(records, batch)


def claimed_epsilon(loss: Loss, training: Training, records: int) -> float:
    """What the paper's accounting claims for its noise multipliers in so many steps."""
    from reticent.accounting import account
    from reticent.protect.published.dpcl import amplified_each

    releases = 1 if loss.method == "simclr" else 4
    multipliers = [loss.gradient, *[loss.coupling] * releases]
    event = amplified_each(multipliers, training.batch, records, training.steps)
    relation = Relation.REPLACE_ONE
    return account(event, relation=relation, delta=training.delta, methods=["rdp"]).epsilon


def proven_request(job: Job, images: Images) -> ReleaseRequest:
    """The recipe of this package for the same loss, at the ε that the paper would claim."""
    training, loss, records = job.training, job.loss, len(images.private)
    told_from = {}
    if loss.method == "simclr":
        told_from["public"] = public_text(images.public.features.astype(np.float64))
    return ReleaseRequest.of(
        epsilon=round(claimed_epsilon(loss, training, records), 3),
        delta=training.delta,
        relation=Relation.ADD_REMOVE,
        records=records,
        recipe=loss.method,
        shape=training.shape,
        augmentation=training.augmentation,
        architecture=training.architecture,
        batch=training.batch,
        epochs=training.steps * training.batch / records,
        learning_rate=loss.learning_rate,
        clip=loss.clip,
        embedding=EMBEDDING,
        seed=job.seed,
        **told_from,
    )


def _proven(
    job: Job, images: Images, judge: Judge, advance: Callable[[], None]
) -> list[dict[str, float]]:
    """A real release; its network at a mark is read from the checkpoint that it saves there."""
    request = proven_request(job, images)
    model = job.training.network(images.private.features.shape[1], job.seed)
    figures = [judge(model)] if 0 in job.training.marks else []
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "training"

        def judged() -> None:
            _, tensors = read_sealed(checkpoint, format=FORMAT)
            model.load_state_dict(_weights(tensors))
            figures.append(judge(model))

        def progress(taken: int, planned: int) -> None:
            advance()
            if taken - 1 in job.training.marks and taken > 1 and taken <= planned:
                judged()

        with follow_training(progress=progress, checkpoint=checkpoint):
            released = release_encoder(images.private, request)
        judged()
    assert str(released.guarantee.grade) == "proven", released.guarantee
    return figures


def _weights(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    prefix = "weights."
    return {
        name.removeprefix(prefix): one for name, one in tensors.items() if name.startswith(prefix)
    }
