"""How far one record moves the weights, by each way to say so, and what the encoder buys."""

from matplotlib.ticker import MaxNLocator

from reticent.report.drawing import Canvas, Drawing, SeriesStyle, shortened
from reticent.report.numbers import decimal_range, share_range, small
from reticent.report.palette import LIGHT
from reticent.report.series import log_ticks, percent_axis
from reticent.results import Features, Interval, Results, SensitivityRow

_NORMS = {
    "L1": SeriesStyle(colour="vermillion", marker="s"),
    "L2": SeriesStyle(colour="blue", marker="o"),
}


def draw_sensitivities(results: Results) -> Drawing | None:
    """One row for each sensitivity; None where there are none."""
    rows = [row for row in results.sensitivities if row.l1 or row.l2]
    if not rows:
        return None
    canvas = Canvas("sensitivities", 105 + 46 * len(rows))
    for place, row in enumerate(rows):
        _draw_sensitivity(canvas, row, len(rows) - place)
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


def _draw_sensitivity(canvas: Canvas, row: SensitivityRow, height: int) -> None:
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


_PLAIN = SeriesStyle(colour="vermillion", marker="s")
_RELEASED = SeriesStyle(colour="blue", marker="o")
_ATTACK = SeriesStyle(colour="purple", marker="D")


def draw_encoders(results: Results) -> Drawing | None:
    """Accuracy before and after above, the strongest attack below; None without features."""
    rows = results.features
    if not rows:
        return None
    canvas = Canvas("encoders", 150 + 64 * len(rows), panels=2)
    for place, row in enumerate(rows):
        _draw_encoder(canvas, row, len(rows) - place)
    labels = ("accuracy", "AUC of the strongest black-box attack before")
    for axes, label in zip(canvas.all_axes, labels, strict=True):
        names = [shortened(row.name, 18) for row in reversed(rows)]
        axes.set_yticks(range(1, len(rows) + 1), names)
        axes.set_ylim(0.4, len(rows) + 0.6)
        axes.set_xlabel(label)
        axes.margins(x=0.08)
        axes.xaxis.set_major_locator(MaxNLocator(5))
    percent_axis(canvas.axes.xaxis)
    looks = {"without protection": _PLAIN, "released": _RELEASED}
    for label, look in looks.items():
        canvas.axes.plot([], [], linestyle="none", label=label, **look.point)
    canvas.figure.legend(loc="outside upper center", ncols=2, handletextpad=0.2)
    return canvas.done(
        title="What the encoder buys",
        caption=(
            "The same job on each kind of features. Where an encoder, made on public data, leaves"
            " less for the private records to teach, the same ε costs less accuracy."
        ),
        alt=" ".join(_words(row) for row in rows),
    )


def _words(row: Features) -> str:
    return (
        f"{row.name} ({row.width} wide): accuracy {share_range(row.unprotected)} without"
        f" protection, {share_range(row.released)} released, strongest attack AUC"
        f" {decimal_range(row.strongest)}."
    )


def _draw_encoder(canvas: Canvas, row: Features, height: int) -> None:
    above, below = canvas.all_axes
    ends = [row.unprotected.value, row.released.value]
    above.plot(ends, [height] * 2, color=LIGHT["muted"], linewidth=1.2)
    marks: tuple[tuple[Interval, SeriesStyle, str, object], ...] = (
        (row.unprotected, _PLAIN, f"without protection {share_range(row.unprotected)}", above),
        (row.released, _RELEASED, f"released {share_range(row.released)}", above),
        (row.strongest, _ATTACK, f"AUC {decimal_range(row.strongest)}", below),
    )
    for interval, look, words, axes in marks:
        where = above if axes is above else below
        ends = [interval.low, interval.high]
        where.plot(ends, [height] * 2, color=LIGHT[look.colour], linewidth=3, alpha=0.45)
        canvas.point(interval.value, height, look, f"{row.name}: {words}", axes=where)
