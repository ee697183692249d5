"""The log of a user's own pre-training, ``OUT.log.jsonl``: a panel for each thing that it tells."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from reticent.report import drawing
from reticent.report.series import percent_axis
from reticent.validation import InputError

PANELS: Final[Mapping[str, str]] = {
    "loss": "loss",
    "contrastive_accuracy": "other view found",
    "gradient_norm": "norm of gradient",
    "coupling_norm": "norm of coupling",
}
"""What may be drawn, in this order, with the words beside the axis."""
_HEIGHT: Final = 150
_LOOK: Final = drawing.SeriesStyle(colour="blue")


def draw_training_log(lines: Sequence[Mapping[str, Any]], *, source: str) -> drawing.Drawing:
    """Along the steps, or epochs, of one training.

    Args:
        lines: The objects of the log, one for each step; numbers alone are drawn.
        source: The file, for the line that refuses it.
    """
    along = "epoch" if lines and "epoch" in lines[0] else "step"
    told = {name: _points(lines, along, name) for name in PANELS}
    drawn = {name: points for name, points in told.items() if points}
    if not drawn:
        raise InputError(
            f"{source} must be the log of a pre-training, with {along} and one of"
            f" {', '.join(PANELS)} in a line, got none"
        )
    with drawing.styled():
        canvas = drawing.Canvas("training-log", _HEIGHT * len(drawn), panels=len(drawn))
        for axes, (name, points) in zip(canvas.all_axes, drawn.items(), strict=True):
            axes.plot(*zip(*points, strict=True), **_LOOK.line)
            axes.set_ylabel(PANELS[name])
            if name == "contrastive_accuracy":
                percent_axis(axes.yaxis)
        canvas.all_axes[-1].set_xlabel(along)
    ends = "; ".join(f"{PANELS[name]} {points[-1][1]:g}" for name, points in drawn.items())
    return canvas.done(
        title="A pre-training along its steps",
        caption="What the log of the training tells: of private images noisy answers alone.",
        alt=f"At the last {along}, {max(points[-1][0] for points in drawn.values()):g}: {ends}.",
    )


def _points(lines: Sequence[Mapping[str, Any]], along: str, name: str) -> list[tuple[float, float]]:
    """Where both are numbers: a thing need not be told at every step."""
    pairs = [(line.get(along), line.get(name)) for line in lines]
    return [(x, y) for x, y in pairs if _is_number(x) and _is_number(y)]  # type: ignore[misc]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
