"""The released head that a network starts from: of its kind, and the one that the terms name."""

from collections.abc import Sequence
from typing import Any

from reticent.protect.recipe import Recipe
from reticent.protect.terms import Terms
from reticent.validation import InputError


def refuse_other_start(recipe: Recipe, terms: Terms, classes: Sequence[Any]) -> None:
    """Before anything is charged: a head that this cannot start from, or not that of the terms."""
    if terms.start is None:
        return
    from reticent.protect.registry import RECIPES

    document = terms.start.document
    head = RECIPES.named(document["recipe"]).from_dict(document["numbers"])
    if problems := start_misfits(recipe, head, document["classes"], classes):
        raise InputError(f"start must be a head for this network, got: {problems[0]}")
    recipe.refuse_other_start(terms.start)


def start_misfits(
    recipe: Recipe, head: Recipe, of_head: Sequence[Any], classes: Sequence[Any]
) -> list[str]:
    """Why a network cannot start from a head: of another kind, of other features or classes."""
    width = recipe.start_width
    if width is None:
        return [f"{recipe.name} starts from no head"]
    if not head.is_affine:  # the network copies its two tensors
        return [f"{head.name} is no affine layer on rows of norm 1"]
    if head.features != width:
        return [f"{head.features} features, and the head of the network reads {width}"]
    if list(map(str, of_head)) != list(map(str, classes)):
        return ["its classes are not those of the network, in their order"]
    return []
