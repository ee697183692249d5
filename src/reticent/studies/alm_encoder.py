"""The paper's own small encoder (ALM, Section 6.1): SimCLR as in the Keras example, on CIFAR-10.

The encoder's images and the head's are different ones, as |D| = 40,000 and |d| = 10,000 are in the
paper. Attacks need three times as many images that are not the encoder's: theirs has a quarter.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np

from reticent.data import Dataset, load
from reticent.studies.trained import Run
from reticent.training.contrastive import EpochRecord, SimCLRSpec, pretrain
from reticent.training.encoders.base import Encoder
from reticent.training.encoders.cache import cache_folder, cached_features


@dataclass(frozen=True, kw_only=True)
class AlmEncoder:
    """Which images the encoder is trained on, the first ones; the head's are the last ones."""

    on: str = "cifar10"
    images: int = 40_000
    head: int = 10_000
    spec: SimCLRSpec = field(default_factory=lambda: SimCLRSpec(threads=1))


ATTACKED: Final = AlmEncoder(images=10_000, head=40_000)
"""Members, others and the adversary's images are left."""

ENCODERS: Final[Mapping[str, AlmEncoder]] = {
    "cifar10-simclr": AlmEncoder(),
    "cifar10-simclr-10k": ATTACKED,
}
"""By the name of the task that has its features."""


def epochs_before(on: str) -> int:
    """How many epochs of training a study on this task has before its own steps: mostly none."""
    return ENCODERS[on].spec.epochs if on in ENCODERS else 0


def train_encoder(on: str, run: Run) -> None:
    """Train the encoder of a task that has one, a step an epoch; one that is kept takes none."""
    if on in ENCODERS:
        before = run.steps.done
        how = ENCODERS[on]
        images = load(f"{how.on}-train", run.folder).images[: how.images]
        _encoder(images, how.spec, lambda record: run.steps.reach(before + record.epoch))
        run.steps.reach(before + how.spec.epochs)


def simclr_features(part: str, folder: Path | None, how: AlmEncoder | None = None) -> Dataset:
    """Features of the images left for the head ("train"), or of the test images.

    The encoder is trained once: its state is kept in the cache after each epoch, so a stopped
    training goes on.
    """
    how = how or AlmEncoder()
    train = load(f"{how.on}-train", folder)
    encoder = _encoder(train.images[: how.images], how.spec)
    wanted = train.take(np.arange(len(train) - how.head, len(train)))
    if part == "test":
        wanted = load(f"{how.on}-test", folder)
    name = f"{how.on}-simclr-{part}"
    return replace(cached_features(wanted, encoder), name=name)


def _encoder(
    images: np.ndarray,
    spec: SimCLRSpec,
    progress: Callable[[EpochRecord], object] | None = None,
) -> Encoder:
    settings = json.dumps(asdict(spec), sort_keys=True).encode()
    digest = hashlib.sha256(settings + np.ascontiguousarray(images).tobytes()).hexdigest()
    path = cache_folder(kind="encoders") / f"simclr-{digest[:32]}.state.safetensors"
    return pretrain(images, spec, state=path, progress=progress)
