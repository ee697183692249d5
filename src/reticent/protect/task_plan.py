"""What a release of numbers, or of several labels, will cost: from public numbers alone.

The noise follows from the recipe, and with how many records it would be small. The loss that is
predicted was fitted on public tables (``task_loss``).
"""

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

from reticent.data.schema import Schema
from reticent.protect import noise_scales, penalty, plan, public_facts, registry, task_loss
from reticent.protect.recipes import regression, statistics, weights
from reticent.protect.terms import Terms
from reticent.validation import InputError

SMALL: Final = 0.01
"""Of the half of a label's range: noise that hardly shows."""


@dataclass(frozen=True, kw_only=True)
class TaskAdvice:
    """Which learner and noise for such labels, and how much noise there will be."""

    task: str
    learner: str
    mechanism: str
    lines: tuple[str, ...]
    figures: dict[str, float]
    ratio: float
    """Noise to signal, ρ of ``task_loss``."""

    @property
    def loss(self) -> plan.LossRange | None:
        """The share of R², or of what is learnt beyond the commoner answers, that is lost."""
        return task_loss.predicted_task_loss(self.task, self.ratio)

    @property
    def loss_line(self) -> str:
        """The prediction in one line, with what it rests on; or why there is none."""
        what = (
            "R²"
            if self.task == registry.REGRESSION
            else "what is learnt beyond the commoner answers"
        )
        noise_to_signal = f"noise to signal {self.ratio:.2g}"
        if self.loss is None:
            return (
                f"loss: no prediction, for the {noise_to_signal} is above"
                f" {task_loss.LARGEST_RATIO:g}, beyond what was measured; expect to"
                f" lose most of {what}"
            )
        inside, all_cells = task_loss.HELD[self.task]
        return (
            f"loss: {self.loss} of {what}, at {noise_to_signal}; a range fitted without its own"
            f" table held in {inside} of {all_cells} measured cells"
        )

    def to_dict(self) -> dict[str, Any]:
        """The advice as plain values for a JSON file."""
        names = ("task", "learner", "mechanism", "figures")
        loss = None if self.loss is None else asdict(self.loss)
        more = {"lines": [*self.lines, self.loss_line], "noise_to_signal": self.ratio, "loss": loss}
        return {name: getattr(self, name) for name in names} | more


def plan_task(schema: Schema, terms: Terms, records: int) -> TaskAdvice:
    """What to use for a schema whose label is a number, or which has several labels."""
    mechanism = "gaussian" if terms.delta > 0 else "laplace"
    numbers: dict[str, Any] = {
        "records": records,
        "features": len(schema.names),
        "mechanism": mechanism,
        "bound": schema.bound,
    }
    if schema.task == "regression":
        return _regression(schema, terms, numbers)
    if schema.task == "multilabel":
        return _several(schema, terms, numbers)
    raise InputError("schema must have a number or several labels to predict, got classes")


def _regression(schema: Schema, terms: Terms, numbers: dict[str, Any]) -> TaskAdvice:
    target = schema.target
    assert target is not None
    recipe = regression.RegressionRecipe.planned(
        terms, **numbers | public_facts.target_options(target.low, target.high)
    )
    width = recipe.features
    noise = noise_scales.noise_plan(recipe, terms)[statistics.STATISTICS].noise
    std = noise.std_in(width * (width + 1) // 2 + width + 1)
    level = recipe.target_bound * std / (regression.TARGETS * recipe.records)
    ridge = std * math.sqrt(width) / recipe.records
    unit = f" {target.unit}" if target.unit else ""
    needed = math.ceil(recipe.records * level / (SMALL * recipe.target_bound))
    return TaskAdvice(
        task=schema.task,
        learner=recipe.name,
        mechanism=recipe.mechanism,
        lines=(
            f"noise on the mean of the label: std {level:.3g}{unit}; below {SMALL:.0%} of the half"
            f" of its range from {needed:,} records on",
            f"noise on the second moment of a record's features, of norm at most 1: about"
            f" {ridge:.2g}; directions in which features vary less than that are not learnt",
        ),
        figures={"level_noise": level, "moment_noise": ridge, "records_for_level": needed},
        ratio=task_loss.regression_ratio(schema, recipe, terms),
    )


def _several(schema: Schema, terms: Terms, numbers: dict[str, Any]) -> TaskAdvice:
    labels = len(schema.classes)
    recipe = weights.WeightsRecipe.planned(terms, classes=labels, outputs="sigmoid", **numbers)
    each = numbers["records"] / labels
    return TaskAdvice(
        task=schema.task,
        learner=recipe.name,
        mechanism=recipe.mechanism,
        lines=(
            f"one record touches all {labels} labels: its sensitivity is √{labels} times that of"
            " one label",
            f"penalty {recipe.penalty:.3g}, by which the noise on a logit has a std of about"
            f" {penalty.LOGIT_NOISE:g}: the larger the penalty, the less is learnt",
        ),
        figures={
            "penalty": recipe.penalty,
            "logit_noise": penalty.LOGIT_NOISE,
            "records_per_label": each,
        },
        ratio=task_loss.labels_ratio(schema, recipe),
    )
