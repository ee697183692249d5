"""ε, utility loss and the accuracy of the chosen attack, each against another (ALM, Figs. 1, 2)."""

from collections.abc import Callable

from matplotlib.axes import Axes

from reticent.report import series
from reticent.report.drawing import Canvas, Drawing
from reticent.report.numbers import decimal_range, epsilon_of, share
from reticent.report.palette import LIGHT
from reticent.results import Attack, Interval, ReleaseRow, Results


def attacked(results: Results) -> dict[str, tuple[ReleaseRow, Attack]]:
    """Releases by their names, with the chosen attack; those without it are left out."""
    on_release = {one.name: (one, series.attack_on(one.attacks, results.conclusion.attack))
             for one in results.releases if one.claim.epsilon > 0}  # fmt: skip
    return {name: (one, attack) for name, (one, attack) in on_release.items() if attack is not None}


def unprotected(results: Results) -> Interval | None:
    """The same figure before protection."""
    attack = series.attack_on(results.unprotected.attacks, results.conclusion.attack)
    return None if attack is None else attack.balanced_accuracy


def attacked_hover(release: ReleaseRow, attack: Attack) -> str:
    """What a point of an attacked release says."""
    accuracy = f"balanced accuracy {decimal_range(attack.balanced_accuracy)}"
    return f"{series.hover_of(release)}; {attack.name}: {accuracy}, AUC {decimal_range(attack.auc)}"


def reference_lines(axes: Axes, before: Interval | None) -> None:
    """Guessing, and the head without protection, each named at its line."""
    lines = {"guessing": 0.5} | ({} if before is None else {"without protection": before.value})
    for label, height in lines.items():
        axes.axhline(height, color=LIGHT["muted"], linewidth=1.2, linestyle=(0, (4, 3)))
        axes.annotate(
            label,
            (0.01, height),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            fontsize=9.5,
            color=LIGHT["muted"],
            bbox=series.BEHIND,
        )
    if before is not None:
        axes.axhspan(before.low, before.high, color=LIGHT["muted"], alpha=0.12, linewidth=0)


def described(shown: dict[str, tuple[ReleaseRow, Attack]], before: Interval | None) -> str:
    """The range of the figure in words."""
    values = [attack.balanced_accuracy.value for _, attack in shown.values()]
    plain = "" if before is None else f" Without protection: {before}."
    return (
        f"{len(shown)} releases, balanced accuracy from {min(values):.3f} to {max(values):.3f};"
        f" 0.5 is guessing.{plain}"
    )


def _attack_canvas(results: Results, name: str, x: Callable[[ReleaseRow], float]) -> Canvas:
    """What the attack finds on each release, over some figure of the release, with a legend."""
    spots = {
        one.name: series.Spot(one, x(one), attack.balanced_accuracy, attacked_hover(one, attack))
        for one, attack in attacked(results).values()
    }
    canvas = Canvas(name, 340)
    reference_lines(canvas.axes, unprotected(results))
    for curve in series.series_of(results):
        own = [spots[one.name] for one in curve.releases if one.name in spots]
        series.draw_series(canvas, curve, sorted(own, key=lambda spot: spot.x))
    if results.recommended.name in spots:
        series.ring(canvas, spots[results.recommended.name])
    canvas.axes.set_ylabel("balanced accuracy of the attack")
    series.legend(canvas.figure, series.series_of(results))
    return canvas


def draw_attack_loss(results: Results) -> Drawing | None:
    """Protection against utility; None where no release was attacked."""
    shown, before = attacked(results), unprotected(results)
    if not shown:
        return None
    canvas = _attack_canvas(results, "attack-loss", lambda release: release.loss.value)
    canvas.axes.set_xlabel("utility loss (left: more useful)")
    series.percent_axis(canvas.axes.xaxis)
    return canvas.done(
        title="Protection against utility",
        caption=(
            f"Each point is a release: how much accuracy it loses, and how well"
            f" {results.conclusion.attack} tells members. Lower left is better. It says nothing"
            " about attacks that were not made."
        ),
        alt=described(shown, before),
    )


def draw_epsilon_attack(results: Results) -> Drawing | None:
    """What an attack finds at each ε; None where no release was attacked."""
    shown, before = attacked(results), unprotected(results)
    if not shown:
        return None
    canvas = _attack_canvas(results, "epsilon-attack", lambda release: release.claim.epsilon)
    series.epsilon_axis(canvas.axes, [one.claim.epsilon for one, _ in shown.values()])
    return canvas.done(
        title="What an attack still finds at each ε",
        caption=(
            f"Balanced accuracy of {results.conclusion.attack}, the black-box attack that was"
            " chosen on shadow models, on the first draw of each release. An attack that fails"
            " proves nothing: the guarantee is what holds against the others."
        ),
        alt=described(shown, before),
    )


def draw_epsilon_loss(results: Results) -> Drawing | None:
    """What each ε costs; None where no release claims an ε above 0."""
    shown = [one for one in results.releases if one.claim.epsilon > 0]
    if not shown:
        return None
    canvas = Canvas("epsilon-loss", 340)
    for curve in series.series_of(results):
        series.draw_series(
            canvas, curve, [_epsilon_loss_spot(one) for one in curve.releases if one in shown]
        )
    if results.recommended in shown:
        series.ring(canvas, _epsilon_loss_spot(results.recommended))
    series.epsilon_axis(canvas.axes, [one.claim.epsilon for one in shown])
    canvas.axes.set_ylabel("utility loss")
    series.percent_axis(canvas.axes.yaxis)
    series.legend(canvas.figure, series.series_of(results))
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


def _epsilon_loss_spot(release: ReleaseRow) -> series.Spot:
    return series.Spot(release, release.claim.epsilon, release.loss, series.hover_of(release))
