"""Releases on disk. ``verify`` computes ε anew from public numbers, without the data.

One format for every recipe: the numbers of the recipe, the terms, the scales of the noise, and the
guarantee that must follow from them by the accountants' word.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from reticent.arrays import Floats
from reticent.data.schema import Schema
from reticent.guarantee import Event, Grade, Guarantee
from reticent.guarantee.rounding import upper_text
from reticent.guarantee.weakness import weaknesses
from reticent.mechanisms.registry import MECHANISMS
from reticent.mechanisms.rounded.grid import LARGEST_CELL
from reticent.protect import checked_start, feature_names, noisy_query, plain_values
from reticent.protect.noise_scales import composed_epsilon, event_of, with_scales
from reticent.protect.public_facts import SCHEMA, document_of_schema, misfits, schema_of_document
from reticent.protect.recipe import Plan, Recipe
from reticent.protect.registry import RECIPES, is_own
from reticent.protect.release import Release, claim_of, shape_misfits
from reticent.protect.sealed_pair import Pair, Paths, read_pair, write_pair
from reticent.protect.signing import Signer
from reticent.protect.terms import Terms
from reticent.validation import InputError, describe, positive
from reticent.version import INSTALLED

FORMAT: Final = "reticent-release-1"
_VERSION: Final = re.compile(r"[0-9A-Za-z.+!-]{1,64}")
_NAMES: Final = {"columns", "formula"}
"""How to use it: earlier certificates have neither."""
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
    version: str
    """Of the package that made the release, as its certificate says."""
    signed_by: str | None = None
    """The fingerprint of the key that signed the files; None where nobody did."""

    weaknesses: tuple[str, ...] = ()
    """What ε or δ allows although it holds (``guarantee.weakness``)."""

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
    schema: Schema | None
    columns: tuple[str, ...]
    formula: list[str] | None
    """None where a certificate has none."""
    grade: str
    """As it is typed in the file."""


def save(release: Release, path: str | Path, *, sign: Signer | None = None) -> Paths:
    """Write PATH.safetensors and PATH.json; neither is there half-written.

    With a key (``protect.signing.read_signer``) PATH.signature.json says whose they are.
    """
    return write_pair(path, document_of(release), dict(release.tensors), sign=sign)


def document_of(release: Release) -> dict[str, Any]:
    """The certificate as plain values, but for the hash of the weights."""
    raw = {} if release.schema is None else {SCHEMA: document_of_schema(release.schema)}
    return {
        "format": FORMAT,
        "version": INSTALLED,
        "recipe": release.recipe.name,
        "numbers": release.recipe.to_dict(),
        "terms": release.terms.to_dict(),
        "scales": dict(release.scales),
        "classes": release.classes_.tolist(),
        "columns": list(release.columns),
        "formula": list(release.recipe.formula),
        "guarantee": release.guarantee.to_dict(),
        **raw,
    }


def load(path: str | Path) -> Release:
    """The released model, if weights and certificate belong together and ε follows.

    Its guarantee is graded declared: a file proves nothing, and who wrote it is not known here.
    """
    return load_verified(path)[0]


def load_verified(path: str | Path) -> tuple[Release, Verification]:
    """The released model with what was computed from its certificate, of one reading of both."""
    pair = read_pair(path)
    claims = _claims(pair, path)
    verified = _verified(pair, claims)
    if not verified.holds:
        raise InputError(f"{path} must match its certificate, got: {'; '.join(verified.problems)}")
    model = Release(
        recipe=claims.recipe,
        terms=claims.terms,
        scales=claims.scales,
        tensors=pair.tensors,
        guarantee=claims.guarantee,
        classes_=np.asarray(claims.classes),
        schema=claims.schema,
        columns=claims.columns,
    )
    return model, verified


def verify(path: str | Path, *, key: Ed25519PublicKey | None = None) -> Verification:
    """Compute ε anew from the certificate's public numbers, and compare weights and certificate.

    With ``key`` (``protect.signing.read_public_key``) they must be signed by its holder.
    """
    pair = read_pair(path, key=key)
    return _verified(pair, _claims(pair, path))


def verify_release(release: Release) -> Verification:
    """The same for a release that is here: nothing of it is believed but what can be computed."""
    pair = Pair(claims=document_of(release), tensors=dict(release.tensors), problems=())
    return _verified(pair, _claims(pair, "the release"))


def _verified(pair: Pair, claims: _Claims) -> Verification:
    recipe, terms, claim = claims.recipe, claims.terms, claims.guarantee
    problems = [
        *pair.problems,
        *shape_misfits(recipe, pair.tensors, len(claims.classes)),
        *recipe.misfits(terms),
        *_other_terms(recipe, terms, claim),
        *misfits(claims.schema, recipe, list(map(str, claims.classes)), terms),
    ]
    epsilon, plan = _computed(claims)
    if not epsilon <= claim.epsilon:
        problems.append(
            f"the noise gives epsilon = {upper_text(epsilon)}, not {upper_text(claim.epsilon)}"
        )
    elif plan and not problems:
        problems += _other_lines(claim_of(recipe, terms, plan, claims.schema), claim)
        problems += _off_grid(recipe, pair.tensors, plan)
    problems += _other_grade(claims)
    problems += used_problems(recipe, terms, claims.classes)
    if claims.formula not in (None, list(recipe.formula)):
        problems.append("the formula is not that of the recipe")
    return Verification(
        guarantee=claim,
        epsilon=epsilon,
        problems=tuple(problems),
        version=str(pair.claims["version"]),
        signed_by=pair.signed_by,
        weaknesses=weaknesses(
            epsilon=claim.epsilon, delta=claim.delta, records=max(recipe.records, 1)
        ),
    )


def _computed(claims: _Claims) -> tuple[float, Plan]:
    """The ε that follows from a certificate's numbers, and the plan; none where it overflows."""
    terms = claims.terms
    try:
        plan = with_scales(claims.recipe, claims.scales, terms)
        return composed_epsilon(plan, relation=terms.relation, delta=terms.delta), plan
    except (OverflowError, MemoryError):
        return math.inf, {}


def event_in(document: Mapping[str, Any]) -> Event:
    """The event of a certificate's release, as an accountant sees it."""
    claims = _claims(Pair(claims=document, tensors={}, problems=()), "the earlier release")
    plan = with_scales(claims.recipe, claims.scales, claims.terms)
    return event_of(plan, relation=claims.terms.relation, delta=claims.terms.delta)


def used_problems(recipe: Recipe, terms: Terms, classes: list[Any]) -> list[str]:
    """Where the certificate of an earlier release does not follow from its own numbers, or fit."""
    used = terms.used
    if used is None:
        return []
    claims = _claims(Pair(claims=used.document, tensors={}, problems=()), f"the {used.noun}")
    own = claims.terms
    if terms.start is None and claims.recipe.task != "encoding":
        return [f"the encoder is a {claims.recipe.task}"]
    problems = [*claims.recipe.misfits(own), *_other_terms(claims.recipe, own, claims.guarantee)]
    if terms.start is not None:
        problems += checked_start.start_misfits(recipe, claims.recipe, claims.classes, classes)
    epsilon, plan = _computed(claims)
    if not epsilon <= claims.guarantee.epsilon:
        problems.append(f"the noise gives epsilon = {upper_text(epsilon)}")
    elif not problems:
        problems += _other_lines(
            claim_of(claims.recipe, own, plan, claims.schema), claims.guarantee
        )
    return [f"of the {used.noun}: {one}" for one in [*problems, *_other_grade(claims)]]


def _other_lines(own: Guarantee, claim: Guarantee) -> list[str]:
    """Where a certificate prints assumptions that its recipe has not, or leaves some out."""
    problems, stated = [], noisy_query.own_stated(claim)
    if claim.checked != own.checked:
        problems.append("the lines under checked are not those of the recipe")
    if missing := [line for line in own.stated if line not in stated]:
        problems.append(f"the lines under stated lack: {missing[0]}")
    elif stated != own.stated:
        problems.append("the lines under stated are not those of the recipe")
    return problems


def _other_grade(claims: _Claims) -> list[str]:
    """A grade that no release of this recipe on these terms can have."""
    possible = {str(Grade.DECLARED)}
    proven = is_own(claims.recipe) and not claims.terms.inferred and not claims.recipe.unproven
    if proven:
        possible.add(str(Grade.PROVEN))
    if claims.grade in possible and not claims.guarantee.composed_of:
        return []
    return [f"the grade cannot be {claims.grade}: it follows from recipe and terms"]


def _off_grid(recipe: Recipe, tensors: Mapping[str, Floats], plan: Plan) -> list[str]:
    """Answers that no noise of this package has given: each is a multiple of a public step.

    Whoever writes other numbers into the weights, or noise of other floats, is found by it. A
    plug-in's noise may have another grid.
    """
    if not MECHANISMS.is_own(recipe.mechanism):
        return []
    return [
        f"the tensor {name} does not lie on the grid of its noise"
        for name, (step, divisor) in recipe.released_as().items()
        if not _lies_on(tensors[name], plan[step].noise.grid_in(tensors[name].size), divisor)
    ]


def _lies_on(values: Floats, grid: float, divisor: int) -> bool:
    """Whether each value is the float k·grid/divisor of a whole number |k| ≤ 2⁵².

    The k that is computed from a quotient may be two off.
    """
    with np.errstate(over="ignore"):
        near = np.rint(values / grid * divisor)
        on_grid = [
            (np.abs(near + off) <= LARGEST_CELL) & ((near + off) * grid / divisor == values)
            for off in (range(-2, 3) if divisor > 1 else (0,))
        ]
    return bool(np.logical_or.reduce(on_grid).all())


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
    if odd := sorted((set(values) - _NAMES ^ _FIELDS) - {SCHEMA}):
        raise InputError(f"{path} must have the fields of a certificate, got {odd[0]!r} wrong")
    _refuse_odd_version(values["version"])
    recipe = _recipe(values["recipe"], values["numbers"])
    return _Claims(
        recipe=recipe,
        terms=Terms.from_dict(values["terms"]),
        scales=_scales(values["scales"]),
        classes=plain_values.class_names(values["classes"]),
        guarantee=Guarantee.from_dict(values["guarantee"]),
        schema=schema_of_document(values.get(SCHEMA)),
        columns=feature_names.checked_names(values.get("columns", []), recipe.features),
        formula=values.get("formula"),
        grade=str(values["guarantee"].get("grade", Grade.DECLARED)),
    )


def _recipe(name: object, numbers: object) -> Recipe:
    recipe = RECIPES.named(name).from_dict(numbers)
    recipe.refuse_foreign_code()
    return recipe


def _refuse_odd_version(value: object) -> None:
    """A card prints it."""
    if not isinstance(value, str) or not _VERSION.fullmatch(value):
        raise InputError(f"version must be that of the package, got {describe(value)}")


def _scales(values: object) -> dict[str, float]:
    if not isinstance(values, Mapping):
        raise InputError(f"scales must be a JSON object, got {describe(values)}")
    return {str(name): positive("scale", value) for name, value in values.items()}
