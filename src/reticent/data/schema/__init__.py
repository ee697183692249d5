"""Schemas: public facts of a table, and what each record becomes by them."""

from reticent.data.schema.column import Column, Gap, Role
from reticent.data.schema.form import FileForm
from reticent.data.schema.kinds import Category, Date, Number, TrueFalse
from reticent.data.schema.prepare import read_by_schema
from reticent.data.schema.schema import Schema
from reticent.data.schema.vectors import NumberList, Text

__all__ = [
    "Category",
    "Column",
    "Date",
    "FileForm",
    "Gap",
    "Number",
    "NumberList",
    "Role",
    "Schema",
    "Text",
    "TrueFalse",
    "read_by_schema",
]
