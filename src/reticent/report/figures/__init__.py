"""Figures of the page: results in, a drawing out, or None where there is nothing to draw."""

from collections.abc import Callable
from typing import Final

from reticent.report import protections
from reticent.report.drawing import Drawing, styled
from reticent.report.figures import audits, roc, sensitivities, trade_offs
from reticent.results import Results

INTERNAL: Final[dict[str, Callable[[Results], Drawing | None]]] = {
    "epsilon-loss": trade_offs.draw_epsilon_loss,
    "epsilon-attack": trade_offs.draw_epsilon_attack,
    "attack-loss": trade_offs.draw_attack_loss,
    "roc": roc.draw_roc,
    "audits": audits.draw,
    "exposure": roc.draw_exposure,
    "sensitivities": sensitivities.draw_sensitivities,
    "encoders": sensitivities.draw_encoders,
    protections.NAME: lambda results: (
        None if results.protections is None else protections.draw_protections(results.protections)
    ),
}
"""In the order of the page."""
PUBLIC: Final[dict[str, Callable[[Results], Drawing | None]]] = {
    "ceiling": roc.draw_guarantee_ceiling
}


def drawings(results: Results, *, public: bool = False) -> dict[str, Drawing]:
    """All figures that there is something to draw for, by their names."""
    with styled():
        made = {name: draw(results) for name, draw in (PUBLIC if public else INTERNAL).items()}
    return {name: drawing for name, drawing in made.items() if drawing is not None}
