"""A small generative adversarial network (Goodfellow et al. 2014) of dense layers. NOT private.

The discriminator learns to tell records from samples, the generator to be taken for records (with
the loss that does not saturate). Few records and many steps make both remember them: it is the
object that attacks on generative models are tried on. For one seed, one machine and one number of
threads the weights are a function of records and spec.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.arrays import Array, Floats
from reticent.randomness import seeded
from reticent.training.encoders.torch_extra import functional, nn, torch
from reticent.validation import InputError, count, float_array, sampling_rate

Singles = NDArray[np.float32]

_SLOPE: Final = 0.2  # of the discriminator's leaky ReLU below 0
_MOMENTS: Final = (0.5, 0.999)  # of Adam: less momentum than usual (Radford et al. 2016)


@dataclass(frozen=True, kw_only=True)
class GANSpec:
    """What is trained, and how.

    Args:
        width: Of the two hidden layers of each network.
        latent: How many normal numbers a sample is made of.
        steps: Each is one of the discriminator, then one of the generator.
        batch: Records, and as many samples, in a step; drawn with replacement.
        generator_rate: Its learning rate; Adam's.
        discriminator_rate: Likewise.
        seed: Of initial weights, batches and samples.

    >>> GANSpec(steps=10).latent
    8
    """

    width: int = 128
    latent: int = 8
    steps: int = 2000
    batch: int = 50
    generator_rate: float = 3e-3
    discriminator_rate: float = 1e-3
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every field."""
        for name in ("width", "latent", "steps", "batch"):
            count(name, getattr(self, name))
        for name in ("generator_rate", "discriminator_rate"):
            sampling_rate(name, getattr(self, name))
        count("seed", self.seed, at_least=0)


@dataclass(frozen=True, kw_only=True)
class GANStep:
    """How training stands after a step: both losses are those of its batch."""

    step: int
    discriminator_loss: float
    generator_loss: float


@dataclass(frozen=True, kw_only=True, eq=False)
class GAN:
    """A trained generator with its discriminator; both take and give records of one shape."""

    generator: nn.Module
    discriminator: nn.Module
    shape: tuple[int, ...]
    latent: int

    def sample(self, size: int, *, seed: int) -> Singles:
        """So many new records, with values in [0, 1]."""
        randomness = _generator("samples", count("seed", seed, at_least=0))
        with torch.inference_mode():
            drawn = torch.randn(count("size", size), self.latent, generator=randomness)
            made: Singles = self.generator(drawn).numpy()
        return made.reshape(-1, *self.shape)

    def log_odds(self, records: ArrayLike) -> Floats:
        """What the discriminator answers, before the sigmoid: above 0 it says "a real record"."""
        rows = _rows(records)
        if rows.shape[1:] != self.shape:
            raise InputError(f"records must have shape {self.shape} each, got {rows.shape[1:]}")
        with torch.inference_mode():
            odds = self.discriminator(torch.from_numpy(rows).flatten(1))[:, 0]
        return np.asarray(odds.numpy(), dtype=np.float64)


def train_gan(
    records: ArrayLike, spec: GANSpec, *, progress: Callable[[GANStep], object] | None = None
) -> GAN:
    """Train on records of any shape: bytes, which are divided by 255, or numbers in [0, 1].

    ``progress`` is called after each step.
    """
    rows = _rows(records)
    training = _Training.of(rows.shape[1:], spec)
    flat = torch.from_numpy(rows).flatten(1)
    with torch.inference_mode(mode=False), torch.enable_grad():
        for number in range(1, spec.steps + 1):
            done = training.step(number, flat, spec.batch)
            if progress is not None:
                progress(done)
    return training.gan


@dataclass(frozen=True, kw_only=True)
class _Training:
    gan: GAN
    generator_steps: torch.optim.Optimizer
    discriminator_steps: torch.optim.Optimizer
    randomness: torch.Generator

    @classmethod
    def of(cls, shape: tuple[int, ...], spec: GANSpec) -> _Training:
        """Untrained networks; torch's own seed stays as it is."""
        size = math.prod(shape)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_seed("weights", spec.seed))
            generator = nn.Sequential(_hidden(spec.latent, spec.width, size, nn.ReLU()))
            discriminator = _hidden(size, spec.width, 1, nn.LeakyReLU(_SLOPE))
        generator.append(nn.Sigmoid())
        return cls(
            gan=GAN(
                generator=generator, discriminator=discriminator, shape=shape, latent=spec.latent
            ),
            generator_steps=_adam(generator, spec.generator_rate),
            discriminator_steps=_adam(discriminator, spec.discriminator_rate),
            randomness=_generator("batches", spec.seed),
        )

    def step(self, number: int, rows: torch.Tensor, batch: int) -> GANStep:
        """Both networks meet the same samples; −log σ(t) is softplus(−t)."""
        gan = self.gan
        chosen = rows[torch.randint(len(rows), (batch,), generator=self.randomness)]
        made = gan.generator(torch.randn(batch, gan.latent, generator=self.randomness))
        telling = functional.softplus(-gan.discriminator(chosen)).mean()
        telling = telling + functional.softplus(gan.discriminator(made.detach())).mean()
        _descend(self.discriminator_steps, telling)
        fooling = functional.softplus(-gan.discriminator(made)).mean()
        _descend(self.generator_steps, fooling)
        done = GANStep(
            step=number, discriminator_loss=telling.item(), generator_loss=fooling.item()
        )
        if not math.isfinite(done.discriminator_loss + done.generator_loss):
            raise InputError(
                f"losses must stay finite, got others in step {number}: lower the learning rates"
            )
        return done


def _hidden(inputs: int, width: int, outputs: int, activation: nn.Module) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, width),
        activation,
        nn.Linear(width, width),
        activation,
        nn.Linear(width, outputs),
    )


def _adam(network: nn.Module, rate: float) -> torch.optim.Optimizer:
    return torch.optim.Adam(network.parameters(), lr=rate, betas=_MOMENTS, fused=True)


def _descend(steps: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    steps.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    steps.step()


def _generator(purpose: str, seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(_seed(purpose, seed))


def _seed(purpose: str, seed: int) -> int:
    return int(seeded("gan", purpose, seed).integers(2**63))


def _rows(records: ArrayLike) -> Singles:
    """float32 in [0, 1], one record after the other; no entry is shown in a message."""
    found: Array = np.asarray(records)
    rows = float_array("records", found)
    if found.dtype == np.uint8:
        rows = rows / 255
    if rows.ndim < 2 or rows.min() < 0 or rows.max() > 1:
        raise InputError(
            "records must be rows or images with values in [0, 1], or of bytes, got shape"
            f" {rows.shape} with others"
        )
    return rows.astype(np.float32)
