"""The demonstration on other images, over and over: how often it ends as it says.

One run shows one draw of records, encoder and noise. Here the same settings meet parts of MNIST's
test set, which holds none of the demonstration's digits.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from reticent.data import Dataset, load
from reticent.results.table import Table
from reticent.run.attacking import CANDIDATES
from reticent.run.demo import DemoSpec, Prepared, parts_of
from reticent.studies import before_after
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


def _ended(spec: Demonstrations, images: Dataset, seed: int, jobs: int) -> before_after.Cell:
    """The strongest black-box attack before and after, and what the release costs."""
    choices = replace(spec.demo.run, seed=seed, jobs=jobs)
    encoder = replace(spec.demo.encoder, seed=seed)
    demo = replace(spec.demo, run=choices, encoder=encoder)
    prepared = Prepared(spec=demo, images=parts_of(images, demo))
    return before_after.before_and_after(
        prepared.data(demo.kind, lambda *_: None), choices, spec.epsilons, seed
    )


def _table(spec: Demonstrations, cells: list[before_after.Cell]) -> Table:
    costs = tuple(f"loss at ε = {epsilon:g}" for epsilon in spec.epsilons)
    return Table(
        title=f"The demonstration on {spec.seeds} draws from {spec.on}",
        columns=(*before_after.COLUMNS, *costs),
        rows=tuple(map(before_after.row_of, cells)),
        notes=(
            before_after.verdict(cells),
            before_after.means(cells, spec.epsilons, f"{spec.on} images"),
            _reading(spec),
        ),
    )


def _reading(spec: Demonstrations) -> str:
    run, sizes = spec.demo.run, ", ".join(f"{n:,} {role}" for role, n in spec.demo.sizes.items())
    return (
        f"{sizes}; recommended release at δ = {run.delta:g}, {run.neighbours}; the attack is the"
        f" one of {len(CANDIDATES)} that was strongest on shadow targets. Loss is the mean over"
        f" {run.draws} releases, relative to the head without protection."
    )
