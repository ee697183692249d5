"""Attacks on generative models by a discriminator's confidence (LOGAN, Hayes et al. 2019).

A discriminator learns what its training records look like; when it has overfitted, it is surer of
these than of other records of the same kind. White box, the target's own discriminator is asked.
Black box, the adversary sees samples alone: it trains a GAN of its own on them, as if they were
the records, and asks that discriminator. It can find only what the samples have kept.

Scores are log odds: the order of the confidences, and no ties next to 1.
"""

from typing import Protocol, runtime_checkable

import numpy as np

from reticent.arrays import Array, Floats
from reticent.attacks.attack import Attack, Scores
from reticent.attacks.records import Records
from reticent.attacks.threat import Access, Threat
from reticent.training.generative import GAN, GANSpec, train_gan
from reticent.validation import InputError, count, describe, float_array


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
