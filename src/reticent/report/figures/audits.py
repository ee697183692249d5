"""Claims against what the audit found: a refuted one is seen at once."""

from dataclasses import dataclass
from typing import Any, Final

from reticent.report import numbers, palette, series
from reticent.report.drawing import Canvas, Drawing, SeriesStyle, shortened
from reticent.results import Audit, Claim, Results

MOST_ROWS: Final = 16
_LEAST: Final = 0.01
"""The smallest ε on the logarithmic axis."""
_CLAIM = SeriesStyle(colour="ink", marker="|")
_MEASURED = SeriesStyle(colour="blue", marker=">")
_PAIR = SeriesStyle(colour="green", marker="D", filled=False)
_REFUTED = {"measured": SeriesStyle(colour="vermillion", marker=">"),
            "pair": SeriesStyle(colour="vermillion", marker="D", filled=False)}  # fmt: skip


@dataclass(frozen=True)
class Audited:
    """A claim with its audit."""

    name: str
    claim: Claim
    audit: Audit

    @property
    def refuted(self) -> bool:
        """Whether the claim does not stand."""
        return self.audit.verdict == "refuted"


def audited(results: Results) -> list[Audited]:
    """All audited claims; refuted ones first."""
    claims = [Audited(one.name, one.claim, one.audit) for one in results.releases
             if one.audit is not None]  # fmt: skip
    if results.outlier is not None:
        claims.append(Audited(results.outlier.title, results.outlier.claim, results.outlier.audit))
    return sorted(claims, key=lambda one: not one.refuted)


def draw(results: Results) -> Drawing | None:
    """One row for each audited claim; None where nothing was audited."""
    every = audited(results)
    rows = every[:MOST_ROWS]
    if not rows:
        return None
    canvas = Canvas("audits", 105 + 38 * len(rows))
    for place, row in enumerate(rows):
        _draw_row(canvas, row, len(rows) - place)
    _finish(canvas, len(rows), _floor(rows))
    refuted = sum(row.refuted for row in every)
    left = "" if len(every) == len(rows) else f" {len(every) - len(rows)} more are in the table."
    return canvas.done(
        title="Claimed and audited ε",
        caption=(
            "The triangle is a lower bound on ε from the errors of a real attack, and checks the"
            " code; the diamond is the ε of the worst pair of neighbours that was found, and checks"
            " the theorem. To the right of the claim they refute it, but for a sampled claim, which"
            " is about random pairs and not about the worst, and a pair whose ε is only bounded."
            f" Not refuted does not mean proven.{left}"
        ),
        alt=f"{len(every)} audited claims, {refuted} of them refuted. "
        + " ".join(_words(row) for row in rows),
    )


def _words(row: Audited) -> str:
    return (
        f"{row.name}: claimed {numbers.epsilon_of(row.claim)}, {numbers.measured_of(row.audit)},"
        f" {row.audit.verdict}."
    )


def _draw_row(canvas: Canvas, row: Audited, height: int) -> None:
    colour = palette.LIGHT["vermillion" if row.refuted else "muted"]
    measured, pair = row.audit.measured.epsilon, row.audit.analytic
    looks = (_REFUTED["measured"], _REFUTED["pair"]) if row.refuted else (_MEASURED, _PAIR)
    values = [value for value in (measured, pair, row.claim.epsilon) if value is not None]
    canvas.axes.plot(
        [_on_axis(min(values)), _on_axis(max(values))], [height] * 2, color=colour, linewidth=1.2
    )
    name = f"{row.name}: {numbers.epsilon_of(row.claim)}"
    canvas.point(_on_axis(row.claim.epsilon), height, _CLAIM, f"claimed {name}",
                 markersize=13, markeredgewidth=2.4)  # fmt: skip
    canvas.point(_on_axis(measured), height, looks[0], f"{name}: {row.audit.measured.text}",
                 clip_on=False)  # fmt: skip
    if pair is not None:
        canvas.point(_on_axis(pair), height, looks[1], f"{name}: {numbers.analytic_of(row.audit)}")
    _label(canvas, row, height)


def _label(canvas: Canvas, row: Audited, height: int) -> None:
    place: dict[str, Any] = {
        "xycoords": ("axes fraction", "data"),
        "textcoords": "offset points",
        "fontsize": 9.5,
    }
    short = shortened(row.name, 34)
    canvas.axes.annotate(short, (0, height), (2, 11), color=palette.LIGHT["ink"], **place)
    mark = "✗ refuted" if row.refuted else "not refuted"
    weight = "bold" if row.refuted else "normal"
    colour = palette.LIGHT["bad" if row.refuted else "muted"]
    canvas.axes.annotate(f"{row.claim.grade}, {mark}", (1, height), (0, 11), ha="right",
                         color=colour, fontweight=weight, **place)  # fmt: skip


def _on_axis(value: float) -> float:
    """A bound of 0 stands at the left edge of the logarithmic axis."""
    return max(value, _LEAST)


def _floor(rows: list[Audited]) -> float:
    values = [row.claim.epsilon for row in rows] + [row.audit.measured.epsilon for row in rows]
    return max(min(values) / 1.6, _LEAST)


def _finish(canvas: Canvas, rows: int, floor: float) -> None:
    axes = canvas.axes
    axes.set_xscale("log")
    axes.set_xlim(left=floor)
    axes.set_ylim(0.4, rows + 0.8)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    series.log_ticks(axes.xaxis)
    axes.set_xlabel("ε")
    handles = {"claimed": _CLAIM, "measured, at least": _MEASURED, "worst pair found": _PAIR}
    for label, look in handles.items():
        axes.plot([], [], linestyle="none", label=label, **look.point)
    canvas.figure.legend(loc="outside lower center", ncols=3, handletextpad=0.2, columnspacing=1.2)
