"""ε against the accuracy of the chosen attack (the ALM paper's Figure 2, above)."""

from reticent.report.drawing import Canvas, Drawing
from reticent.report.figures.attacked import (
    attacked,
    attacked_hover,
    described,
    reference_lines,
    unprotected,
)
from reticent.report.series import Spot, draw_series, epsilon_axis, legend, ring, series_of
from reticent.results import Attack, ReleaseRow, Results


def draw(results: Results) -> Drawing | None:
    """What an attack finds at each ε; None where no release was attacked."""
    shown, before = attacked(results), unprotected(results)
    if not shown:
        return None
    canvas = Canvas("epsilon-attack", 340)
    reference_lines(canvas.axes, before)
    for series in series_of(results):
        pairs = [shown[one.name] for one in series.releases if one.name in shown]
        draw_series(canvas, series, [_spot(*pair) for pair in pairs])
    if results.recommended.name in shown:
        ring(canvas, _spot(*shown[results.recommended.name]))
    epsilon_axis(canvas.axes, [one.claim.epsilon for one, _ in shown.values()])
    canvas.axes.set_ylabel("balanced accuracy of the attack")
    legend(canvas.figure, series_of(results))
    return canvas.done(
        title="What an attack still finds at each ε",
        caption=(
            f"Balanced accuracy of {results.conclusion.attack}, the black-box attack that was"
            " chosen on shadow models, on the first draw of each release. An attack that fails"
            " proves nothing: the guarantee is what holds against the others."
        ),
        alt=described(shown, before),
    )


def _spot(release: ReleaseRow, attack: Attack) -> Spot:
    hover = attacked_hover(release, attack)
    return Spot(release, release.claim.epsilon, attack.balanced_accuracy, hover)
