"""SimCLR (Chen et al. 2020) in the small set-up of the Keras example. NOT private.

Encoder and projection head learn to find, among all views of a batch, the other view of the same
image. The head is thrown away. For one seed, one machine and one number of threads the weights
are a function of images and spec, whether or not training was stopped and resumed in between.

Everything that training changes stands in a file, from which it goes on after a stop.
"""

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from reticent.arrays import Array
from reticent.files import write_atomic
from reticent.randomness import seeded
from reticent.training import optimisers
from reticent.training.contrastive import augmentations
from reticent.training.contrastive.barlow_twins import barlow_twins
from reticent.training.contrastive.nt_xent import FEWEST, contrastive_accuracy, nt_xent
from reticent.training.contrastive.spectral import spectral
from reticent.training.encoders import convolutional, torch_encoder
from reticent.training.encoders.torch_extra import nn, torch
from reticent.validation import InputError, count, positive, sampling_rate

FORMAT: Final = "reticent-simclr-state-1"
_GENERATOR: Final = "generator"
_OPTIMISER: Final = "optimiser"


@dataclass(frozen=True, kw_only=True)
class EpochRecord:
    """One line of the log."""

    epoch: int
    loss: float
    contrastive_accuracy: float
    gradient_norm: float
    """The mean over the batches: these images are public."""
    seconds: float
    images_per_second: float


@dataclass(kw_only=True)
class TrainingState:
    """Encoder, projection head, optimiser and generator after the epochs in ``history``."""

    encoder: nn.Module
    projection: nn.Module
    optimiser: torch.optim.Optimizer
    generator: torch.Generator
    history: list[EpochRecord] = field(default_factory=list)

    def save(self, path: Path, run: dict[str, Any]) -> None:
        """Write the state of this run, whole or not at all."""
        document = {"run": run, "history": [asdict(record) for record in self.history]}
        torch_encoder.write_sealed(path, self._tensors(), document, format=FORMAT)

    def restore(self, path: Path, run: dict[str, Any]) -> None:
        """Go back to a saved state, if it is one of this run: same settings, same images."""
        document, tensors = torch_encoder.read_sealed(path, format=FORMAT)
        for part, setting in run.items():
            if document.get("run", {}).get(part) != setting:
                raise InputError(
                    f"{path} must be the state of a run with the same {part}, got another:"
                    " remove it, or give the settings and images it was made with"
                )
        try:
            self._load(tensors)
            self.history = [EpochRecord(**record) for record in document["history"]]
        except (KeyError, TypeError, ValueError, RuntimeError):
            raise InputError(f"{path} must be a state of this version, got another") from None

    def _tensors(self) -> dict[str, torch.Tensor]:
        tensors = {_GENERATOR: self.generator.get_state()}
        for part in ("encoder", "projection"):
            for name, tensor in getattr(self, part).state_dict().items():
                tensors[f"{part}.{name}"] = tensor
        for index, values in self.optimiser.state_dict()["state"].items():
            for name, tensor in values.items():
                tensors[f"{_OPTIMISER}.{index}.{name}"] = tensor
        return tensors

    def _load(self, tensors: dict[str, torch.Tensor]) -> None:
        self.generator.set_state(tensors[_GENERATOR])
        for part in ("encoder", "projection"):
            getattr(self, part).load_state_dict(_below(part, tensors))
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in _below(_OPTIMISER, tensors).items():
            index, _, moment = name.partition(".")
            moments.setdefault(int(index), {})[moment] = tensor
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": moments, "param_groups": groups})


def _below(part: str, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix(f"{part}."): tensor
        for name, tensor in tensors.items()
        if name.startswith(f"{part}.")
    }


_ARCHITECTURES: Final = ("conv", "strided", "resnet18")
_NAMES: Final = {"simclr": "SimCLR", "barlow": "Barlow Twins", "spectral": "spectral"}
_METHODS: Final = tuple(_NAMES)
_CHUNK: Final = 1024  # images hashed at once

FilePath = str | os.PathLike[str]


@dataclass(frozen=True, kw_only=True)
class SimCLRSpec:
    """What is trained, and how; the defaults are those of the Keras example.

    Args:
        method: The loss: "simclr" (NT-Xent), "barlow" (Barlow Twins) or "spectral".
        architecture: "conv", four convolutions; "strided", three with group normalisation; or
            "resnet18" with group normalisation.
        width: Filters of (the first stage of) the encoder; None for 128, 16 and 64.
        epochs: How often each image is seen, up to a last batch of one image, which is dropped.
        batch: Images in a batch; the last one of an epoch is smaller where it does not divide.
        temperature: By which NT-Xent divides the cosines.
        learning_rate: Of Adam.
        augmentation: How views are made.
        seed: Of initial weights, order and views.
        threads: Of torch while it trains; None for its own choice. Small batches gain little from
            a second thread, and lose much where other programs want the cores too.

    >>> SimCLRSpec(epochs=3).temperature
    0.1
    """

    method: Literal["simclr", "barlow", "spectral"] = "simclr"
    architecture: Literal["conv", "strided", "resnet18"] = "conv"
    width: int | None = None
    epochs: int = 20
    batch: int = 525
    temperature: float = 0.1
    learning_rate: float = 1e-3
    augmentation: augmentations.Augmentation = field(default_factory=augmentations.natural)
    seed: int = 0
    threads: int | None = None

    def __post_init__(self) -> None:
        """Check every field."""
        if self.threads is not None:
            count("threads", self.threads)
        for name, allowed in (("architecture", _ARCHITECTURES), ("method", _METHODS)):
            if (value := getattr(self, name)) not in allowed:
                raise InputError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
        if self.width is not None:
            count("width", self.width)
        count("epochs", self.epochs)
        count("batch", self.batch, at_least=FEWEST)
        positive("temperature", self.temperature)
        sampling_rate("learning_rate", self.learning_rate)
        if not isinstance(self.augmentation, augmentations.Augmentation):
            raise InputError("augmentation must be an Augmentation, got another type")
        count("seed", self.seed, at_least=0)

    @classmethod
    def digits(cls, *, seed: int = 0) -> "SimCLRSpec":
        """For about a thousand grey digits of 28 pixels: some twenty seconds on two cores."""
        return cls(
            width=32,
            epochs=50,
            batch=125,
            temperature=0.2,
            learning_rate=2e-3,
            augmentation=augmentations.digits(),
            seed=seed,
            threads=1,
        )


def pretrain(
    images: Array,
    spec: SimCLRSpec,
    *,
    state: FilePath | None = None,
    log: FilePath | None = None,
    progress: Callable[[EpochRecord], object] | None = None,
) -> torch_encoder.TorchEncoder:
    """Train an encoder on PUBLIC images (n, height, width, channels), n >= 2; no labels are used.

    After each epoch ``state`` is written whole, one JSON line is appended to ``log``, and
    ``progress`` is called. After an interruption, the same call goes on from the last finished
    epoch and gives the same weights bit for bit; the log then has a line for each finished epoch,
    no more and no fewer. A state of another spec or of other images is refused.
    """
    checked = _checked(images)
    run = {"settings": json.loads(json.dumps(asdict(spec))), "images": _images_digest(checked)}
    training = _initial(spec, checked.shape[1:])
    if state is not None and Path(state).exists():
        training.restore(Path(state), run)
    if log is not None:
        write_atomic(Path(log), "".join(map(_log_line, training.history)).encode())
    while len(training.history) < spec.epochs:
        with _threads(spec.threads):
            training.history.append(_epoch(training, checked, spec))
        if state is not None:
            training.save(Path(state), run)
        if log is not None:
            _append(Path(log), _log_line(training.history[-1]))
        if progress is not None:
            progress(training.history[-1])
    return torch_encoder.TorchEncoder(
        training.encoder, name=f"{_NAMES[spec.method]} {spec.architecture}"
    )


@contextmanager
def _threads(number: int | None) -> Iterator[None]:
    """torch with this many threads, and as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(before if number is None else number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Means(NamedTuple):
    loss: float
    accuracy: float
    gradient_norm: float
    images: int


def _epoch(training: TrainingState, images: Array, spec: SimCLRSpec) -> EpochRecord:
    started = time.perf_counter()
    order = torch.randperm(len(images), generator=training.generator).numpy()
    parts = np.split(order, range(spec.batch, len(order), spec.batch))
    batches = [rows for rows in parts if len(rows) >= FEWEST]
    seen = [_step(training, torch_encoder.prepared(images[rows]), spec) for rows in batches]
    epoch = len(training.history) + 1
    total = sum(part.images for part in seen)
    loss, gradient_norm = (
        sum(getattr(part, name) * part.images for part in seen) / total
        for name in ("loss", "gradient_norm")
    )
    if not math.isfinite(loss + gradient_norm):
        raise InputError(
            f"loss must stay finite, got {loss} in epoch {epoch}, of a gradient of norm"
            f" {gradient_norm}: lower the learning rate or raise the temperature"
        )
    seconds = time.perf_counter() - started
    return EpochRecord(
        epoch=epoch,
        loss=loss,
        contrastive_accuracy=sum(part.accuracy * part.images for part in seen) / total,
        gradient_norm=gradient_norm,
        seconds=seconds,
        images_per_second=total / seconds,
    )


def _step(training: TrainingState, images: torch.Tensor, spec: SimCLRSpec) -> _Means:
    views = [spec.augmentation(images, training.generator) for _ in range(2)]
    batch = torch.cat(views)
    if spec.architecture == "conv":
        # A quarter faster on a CPU. Not for the other: torch 2.13's GroupNorm writes beyond its
        # memory when it differentiates channels-last tensors of small groups.
        batch = batch.contiguous(memory_format=torch.channels_last)
    projected = training.projection(training.encoder(batch))
    first, second = projected.chunk(2)
    loss = batch_loss(first, second, spec)
    training.optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    squares = sum(
        float(one.grad.square().sum())
        for group in training.optimiser.param_groups
        for one in group["params"]
        if one.grad is not None
    )
    training.optimiser.step()
    found = contrastive_accuracy(first, second)
    return _Means(loss.item(), found, math.sqrt(squares), len(images))


def batch_loss(first: torch.Tensor, second: torch.Tensor, spec: SimCLRSpec) -> torch.Tensor:
    """The loss that the spec names."""
    if spec.method == "simclr":
        return nt_xent(first, second, temperature=spec.temperature)
    return barlow_twins(first, second) if spec.method == "barlow" else spectral(first, second)


def _initial(spec: SimCLRSpec, shape: tuple[int, ...]) -> TrainingState:
    """Untrained parts, a function of spec and image shape; torch's own seed stays as it is."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_seed(spec, "weights"))
        encoder, projection = _modules(spec, shape)
    parameters = [*encoder.parameters(), *projection.parameters()]
    return TrainingState(
        encoder=encoder,
        projection=projection,
        optimiser=optimisers.Adam(parameters, lr=spec.learning_rate),
        generator=torch.Generator().manual_seed(_seed(spec, "batches and views")),
    )


def _modules(spec: SimCLRSpec, shape: tuple[int, ...]) -> tuple[nn.Module, nn.Module]:
    height, width, channels = shape
    if spec.architecture == "conv":
        small = convolutional.ConvolutionalConfig(channels=channels, height=height, width=width)
        small = small if spec.width is None else replace(small, filters=spec.width)
        return convolutional.ConvolutionalEncoder(small), convolutional.projection_head(
            small.dimension
        )
    if spec.architecture == "strided":
        few = convolutional.StridedConfig(channels=channels, height=height, width=width)
        few = few if spec.width is None else replace(few, filters=spec.width)
        return convolutional.StridedEncoder(few), convolutional.projection_head(few.dimension)
    large = convolutional.ResNet18Config(channels=channels, height=height, width=width)
    large = large if spec.width is None else replace(large, filters=spec.width)
    head = convolutional.projection_head(large.dimension, hidden=512, standardised=True)
    return convolutional.ResNet18Encoder(large), head


def _seed(spec: SimCLRSpec, purpose: str) -> int:
    return int(seeded("simclr", purpose, spec.seed).integers(2**63))


def _checked(images: Array) -> Array:
    checked = torch_encoder.checked_images(images)
    if len(checked) < FEWEST:
        raise InputError(f"images must be at least {FEWEST}, got {len(checked)}")
    return checked


def _images_digest(images: Array) -> str:
    digest = hashlib.sha256(f"{images.dtype.str}{images.shape};".encode())
    for start in range(0, len(images), _CHUNK):
        digest.update(np.ascontiguousarray(images[start : start + _CHUNK]).data)
    return digest.hexdigest()


def _log_line(record: EpochRecord) -> str:
    return json.dumps(asdict(record), allow_nan=False) + "\n"


def _append(path: Path, line: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(line)
    except OSError as error:
        raise InputError(f"{path} must be writable, got: {error.strerror}") from None
