"""The chosen attack against utility loss (the ALM paper's Figure 2, below)."""

from reticent.report.drawing import Canvas, Drawing
from reticent.report.figures.attacked import (
    attacked,
    attacked_hover,
    described,
    reference_lines,
    unprotected,
)
from reticent.report.series import Spot, draw_series, legend, percent_axis, ring, series_of
from reticent.results import Attack, ReleaseRow, Results


def draw(results: Results) -> Drawing | None:
    """Protection against utility; None where no release was attacked."""
    shown, before = attacked(results), unprotected(results)
    if not shown:
        return None
    canvas = Canvas("attack-loss", 340)
    reference_lines(canvas.axes, before)
    for series in series_of(results):
        pairs = [shown[one.name] for one in series.releases if one.name in shown]
        spots = [_spot(*pair) for pair in pairs]
        draw_series(canvas, series, sorted(spots, key=lambda spot: spot.x))
    if results.recommended.name in shown:
        ring(canvas, _spot(*shown[results.recommended.name]))
    canvas.axes.set_xlabel("utility loss (left: more useful)")
    canvas.axes.set_ylabel("balanced accuracy of the attack")
    percent_axis(canvas.axes.xaxis)
    legend(canvas.figure, series_of(results))
    return canvas.done(
        title="Protection against utility",
        caption=(
            f"Each point is a release: how much accuracy it loses, and how well"
            f" {results.conclusion.attack} tells members. Lower left is better. It says nothing"
            " about attacks that were not made."
        ),
        alt=described(shown, before),
    )


def _spot(release: ReleaseRow, attack: Attack) -> Spot:
    hover = attacked_hover(release, attack)
    return Spot(release, release.loss.value, attack.balanced_accuracy, hover)
