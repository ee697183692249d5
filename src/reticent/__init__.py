"""reticent: what a model tells about its training data, how to make it tell less, and proof.

``import reticent`` is light: torch, numba and SQL are loaded by the modules that need them. The
whole job is ``reticent.run.run``.
"""

from reticent.guarantee import Guarantee, Sensitivity
from reticent.version import INSTALLED

__version__ = INSTALLED
"""The version of the installed package, which certificates name too."""

__all__ = ["Guarantee", "Sensitivity", "__version__"]
