"""The demonstration on other images, over and over: how often it ends as it says.

One run shows one draw of records, encoder and noise. Here the same settings meet parts of MNIST's
test set, which holds none of the demonstration's digits.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from threadpoolctl import threadpool_limits

from reticent.audit.metrics import over_repeats
from reticent.data import Dataset, load
from reticent.results import Interval
from reticent.results.attack import GUESSING
from reticent.results.conversions import attacks_of
from reticent.results.table import Table
from reticent.run.attacking import CANDIDATES, Adversaries
from reticent.run.conclusion import attack_named
from reticent.run.demo import DemoSpec, Prepared, parts_of
from reticent.run.heads import unprotected_head
from reticent.run.releases import correct_predictions, drawn, recommended_kind
from reticent.studies.trained import Outcome, Run


@dataclass(frozen=True, kw_only=True)
class Demonstrations:
    """The demonstration's own choices, and how often it is repeated."""

    demo: DemoSpec
    on: str = "mnist-test"
    epsilons: tuple[float, ...] = (1.0, 2.0)
    first_seed: int = 100
    """Smaller ones were used while the settings were settled."""
    seeds: int = 20


SPECS: Mapping[str, Demonstrations] = {"mnist-test": Demonstrations(demo=DemoSpec.full())}


def study(spec: Demonstrations, run: Run) -> Outcome:
    """How `reticent demo` ends on images that its settings were not tried on.

    Each seed draws parts, encoder, shadows and noise anew.
    """
    run.steps.plan(spec.seeds)
    images = load(spec.on, run.folder)
    ended = [
        run.cell((spec, seed), _ended, spec, images, seed, run.jobs)
        for seed in range(spec.first_seed, spec.first_seed + spec.seeds)
    ]
    return Outcome(specifications=(spec,), tables=(_table(spec, ended),))


def _ended(spec: Demonstrations, images: Dataset, seed: int, jobs: int) -> dict[str, Any]:
    """The strongest black-box attack before and after, and what the release costs."""
    choices = dataclasses.replace(spec.demo.run, seed=seed, jobs=jobs)
    encoder = dataclasses.replace(spec.demo.encoder, seed=seed)
    demo = dataclasses.replace(spec.demo, run=choices, encoder=encoder)
    prepared = Prepared(spec=demo, images=parts_of(images, demo))
    data = prepared.data(demo.kind, _silent)
    with threadpool_limits(limits=1):
        head = unprotected_head(data, choices)
        adversaries = Adversaries(data=data, spec=choices, tell=_silent)
        before, strengths = adversaries.on_unprotected(head)
        kinds = [recommended_kind(data, choices, epsilon) for epsilon in spec.epsilons]
        releases = drawn(kinds, data, choices, head, _silent)
        after = adversaries.on_release((releases[0].first, CANDIDATES))
    chosen = next(iter(strengths))
    return {
        "seed": seed,
        "attack": chosen,
        "before": attack_named(attacks_of(before), chosen).auc.model_dump(),
        "after": attack_named(after, chosen).auc.model_dump(),
        "accuracy": float(correct_predictions(head, *data.rows("test")).mean()),
        "learners": [release.learner for release in releases],
        "accuracies": [release.accuracy.value for release in releases],
        "losses": [release.loss.value for release in releases],
    }


def _silent(*_: object) -> None:
    pass


def _table(spec: Demonstrations, found: list[dict[str, Any]]) -> Table:
    costs = tuple(f"loss at ε = {epsilon:g}" for epsilon in spec.epsilons)
    return Table(
        title=f"The demonstration on {spec.seeds} draws from {spec.on}",
        columns=("seed", "attack", "AUC before", "AUC after", "accuracy before", *costs),
        rows=tuple(_row(cell) for cell in found),
        notes=(_verdict(found), _means(spec, found), _reading(spec)),
    )


def _row(cell: dict[str, Any]) -> tuple[str, ...]:
    return (
        str(cell["seed"]),
        cell["attack"],
        str(Interval(**cell["before"])),
        str(Interval(**cell["after"])),
        f"{cell['accuracy']:.3f}",
        *(f"{loss:.3f}" for loss in cell["losses"]),
    )


def _verdict(found: list[dict[str, Any]]) -> str:
    """How often the intervals lie as the page says they do."""
    outside = sum(cell["before"]["low"] > GUESSING for cell in found)
    inside = sum(cell["after"]["low"] <= GUESSING <= cell["after"]["high"] for cell in found)
    half = max((cell["after"]["high"] - cell["after"]["low"]) / 2 for cell in found)
    return (
        f"Before protection the interval excludes {GUESSING:g} in {outside} of {len(found)} draws;"
        f" after it, it includes {GUESSING:g} in {inside} of {len(found)}. The widest is"
        f" ±{half:.4f} at {found[0]['after']['confidence']:.2%} confidence."
    )


def _means(spec: Demonstrations, found: list[dict[str, Any]]) -> str:
    before, after = (
        over_repeats([cell[when]["value"] for cell in found]) for when in ("before", "after")
    )
    losses = zip(*(cell["losses"] for cell in found), strict=True)
    cost = ", ".join(
        f"{over_repeats(loss)} at ε = {epsilon:g}"
        for loss, epsilon in zip(losses, spec.epsilons, strict=True)
    )
    return (
        f"Means with Student's 95 % interval: AUC {before} before and {after} after, utility loss"
        f" {cost}. Draws share the {spec.on} images, so they are not quite independent."
    )


def _reading(spec: Demonstrations) -> str:
    run, sizes = spec.demo.run, ", ".join(f"{n:,} {role}" for role, n in spec.demo.sizes.items())
    return (
        f"{sizes}; recommended release at δ = {run.delta:g}, {run.neighbours}; the attack is the"
        f" one of {len(CANDIDATES)} that was strongest on shadow targets. Loss is the mean over"
        f" {run.draws} releases, relative to the head without protection."
    )
