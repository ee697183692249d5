"""What a release of numbers, or of several labels, is likely to lose: from public numbers alone.

Both learners keep a direction of the features in so far as the records vary in it more than the
noise does: ridge regression by noisy sums adds t to each eigenvalue of the second moment, t about
the norm of its noise, and a noised optimum has a penalty λ in its place. The noise-to-signal ratio
compares that with how the features would vary if their values were spread evenly over their public
ranges and lists:

    regression      ρ = t·d·R²/(N·V),    several labels  ρ = 4·λ·d/M,

d features, V the sum of their variances (rows are centred) and M that of their second moments about
0 (rows are not; ¼ is the curvature of the logistic loss at 0). What is lost
follows logit(loss) = constant + slope·ln(1/ρ) with the constants below, fitted on public tables
(``reticent reproduce beyond task-plan``); a test fits them anew from the committed results.
"""

import math
from typing import Final

from reticent.data.schema import Schema, kinds
from reticent.data.schema.column import Column
from reticent.protect import noise_scales, plan, registry
from reticent.protect.recipes import adassp, regression, statistics, weights
from reticent.protect.terms import Terms

EVEN: Final = 1 / 12
"""The variance of a number that is spread evenly over a range of width 1."""
LARGEST_RATIO: Final = 20.0
"""Beyond it nothing was measured that is worth a prediction: most of what there is, is lost."""


def public_variance(schema: Schema) -> float:
    """Σ of the variances of all features, if values were spread evenly over what is public."""
    return math.fsum(_moments(column)[0] for column in schema.features)


def public_moment(schema: Schema) -> float:
    """Σ of the second moments of all features about 0, likewise: of rows that nobody centres."""
    return math.fsum(sum(_moments(column)) for column in schema.features)


def _moments(column: Column) -> tuple[float, float]:
    """Variance and squared mean of what a column becomes, if its values were spread evenly."""
    kind = column.kind
    if isinstance(kind, kinds.Category):
        width = len(kind.names(column.name))
        return 1 - 1 / width, 1 / width
    if isinstance(kind, kinds.TrueFalse):
        return 0.25, 0.25
    low, high = getattr(kind, "low", None), getattr(kind, "high", None)
    if isinstance(kind, kinds.Number) and low is not None and high is not None:
        ends = kind.encode([low, high])[:, 0]
        return EVEN * float(ends[1] - ends[0]) ** 2, float(ends.mean()) ** 2
    return column.bound**2 / 3, 0.0  # a date, a list of numbers or a text, of any direction


def regression_ratio(schema: Schema, recipe: regression.RegressionRecipe, terms: Terms) -> float:
    """ρ of a regression by noisy sums."""
    width = recipe.features
    noise = noise_scales.noise_plan(recipe, terms)[statistics.STATISTICS].noise
    norm = adassp.noise_norm(noise.std_in(width * (width + 1) // 2 + width + 1), width)
    return norm * width * schema.bound**2 / (recipe.records * public_variance(schema))


def labels_ratio(schema: Schema, recipe: weights.WeightsRecipe) -> float:
    """ρ of a noised sigmoid head, whose rows are not centred."""
    return 4 * recipe.penalty * recipe.features / public_moment(schema)


NUMBER_CURVE: Final = plan.LossCurve(constant=-1.1843, slope=-1.428, half=1.7567)
"""Of the share of R² that is lost, from 44 cells of 6 tables."""
LABELS_CURVE: Final = plan.LossCurve(constant=-0.6665, slope=-1.0438, half=2.7534)
"""Of the share of what is learnt beyond the commoner answers, from 32 cells of 5 tables: wide."""
HELD: Final = {"regression": (37, 44), "multilabel": (27, 32)}
"""Cells whose loss lay in the range that was fitted without their table, and all."""


def predicted_task_loss(task: str, ratio: float) -> plan.LossRange | None:
    """The range at this ρ; None where it is beyond what was measured."""
    if not ratio <= LARGEST_RATIO:
        return None
    curve = NUMBER_CURVE if task == registry.REGRESSION else LABELS_CURVE
    return curve.range(1 / ratio)
