"""The measure of a number or of several labels at each ε."""

from reticent.report import drawing, palette, series
from reticent.report.numbers import epsilon_of, small
from reticent.results.task_results import TaskRelease, TaskResults


def draw_epsilon_measure(results: TaskResults) -> drawing.Drawing:
    """What each ε costs, beside the model without protection."""
    with drawing.styled():
        return _drawn(results)


def _drawn(results: TaskResults) -> drawing.Drawing:
    before = results.unprotected.measures[0]
    shown = sorted(results.releases, key=lambda one: one.claim.epsilon)
    canvas, look = drawing.Canvas("epsilon-measure", 340), series.style_of(0, shown[0].claim.grade)
    figures = [one.measures[0].figure for one in shown]
    xs = [one.claim.epsilon for one in shown]
    canvas.axes.plot(xs, [one.value for one in figures], **look.line)
    lows, highs = [one.low for one in figures], [one.high for one in figures]
    canvas.axes.fill_between(
        xs, lows, highs, color=palette.LIGHT[look.colour], alpha=0.12, linewidth=0
    )
    for release, figure in zip(shown, figures, strict=True):
        canvas.point(release.claim.epsilon, figure.value, look, _hover(release))
    canvas.axes.axhline(
        before.figure.value, color=palette.LIGHT["muted"], linestyle="--", linewidth=1.2
    )
    canvas.axes.annotate(
        "without protection",
        (0.02, before.figure.value),
        (0, 4),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        fontsize=9.5,
    )
    series.epsilon_axis(canvas.axes, xs)
    canvas.axes.set_ylabel(before.words)
    better = "lower" if before.lower_is_better else "higher"
    return canvas.done(
        title="What each ε costs",
        caption=(
            f"{before.words} on the test records at each claimed ε ({better} is better), the mean"
            " over draws of the noise. The band is its interval."
        ),
        alt=(
            f"{len(shown)} releases. Without protection {small(before.figure.value)}; "
            + "; ".join(
                f"at {epsilon_of(one.claim)} {small(one.measures[0].figure.value)}" for one in shown
            )
            + "."
        ),
    )


def _hover(release: TaskRelease) -> str:
    measure = release.measures[0]
    return (
        f"{release.name}: {measure.words} {small(measure.figure.value)}"
        f" [{small(measure.figure.low)}, {small(measure.figure.high)}]"
    )
