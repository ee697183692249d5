"""Releases on disk. ``verify`` computes ε anew from public numbers, without the data.

One format for every recipe: the numbers of the recipe, the terms, the scales of the noise, and the
guarantee that must follow from them by the accountants' word.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from reticent.guarantee import Guarantee
from reticent.guarantee.rounding import upper_text
from reticent.protect.recipe import Recipe, composed_epsilon, with_scales
from reticent.protect.registry import RECIPES
from reticent.protect.release import Release, claim_of, shape_misfits
from reticent.protect.sealed_pair import Pair, read_pair, write_pair
from reticent.protect.terms import Terms
from reticent.validation import InputError, describe, positive
from reticent.version import INSTALLED

FORMAT: Final = "reticent-release-1"
_FIELDS: Final = {
    "format",
    "version",
    "recipe",
    "numbers",
    "terms",
    "scales",
    "classes",
    "guarantee",
}


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What a certificate claims and what follows from its public numbers."""

    guarantee: Guarantee
    epsilon: float
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing contradicts the certificate."""
        return not self.problems


class _Claims(NamedTuple):
    """The values of a certificate, each checked by itself."""

    recipe: Recipe
    terms: Terms
    scales: dict[str, float]
    classes: list[Any]
    guarantee: Guarantee


def save(release: Release, path: str | Path) -> tuple[Path, Path]:
    """Write PATH.safetensors and PATH.json; neither is there half-written."""
    return write_pair(path, document_of(release), dict(release.tensors))


def document_of(release: Release) -> dict[str, Any]:
    """The certificate as plain values, but for the hash of the weights."""
    return {
        "format": FORMAT,
        "version": INSTALLED,
        "recipe": release.recipe.name,
        "numbers": release.recipe.to_dict(),
        "terms": release.terms.to_dict(),
        "scales": dict(release.scales),
        "classes": release.classes_.tolist(),
        "guarantee": release.guarantee.to_dict(),
    }


def load(path: str | Path) -> Release:
    """The released model, if weights and certificate belong together and ε follows.

    Its guarantee is graded declared: a file proves nothing, and who wrote it is not known here.
    """
    pair = read_pair(path)
    claims = _claims(pair, path)
    verified = _verified(pair, claims)
    if not verified.holds:
        raise InputError(f"{path} must match its certificate, got: {'; '.join(verified.problems)}")
    return Release(
        recipe=claims.recipe,
        terms=claims.terms,
        scales=claims.scales,
        tensors=pair.tensors,
        guarantee=claims.guarantee,
        classes_=np.asarray(claims.classes),
    )


def verify(path: str | Path) -> Verification:
    """Compute ε anew from the certificate's public numbers, and compare weights and certificate."""
    pair = read_pair(path)
    return _verified(pair, _claims(pair, path))


def _verified(pair: Pair, claims: _Claims) -> Verification:
    recipe, terms, claim = claims.recipe, claims.terms, claims.guarantee
    problems = [
        *pair.problems,
        *shape_misfits(recipe, pair.tensors, len(claims.classes)),
        *recipe.misfits(terms),
        *_other_terms(recipe, terms, claim),
    ]
    try:
        plan = with_scales(recipe, claims.scales, terms)
        epsilon = composed_epsilon(plan, relation=terms.relation, delta=terms.delta)
    except (OverflowError, MemoryError):
        epsilon, plan = math.inf, {}
    if not epsilon <= claim.epsilon:
        problems.append(
            f"the noise gives epsilon = {upper_text(epsilon)}, not {upper_text(claim.epsilon)}"
        )
    elif plan and not problems:
        problems += _other_lines(claim_of(recipe, terms, plan), claim)
    return Verification(guarantee=claim, epsilon=epsilon, problems=tuple(problems))


def _other_lines(own: Guarantee, claim: Guarantee) -> list[str]:
    """Where a certificate prints assumptions that its recipe has not, or leaves some out."""
    problems = []
    if claim.checked != own.checked:
        problems.append("the lines under checked are not those of the recipe")
    if missing := [line for line in own.stated if line not in claim.stated]:
        problems.append(f"the lines under stated lack: {missing[0]}")
    return problems


def _other_terms(recipe: Recipe, terms: Terms, claim: Guarantee) -> list[str]:
    """Where a guarantee is not about its terms, or they leave a number's source out."""
    unsaid = [name for name in recipe.public_numbers if name not in terms.sources]
    pairs = {
        "epsilon": (terms.epsilon, claim.epsilon),
        "delta": (terms.delta, claim.delta),
        "relation": (str(terms.relation), str(claim.relation)),
        "unit": (terms.unit, claim.unit),
    }
    return [
        *(
            f"the {name} is {one}, not {other}"
            for name, (one, other) in pairs.items()
            if one != other
        ),
        *(f"the source of {name} is not said" for name in unsaid),
    ]


def _claims(pair: Pair, path: str | Path) -> _Claims:
    values = pair.claims
    if values.get("format") != FORMAT:
        raise InputError(f"{path} must be a certificate of format {FORMAT}, got another file")
    if odd := sorted(set(values) ^ _FIELDS):
        raise InputError(f"{path} must have the fields of a certificate, got {odd[0]!r} wrong")
    return _Claims(
        recipe=RECIPES.named(values["recipe"]).from_dict(values["numbers"]),
        terms=Terms.from_dict(values["terms"]),
        scales=_scales(values["scales"]),
        classes=_classes(values["classes"]),
        guarantee=Guarantee.from_dict(values["guarantee"]),
    )


def _classes(values: object) -> list[Any]:
    if not isinstance(values, list) or not all(type(one) in (str, int, float) for one in values):
        raise InputError(f"classes must be a list of texts or numbers, got {describe(values)}")
    if len(set(values)) < len(values):
        raise InputError("classes must be distinct, got one twice")
    return values


def _scales(values: object) -> dict[str, float]:
    if not isinstance(values, Mapping):
        raise InputError(f"scales must be a JSON object, got {describe(values)}")
    return {str(name): positive("scale", value) for name, value in values.items()}
