"""Measure some learners of a committed study again, and keep the rest of its tables.

``python -m tools.measure_again plan-grid --on digits --data DIR class-means lda``: where two
learners changed, the others need no hours once more. Of ``scattering`` rows are named by their ε,
those that a specification has got since are added; of ``places`` as in the table (``pure`` stands
for all at δ = 0); of ``end-to-end --on all`` by their release. Every value is found as the study
itself finds it; a note of each table says what is of another day. A stop leaves FILE.part to go on
from.
"""

import argparse
import datetime
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from reticent.files import write_atomic
from reticent.results.table import Table
from reticent.studies import end_to_end, plan_fit, plan_uneven, pure_grid, scattering
from reticent.studies import learners as learners_study
from reticent.studies import places as places_study
from reticent.studies.losses import bare
from reticent.studies.tasks import task
from reticent.studies.trained import Cells, Run
from reticent.studies.uneven_tasks import uneven_task
from tools import end_to_end_again

RESULTS = Path(__file__).resolve().parent.parent / "results"
AGAIN = " measured again on "
Tables = list[dict[str, Any]]
Row = Mapping[str, str]


def main(arguments: list[str] | None = None) -> None:
    """Put the values of the named learners in the place of the old ones."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("study", choices=sorted(STUDIES))
    named = "names; of scattering, values of ε; of places, rows"
    parser.add_argument("learners", nargs="+", help=named)
    parser.add_argument("--on", required=True, help="the data, as the study names them")
    parser.add_argument("--data", type=Path, help="the data folder")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--jobs", type=int, default=1, help="of end-to-end, processes")
    said = parser.parse_args(arguments)
    name = said.study if said.on == "all" else f"{said.study}-{said.on}"
    path = said.results / f"{name}.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    cells = Cells(path.with_name(f"{path.name}.part"))
    run = Run(folder=said.data, cells=cells, jobs=said.jobs)
    tables = [_opened(table) for table in document["tables"]]
    STUDIES[said.study](tables, said.on, said.learners, run)
    if said.study in ADDED:
        document["specifications"] = [asdict(spec) for spec in ADDED[said.study](said.on)]
    for table in tables:
        table["notes"] = _noted(table["notes"], said.learners, document["date"])
    document["tables"] = [_closed(table) for table in tables]
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    write_atomic(path, text.encode())
    cells.drop()


def _opened(table: Mapping[str, Any]) -> dict[str, Any]:
    """Lists that may be changed, each cell with its value."""
    own = Table.from_dict(table)
    rows, notes = [list(row) for row in own.rows], list(own.notes)
    return vars(own) | {"columns": list(own.columns), "rows": rows, "notes": notes}


def _closed(table: Mapping[str, Any]) -> dict[str, object]:
    rows = tuple(tuple(row) for row in table["rows"])
    lists = {name: tuple(table[name]) for name in ("columns", "notes")}
    return Table(**{**table, **lists, "rows": rows}).to_dict()


def _noted(notes: Sequence[str], learners: Sequence[str], date: str) -> list[str]:
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    named = f"{', '.join(learners)}:{AGAIN}"
    kept = [note for note in notes if not note.startswith(named)]
    return [*kept, f"{named}{today}; the rest is of {date}."]


def _learners(tables: Tables, on: str, learners: Sequence[str], run: Run) -> None:
    """Rows of these learners, from the same study with no others."""
    specs = tuple(
        replace(
            spec,
            plan=tuple(
                (epsilon, tuple(name for name in names if name in learners))
                for epsilon, names in spec.plan
            ),
        )
        for spec in learners_study.SPECS[on]
    )
    found = learners_study.study(specs, run)
    for table, again in zip(tables, found.tables, strict=True):
        new = {row[1:4]: list(row) for row in again.rows}
        table["rows"] = [new.pop(tuple(row[1:4]), row) for row in table["rows"]]
        assert not new
        table["notes"] = [*again.notes, *(note for note in table["notes"] if AGAIN in note)]


def _scattering(tables: Tables, on: str, epsilons: Sequence[str], run: Run) -> None:
    """Rows of these ε, from the same study with no others."""
    spec = replace(scattering.SPECS[on], epsilons=tuple(map(float, epsilons)))
    (again,), (table,) = scattering.study(spec, run).tables, tables
    kept = {row[2]: row for row in table["rows"]} | {row[2]: list(row) for row in again.rows}
    table["rows"] = sorted(kept.values(), key=lambda row: float(row[2]))
    table["notes"] = [*again.notes, *(note for note in table["notes"] if AGAIN in note)]


def _places(tables: Tables, on: str, names: Sequence[str], run: Run) -> None:
    """Rows of these names, beside the others; the most useful first, and below the free head."""
    (spec,) = places_study.SPECS[on]
    every = {places_study.row_name(*one): one[1] for one in spec.releases}
    if unknown := set(names) - {*every, "pure"}:
        raise SystemExit(f"rows must be among {', '.join(every)} and pure, got {unknown.pop()!r}")
    wanted = tuple(row for row, pure in every.items() if row in names or (pure and "pure" in names))
    (again,) = places_study.study((replace(spec, rows=wanted),), run).tables
    (table,) = tables
    if table["columns"] != list(again.columns):
        raise SystemExit(f"{on} has other columns than today's study: run all of it")
    kept = {row[0]: row for row in table["rows"]} | {row[0]: list(row) for row in again.rows}
    free = kept.pop("none")
    table["rows"] = [free, *sorted(kept.values(), key=lambda row: -float(row[3].split()[0]))]
    table["notes"] += [note for note in again.notes if note not in table["notes"]]


def _grid(measured: Callable[..., Mapping[str, float]]) -> Callable[..., None]:
    """Columns of these learners, each value by itself."""

    def again(tables: Tables, on: str, learners: Sequence[str], run: Run) -> None:
        (table,) = tables
        for row in table["rows"]:
            named = dict(zip(table["columns"], row, strict=True))
            for learner in learners:
                new = run.cell((on, named["records"], named["ε"], named.get("data"), learner),
                               measured, on, named, learner, run.folder)  # fmt: skip
                for column, accuracy in new.items():
                    row[table["columns"].index(column)] = bare(accuracy, 4)

    return again


_task = functools.lru_cache(maxsize=1)(task)
_uneven_task = functools.lru_cache(maxsize=1)(uneven_task)


def _planned(on: str, row: Row, learner: str, folder: Path | None) -> dict[str, float]:
    spec, records, epsilon = plan_fit.SPECS[on], int(row["records"]), float(row["ε"])
    data = _task(on, records=records, seed=spec.seed, folder=folder)
    return {learner: plan_fit.protected_accuracy(spec, records, data, epsilon, learner)}


def _pure(on: str, row: Row, learner: str, folder: Path | None) -> dict[str, float]:
    spec, records, epsilon = pure_grid.SPECS[on], int(row["records"]), float(row["ε"])
    data = _task(on, records=records, seed=spec.seed, folder=folder)
    request = spec.request(records, epsilon, learner)
    return {learner: pure_grid.protected_accuracy(spec, data, request)}


def _uneven(on: str, row: Row, learner: str, folder: Path | None) -> dict[str, float]:
    spec, records, epsilon = plan_uneven.SPECS[on], int(row["records"]), float(row["ε"])
    data = _uneven_task(row["data"], records=records, seed=spec.seed, folder=folder)
    plain, balanced = plan_uneven.protected_accuracies(spec, records, data, epsilon, learner)
    return {learner: plain, f"balanced {learner}": balanced}


STUDIES: Mapping[str, Callable[[Tables, str, Sequence[str], Run], None]] = {
    "end-to-end": end_to_end_again.again,
    "learners": _learners,
    "places": _places,
    "plan-grid": _grid(_planned),
    "plan-uneven": _grid(_uneven),
    "pure-grid": _grid(_pure),
    "scattering": _scattering,
}
ADDED: Mapping[str, Callable[[str], Sequence[Any]]] = {
    "end-to-end": lambda _on: (end_to_end.SPECS["built"],),
    "places": lambda on: places_study.SPECS[on],
    "scattering": lambda on: (scattering.SPECS[on],),
}
"""Studies whose specification may have got rows, or pairs, since."""


if __name__ == "__main__":
    main()
