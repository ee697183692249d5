"""How far one record moves the weights, by each way to say so."""

from reticent.report.drawing import Canvas, Drawing, Look, shortened
from reticent.report.numbers import small
from reticent.report.palette import LIGHT
from reticent.report.series import log_ticks
from reticent.results import Results, SensitivityRow

_NORMS = {"L1": Look(colour="vermillion", marker="s"), "L2": Look(colour="blue", marker="o")}


def draw(results: Results) -> Drawing | None:
    """One row for each sensitivity; None where there are none."""
    rows = [row for row in results.sensitivities if row.l1 or row.l2]
    if not rows:
        return None
    canvas = Canvas("sensitivities", 105 + 46 * len(rows))
    for place, row in enumerate(rows):
        _draw_row(canvas, row, len(rows) - place)
    axes = canvas.axes
    axes.set_xscale("log")
    axes.margins(x=0.12)
    axes.set_ylim(0.5, len(rows) + 0.85)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    log_ticks(axes.xaxis)
    axes.set_xlabel("sensitivity: how far one record moves the weights")
    for norm, look in _NORMS.items():
        axes.plot([], [], linestyle="none", label=norm, **look.point)
    canvas.figure.legend(loc="outside lower center", ncols=2, handletextpad=0.2)
    return canvas.done(
        title="The same head, by grade of its sensitivity",
        caption=(
            "Noise is proportional to the sensitivity. One that was sampled or published is smaller"
            " because it does not cover the worst case, not because it is better."
        ),
        alt=" ".join(_hover(row) + "." for row in rows),
    )


def _draw_row(canvas: Canvas, row: SensitivityRow, height: int) -> None:
    for norm, value in {"L1": row.l1, "L2": row.l2}.items():
        if value:
            canvas.point(value, height, _NORMS[norm], _hover(row), markersize=7)
            canvas.axes.annotate(small(value), (value, height), (0, -13), fontsize=9, ha="center",
                                 textcoords="offset points", color=LIGHT["muted"])  # fmt: skip
    canvas.axes.annotate(
        f"{row.grade}: {shortened(row.source, 44)}",
        (0, height),
        (2, 11),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        fontsize=9.5,
    )


def _hover(row: SensitivityRow) -> str:
    norms = {"L1": row.l1, "L2": row.l2}
    values = ", ".join(f"{norm} {small(value)}" for norm, value in norms.items() if value)
    return f"{row.grade}, {row.source}: {values}; {row.verdict}"
