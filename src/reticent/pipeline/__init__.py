"""Runs: data in, results out."""

from reticent.pipeline.table import Table

__all__ = ["Table"]
