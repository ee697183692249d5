"""DPCL's Figs. 1–5 from the table of ``reproduce dpcl figures``: how trainings go along the steps.

A row of the table is one loss, one way to train it and one step; beside the text of a cell stands
its figure, with limits where there were several seeds. What is drawn is a function of these
figures alone, so the drawings of a file are the same whenever they are made.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reticent.report.drawing import Canvas, Drawing, SeriesStyle, styled
from reticent.report.palette import LIGHT
from reticent.report.series import percent_axis
from reticent.results.table import Limits, Table, limits_of
from reticent.validation import InputError, describe

COLUMNS: Final = ("loss", "way", "step", "loss", "gradient norm", "kNN", "probe")
_NAME: Final = re.compile(r"[\w-]+")
"""Of the data: files are named by it."""
_LOOKS: Final[Mapping[str, SeriesStyle]] = {
    "none": SeriesStyle(colour="ink", marker="D"),
    "naive": SeriesStyle(colour="vermillion", marker="s", dash=(0, (7, 2, 1.5, 2)), filled=False),
    "published": SeriesStyle(colour="purple", marker="^", dash=(0, (1.2, 1.8)), filled=False),
    "proven": SeriesStyle(colour="blue"),
}
"""Dashes and filling are those of the grades (``report.series``); without noise there is none."""


@dataclass(frozen=True)
class _Panel:
    """One figure of the paper: the loss that is trained, what is drawn of it, the words."""

    number: int
    loss: str
    metric: str
    says: str


PANELS: Final = (
    _Panel(1, "SimCLR", "loss", "training loss of SimCLR"),
    _Panel(2, "SimCLR", "kNN", "accuracy of 5 nearest neighbours, SimCLR"),
    _Panel(3, "SimCLR", "gradient norm", "mean norm of gradients, SimCLR"),
    _Panel(4, "Barlow Twins", "loss", "training loss of Barlow Twins"),
    _Panel(5, "Barlow Twins", "kNN", "accuracy of 5 nearest neighbours, Barlow Twins"),
)
_Line = Sequence[tuple[int, Limits]]


def study_drawings(document: Any) -> dict[str, Drawing]:
    """The figures that a study's file has tables for, by the names of their files.

    Args:
        document: What ``reticent reproduce dpcl figures --out`` has written, as read.
    """
    table, on = _table_of(document)
    with styled():
        made = {f"dpcl-{on}-fig-{one.number}": _drawn(one, table.rows, on) for one in PANELS}
    return {name: drawing for name, drawing in made.items() if drawing is not None}


def is_drawn(document: Any) -> bool:
    """Whether there is anything to draw."""
    return _found(document) is not None


def _table_of(document: Any) -> tuple[Table, str]:
    located = _found(document)
    if located is None:
        has = isinstance(document, Mapping) and "tables" in document
        raise InputError(
            "results must hold the table of reproduce dpcl figures, got"
            f" {'tables of another study' if has else describe(type(document))}"
        )
    return located


def _found(document: Any) -> tuple[Table, str] | None:
    """The table along the steps, and on which data it was measured."""
    try:
        on = document["specifications"][0]["on"]
        tables = [Table.from_dict(one) for one in document["tables"]]
    except (AttributeError, KeyError, IndexError, TypeError, ValueError):
        return None
    own = (table for table in tables if table.columns == COLUMNS)
    table = next(own, None) if isinstance(on, str) and _NAME.fullmatch(on) else None
    return None if table is None else (table, on)


def _drawn(panel: _Panel, rows: Sequence[Sequence[str]], on: str) -> Drawing | None:
    lines = _lines(panel, rows)
    if not lines:
        return None
    canvas = Canvas(f"dpcl-{on}-fig-{panel.number}", 280)
    for way, line in lines.items():
        _draw(canvas, way, line)
    _frame(canvas, panel, lines)
    several = any(value.low < value.high for line in lines.values() for _, value in line)
    steps = max(line[-1][0] for line in lines.values())
    ends = "; ".join(f"{way} {line[-1][1].value:g}" for way, line in lines.items())
    return canvas.done(
        title=f"DPCL, Fig. {panel.number} on {on}: {panel.says}",
        caption=(
            "Bands: 95 % over seeds, cut at the frame." if several else "One training of each way."
        ),
        alt=f"The {panel.says}, after {steps:,} steps: {ends}.",
    )


def _lines(panel: _Panel, rows: Sequence[Sequence[str]]) -> dict[str, _Line]:
    """By way, the step and the figure of each mark."""
    place = COLUMNS.index(panel.metric, 3)
    lines: dict[str, list[tuple[int, Limits]]] = {}
    for row in rows:
        if row[0] == panel.loss and row[1] in _LOOKS:
            lines.setdefault(row[1], []).append(
                (int(limits_of(row[2]).value), limits_of(row[place]))
            )
    return dict(lines)


def _draw(canvas: Canvas, way: str, line: _Line) -> None:
    look = _LOOKS[way]
    steps = [step for step, _ in line]
    canvas.axes.plot(
        steps, [value.value for _, value in line], label=way, **(look.line | look.point)
    )
    lows, highs = [value.low for _, value in line], [value.high for _, value in line]
    if lows != highs:
        canvas.axes.fill_between(
            steps, lows, highs, color=LIGHT[look.colour], alpha=0.08, linewidth=0
        )


def _frame(canvas: Canvas, panel: _Panel, lines: Mapping[str, _Line]) -> None:
    """Axes around the means: a band of three seeds may be many times as wide as all of them."""
    axes = canvas.axes
    values = [value.value for line in lines.values() for _, value in line]
    margin = 0.12 * (max(values) - min(values)) or 1.0
    axes.set_ylim(min(values) - margin, max(values) + margin)
    axes.set_xlabel("step")
    axes.set_ylabel(panel.metric)
    if panel.metric == "kNN":
        percent_axis(axes.yaxis)
    canvas.figure.legend(loc="outside lower center", ncols=4, handlelength=2.6)
