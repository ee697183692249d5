"""What the guarantee alone allows any attack: the one figure of a public page."""

import numpy as np

from reticent.audit import ceiling
from reticent.report.drawing import Canvas, Drawing, Look
from reticent.report.figures.roc import draw_ceiling
from reticent.report.numbers import epsilon_of, share, whole_share
from reticent.report.series import percent_axis
from reticent.results import Results

_MARKED = (0.01, 0.05, 0.1)
_LOOK = Look(colour="blue", marker="o")


def draw(results: Results) -> Drawing:
    """Computed from the claim, and from nothing else."""
    claim = results.recommended.claim
    canvas = Canvas("ceiling", 350)
    draw_ceiling(canvas, claim, np.linspace(0.0, 1.0, 201))
    allowed = ceiling(_MARKED, claim.epsilon, min(claim.delta, np.nextafter(1.0, 0.0)))
    for fpr, tpr in zip(_MARKED, allowed, strict=True):
        hover = f"at {whole_share(fpr)} false alarms at most {share(tpr)} are found"
        canvas.point(fpr, float(tpr), _LOOK, hover)
    axes = canvas.axes
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_xlabel("false alarms (FPR)")
    axes.set_ylabel("members found (TPR)")
    percent_axis(axes.xaxis)
    percent_axis(axes.yaxis)
    canvas.figure.legend(loc="outside lower center", ncols=1, handlelength=3.2)
    return canvas.done(
        title="What the guarantee allows any attack",
        caption=(
            f"If {epsilon_of(claim)} holds, no attack on the released model, however informed, gets"
            " into the shaded part."
        ),
        alt="; ".join(
            f"at {whole_share(fpr)} false alarms at most {share(tpr)} of the members are found"
            for fpr, tpr in zip(_MARKED, allowed, strict=True)
        ),
    )
