"""reticent: what a model tells about its training data, how to make it tell less, and proof.

``import reticent`` is light: torch, plotly and SQL are loaded by the modules that need them.
"""

from typing import TYPE_CHECKING, Any

from reticent.guarantee import Guarantee, Sensitivity
from reticent.version import INSTALLED

if TYPE_CHECKING:
    from reticent.pipeline.running import run

__version__ = INSTALLED

__all__ = ["Guarantee", "Sensitivity", "__version__", "run"]


def __getattr__(name: str) -> Any:
    """The whole job is heavy: it is loaded when it is asked for."""
    if name == "run":
        from reticent.pipeline.running import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
