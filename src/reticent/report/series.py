"""Releases as the figures group them: one series for each kind, its points along ε."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator

from reticent.protect.registry import on_optimum
from reticent.report.drawing import Canvas, SeriesStyle, shortened
from reticent.report.numbers import epsilon_of, share_range
from reticent.report.palette import LIGHT, MARKERS, SERIES
from reticent.results import Attack, Interval, ReleaseRow, Results

DASHES: Final[dict[str, Any]] = {
    "proven": "-",
    "declared": (0, (7, 2, 1.5, 2)),
    "sampled": (0, (5, 2)),
    "published": (0, (1.2, 1.8)),
}
BEHIND: Final = {"facecolor": LIGHT["surface"], "edgecolor": "none", "alpha": 0.8, "pad": 1.0}
"""So that a label is read above lines and bands."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """Releases of one learner, mechanism and grade, by rising ε."""

    kind: str
    grade: str
    look: SeriesStyle
    releases: tuple[ReleaseRow, ...]


@dataclass(frozen=True)
class Spot:
    """Where a release stands in a figure; the second axis has limits."""

    release: ReleaseRow
    x: float
    y: Interval
    hover: str


def kind_of(release: ReleaseRow) -> str:
    """What the colour of a series stands for.

    Noise on the optimum is named by its mechanism, a learner with noise inside by itself too.
    """
    return release.mechanism if on_optimum(release.learner) else (
        f"{release.learner}, {release.mechanism}"
    )  # fmt: skip


def series_of(results: Results) -> tuple[Series, ...]:
    """All series, in the order of the document."""
    groups: dict[tuple[str, str], list[ReleaseRow]] = {}
    for release in results.releases:
        groups.setdefault((kind_of(release), release.claim.grade), []).append(release)
    kinds = list(dict.fromkeys(kind for kind, _ in groups))
    return tuple(
        Series(
            kind=kind,
            grade=grade,
            look=style_of(kinds.index(kind), grade),
            releases=tuple(sorted(group, key=lambda one: one.claim.epsilon)),
        )
        for (kind, grade), group in groups.items()
    )


def style_of(place: int, grade: str) -> SeriesStyle:
    """Colour and marker by the kind, dash and filling by the grade."""
    return SeriesStyle(
        colour=SERIES[place % len(SERIES)],
        marker=MARKERS[place % len(MARKERS)],
        dash=DASHES[grade],
        filled=grade == "proven",
    )


def attack_on(attacks: Sequence[Attack], name: str) -> Attack | None:
    """The attack of this name, where it was made."""
    return next((one for one in attacks if one.name == name), None)


def draw_series(canvas: Canvas, series: Series, spots: Sequence[Spot]) -> None:
    """A line, its points with their values, and the limits as a band behind them."""
    axes, look = canvas.axes, series.look
    xs = [spot.x for spot in spots]
    axes.plot(xs, [spot.y.value for spot in spots], **look.line)
    lows, highs = [spot.y.low for spot in spots], [spot.y.high for spot in spots]
    if len(spots) > 1:
        axes.fill_between(xs, lows, highs, color=LIGHT[look.colour], alpha=0.06, linewidth=0)
    for spot in spots:
        if len(spots) == 1:
            axes.plot(xs * 2, lows + highs, color=LIGHT[look.colour], linewidth=1)
        canvas.point(spot.x, spot.y.value, look, spot.hover)


def ring(canvas: Canvas, spot: Spot) -> None:
    """Marks the recommended release, which all others are there to compare with."""
    look = SeriesStyle(colour="ink", filled=False)
    canvas.axes.plot([spot.x], [spot.y.value], linestyle="none", zorder=5,
                     **(look.point | {"markersize": 13, "markerfacecolor": "none"}))  # fmt: skip
    canvas.axes.annotate(
        "recommended",
        (spot.x, spot.y.value),
        (9, 9),
        textcoords="offset points",
        fontsize=9.5,
        zorder=6,
        bbox=BEHIND,
    )


def hover_of(release: ReleaseRow) -> str:
    """What a point of a release says."""
    return (
        f"{release.name}: {epsilon_of(release.claim)}; accuracy {share_range(release.accuracy)};"
        f" utility loss {share_range(release.loss)}"
    )


def log_ticks(axis: Any) -> None:
    """At 1, 2 and 5 in each decade, as plain numbers."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_locator(NullLocator())


def epsilon_axis(axes: Axes, values: Sequence[float]) -> None:
    """Logarithmic, with a tick at each ε that was tried."""
    ticks = sorted({value for value in values if value > 0})
    axes.set_xscale("log")
    axes.set_xticks(_spread(ticks), [f"{tick:g}" for tick in _spread(ticks)])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("claimed ε (smaller: more private)")


def _spread(ticks: list[float], most: int = 8) -> list[float]:
    step = -(-len(ticks) // most)
    return ticks[::step]


def percent_axis(axis: Any) -> None:
    """Ticks in percent on the axis of a figure."""
    axis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")


def legend(figure: Figure, series: Sequence[Series]) -> None:
    """Below the axes: colours for kinds, dashes for grades."""
    kinds = {one.kind: one.look for one in series}
    grades = [grade for grade in DASHES if grade in {one.grade for one in series}]
    handles = [
        Line2D([], [], **(SeriesStyle(colour=look.colour, marker=look.marker).point),
               color=LIGHT[look.colour], label=shortened(kind, 28))
        for kind, look in kinds.items()
    ]  # fmt: skip
    handles += [
        Line2D([], [], color=LIGHT["ink"], linestyle=DASHES[grade], label=grade,
               **(SeriesStyle(colour="ink", filled=grade == "proven").point))
        for grade in grades
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=2, handlelength=3.2)
