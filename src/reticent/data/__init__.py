"""Loaders that return checked arrays, and splits into disjoint parts."""

from reticent.data.dataset import Dataset
from reticent.data.folder import data_folder
from reticent.data.registry import NAMES, load
from reticent.data.schema import Schema, read_by_schema
from reticent.data.splits import split
from reticent.data.tables import read_table

__all__ = [
    "NAMES",
    "Dataset",
    "Schema",
    "data_folder",
    "load",
    "read_by_schema",
    "read_table",
    "split",
]
