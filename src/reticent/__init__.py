"""reticent: what a model tells about its training data, how to make it tell less, and proof.

``import reticent`` is light: torch, plotly and SQL are loaded by the modules that need them.
"""

from importlib.metadata import PackageNotFoundError, version

from reticent.guarantee import Guarantee, Sensitivity

try:
    __version__ = version("reticent")
except PackageNotFoundError:  # a source tree that was not installed
    __version__ = "0+unknown"

__all__ = ["Guarantee", "Sensitivity", "__version__"]
