"""What the encoder buys: the same job on each kind of features."""

from matplotlib.ticker import MaxNLocator

from reticent.report.drawing import Canvas, Drawing, Look, shortened
from reticent.report.numbers import decimal_range, share_range
from reticent.report.palette import LIGHT
from reticent.report.series import percent_axis
from reticent.results import Features, Interval, Results

_PLAIN = Look(colour="vermillion", marker="s")
_RELEASED = Look(colour="blue", marker="o")
_ATTACK = Look(colour="purple", marker="D")


def draw(results: Results) -> Drawing | None:
    """Accuracy before and after above, the strongest attack below; None without features."""
    rows = results.features
    if not rows:
        return None
    canvas = Canvas("encoders", 150 + 64 * len(rows), panels=2)
    for place, row in enumerate(rows):
        _draw_row(canvas, row, len(rows) - place)
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


def _draw_row(canvas: Canvas, row: Features, height: int) -> None:
    above, below = canvas.all_axes
    ends = [row.unprotected.value, row.released.value]
    above.plot(ends, [height] * 2, color=LIGHT["muted"], linewidth=1.2)
    marks: tuple[tuple[Interval, Look, str, object], ...] = (
        (row.unprotected, _PLAIN, f"without protection {share_range(row.unprotected)}", above),
        (row.released, _RELEASED, f"released {share_range(row.released)}", above),
        (row.strongest, _ATTACK, f"AUC {decimal_range(row.strongest)}", below),
    )
    for found, look, words, axes in marks:
        where = above if axes is above else below
        where.plot([found.low, found.high], [height] * 2, color=LIGHT[look.colour], linewidth=3,
                   alpha=0.45)  # fmt: skip
        canvas.point(found.value, height, look, f"{row.name}: {words}", axes=where)
