"""Released models on disk. ``verify`` computes ε anew from public numbers, without the data.

A kind of release has one format: how its claims are written, and what must follow from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reticent.guarantee import Guarantee
from reticent.guarantee.rounding import upper_text
from reticent.mechanisms import AdditiveMechanism
from reticent.protect.budget import mechanism_of, together
from reticent.protect.learners.recipe import Recipe, reached, with_scales
from reticent.protect.learners.recipes import recipe_of
from reticent.protect.learners.registry import recipe_misfits
from reticent.protect.learners.regression_recipe import RegressionRecipe
from reticent.protect.learners.released_linear import ReleasedLinear
from reticent.protect.learners.released_regression import ReleasedRegression
from reticent.protect.public_numbers import PublicNumbers
from reticent.protect.released_head import ReleasedHead
from reticent.protect.sealed_pair import Pair, read_pair, write_pair
from reticent.validation import InputError, describe, positive
from reticent.version import INSTALLED

Claims = Mapping[str, Any]
Released = ReleasedHead | ReleasedLinear | ReleasedRegression

HEAD, LINEAR, REGRESSION = "reticent-head-2", "reticent-linear-1", "reticent-regression-1"
_COMMON = {"format", "version", "classes", "mechanism", "guarantee"}


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


def save(released: Released, path: str | Path) -> tuple[Path, Path]:
    """Write PATH.safetensors and PATH.json; neither is there half-written."""
    claims: dict[str, Any] = {
        "version": INSTALLED,
        "classes": [],
        "mechanism": released.mechanism,
        "guarantee": released.guarantee.to_dict(),
    }
    if isinstance(released, ReleasedHead):
        own = {"format": HEAD, "scale": released.scale, "public": released.public.to_dict()}
        tensors = {"coordinates": released.coordinates}
        if released.centre is not None:
            tensors["centre"] = released.centre
    else:
        own = {
            "format": LINEAR if isinstance(released, ReleasedLinear) else REGRESSION,
            "learner": released.learner,
            "recipe": released.recipe.to_dict(),
            "scales": released.scales,
        }
        tensors = {"weights": released.weights, "offsets": _offsets(released)}
    if not isinstance(released, ReleasedRegression):
        claims["classes"] = released.classes_.tolist()
    return write_pair(path, claims | own, tensors)


def _offsets(released: ReleasedLinear | ReleasedRegression) -> Any:
    return released.offsets if isinstance(released, ReleasedLinear) else np.array([released.offset])


def load(path: str | Path) -> Released:
    """The released model, if weights and certificate belong together and ε follows.

    Its guarantee is graded declared: a file proves nothing, and who wrote it is not known here.
    """
    pair = read_pair(path)
    found = _verified(pair, path)
    if not found.holds:
        raise InputError(f"{path} must match its certificate, got: {'; '.join(found.problems)}")
    return _format(pair, path).load(pair, found.guarantee)


def verify(path: str | Path) -> Verification:
    """Compute ε anew from the certificate's public numbers, and compare weights and certificate."""
    return _verified(read_pair(path), path)


def _verified(pair: Pair, path: str | Path) -> Verification:
    format_ = _format(pair, path)
    claim = Guarantee.from_dict(pair.claims["guarantee"])
    epsilon, misfits = format_.follows(pair, claim)
    problems = [*pair.problems, *misfits]
    if not epsilon <= claim.epsilon:
        problems.append(
            f"the noise gives epsilon = {upper_text(epsilon)}, not {upper_text(claim.epsilon)}"
        )
    return Verification(guarantee=claim, epsilon=epsilon, problems=tuple(problems))


class _Format(NamedTuple):
    """Its fields; the ε that follows with what does not fit; and how it is loaded."""

    fields: set[str]
    follows: Callable[[Pair, Guarantee], tuple[float, list[str]]]
    load: Callable[[Pair, Guarantee], Released]


def _format(pair: Pair, path: str | Path) -> _Format:
    claims = pair.claims
    found = _FORMATS.get(str(claims.get("format")))
    if found is None:
        known = " or ".join(_FORMATS)
        raise InputError(f"{path} must be a certificate of format {known}, got another file")
    if odd := sorted(set(claims) ^ (_COMMON | found.fields)):
        raise InputError(f"{path} must have the fields of a certificate, got {odd[0]!r} wrong")
    classes = claims["classes"]
    if not isinstance(classes, list) or not all(type(c) in (str, int, float) for c in classes):
        raise InputError(f"classes must be a list of texts or numbers, got {describe(classes)}")
    if len(set(classes)) < len(classes):
        raise InputError("classes must be distinct, got one twice")
    return found


def _head_follows(pair: Pair, claim: Guarantee) -> tuple[float, list[str]]:
    public = PublicNumbers.from_dict(pair.claims["public"])
    problems = _head_misfits(pair, public)
    if public.tolerance < public.least_tolerance():
        problems.append("the tolerance is below what float64 can certify")
    if claim.unit != public.unit:
        problems.append(f"the unit is {public.unit}, not {claim.unit}")
    return together(_head_noises(pair.claims, public, claim), delta=claim.delta), problems


def _head_noises(
    claims: Claims, public: PublicNumbers, claim: Guarantee
) -> list[AdditiveMechanism]:
    """The noise of the mean, where there is one, and that of the weights."""
    kind = mechanism_of(claims["mechanism"])
    noises = []
    if public.mean is not None:
        moved = public.mean.sensitivity(claim.relation, public.records_each)
        noises.append(kind(scale=public.mean.scale, sensitivity=moved))
    moved = public.sensitivity(claim.relation)
    return [*noises, kind(scale=claims["scale"], sensitivity=moved)]


def _head_misfits(pair: Pair, public: PublicNumbers) -> list[str]:
    """Where the tensors are not those of the public numbers."""
    problems, classes = [], len(pair.claims["classes"])
    coordinates, centre = pair.tensors.get("coordinates"), pair.tensors.get("centre")
    if coordinates is None or coordinates.shape != public.shape:
        problems.append(f"the weights do not have the shape {public.shape}")
    if classes != public.classes:
        problems.append(f"{classes} classes do not fit {public.shape}")
    if centre is not None and centre.shape != (public.features,):
        problems.append(f"the centre does not have {public.features} entries")
    if public.mean is not None and (centre is None or public.mean.features != public.features):
        problems.append("the noisy mean is not the centre of the weights")
    return problems


def _load_head(pair: Pair, claim: Guarantee) -> ReleasedHead:
    return ReleasedHead(
        coordinates=pair.tensors["coordinates"],
        classes_=np.asarray(pair.claims["classes"]),
        centre=pair.tensors.get("centre"),
        guarantee=claim,
        mechanism=str(pair.claims["mechanism"]),
        scale=float(pair.claims["scale"]),
        public=PublicNumbers.from_dict(pair.claims["public"]),
    )


def _linear_follows(pair: Pair, claim: Guarantee) -> tuple[float, list[str]]:
    recipe, scales = _recipe(pair.claims), _scales(pair.claims["scales"])
    plan = with_scales(recipe, scales, relation=claim.relation, mechanism=pair.claims["mechanism"])
    regression = isinstance(recipe, RegressionRecipe)
    problems = []
    shape = (recipe.features,) if regression else (recipe.classes, recipe.features)
    weights, offsets = pair.tensors.get("weights"), pair.tensors.get("offsets")
    if weights is None or weights.shape != shape:
        problems.append(f"the weights do not have the shape {shape}")
    if offsets is None or offsets.shape != (1 if regression else recipe.classes,):
        problems.append("the offsets do not fit the weights")
    if len(pair.claims["classes"]) != (0 if regression else recipe.classes):
        problems.append(f"{len(pair.claims['classes'])} classes do not fit {shape}")
    if regression != (pair.claims["format"] == REGRESSION):
        problems.append("the format is not that of the learner")
    if claim.unit != recipe.unit:
        problems.append(f"the unit is {recipe.unit}, not {claim.unit}")
    learner, mechanism = str(pair.claims["learner"]), str(pair.claims["mechanism"])
    problems += recipe_misfits(learner, recipe, claim, mechanism)
    return reached(plan, delta=claim.delta), problems


def _recipe(claims: Claims) -> Recipe:
    return recipe_of(claims["learner"], claims["recipe"])


def _scales(values: object) -> dict[str, float]:
    if not isinstance(values, Mapping):
        raise InputError(f"scales must be a JSON object, got {describe(values)}")
    return {str(name): positive("scale", value) for name, value in values.items()}


def _load_linear(pair: Pair, claim: Guarantee) -> ReleasedLinear:
    return ReleasedLinear(
        learner=str(pair.claims["learner"]),
        weights=pair.tensors["weights"],
        offsets=pair.tensors["offsets"],
        classes_=np.asarray(pair.claims["classes"]),
        guarantee=claim,
        mechanism=str(pair.claims["mechanism"]),
        recipe=_recipe(pair.claims),
        scales=_scales(pair.claims["scales"]),
    )


def _load_regression(pair: Pair, claim: Guarantee) -> ReleasedRegression:
    recipe = _recipe(pair.claims)
    assert isinstance(recipe, RegressionRecipe)
    return ReleasedRegression(
        learner=str(pair.claims["learner"]),
        weights=pair.tensors["weights"],
        offset=float(pair.tensors["offsets"][0]),
        guarantee=claim,
        mechanism=str(pair.claims["mechanism"]),
        recipe=recipe,
        scales=_scales(pair.claims["scales"]),
    )


_FORMATS = {
    REGRESSION: _Format({"learner", "recipe", "scales"}, _linear_follows, _load_regression),
    HEAD: _Format({"scale", "public"}, _head_follows, _load_head),
    LINEAR: _Format({"learner", "recipe", "scales"}, _linear_follows, _load_linear),
}
