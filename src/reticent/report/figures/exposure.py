"""How exposed each private record is by the release."""

import numpy as np

from reticent.report.drawing import Canvas, Drawing, Look
from reticent.report.numbers import share, whole_share
from reticent.report.palette import LIGHT
from reticent.report.series import percent_axis
from reticent.results import Exposure, Results

_POINTS = 240
_LOOK = Look(colour="blue", marker="o")


def draw(results: Results) -> Drawing | None:
    """Sorted powers under the line of what is allowed; None where they were not computed."""
    found = results.exposure
    if found is None or not found.powers:
        return None
    canvas = Canvas("exposure", 300)
    _draw_powers(canvas, found)
    _draw_limits(canvas, found)
    axes = canvas.axes
    axes.set_xlabel("private records, least exposed first")
    axes.set_ylabel(f"chance to be found at {whole_share(found.fpr)} FPR")
    percent_axis(axes.xaxis)
    percent_axis(axes.yaxis)
    axes.set_ylim(0, 1.15 * max(found.allowed, *found.powers))
    axes.set_xlim(0, 1.01)
    middle = float(np.median(found.powers))
    return canvas.done(
        title="Who is most exposed",
        caption=(
            f"The chance that the exact attack on {found.release} finds each record, at"
            f" {whole_share(found.fpr)} false alarms. No record may be above the allowed line."
        ),
        alt=(
            f"{len(found.powers)} records: half are found with a chance of at most {share(middle)},"
            f" the most exposed with {share(max(found.powers))}; {share(found.allowed)} is allowed."
        ),
    )


def _draw_powers(canvas: Canvas, found: Exposure) -> None:
    powers = np.sort(found.powers)
    shares = (np.arange(len(powers)) + 1) / len(powers)
    kept = np.unique(np.linspace(0, len(powers) - 1, _POINTS).astype(int))
    canvas.axes.fill_between(shares[kept], 0, powers[kept], color=LIGHT["blue"], alpha=0.12,
                             linewidth=0)  # fmt: skip
    canvas.axes.plot(shares[kept], powers[kept], **_LOOK.line)
    for name, quantile in {"half": 0.5, "nine in ten": 0.9, "99 in 100": 0.99, "all": 1.0}.items():
        place = max(int(np.ceil(quantile * len(powers))) - 1, 0)
        hover = f"{name} of the records: at most {share(powers[place])}"
        canvas.point(float(shares[place]), float(powers[place]), _LOOK, hover)


def _draw_limits(canvas: Canvas, found: Exposure) -> None:
    lines = {f"allowed by the guarantee: {share(found.allowed)}": (found.allowed, "-", "ink"),
             "guessing": (found.fpr, (0, (4, 3)), "muted")}  # fmt: skip
    for label, (height, dash, colour) in lines.items():
        canvas.axes.axhline(height, color=LIGHT[colour], linestyle=dash, linewidth=1.5)
        canvas.axes.annotate(label, (0.01, height), (2, 4), color=LIGHT[colour], fontsize=9.5,
                             xycoords=("axes fraction", "data"),
                             textcoords="offset points")  # fmt: skip
