"""ROC curves before and after, under the ceiling that the claim puts over every attack.

Besides, what the guarantee alone allows any attack (the one figure of a public page), and how
exposed each private record is by the release.
"""

from collections.abc import Mapping

import numpy as np

from reticent.arrays import ArrayLike, Floats
from reticent.audit import ceiling, metrics
from reticent.report.drawing import Canvas, Drawing, SeriesStyle, shortened, styled
from reticent.report.numbers import decimal_range, epsilon_of, share, whole_share
from reticent.report.palette import LIGHT
from reticent.report.series import attack_on, percent_axis, style_of
from reticent.results import Attack, Claim, Exposure, Results

_ROC_LOOKS = {
    "before": SeriesStyle(colour="vermillion", marker="s"),
    "after": SeriesStyle(colour="blue", marker="o", dash=(0, (6, 2))),
    "white": SeriesStyle(colour="purple", marker="D", dash=(0, (2, 1.5))),
}

DASHES_BY_PLACE = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 1.5, 2)))
"""Of curves beside each other: told apart without colours."""


def draw_roc(results: Results) -> Drawing | None:
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


def draw_scores(attacks: Mapping[str, tuple[ArrayLike, ArrayLike]], claim: Claim | None) -> Drawing:
    """Of attacks whose scores of members and others are at hand, under the ceiling of a claim."""
    curves = {name: metrics.roc(*metrics.two_sides(*scores)) for name, scores in attacks.items()}
    sizes = [min(map(len, metrics.two_sides(*scores))) for scores in attacks.values()]
    floor = 0.5 / max(sizes)
    with styled():
        canvas = Canvas("own-roc", 360)
        grid = np.geomspace(floor, 1.0, 200)
        _log_axes(canvas, floor)
        if claim is not None:
            draw_ceiling(canvas, claim, grid)
        else:
            _draw_guessing(canvas, grid)
        for place, (name, curve) in enumerate(curves.items()):
            seen = curve.tpr > 0  # logarithms have no room for the origin
            look = style_of(place, "proven")
            line = look.line | {"linestyle": DASHES_BY_PLACE[place % len(DASHES_BY_PLACE)]}
            fpr = np.maximum(curve.fpr, floor)[seen]
            canvas.axes.plot(fpr, curve.tpr[seen], label=shortened(name), **line)
        canvas.figure.legend(loc="outside lower center", ncols=1, handlelength=3.2)
    areas = {name: metrics.auc(*scores) for name, scores in attacks.items()}
    return canvas.done(
        title="Who is found",
        caption="Share of members found (TPR) at each share of false alarms (FPR).",
        alt=" ".join(f"{name}: AUC {area.value:.3f}." for name, area in areas.items()),
    )


def draw_ceiling(canvas: Canvas, claim: Claim, grid: Floats) -> None:
    """The largest TPR that the claim allows, and guessing."""
    allowed = ceiling(grid, claim.epsilon, min(claim.delta, np.nextafter(1.0, 0.0)))
    canvas.axes.fill_between(grid, allowed, 1.0, color=LIGHT["muted"], alpha=0.14, linewidth=0)
    canvas.axes.plot(grid, allowed, color=LIGHT["ink"], linewidth=1.6,
                     label=f"ceiling for any attack, {epsilon_of(claim)}")  # fmt: skip
    _draw_guessing(canvas, grid)


def _draw_guessing(canvas: Canvas, grid: Floats) -> None:
    canvas.axes.plot(grid, grid, color=LIGHT["muted"], linewidth=1.2, linestyle=(0, (4, 3)),
                     label="guessing")  # fmt: skip


def _curves(results: Results) -> dict[str, tuple[Attack, SeriesStyle, str]]:
    """Label, attack and look of each curve."""
    name, recommended = results.conclusion.attack, results.recommended
    before = attack_on(results.unprotected.attacks, name)
    after = attack_on(recommended.attacks, name)
    seeing = [attack for attack in recommended.attacks if not attack.black_box]
    white = max(seeing, key=lambda attack: attack.auc.value, default=None)
    curves = {
        f"before: {name}": (before, "before"),
        f"after: {name}": (after, "after"),
        f"after, sees the weights: {white.name if white else ''}": (white, "white"),
    }
    return {
        label: (attack, _ROC_LOOKS[key], key)
        for label, (attack, key) in curves.items()
        if attack is not None and len(attack.roc.fpr) > 1
    }


def _draw_curve(canvas: Canvas, attack: Attack, look: SeriesStyle, label: str) -> None:
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


_MARKED = (0.01, 0.05, 0.1)
_CEILING_LOOK = SeriesStyle(colour="blue", marker="o")


def draw_guarantee_ceiling(results: Results) -> Drawing:
    """The largest TPR at each FPR that the claim of the recommended release allows."""
    return draw_claim_ceiling(results.recommended.claim)


def draw_claim_ceiling(claim: Claim) -> Drawing:
    """Computed from the claim, and from nothing else."""
    canvas = Canvas("ceiling", 350)
    draw_ceiling(canvas, claim, np.linspace(0.0, 1.0, 201))
    allowed = ceiling(_MARKED, claim.epsilon, min(claim.delta, np.nextafter(1.0, 0.0)))
    for fpr, tpr in zip(_MARKED, allowed, strict=True):
        hover = f"at {whole_share(fpr)} false alarms at most {share(tpr)} are found"
        canvas.point(fpr, float(tpr), _CEILING_LOOK, hover)
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


_POINTS = 240
_EXPOSURE_LOOK = SeriesStyle(colour="blue", marker="o")


def draw_exposure(results: Results) -> Drawing | None:
    """Sorted powers under the line of what is allowed; None where they were not computed."""
    exposure = results.exposure
    if exposure is None or not exposure.powers:
        return None
    canvas = Canvas("exposure", 300)
    _draw_powers(canvas, exposure)
    _draw_limits(canvas, exposure)
    axes = canvas.axes
    axes.set_xlabel("private records, least exposed first")
    axes.set_ylabel(f"chance to be found at {whole_share(exposure.fpr)} FPR")
    percent_axis(axes.xaxis)
    percent_axis(axes.yaxis)
    axes.set_ylim(0, 1.15 * max(exposure.allowed, *exposure.powers))
    axes.set_xlim(0, 1.01)
    middle = float(np.median(exposure.powers))
    return canvas.done(
        title="Who is most exposed",
        caption=(
            f"The chance that the exact attack on {exposure.release} finds each record, at"
            f" {whole_share(exposure.fpr)} false alarms. No record may be above the allowed line."
        ),
        alt=(
            f"{len(exposure.powers)} records: half are found with a chance of at most"
            f" {share(middle)}, the most exposed with {share(max(exposure.powers))};"
            f" {share(exposure.allowed)} is allowed."
        ),
    )


def _draw_powers(canvas: Canvas, exposure: Exposure) -> None:
    powers = np.sort(exposure.powers)
    shares = (np.arange(len(powers)) + 1) / len(powers)
    kept = np.unique(np.linspace(0, len(powers) - 1, _POINTS).astype(int))
    canvas.axes.fill_between(shares[kept], 0, powers[kept], color=LIGHT["blue"], alpha=0.12,
                             linewidth=0)  # fmt: skip
    canvas.axes.plot(shares[kept], powers[kept], **_EXPOSURE_LOOK.line)
    for name, quantile in {"half": 0.5, "nine in ten": 0.9, "99 in 100": 0.99, "all": 1.0}.items():
        place = max(int(np.ceil(quantile * len(powers))) - 1, 0)
        hover = f"{name} of the records: at most {share(powers[place])}"
        canvas.point(float(shares[place]), float(powers[place]), _EXPOSURE_LOOK, hover)


def _draw_limits(canvas: Canvas, exposure: Exposure) -> None:
    lines = {f"allowed by the guarantee: {share(exposure.allowed)}": (exposure.allowed, "-", "ink"),
             "guessing": (exposure.fpr, (0, (4, 3)), "muted")}  # fmt: skip
    for label, (height, dash, colour) in lines.items():
        canvas.axes.axhline(height, color=LIGHT[colour], linestyle=dash, linewidth=1.5)
        canvas.axes.annotate(label, (0.01, height), (2, 4), color=LIGHT[colour], fontsize=9.5,
                             xycoords=("axes fraction", "data"),
                             textcoords="offset points")  # fmt: skip
