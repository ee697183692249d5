"""Raw tables with a schema, made to break it: cells at and beyond the edges of what it says.

Numbers at the ends of a range and far out of it, categories outside the list, gaps, dates before
and after the span, records that are invalid and do not count, columns and rows in another order in
either file, decimal commas, other separators. What one record holds may change the type that a file
stores its column in; it may not change what any other record becomes.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from numpy.random import Generator

from reticent.audit.end_to_end.adversarial import LABEL, PERSON, Case, Shape, record_owners
from reticent.audit.end_to_end.table import Table, Writing
from reticent.data.dataset import LabelTask
from reticent.data.schema import Category, Column, Number, Role, Schema, file_cells
from reticent.guarantee import Relation

RAW: Final = "raw records"
SECOND: Final = "second label"
"""Of tables with several labels."""
_NUMBERS: Final = (
    *(0.0, -0.0, 1.0, 17, 99, 100, 100.0, 100.00000000000001, -1, 1e300, -1e300, 5e-324, 0.1),
    *(2**53 + 2, 3.5, 62, 62.5),
)
_WORDS: Final = ("a", "b", "1", "2", "Atlantis", "1.0", "a b", "ä")
_DATES: Final = ("1900-01-01", "1899-12-31", "2020-12-31", "2021-06-01", "1960-07-02", "1960-07-03")
_SIZES: Final = (0, 1, 2, 3, 8, 20, 33, 64)
_WIDTH: Final = 3
_NO_VALUE: Final = "what is this"
"""No value of any column but texts: its record is invalid."""


def random_schema(
    rng: Generator, shape: Shape, relation: Relation, labels: LabelTask = "classification"
) -> Schema:
    """Some columns of every type, with every rule for gaps; labels for this task."""
    pool = _pool(rng)
    number = int(rng.integers(1, len(pool) + 1))
    chosen = [str(name) for name in rng.permutation(list(pool))[:number]]
    columns: dict[str, Any] = {name: pool[name] for name in chosen}
    columns["unused"] = {"role": "ignored"}
    columns |= _LABELS[labels](shape)
    if shape.persons:
        columns[PERSON] = {"role": "person"}
    leaves_out = relation is Relation.ADD_REMOVE and rng.random() < 0.4
    return Schema.from_dict(
        {
            "source": "made for the audit",
            "invalid": "leave-out" if leaves_out else "refuse",
            "file": {
                "gaps": ["?"],
                "separator": str(rng.choice([",", ";", "\t"])),
                "decimal": str(rng.choice([".", ","])),
                "encoding": str(rng.choice(["utf-8", "latin-1"])),
            },
            "columns": columns,
        }
    )


_LABELS: Final[dict[LabelTask, Callable[[Shape], dict[str, Any]]]] = {
    "classification": lambda shape: {LABEL: {"role": "label", "classes": list(shape.classes)}},
    "regression": lambda _: {LABEL: {"role": "label", "type": "number", "range": [-20, 100]}},
    "multilabel": lambda _: {
        name: {"role": "label", "type": "true-false"} for name in (LABEL, SECOND)
    },
}


def _pool(rng: Generator) -> dict[str, dict[str, Any]]:
    gaps: list[Any] = ["indicator", {"constant": 50}]
    scale = str(rng.choice(["linear", "log"]))
    return {
        "age": {"type": "number", "range": [0, 100], "gap": gaps[int(rng.integers(2))]},
        "amount": {"type": "number", "range": [1, 1e6], "scale": scale, "gap": {"constant": 1}},
        "city": {"type": "category", "values": ["a", "b", "ä"], "other": True, "gap": "indicator"},
        "code": {"type": "category", "values": ["1", "2"], "other": True, "gap": {"constant": "2"}},
        "smoker": {"type": "true-false", "gap": {"constant": False}},
        "born": {"type": "date", "span": ["1900-01-01", "2020-12-31"], "gap": "indicator"},
        "vector": {"type": "numbers", "length": _WIDTH, "range": [-1, 1], "norm": 1.0},
    }


def raw_case(rng: Generator, schema: Schema, shape: Shape, *, fewest: int = 0) -> Case:
    """Records of this schema, and four more that may come."""
    size = max(int(rng.choice(_SIZES)), fewest)
    shares = rng.choice([0.0, 0.1, 0.5], size=2)
    table = _records(rng, schema, shape, record_owners(rng, size), shares)
    newcomers = _records(rng, schema, shape, [f"new{i}" for i in range(4)], shares)
    return Case(table=table, newcomers=newcomers, family=RAW, shape=shape)


def _records(rng: Generator, schema: Schema, shape: Shape, owners: list[str], shares: Any) -> Table:
    """One cell after the other; ``shares`` of gaps and, where they do not count, of no values."""
    columns: dict[str, list[Any]] = {column.name: [] for column in schema.columns}
    for owner in owners:
        for column in schema.columns:
            columns[column.name].append(_cell(rng, column, shape, owner, float(shares[0])))
        if schema.invalid == "leave-out" and rng.random() < shares[1]:
            name = str(rng.choice([one.name for one in schema.features]))
            columns[name][-1] = _NO_VALUE if name not in ("city", "code") else None
            columns[schema.labels[-1].name][-1] = _NO_VALUE
    return Table(columns)


def _cell(rng: Generator, column: Column, shape: Shape, owner: str, gaps: float) -> Any:
    name = column.name
    if name == PERSON:
        return owner
    if column.role is Role.LABEL:
        if isinstance(column.kind, Category):
            return str(rng.choice(list(shape.classes)))
        return _number(rng) if isinstance(column.kind, Number) else bool(rng.random() < 0.5)
    gap = rng.random() < gaps and name not in ("vector", "unused")
    return None if gap else _CELLS[name](rng)


def _number(rng: Generator) -> float:
    return _NUMBERS[int(rng.integers(len(_NUMBERS)))]


def _word(rng: Generator) -> str:
    return str(rng.choice(_WORDS))


_CELLS: Final[dict[str, Callable[[Generator], Any]]] = {
    "age": _number,
    "amount": _number,
    "city": _word,
    "code": lambda rng: int(rng.integers(4)) if rng.random() < 0.9 else _word(rng),
    "smoker": lambda rng: bool(rng.random() < 0.5),
    "born": lambda rng: str(rng.choice(_DATES)),
    "vector": lambda rng: str([float(_number(rng)) for _ in range(_WIDTH)]),
    "unused": _word,
}


def read_raw(path: Path, schema: Schema) -> Table:
    """All cells of a text table that a schema describes, as they are written."""
    names = tuple(column.name for column in schema.columns)
    cells = file_cells.open_cells(path, schema.dialect, names)
    columns = {}
    for name in cells.names:
        texts = cells.read(name, 0)
        assert isinstance(texts, file_cells.Texts)
        columns[name] = [texts.distinct[place] for place in texts.places.tolist()]
    return Table(columns)


def in_another_order(table: Table, rng: Generator, *, rows: bool) -> Table:
    """The same records in files whose columns, and perhaps rows, stand in another order."""
    if rows:
        table = table.take([int(place) for place in rng.permutation(len(table))])
    names = [str(name) for name in rng.permutation(list(table.columns))]
    return Table({name: table.columns[name] for name in names})


def written_as(schema: Schema, writing: Writing) -> Writing:
    """As the schema says that its files are written."""
    form = schema.form
    return Writing(
        numbers=writing.numbers,
        order=writing.order,
        narrow=writing.narrow,
        separator=form.separator,
        decimal=form.decimal,
        encoding=form.encoding,
        gap=next(iter(form.gaps), ""),
        header=form.header,
    )
