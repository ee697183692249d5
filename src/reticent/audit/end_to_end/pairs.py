"""Pairs of neighbouring files through one release, each a pure function of its seed.

For a user's own table neighbours are built from it. One unit of the table leaves, another comes, or
takes its place: rows of the table again, and rows whose numbers are at the ends of the float range
or the only fraction of their column.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.random import Generator

from reticent.arrays import Progress
from reticent.audit.end_to_end import raw_records
from reticent.audit.end_to_end.adversarial import PERSON, Case, Shape, adversarial_case, neighbour
from reticent.audit.end_to_end.releases import Audited
from reticent.audit.end_to_end.replay import ONE_REFUSED, TIME_LIMIT, PairOutcome, Release, run_pair
from reticent.audit.end_to_end.settings import made_for, random_settings
from reticent.audit.end_to_end.table import FORMATS, Table, Writing
from reticent.data import Schema
from reticent.data.archive import archive
from reticent.data.schema import Number
from reticent.files import existing_file, partial_folder
from reticent.guarantee import Guarantee, Relation
from reticent.guarantee.guarantee import ONE_RECORD
from reticent.guarantee.rounding import upper_text
from reticent.randomness import seeded
from reticent.validation import InputError, count

UNITS: Final = ("record", "person")
RELATIONS: Final = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
_TAME: Final = 40
_WORDS: Final = 12
"""The longest text: texts run at 8 tokens, or at this length."""
_TEXT_TIME: Final = 4.0
"""Times the usual limit: a network is checked and trained, a text at a time."""


@dataclass(frozen=True, kw_only=True)
class Combination:
    """What is audited: a release, a file format, a neighbouring relation and a unit."""

    release: str
    format: str
    relation: Relation
    unit: str

    @property
    def name(self) -> str:
        """As it stands in a table."""
        return f"{self.release}, {self.format}, {self.relation}, one {self.unit}"


@dataclass(frozen=True, kw_only=True)
class AuditedPair:
    """One pair and what it showed; ``number`` and the combination make it again."""

    combination: Combination
    number: int
    family: str
    outcome: PairOutcome


def combinations(releases: Mapping[str, Audited]) -> list[Combination]:
    """Every release with each file format, relation and unit that it takes."""
    return [
        Combination(release=release, format=kind, relation=relation, unit=unit)
        for release, audited in releases.items()
        for kind in FORMATS
        for relation in (RELATIONS[1:] if audited.replaced_alone else RELATIONS)
        for unit in (UNITS[:1] if audited.replaced_alone or audited.records_alone else UNITS)
    ]


def audit_pair(
    audited: Audited, combination: Combination, number: int, *, limit: float = TIME_LIMIT
) -> AuditedPair:
    """The pair of that number: table, settings, neighbour and answers all follow from it."""
    rng = seeded(number, "end to end", combination.name)
    shape = Shape(
        width=min(int(rng.choice([1, 2, 3, 7, 16, 48])), _WORDS if audited.texts else 48),
        classes=("a", "b", "c")[: int(rng.choice([2, 3]))],
        persons=combination.unit == "person",
        targets=audited.targets,
        texts=audited.texts,
        embedded=bool(
            audited.embedded
            and not audited.raw
            and combination.format == "npz"
            and rng.random() < 0.5
        ),
    )
    alone = 1 if combination.relation is Relation.REPLACE_ONE else 0
    fewest = _TAME if audited.tame else max(audited.fewest, alone)
    schema = (
        raw_records.random_schema(rng, shape, combination.relation, audited.labels)
        if audited.raw
        else None
    )
    if schema is None:
        case = adversarial_case(rng, shape, fewest=fewest, tame=audited.tame)
    else:
        case = raw_records.raw_case(rng, schema, shape, fewest=fewest)
    settings = random_settings(rng, shape, combination.relation, len(case.table))
    settings = made_for(case.family, settings, rng)
    if schema is not None:
        writing = raw_records.written_as(schema, settings.writing)
        settings = replace(settings, schema=schema, writing=writing)
    if audited.tame:
        settings = replace(settings, bound=1.0, epsilon=1.0)
    noise_share = float(rng.choice([0.0, 0.0, 0.01, 1.0]))
    with partial_folder("reticent-") as folder:
        path = Path(folder) / f"table.{combination.format}"

        def beside(claim: Guarantee | None) -> Path:
            relation = combination.relation if claim is None else claim.relation
            unit = ONE_RECORD if claim is None else claim.unit
            changed = neighbour(case, relation, unit, rng)
            if audited.raw:
                changed = raw_records.in_another_order(changed, rng, rows=not shape.persons)
            return changed.write(path, settings.writing)

        outcome = run_pair(
            audited.build(settings),
            case.table.write(path, settings.writing),
            beside,
            noise_share=noise_share,
            limit=_TEXT_TIME * limit if audited.texts else limit,
        )
    if audited.tame and all(ONE_REFUSED in problem for problem in outcome.problems):
        # What else a job does may end it, which its guarantees list under stated: no release came.
        refused = outcome.problems[0] if outcome.problems else outcome.refused
        outcome = replace(outcome, problems=(), refused=refused)
    if audited.hostile and outcome.refused is None and outcome.holds:
        outcome = replace(outcome, problems=("a way around the noise is not refused",))
    return AuditedPair(combination=combination, number=number, family=case.family, outcome=outcome)


MOST_ROWS: Final = 2_000
"""Of a larger table the audit takes so many rows: neighbours are written as files of their own."""
LIMIT: Final = 300.0
_ODD: Final = (0.5, 1e300, -1e300, 5e-324, -0.0, 0.0, 2.0**53 + 2)
_ANSWERS: Final = (0.0, 0.01, 1.0)


@dataclass(frozen=True, kw_only=True)
class OwnTableAudit:
    """What pairs of neighbouring files built from one table showed."""

    outcomes: tuple[PairOutcome, ...]
    rows: int
    claim: str

    @property
    def refuted(self) -> bool:
        """Whether any pair showed that the claim is false."""
        return any(not one.holds for one in self.outcomes)

    @property
    def ratio(self) -> float:
        """The largest movement over its claimed sensitivity."""
        return max(one.ratio for one in self.outcomes)

    @property
    def epsilon_ratio(self) -> float:
        """What the worst pair is worth, over the claimed ε."""
        return max(one.epsilon_ratio for one in self.outcomes)

    def to_dict(self) -> dict[str, object]:
        """Plain values; computed from the private rows without noise."""
        return {
            "claim": self.claim,
            "pairs": len(self.outcomes),
            "rows": self.rows,
            "moved_over_claimed": self.ratio,
            "epsilon_over_claimed": self.epsilon_ratio,
            "problems": [problem for one in self.outcomes for problem in one.problems],
            "verdict": "refuted" if self.refuted else "not refuted",
        }

    def __str__(self) -> str:
        """A few lines for a reader."""
        problems = [problem for one in self.outcomes for problem in one.problems]
        return "\n".join(
            (
                f"claim: {self.claim}",
                f"pairs: {len(self.outcomes)} neighbouring files built from {self.rows} rows",
                f"moved: at most {upper_text(self.ratio, 8)} of the claimed sensitivity",
                f"worth: at most {upper_text(self.epsilon_ratio, 8)} of the claimed ε",
                *(f"found: {problem}" for problem in dict.fromkeys(problems)),
                f"verdict: {'refuted' if self.refuted else 'not refuted'}",
            )
        )


def audit_own_table(  # noqa: PLR0913 - a table, the release under audit, and how hard to look
    path: Path,
    release: Release,
    *,
    label: str,
    person: str | None,
    pairs: int,
    seed: int = 0,
    progress: Progress | None = None,
    schema: Schema | None = None,
) -> OwnTableAudit:
    """Pairs of neighbouring files through ``release``, which is told the path of a table.

    With a ``schema`` the table is a raw one, and its neighbours are written as it is.
    """
    count("pairs", pairs)
    typed = path.suffix in (".npz", ".parquet")
    table = read_whole(path) if schema is None or typed else raw_records.read_raw(path, schema)
    writing = Writing() if schema is None else raw_records.written_as(schema, Writing())
    ending = path.suffix if schema is None or typed else ".csv"
    for column in filter(None, (label, person)):
        if column not in table.columns:
            raise InputError(f"{path.name} must have the column {column!r}, got none of that name")
    rng = seeded(seed, "end to end", path.name)
    if len(table) > MOST_ROWS:
        table = table.take(sorted(rng.permutation(len(table))[:MOST_ROWS].tolist()))
    if len(table) == 0:
        raise InputError(f"{path.name} must hold records to build neighbours from, got none")
    claims: list[str] = []
    outcomes = []
    for number in range(pairs):
        case = _case(table, label, person, rng, schema)
        outcomes.append(_pair(case, (ending, writing), release, person, rng, claims))
        if progress is not None:
            progress(number + 1, pairs)
    refused = [one.refused for one in outcomes if one.refused is not None]
    if refused:
        raise InputError(refused[0].removeprefix("reticent: "))
    return OwnTableAudit(outcomes=tuple(outcomes), rows=len(table), claim=claims[0])


def _pair(
    case: Case,
    form: tuple[str, Writing],
    release: Release,
    person: str | None,
    rng: Generator,
    claims: list[str],
) -> PairOutcome:
    ending, writing = form
    with partial_folder("reticent-") as folder:
        path = Path(folder) / f"table{ending}"

        def beside(claim: Guarantee | None) -> Path:
            relation, unit = Relation.ADD_REMOVE, ONE_RECORD
            if claim is not None:
                relation, unit = claim.relation, claim.unit
                claims.append(str(claim))
            changed = _renamed(neighbour(case, relation, unit, rng), PERSON, person)
            return changed.write(path, writing)

        return run_pair(
            release,
            _renamed(case.table, PERSON, person).write(path, writing),
            beside,
            noise_share=float(rng.choice(_ANSWERS)),
            limit=LIMIT,
        )


def _case(
    table: Table, label: str, person: str | None, rng: Generator, schema: Schema | None = None
) -> Case:
    """The table and four rows that may come: copies of its own, some with an odd number.

    A schema says which columns are numbers: elsewhere one would make its record invalid.
    """
    kept = {label, PERSON}
    if schema is not None:
        numbers = {one.name for one in schema.features if isinstance(one.kind, Number)}
        kept |= set(table.columns) - numbers
    named = _renamed(table, person, PERSON)
    newcomers = named.take(rng.integers(len(table), size=4).tolist())
    for place in range(2):
        newcomers = _with_odd_number(newcomers, place, kept, rng, schema)
    shape = Shape(width=1, persons=person is not None)
    return Case(table=named, newcomers=newcomers, family="own table", shape=shape)


def _with_odd_number(
    table: Table, place: int, kept: set[str], rng: Generator, schema: Schema | None
) -> Table:
    """One number of a row replaced; a column that stored whole numbers then stores fractions."""
    features = {name: cells for name, cells in table.columns.items() if name not in kept}
    named = schema is not None
    numeric = [name for name, cells in features.items() if named or _is_number(cells[place])]
    decimal = "." if schema is None else schema.form.decimal
    if not numeric:
        return table
    name, odd = str(rng.choice(numeric)), float(rng.choice(_ODD))
    row = table.row(place)
    cell = row[name]
    if isinstance(cell, np.ndarray):
        changed = cell.astype(np.float64)
        changed.flat[int(rng.integers(cell.size))] = odd
        row[name] = changed
    else:
        row[name] = repr(odd).replace(".", decimal) if isinstance(cell, str) else odd
    return table.without([place]).with_row(place, row)


def _is_number(cell: Any) -> bool:
    if isinstance(cell, np.ndarray):
        return bool(cell.dtype.kind in "iuf" and cell.size)
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _renamed(table: Table, name: str | None, other: str | None) -> Table:
    if name is None or other is None or name == other:
        return table
    columns = {(other if key == name else key): cells for key, cells in table.columns.items()}
    return Table(columns, table.types, table.shapes)


def read_whole(path: Path) -> Table:
    """All columns of a file with their cells as they are: texts of a CSV stay texts."""
    existing_file(path)
    if path.suffix not in _READERS:
        raise InputError(f"path must end in {', '.join(FORMATS)}, got {path.name!r}")
    return _READERS[path.suffix](path)


def _read_csv(path: Path) -> Table:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, *rows = csv.reader(file)
    except (UnicodeDecodeError, csv.Error, ValueError):
        raise InputError(f"{path.name} must be a CSV table in UTF-8, got another file") from None
    rows = [row for row in rows if row]
    if any(len(row) != len(header) for row in rows):
        raise InputError(f"{path.name} must have {len(header)} fields in each row, got others")
    return Table({name: [row[i] for row in rows] for i, name in enumerate(header)})


def _read_npz(path: Path) -> Table:
    arrays = archive(path)
    return Table(
        {name: list(array) for name, array in arrays.items()},
        shapes={name: array.shape[1:] for name, array in arrays.items() if array.ndim > 1},
    )


def _read_parquet(path: Path) -> Table:
    from pyarrow import ArrowInvalid, parquet

    try:
        table = parquet.read_table(path, use_threads=False)
    except (ArrowInvalid, OSError):
        raise InputError(f"{path.name} must be a whole Parquet file, got another file") from None
    return Table({name: table[name].to_pylist() for name in table.column_names})


_READERS: Final = {".csv": _read_csv, ".npz": _read_npz, ".parquet": _read_parquet}
