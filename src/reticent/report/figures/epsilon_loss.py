"""ε against utility loss (the ALM paper's Figure 1)."""

from reticent.report.drawing import Canvas, Drawing
from reticent.report.numbers import epsilon_of, share
from reticent.report.series import (
    Spot,
    draw_series,
    epsilon_axis,
    hover_of,
    legend,
    percent_axis,
    ring,
    series_of,
)
from reticent.results import ReleaseRow, Results


def draw(results: Results) -> Drawing | None:
    """What each ε costs; None where no release claims an ε above 0."""
    shown = [one for one in results.releases if one.claim.epsilon > 0]
    if not shown:
        return None
    canvas = Canvas("epsilon-loss", 340)
    for series in series_of(results):
        draw_series(canvas, series, [_spot(one) for one in series.releases if one in shown])
    if results.recommended in shown:
        ring(canvas, _spot(results.recommended))
    epsilon_axis(canvas.axes, [one.claim.epsilon for one in shown])
    canvas.axes.set_ylabel("utility loss")
    percent_axis(canvas.axes.yaxis)
    legend(canvas.figure, series_of(results))
    best, worst = (pick(shown, key=lambda one: one.loss.value) for pick in (min, max))
    return canvas.done(
        title="What each ε costs",
        caption=(
            "Utility loss (1 − accuracy ÷ accuracy of the best head without protection) at each"
            " claimed ε. Bands are the intervals in results.json. A curve is only worth as much as"
            " its grade: a small loss at a published ε buys no guarantee."
        ),
        alt=(
            f"{len(shown)} releases. Least loss: {share(best.loss.value)} by {best.name},"
            f" {epsilon_of(best.claim)}. Largest loss: {share(worst.loss.value)} by {worst.name},"
            f" {epsilon_of(worst.claim)}."
        ),
    )


def _spot(release: ReleaseRow) -> Spot:
    return Spot(release, release.claim.epsilon, release.loss, hover_of(release))
