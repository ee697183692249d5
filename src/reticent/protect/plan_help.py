"""What a plan costs column by column, and what would make it cost less: public numbers alone.

A learner adds noise to each feature of a row of norm 1, so what a column costs is the number of its
features: the signal N·μ/(C·√d) falls with their square root. Its part of the squared bound R² is
what ``--bound`` and the noise on an optimum follow from.
"""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from reticent.data import Schema
from reticent.guarantee import Relation, grade
from reticent.protect.plan import LossRange, Situation, predicted_loss

LARGE_LOSS: Final = 0.1
"""A predicted or measured loss beyond which it is said what would help."""
ENCODED: Final = 64
"""Features of the public encoder or projection that is compared."""
_WORTH_IT: Final = 0.9
"""A change is named where it leaves at most this share of the predicted loss."""


@dataclass(frozen=True, kw_only=True)
class ColumnCost:
    """One column of a schema: how wide it is, how long, and what leaving it out would buy."""

    name: str
    features: int
    bound_share: float
    """Its part of the squared bound R²."""
    without: LossRange | None
    """The predicted loss without it; None where no loss is predicted, or nothing is left."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of the public numbers, and the loss that is predicted after it."""

    what: str
    loss: LossRange

    def __str__(self) -> str:
        """In words."""
        return f"{self.what}: {self.loss}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a JSON file."""
        return asdict(self)


def column_costs(schema: Schema, situation: Situation) -> tuple[ColumnCost, ...]:
    """All feature columns, the widest first; ties by their part of R²."""
    whole = math.fsum(column.bound**2 for column in schema.features)
    costs = []
    for column in schema.features:
        left = situation.features - len(column.names)
        costs.append(
            ColumnCost(
                name=column.name,
                features=len(column.names),
                bound_share=column.bound**2 / whole,
                without=_loss(situation, features=left) if left > 0 else None,
            )
        )
    return tuple(sorted(costs, key=lambda one: (-one.features, -one.bound_share, one.name)))


def what_would_help(situation: Situation, columns: tuple[ColumnCost, ...] = ()) -> list[Change]:
    """Changes that would lower the predicted loss by a tenth or more, the best first (δ > 0)."""
    if situation.delta == 0:
        return []
    now, features = predicted_loss(situation), situation.features
    asked: list[tuple[str, dict[str, Any]]] = [
        (f"four times as many records ({4 * situation.records:,})",
         {"records": 4 * situation.records}),
        (f"ε = {2 * situation.epsilon:g} in place of {situation.epsilon:g}",
         {"epsilon": 2 * situation.epsilon}),
    ]  # fmt: skip
    asked += _fewer_columns(features, columns)
    if features > 2 * ENCODED:
        asked.append(
            (f"a public encoder or projection to {ENCODED} features in place of {features:,}",
             {"features": ENCODED})
        )  # fmt: skip
    if grade.as_relation(situation.relation) is Relation.REPLACE_ONE:
        asked.append(("add-remove in place of replace-one", {"relation": "add-remove"}))
    if (situation.max_records_per_person or 1) > 1:
        each = situation.max_records_per_person
        asked.append(
            (f"one record of each person in place of {each}", {"max_records_per_person": 1})
        )
    losses = [(what, _loss(situation, **change)) for what, change in asked]
    helping = [
        Change(what=what, loss=loss)
        for what, loss in losses
        if loss is not None and loss.likely <= _WORTH_IT * now.likely
    ]
    return sorted(helping, key=lambda one: one.loss.likely)


def help_sentence(situation: Situation) -> str | None:
    """One sentence on what would help, from public numbers; None where nothing is known."""
    changes = what_would_help(situation)
    if not changes:
        return None
    parts = "; ".join(f"{one.what} (predicted loss {one.loss})" for one in changes)
    fewer = " Fewer features tell less without protection, too." if _narrows(changes) else ""
    return f"What would help, by public numbers alone: {parts}.{fewer}"


def _narrows(changes: list[Change]) -> bool:
    return any("features" in one.what for one in changes)


def _fewer_columns(
    features: int, columns: tuple[ColumnCost, ...]
) -> list[tuple[str, dict[str, Any]]]:
    """The widest columns that together hold half of the features, left out."""
    dropped: list[ColumnCost] = []
    for column in columns:
        if 2 * sum(one.features for one in dropped) >= features:
            break
        dropped.append(column)
    left = features - sum(one.features for one in dropped)
    if not dropped or left < 1:
        return []
    names = ", ".join(one.name for one in dropped)
    return [(f"without {names} ({left:,} of {features:,} features left)", {"features": left})]


def _loss(situation: Situation, **change: Any) -> LossRange | None:
    changed = replace(situation, **change)
    return None if changed.delta == 0 else predicted_loss(changed)
