"""ROC curves before and after, under the ceiling that the claim puts over every attack."""

import numpy as np

from reticent.arrays import Floats
from reticent.audit import ceiling
from reticent.report.drawing import Canvas, Drawing, Look, shortened
from reticent.report.numbers import decimal_range, epsilon_of
from reticent.report.palette import LIGHT
from reticent.report.series import attack_on
from reticent.results import Attack, Claim, Results

_LOOKS = {
    "before": Look(colour="vermillion", marker="s"),
    "after": Look(colour="blue", marker="o", dash=(0, (6, 2))),
    "white": Look(colour="purple", marker="D", dash=(0, (2, 1.5))),
}


def draw(results: Results) -> Drawing | None:
    """Of the chosen attack, and of the strongest that saw weights; None where neither was made."""
    curves = _curves(results)
    if not curves:
        return None
    canvas = Canvas("roc", 360)
    floor = min(0.5 / max(attack.others, attack.members) for attack, _, _ in curves.values())
    grid = np.geomspace(floor, 1.0, 200)
    _log_axes(canvas, floor)
    draw_ceiling(canvas, results.recommended.claim, grid)
    for label, (attack, look, _) in curves.items():
        _draw_curve(canvas, attack, look, label)
    canvas.figure.legend(loc="outside lower center", ncols=1, handlelength=3.2)
    claim = epsilon_of(results.recommended.claim)
    return canvas.done(
        title="Who is found, before and after",
        caption=(
            "Share of members found (TPR) at each share of false alarms (FPR), both logarithmic:"
            f" the left edge shows the few records that are found with certainty. If {claim} holds,"
            " no attack at all gets into the shaded part."
        ),
        alt=" ".join(
            f"{label}: AUC {decimal_range(attack.auc)}." for label, (attack, _, _) in curves.items()
        )
        + f" The ceiling is that of {claim}.",
    )


def draw_ceiling(canvas: Canvas, claim: Claim, grid: Floats) -> None:
    """The largest TPR that the claim allows, and guessing."""
    allowed = ceiling(grid, claim.epsilon, min(claim.delta, np.nextafter(1.0, 0.0)))
    canvas.axes.fill_between(grid, allowed, 1.0, color=LIGHT["muted"], alpha=0.14, linewidth=0)
    canvas.axes.plot(grid, allowed, color=LIGHT["ink"], linewidth=1.6,
                     label=f"ceiling for any attack, {epsilon_of(claim)}")  # fmt: skip
    canvas.axes.plot(grid, grid, color=LIGHT["muted"], linewidth=1.2, linestyle=(0, (4, 3)),
                     label="guessing")  # fmt: skip


def _curves(results: Results) -> dict[str, tuple[Attack, Look, str]]:
    """Label, attack and look of each curve."""
    name, recommended = results.conclusion.attack, results.recommended
    before = attack_on(results.unprotected.attacks, name)
    after = attack_on(recommended.attacks, name)
    seeing = [attack for attack in recommended.attacks if not attack.black_box]
    white = max(seeing, key=lambda attack: attack.auc.value, default=None)
    found = {
        f"before: {name}": (before, "before"),
        f"after: {name}": (after, "after"),
        f"after, sees the weights: {white.name if white else ''}": (white, "white"),
    }
    return {
        label: (attack, _LOOKS[key], key)
        for label, (attack, key) in found.items()
        if attack is not None and len(attack.roc.fpr) > 1
    }


def _draw_curve(canvas: Canvas, attack: Attack, look: Look, label: str) -> None:
    seen = np.asarray(attack.roc.tpr) > 0  # logarithms have no room for the origin
    fpr = np.maximum(attack.roc.fpr, 0.5 / attack.others)[seen]
    tpr = np.asarray(attack.roc.tpr)[seen]
    canvas.axes.plot(fpr, tpr, label=shortened(label), **look.line)
    for rate in attack.rates:
        canvas.point(
            rate.fpr,
            max(rate.tpr.value, 0.5 / attack.members),
            look,
            f"{label}: TPR {decimal_range(rate.tpr)} at FPR {rate.fpr:g}",
        )


def _log_axes(canvas: Canvas, floor: float) -> None:
    axes = canvas.axes
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(floor, 1.0)
    axes.set_ylim(floor, 1.0)
    ticks = [tick for tick in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0) if tick >= floor]
    labels = [f"{100 * tick:g} %" for tick in ticks]
    for put in (axes.set_xticks, axes.set_yticks):
        put(ticks, labels)
        put([], minor=True)
    axes.set_xlabel("false alarms (FPR)")
    axes.set_ylabel("members found (TPR)")
