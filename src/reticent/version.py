"""The version, where every layer can read it."""

from importlib.metadata import PackageNotFoundError, version

try:
    INSTALLED = version("reticent")
except PackageNotFoundError:  # a source tree that was not installed
    INSTALLED = "0+unknown"
