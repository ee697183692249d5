"""One draw of a whole job: what the strongest attack finds before and after protection."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

from threadpoolctl import threadpool_limits

from reticent.audit.metrics import over_repeats
from reticent.results import Interval, table
from reticent.results.attack import GUESSING
from reticent.results.conversions import attacks_of
from reticent.run import conclusion, heads
from reticent.run.attacking import CANDIDATES, Adversaries
from reticent.run.releases import correct_predictions, drawn, recommended_kind
from reticent.run.spec import RunData, RunSpec

Cell = dict[str, Any]
COLUMNS: Final = ("seed", "attack", "AUC before", "AUC after", "accuracy before")


def before_and_after(data: RunData, spec: RunSpec, epsilons: Sequence[float], seed: int) -> Cell:
    """The attack that was strongest on shadow targets, on the head and on the first release.

    ``epsilons`` are those of the recommended releases; the first one is attacked.
    """
    spec = dataclasses.replace(spec, seed=seed)
    with threadpool_limits(limits=1):
        head = heads.unprotected_head(data, spec)
        adversaries = Adversaries(data=data, spec=spec, progress=_silent)
        before, strengths = adversaries.on_unprotected(head)
        kinds = [recommended_kind(data, spec, epsilon) for epsilon in epsilons]
        releases = drawn(kinds, data, spec, head, _silent)
        after = adversaries.on_release((releases[0].first, CANDIDATES))
    chosen = next(iter(strengths))
    return {
        "seed": seed,
        "attack": chosen,
        "before": conclusion.attack_named(attacks_of(before), chosen).auc.model_dump(),
        "after": conclusion.attack_named(after, chosen).auc.model_dump(),
        "accuracy": float(correct_predictions(head, *data.rows("test")).mean()),
        "grade": str(releases[0].first.guarantee.grade),
        "learners": [release.learner for release in releases],
        "accuracies": [release.accuracy.value for release in releases],
        "losses": [release.loss.value for release in releases],
    }


def _silent(*_: object) -> None:
    pass


def row_of(cell: Cell) -> tuple[str, ...]:
    """The cell under COLUMNS, then its losses."""
    return (
        str(cell["seed"]),
        cell["attack"],
        *(_auc(Interval(**cell[when])) for when in ("before", "after")),
        *(table.Cell(f"{one:.3f}", one) for one in (cell["accuracy"], *cell["losses"])),
    )


def _auc(one: Interval) -> table.Cell:
    return table.Cell(str(one), table.Limits(one.value, one.low, one.high))


def verdict(cells: Sequence[Cell]) -> str:
    """How often the intervals lie as the page says they do."""
    outside = sum(cell["before"]["low"] > GUESSING for cell in cells)
    inside = sum(cell["after"]["low"] <= GUESSING <= cell["after"]["high"] for cell in cells)
    half = max((cell["after"]["high"] - cell["after"]["low"]) / 2 for cell in cells)
    return (
        f"Before protection the interval excludes {GUESSING:g} in {outside} of {len(cells)} draws;"
        f" after it, it includes {GUESSING:g} in {inside} of {len(cells)}. The widest is"
        f" ±{half:.4f} at {cells[0]['after']['confidence']:.2%} confidence."
    )


def means(cells: Sequence[Cell], epsilons: Sequence[float], on: str) -> str:
    """Mean AUC before and after, and mean losses, with their intervals over draws."""
    before, after = (
        over_repeats([cell[when]["value"] for cell in cells]) for when in ("before", "after")
    )
    losses = zip(*(cell["losses"] for cell in cells), strict=True)
    cost = ", ".join(
        f"{over_repeats(loss)} at ε = {epsilon:g}"
        for loss, epsilon in zip(losses, epsilons, strict=True)
    )
    return (
        f"Means with Student's 95 % interval: AUC {before} before and {after} after, utility loss"
        f" {cost}. Draws share the {on}, so they are not quite independent."
    )
