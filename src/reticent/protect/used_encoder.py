"""A release that a later one builds on: whose records made it, and what both promise together.

Where a head learns on features of an encoder that was itself released with noise, or a network
starts from a released head, there are two guarantees. Of the same people they compose one after the
other, and of other people side by side; only the user knows which it is. ``Terms.encoder`` and
``Terms.start`` carry it into claim, certificate and card.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar, Final, Self

from reticent.guarantee import Grade, Guarantee, Relation, composed
from reticent.guarantee.rounding import upper_text
from reticent.validation import InputError, describe

_FIELDS: Final = {"people", "fingerprint", "certificate"}
_FINGERPRINT: Final = re.compile(r"[0-9a-f]{64}")
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class People(StrEnum):
    """Whose records the earlier release was made of, beside those of the one that uses it."""

    SAME = "same"
    """The same people, or some of them: both guarantees add up (sequential composition)."""
    OTHER = "other"
    """Others: nobody is in both, and each person has one of the two (parallel composition)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UsedRelease:
    """The certificate of an earlier release, as JSON, with whose records it was made of.

    Built from a certificate its guarantee is declared: nothing here ties the one to the other, and
    the noise that a certificate names decides what both promise together. ``use_encoder`` keeps a
    proven one, of the release that it reads both from.
    """

    noun: ClassVar[str]
    """What messages call it."""
    role: ClassVar[str]
    """What it is to the release that uses it, as a claim states it."""

    people: People
    fingerprint: str
    """SHA-256 over its certificate and its tensors (``released_encoder.fingerprint_of``)."""
    recipe: str
    certificate: str
    guarantee: Guarantee

    def __post_init__(self) -> None:
        """A name that is no name would be printed with the claim."""
        object.__setattr__(self, "people", as_people(self.people, self.noun))
        if not isinstance(self.fingerprint, str) or not _FINGERPRINT.fullmatch(self.fingerprint):
            raise InputError(
                f"fingerprint of the {self.noun} must be 64 hexadecimal digits, got others"
            )
        if not isinstance(self.recipe, str) or not _NAME.fullmatch(self.recipe):
            raise InputError(
                f"recipe of the {self.noun} must be a name, got {describe(self.recipe)}"
            )
        if type(self.certificate) is not str or type(self.guarantee) is not Guarantee:
            raise InputError(f"the {self.noun} must have a certificate and a Guarantee, got others")
        terms = self.document["terms"]
        if isinstance(terms, Mapping) and (terms.get("encoder") or terms.get("start")) is not None:
            raise InputError(
                f"{self.noun} must be made of records alone, got one that uses another's release"
            )
        if _without_grade(self.guarantee) != _without_grade(_claimed_in(self.certificate)):
            raise InputError(
                f"guarantee of the {self.noun} must be that of its certificate, got another"
            )
        if self.guarantee.grade is Grade.PROVEN:
            declared = replace(self.guarantee, grade=Grade.DECLARED)
            object.__setattr__(self, "guarantee", declared)

    @classmethod
    def of(
        cls, people: object, fingerprint: str, certificate: Mapping[str, Any], claim: Guarantee
    ) -> Self:
        """From the certificate's plain values and its guarantee."""
        return cls(
            people=as_people(people, cls.noun),
            fingerprint=fingerprint,
            recipe=certificate["recipe"],
            certificate=json.dumps(certificate, sort_keys=True, allow_nan=False),
            guarantee=claim,
        )

    def __str__(self) -> str:
        """As a list of settings has it."""
        return f"{self.recipe} {self.fingerprint[:12]}, of {self.people} people"

    @property
    def document(self) -> dict[str, Any]:
        """Its certificate as plain values."""
        values: dict[str, Any] = json.loads(self.certificate)
        return values

    def misfit(self, relation: Relation, unit: str) -> str | None:
        """Why a release about these neighbours cannot be composed with this one, if so."""
        claim = self.guarantee
        if claim.relation is not relation:
            return f"relation must be that of the {self.noun}, {claim.relation}, got {relation}"
        if claim.unit != unit:
            return f"unit must be that of the {self.noun}, {claim.unit}, got {unit}"
        if self.people is People.OTHER and relation is not Relation.ADD_REMOVE:
            return (
                f"relation must be add-remove for the {self.noun} of other people, got"
                f" {relation}: replacing a record may move it from one to the other; say same"
            )
        return None

    def stated(self, *, epsilon: float, delta: float) -> str:
        """The line of a release that promises (ε, δ) beside this one."""
        own = self.guarantee
        made = (
            f"{self.role} ({self.recipe}, fingerprint"
            f" {self.fingerprint[:12]}, ε ≤ {upper_text(own.epsilon)},"
            f" δ ≤ {upper_text(own.delta)}),"
            " the one step before this one that may depend on private records;"
        )
        if self.people is People.SAME:
            head = Guarantee(epsilon=epsilon, delta=delta, relation=own.relation, unit=own.unit)
            both = composed((own, head))
            return (
                f"{made} its records are of the same people, so both guarantees add up: together"
                f" at most ε ≤ {upper_text(both.epsilon)}, δ ≤ {upper_text(both.delta)}"
            )
        return (
            f"{made} its records are of other people and nobody is in both: each person has one of"
            f" the two, at most ε ≤ {upper_text(max(own.epsilon, epsilon))},"
            f" δ ≤ {upper_text(max(own.delta, delta))}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in the terms of a certificate."""
        return {
            "people": str(self.people),
            "fingerprint": self.fingerprint,
            "certificate": self.document,
        }

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """From plain values; what is missing or unknown is refused, and so is one that uses one."""
        if not isinstance(values, Mapping) or set(values) != _FIELDS:
            raise InputError(f"{cls.noun} must have {', '.join(sorted(_FIELDS))}, got others")
        certificate = values["certificate"]
        if not isinstance(certificate, Mapping) or not {"recipe", "terms", "guarantee"} <= set(
            certificate
        ):
            raise InputError(f"{cls.noun} must have the certificate of a release, got another")
        claim = Guarantee.from_dict(certificate["guarantee"])
        return cls.of(values["people"], values["fingerprint"], dict(certificate), claim)


def _claimed_in(certificate: str) -> Guarantee:
    claim: Guarantee = Guarantee.from_dict(json.loads(certificate)["guarantee"])
    return claim


def _without_grade(claim: Guarantee) -> dict[str, object]:
    """A file's is declared where the release itself is proven."""
    return {**claim.to_dict(), "grade": None}


@dataclass(frozen=True, kw_only=True, slots=True)
class UsedEncoder(UsedRelease):
    """A released encoder that made the features."""

    noun: ClassVar[str] = "encoder"
    role: ClassVar[str] = "the features were made by a released encoder"


@dataclass(frozen=True, kw_only=True, slots=True)
class UsedStart(UsedRelease):
    """A released head whose affine layer is where the head of a network starts."""

    noun: ClassVar[str] = "start"
    role: ClassVar[str] = "the network starts from a released head"


def as_people(value: object, noun: str = "encoder") -> People:
    """By its name; whoever does not know says ``same``, which is always true."""
    try:
        return People(str(value))
    except ValueError:
        raise InputError(
            f"{noun}_people must be same or other, got {describe(value)}: same where anybody may"
            " be in both"
        ) from None
