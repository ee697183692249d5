"""One figure in each file: results in, a drawing out, or None where there is nothing to draw."""

from collections.abc import Callable
from typing import Final

from reticent.report.drawing import Drawing, styled
from reticent.report.figures import (
    attack_loss,
    audits,
    ceiling,
    encoders,
    epsilon_attack,
    epsilon_loss,
    exposure,
    roc,
    sensitivities,
)
from reticent.results import Results

INTERNAL: Final[dict[str, Callable[[Results], Drawing | None]]] = {
    "epsilon-loss": epsilon_loss.draw,
    "epsilon-attack": epsilon_attack.draw,
    "attack-loss": attack_loss.draw,
    "roc": roc.draw,
    "audits": audits.draw,
    "exposure": exposure.draw,
    "sensitivities": sensitivities.draw,
    "encoders": encoders.draw,
}
"""In the order of the page."""
PUBLIC: Final[dict[str, Callable[[Results], Drawing | None]]] = {"ceiling": ceiling.draw}


def drawings(results: Results, *, public: bool = False) -> dict[str, Drawing]:
    """All figures that there is something to draw for, by their names."""
    with styled():
        made = {name: draw(results) for name, draw in (PUBLIC if public else INTERNAL).items()}
    return {name: drawing for name, drawing in made.items() if drawing is not None}
