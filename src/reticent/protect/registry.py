"""All recipes by name. The CLI's help, ``verify``, audits, shadow models and cards read it.

A recipe of the package takes one line here. Others are registered by ``RECIPES.register`` or by an
entry point in the group ``reticent.recipes``; they release, verify and are audited like these, and
their guarantees are declared: only the package's own types mint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reticent.mechanisms.registry import MECHANISMS
from reticent.registry import Lazy, Registry
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect.recipe import Recipe

_HERE = "reticent.protect.recipes"
CLASSIFICATION, REGRESSION, STATISTIC = "classification", "regression", "statistic"

RECIPES: Registry[type[Recipe]] = Registry(
    "recipe",
    {
        "weights": Lazy(
            f"{_HERE}.weights:WeightsRecipe",
            "noise on the optimum of a softmax head",
            CLASSIFICATION,
        ),
        "noisy-gradient": Lazy(
            f"{_HERE}.noisy_gradient:GradientRecipe",
            "noisy gradient descent with clipped per-example gradients",
            CLASSIFICATION,
        ),
        "class-means": Lazy(
            f"{_HERE}.class_means:ClassMeansRecipe",
            "the nearest of noisy class means",
            CLASSIFICATION,
        ),
        "adassp": Lazy(
            f"{_HERE}.adassp:AdaSSPRecipe",
            "ridge regression on the classes from noisy statistics",
            CLASSIFICATION,
        ),
        "lda": Lazy(
            f"{_HERE}.lda:LDARecipe",
            "noisy linear discriminant analysis",
            CLASSIFICATION,
        ),
        "network": Lazy(
            f"{_HERE}.network:NetworkRecipe",
            "DP-SGD on a network: clipped per-example gradients of Poisson samples",
            CLASSIFICATION,
        ),
        "adassp-regression": Lazy(
            f"{_HERE}.regression:RegressionRecipe",
            "linear regression from noisy statistics",
            REGRESSION,
        ),
        "mean": Lazy(f"{_HERE}.mean:MeanRecipe", "the noisy mean of clipped rows", STATISTIC),
    },
)


def is_own(recipe: Recipe) -> bool:
    """Whether recipe and noise are the package's own: a subclass may compute something else."""
    own = RECIPES.is_own(recipe.name) and type(recipe) is RECIPES[recipe.name]
    return own and MECHANISMS.is_own(recipe.mechanism)


def classifiers() -> tuple[str, ...]:
    """The names of recipes that tell classes, for commands on a table with labels."""
    return tuple(name for name in RECIPES if RECIPES.group(name, "task") == CLASSIFICATION)


def classifier_named(name: str) -> type[Recipe]:
    """The recipe of this name that tells classes; another is refused with the list of these."""
    if name not in classifiers():
        raise InputError(f"learner must be one of {', '.join(classifiers())}, got {name!r}")
    return RECIPES[name]
