"""The exact likelihood-ratio attack on released weights: no shadow models, nothing estimated.

The adversary knows every other record. w₀ and w₁ are the exact heads without and with x; the
release is one of them plus noise of a known density, so Λ(x) = log f(w − w₁) − log f(w − w₀) is
the best test that there is (Neyman and Pearson 1933). Under Gaussian noise it is μ_x-GDP, exactly:
TPR(α) = Φ(Φ⁻¹(α) + μ_x), μ_x = ‖w₁ − w₀‖/σ (Dong, Roth, Su 2022). Noise is added to the coordinates
in a fixed basis of the zero-sum space, so these are what is compared here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import stats

from reticent import validation
from reticent.arrays import ArrayLike, Flags, Floats, Integers
from reticent.attacks.attack import Attack, AttackBuilder, Need, Scores
from reticent.attacks.records import Records
from reticent.attacks.targets import Access, Threat
from reticent.guarantee import Sensitivity
from reticent.mechanisms import AdditiveMechanism, Gaussian
from reticent.neighbours import Differences, LeaveOneOut
from reticent.neighbours.leave_one_out import HEADS
from reticent.protect import Release
from reticent.protect.recipes.weights import COORDINATES
from reticent.training import SoftmaxHead

_MEAN_UNUSED = (
    "the head was centred by a noisy mean; what that mean itself tells is not part of the score"
)


@dataclass(frozen=True, kw_only=True)
class Worlds:
    """What is noised without and with each of m records (m × p, or p for one), and the noise.

    >>> noise = Gaussian(scale=2.0, sensitivity=Sensitivity(l2=1.0))
    >>> pair = Worlds(absent=np.array([0.0, 0.0]), present=np.array([1.0, 0.0]), noise=noise)
    >>> float(pair.ratios([0.5, 3.0])), float(pair.ratios([2.5, 0.0]))
    (0.0, 0.5)
    """

    absent: Floats
    present: Floats
    noise: AdditiveMechanism

    def __post_init__(self) -> None:
        """Two arrays of one shape."""
        for name in ("absent", "present"):
            object.__setattr__(self, name, validation.float_array(name, getattr(self, name)))
        if self.absent.shape != self.present.shape or self.absent.ndim not in (1, 2):
            raise validation.InputError(
                "absent and present must be vectors, or rows of vectors, of one shape, got"
                f" {self.absent.shape} and {self.present.shape}"
            )

    def ratios(self, release: ArrayLike) -> Floats:
        """Λ: one for each record, or one for each release where there is one record.

        ``release`` is one vector of p numbers; against one record it may be rows of them.
        """
        releases = validation.float_array("release", release)
        if releases.shape[-1:] != self.absent.shape[-1:] or releases.ndim + self.absent.ndim > 3:
            raise validation.InputError(
                f"release must be a vector of {self.absent.shape[-1]} numbers (against one record:"
                f" or rows of them), got shape {releases.shape}"
            )
        with_record = self.noise.log_density(releases - self.present)
        return np.asarray(with_record - self.noise.log_density(releases - self.absent))


@dataclass(frozen=True, kw_only=True)
class InfluenceMap:
    """How far each record moves what is noised, and so what the release tells about it at most."""

    noise: AdditiveMechanism
    l1: Floats
    l2: Floats
    known: Flags
    """Whether the record is one of the known ones (w₁ is their head), or w₀ is."""

    def __len__(self) -> int:
        return len(self.l2)

    @property
    def mu(self) -> Floats:
        """μ_x = ‖w₁ − w₀‖/σ, exact; Gaussian noise only."""
        if not isinstance(self.noise, Gaussian):
            raise validation.NotCoveredError(
                f"mu is one number of gaussian noise, got {self.noise.name}"
            )
        return self.l2 / self.noise.scale

    def power(self, alpha: float) -> Floats:
        """The chance that x is found at false-alarm rate α: Φ(Φ⁻¹(α) + μ_x); Gaussian only."""
        threshold = stats.norm.ppf(validation.open_probability("alpha", alpha))
        return np.asarray(stats.norm.cdf(threshold + self.mu))

    def epsilon(self, *, delta: float) -> Floats:
        """ε_x at δ of the pair of worlds of each record.

        Exact for Gaussian noise, and for the others at δ = 0, where it is the supremum of Λ; an
        upper bound for them at δ > 0.
        """
        validation.probability("delta", delta)
        return np.array(
            [self._epsilon(l1, l2, delta) for l1, l2 in zip(self.l1, self.l2, strict=True)]
        )

    def _epsilon(self, l1: float, l2: float, delta: float) -> float:
        if not l2 > 0:  # the record changes nothing
            return 0.0
        sensitivity = Sensitivity(l1=float(l1), l2=float(l2), source="one record's own change")
        return type(self.noise)(scale=self.noise.scale, sensitivity=sensitivity).epsilon(
            delta=delta
        )


class ReleasedWeightsAttack(Attack[Release]):
    """Λ(x) against a released softmax head; above 0 its weights are likelier with x than without.

    Args:
        known: All other records: the training records as far as the adversary knows them. A record
            that is scored and is among them is taken out once for w₀; else it is added for w₁.
        class_weight: The public weights of classes, where the head was fitted with some.
        threads: How many threads share the heads; all cores without it.
    """

    name: ClassVar[str] = "exact likelihood ratio of released weights"

    def __init__(
        self,
        *,
        known: Records,
        class_weight: Mapping[Any, float] | None = None,
        threads: int | None = None,
    ) -> None:
        if not isinstance(known, Records) or len(known) == 0:
            raise validation.InputError("known must be records, at least one, got none")
        self.threat = Threat(
            access=Access.RELEASE, knows=("every other record", "the public numbers of the release")
        )
        self.known = known
        self._class_weight = class_weight
        self._threads = threads

    def scores(self, target: Release, records: Records) -> Scores:
        """The log likelihood ratio Λ of each record."""
        values = np.empty(len(records))
        for rows, pair in self._pairs(target, records):
            values[rows] = pair.ratios(target.tensors[COORDINATES].ravel())
        notes = (_MEAN_UNUSED,) if "mean" in target.scales else ()
        return Scores(
            attack=self.name, threat=self.threat, values=values, decides_at=0.0, notes=notes
        )

    def worlds(self, target: Release, records: Records) -> Worlds:
        """w₀ and w₁ of each record, all held at once: for many releases of one head."""
        shape = (len(records), target.tensors[COORDINATES].size)
        absent, present = np.empty(shape), np.empty(shape)
        for rows, pair in self._pairs(target, records):
            absent[rows], present[rows] = pair.absent, pair.present
        return Worlds(absent=absent, present=present, noise=noise_of(target))

    def influence(self, target: Release, records: Records) -> InfluenceMap:
        """How far each record moves the released coordinates."""
        l1, l2 = np.empty(len(records)), np.empty(len(records))
        for rows, pair in self._pairs(target, records):
            shifts = pair.present - pair.absent
            l1[rows], l2[rows] = np.abs(shifts).sum(axis=1), np.linalg.norm(shifts, axis=1)
        return InfluenceMap(noise=noise_of(target), l1=l1, l2=l2, known=self._places(records) >= 0)

    def _pairs(self, target: Release, records: Records) -> Iterator[tuple[Integers, Worlds]]:
        """The worlds of a few records at a time, with their places among the records."""
        noise = noise_of(target)
        neighbours, places = self._neighbours(target), self._places(records)
        full = neighbours.coordinates.ravel()
        inside, outside = np.flatnonzero(places >= 0), np.flatnonzero(places < 0)
        if len(inside):
            for rows, shifts in _parts(inside, neighbours.without(places[inside])):
                yield (
                    rows,
                    Worlds(
                        absent=full + shifts,
                        present=np.broadcast_to(full, shifts.shape),
                        noise=noise,
                    ),
                )
        if len(outside):
            added = records.take(outside)
            for rows, shifts in _parts(outside, neighbours.with_each(added.inputs, added.labels)):
                yield (
                    rows,
                    Worlds(
                        absent=np.broadcast_to(full, shifts.shape),
                        present=full + shifts,
                        noise=noise,
                    ),
                )

    def _neighbours(self, target: Release) -> LeaveOneOut:
        """The exact head on the known records, with the numbers of the release."""
        head = convex_head_of(target, self._class_weight)
        head.fit(self.known.inputs, self.known.labels)
        numbers = head.certified().numbers
        if numbers.shape != target.tensors[COORDINATES].shape:
            raise validation.InputError(
                f"known must have the {target.features} features of the release, got"
                f" {self.known.inputs.shape[1]}"
            )
        released = target.recipe.to_dict()["largest_weight"]
        if numbers.largest_weight != released:
            raise validation.InputError(
                "class_weight must be that of the released head, with largest weight"
                f" {released}, got {numbers.largest_weight}"
            )
        return LeaveOneOut(head, self.known.inputs, self.known.labels, threads=self._threads)

    def _places(self, records: Records) -> Integers:
        """Where each record stands among the known ones, −1 where it does not."""
        places: dict[bytes, int] = {}
        for place, key in enumerate(self.known.keys):
            places.setdefault(key, place)
        return np.array([places.get(key, -1) for key in records.keys], dtype=np.int64)


def noise_of(target: Release) -> AdditiveMechanism:
    """The noise that the optimum of a head was released with."""
    if not isinstance(target, Release) or COORDINATES not in target.scales:
        raise validation.InputError(
            f"target must be released weights of a head, got {validation.describe(target)}"
        )
    noise = target.noises[COORDINATES]
    assert isinstance(noise, AdditiveMechanism)
    return noise


def convex_head_of(target: Release, class_weight: Mapping[Any, float] | None = None) -> SoftmaxHead:
    """The head whose optimum was released, before its fit, from the public numbers alone."""
    head = target.recipe.convex_head(target.tensors, target.classes_)
    if head is None:
        raise validation.InputError("target must be a released softmax head, got another release")
    head.set_params(class_weight=class_weight)
    return head


def _parts(rows: Integers, differences: Differences) -> Iterator[tuple[Integers, Floats]]:
    """A few heads at a time as flat coordinates: they are kept in half the memory."""
    for start in range(0, len(differences), HEADS):
        chosen = slice(start, start + HEADS)
        part = Differences(relative=differences.relative[chosen], errors=differences.errors[chosen])
        yield rows[chosen], part.coordinates.reshape(len(part), -1)


RELEASED_WEIGHTS = AttackBuilder(
    needs=(Need.RELEASE,), build=lambda known: ReleasedWeightsAttack(known=known.known)
)
"""Each record's adversary has all training records but this one: it compares the head without the
record with the head that has it, whichever of the two was released."""
