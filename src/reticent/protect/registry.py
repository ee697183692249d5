"""All recipes by name. The CLI's help, ``verify``, audits, shadow models and cards read it.

A recipe of the package takes one line here. Others are registered by ``RECIPES.register`` or by an
entry point in the group ``reticent.recipes``; they release, verify and are audited like these, and
their guarantees are declared: only the package's own types mint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reticent.mechanisms.registry import MECHANISMS
from reticent.registry import Lazy, Registry
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect.recipe import Recipe

_HERE = "reticent.protect.recipes"
CLASSIFICATION, REGRESSION, STATISTIC = "classification", "regression", "statistic"
ENCODING: Final = "encoding"
MULTILABEL: Final = "multilabel"
"""Several labels of a record at once: a sigmoid head, by the recipe "weights"."""

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
        "pure-class-means": Lazy(
            f"{_HERE}.pure_class_means:PureClassMeansRecipe",
            "for --pure: the nearest of class means, each with L2-Laplace noise of its own",
            CLASSIFICATION,
        ),
        "matrix-lda": Lazy(
            f"{_HERE}.matrix_lda:MatrixLDARecipe",
            "for --pure: discriminant analysis from one joint moment with matrix Laplace noise",
            CLASSIFICATION,
        ),
        "functional": Lazy(
            f"{_HERE}.functional:FunctionalRecipe",
            "logistic regression from the noisy coefficients of its loss, expanded to degree 2",
            CLASSIFICATION,
        ),
        "objective": Lazy(
            f"{_HERE}.objective:ObjectiveRecipe",
            "objective perturbation: the noisy minimum of a loss with a random linear term",
            CLASSIFICATION,
        ),
        "pate": Lazy(
            f"{_HERE}.pate:PateRecipe",
            "a student of noisy votes of teachers on disjoint parts (PATE)",
            CLASSIFICATION,
        ),
        "input": Lazy(
            f"{_HERE}.input:InputRecipe",
            "noise on each record (local privacy), ridge regression on what comes out",
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
        "spectral": Lazy(
            f"{_HERE}.spectral:SpectralRecipe",
            "an encoder by DP-SGD on the spectral contrastive loss, its second moment released",
            ENCODING,
        ),
        "barlow": Lazy(
            f"{_HERE}.barlow:BarlowRecipe",
            "an encoder by DP-SGD on Barlow Twins, its cross-correlation released",
            ENCODING,
        ),
        "simclr": Lazy(
            f"{_HERE}.simclr:SimCLRRecipe",
            "an encoder by DP-SGD on NT-Xent against public images",
            ENCODING,
        ),
        "masked-patches": Lazy(
            f"{_HERE}.masked_patches:MaskedPatchesRecipe",
            "an encoder by DP-SGD on telling hidden blocks of an image, which couples nothing",
            ENCODING,
        ),
        "prototypes": Lazy(
            f"{_HERE}.prototypes:PrototypesRecipe",
            "a public encoder adapted by noisy principal components and noisy clusters",
            ENCODING,
        ),
        "closed-form": Lazy(
            f"{_HERE}.closed_form:ClosedFormRecipe",
            "fixed features whitened by noisy moments of views, the spectral loss in closed form",
            ENCODING,
        ),
        "functional-regression": Lazy(
            f"{_HERE}.functional:FunctionalRegressionRecipe",
            "linear regression from the noisy coefficients of its squared loss",
            REGRESSION,
        ),
        "mean": Lazy(f"{_HERE}.mean:MeanRecipe", "the noisy mean of clipped rows", STATISTIC),
    },
)
"""Every recipe by its name, plug-ins among them; each is imported when it is asked for."""


def is_own(recipe: Recipe) -> bool:
    """Whether recipe and noise are the package's own: a subclass may compute something else."""
    own = RECIPES.is_own(recipe.name) and type(recipe) is RECIPES[recipe.name]
    return own and MECHANISMS.is_own(recipe.mechanism)


def classifiers() -> tuple[str, ...]:
    """The names of recipes that tell classes, for commands on a table with labels."""
    return tuple(name for name in RECIPES if RECIPES.group(name, "task") == CLASSIFICATION)


def regressors() -> tuple[str, ...]:
    """The names of recipes that predict a number, for commands on a table with one."""
    return tuple(name for name in RECIPES if RECIPES.group(name, "task") == REGRESSION)


def on_optimum(name: str) -> bool:
    """Whether the learner of this name is noise on the optimum of a head; no unknown one is."""
    return name in RECIPES and RECIPES[name].on_optimum


def encoders() -> tuple[str, ...]:
    """The names of recipes that make features of rows, without labels."""
    return tuple(name for name in RECIPES if RECIPES.group(name, "task") == ENCODING)


def learners_for(task: str) -> tuple[str, ...]:
    """The names of recipes for the labels of a table (``Dataset.task``)."""
    if task == MULTILABEL:
        return ("weights",)
    return regressors() if task == REGRESSION else classifiers()


def learner_named(name: str, task: str) -> type[Recipe]:
    """The recipe of this name, where it is for such labels; another is refused with the list."""
    known = learners_for(task)
    if name not in known:
        what = "" if task == CLASSIFICATION else f" for {task}"
        raise InputError(f"learner must be one of {', '.join(known)}{what}, got {name!r}")
    return RECIPES[name]


def classifier_named(name: str) -> type[Recipe]:
    """The recipe of this name that tells classes; another is refused with the list of these."""
    return learner_named(name, CLASSIFICATION)
