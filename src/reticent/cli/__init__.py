"""The command line: parse, call, print. Nothing is computed here."""

from reticent.cli.main import main

__all__ = ["main"]
