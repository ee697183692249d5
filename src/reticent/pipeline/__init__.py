"""Runs: data in, results out."""

from reticent.pipeline.table import Table
from reticent.pipeline.walk import Walk, walk

__all__ = ["Table", "Walk", "walk"]
