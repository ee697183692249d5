"""Attacks on generative models by a discriminator's confidence (LOGAN, Hayes et al. 2019).

A discriminator learns what its training records look like; when it has overfitted, it is surer of
these than of other records of the same kind. White box, the target's own discriminator is asked.
Black box, the adversary sees samples alone: it trains a GAN of its own on them, as if they were
the records, and asks that discriminator. It can find only what the samples have kept.

Scores are log odds: the order of the confidences, and no ties next to 1.

What they are tried on is a small GAN of dense layers (Goodfellow et al. 2014), NOT private. Its
discriminator learns to tell records from samples, the generator to be taken for records (with
the loss that does not saturate). Few records and many steps make both remember them: it is the
object that attacks on generative models are tried on. For one seed, one machine and one number of
threads the weights are a function of records and spec.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

import numpy as np

from reticent.arrays import Array, ArrayLike, Floats, Floats32
from reticent.attacks.attack import Attack, Scores
from reticent.attacks.records import Records
from reticent.attacks.targets import Access, Threat
from reticent.randomness import seeded
from reticent.training import optimisers
from reticent.training.encoders.torch_extra import functional, nn, torch
from reticent.validation import InputError, count, describe, float_array, sampling_rate

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

    def sample(self, size: int, *, seed: int) -> Floats32:
        """So many new records, with values in [0, 1]."""
        randomness = _generator("samples", count("seed", seed, at_least=0))
        with torch.inference_mode():
            drawn = torch.randn(count("size", size), self.latent, generator=randomness)
            made: Floats32 = self.generator(drawn).numpy()
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
    def of(cls, shape: tuple[int, ...], spec: GANSpec) -> "_Training":
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
    return optimisers.Adam(network.parameters(), lr=rate, betas=_MOMENTS, fused=True)


def _descend(steps: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    steps.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    steps.step()


def _generator(purpose: str, seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(_seed(purpose, seed))


def _seed(purpose: str, seed: int) -> int:
    return int(seeded("gan", purpose, seed).integers(2**63))


def _rows(records: ArrayLike) -> Floats32:
    """float32 in [0, 1], one record after the other; no entry is shown in a message."""
    array: Array = np.asarray(records)
    rows = float_array("records", array)
    if array.dtype == np.uint8:
        rows = rows / 255
    if rows.ndim < 2 or rows.min() < 0 or rows.max() > 1:
        raise InputError(
            "records must be rows or images with values in [0, 1], or of bytes, got shape"
            f" {rows.shape} with others"
        )
    return rows.astype(np.float32)


@runtime_checkable
class Discriminates(Protocol):
    """Whatever says how sure it is that records are real: a GAN is."""

    def log_odds(self, records: Array) -> Floats:
        """One number for each record."""
        ...


@runtime_checkable
class Generates(Protocol):
    """Whatever makes new records: a GAN does."""

    def sample(self, size: int, *, seed: int) -> Array:
        """So many new records from the generator."""
        ...


class DiscriminatorAttack(Attack[Discriminates]):
    """White box: the log odds of the target's discriminator."""

    name = "discriminator"

    def __init__(self) -> None:
        self.threat = Threat(access=Access.DISCRIMINATOR)

    def scores(self, target: Discriminates, records: Records) -> Scores:
        """The surer the discriminator, the higher."""
        if not isinstance(target, Discriminates):
            raise InputError(
                f"target must have a discriminator (log_odds of records), got {describe(target)}"
            )
        values = float_array("log odds of the target", target.log_odds(records.inputs))
        if values.shape != (len(records),):
            raise InputError(
                f"target must answer {len(records)} records with one number each,"
                f" got {values.shape}"
            )
        return Scores(attack=self.name, threat=self.threat, values=values)


class LocalGANAttack(Attack[Generates]):
    """Black box: the log odds of the discriminator of a GAN that was trained on samples.

    Args:
        spec: How the adversary trains its GAN; the target's own recipe need not be known.
        samples: How many the target is asked for.
        seed: Of the samples.
    """

    name = "local GAN"

    def __init__(self, *, spec: GANSpec | None = None, samples: int = 1000, seed: int = 0) -> None:
        self._spec = GANSpec() if spec is None else spec
        if not isinstance(self._spec, GANSpec):
            raise InputError(f"spec must be a GANSpec, got {describe(spec)}")
        self._samples = count("samples", samples, at_least=2)
        self._seed = count("seed", seed, at_least=0)
        self.threat = Threat(access=Access.GENERATOR)

    def scores(self, target: Generates, records: Records) -> Scores:
        """The surer the local discriminator, the higher; the local GAN is trained here."""
        return Scores(
            attack=self.name,
            threat=self.threat,
            values=self.local_gan(target).log_odds(records.inputs),
            notes=(f"a local GAN from {self._samples} samples",),
        )

    def local_gan(self, target: Generates) -> GAN:
        """What the adversary trains; it serves any number of records."""
        if not isinstance(target, Generates):
            raise InputError(
                f"target must make samples (sample of a size and seed), got {describe(target)}"
            )
        samples = np.asarray(target.sample(self._samples, seed=self._seed))
        if samples.shape[:1] != (self._samples,):
            raise InputError(
                f"target must make as many samples as it is asked for, {self._samples},"
                f" got shape {samples.shape}"
            )
        return train_gan(samples, self._spec)
