"""The one place where a value becomes *proven*.

Imported by ``reticent.bounds`` (sensitivities) and ``reticent.protect`` (guarantees) alone: the
import contract in pyproject.toml refuses every other importer.
"""

import dataclasses
from typing import TypeVar

from reticent.guarantee import grade, guarantee, sensitivity
from reticent.validation import InputError

Value = TypeVar("Value", sensitivity.Sensitivity, guarantee.Guarantee)


def proven(value: Value) -> Value:
    """The same value graded proven; only a declared one can rise.

    A sampled or published value rests on something that no theorem mends.
    """
    if value.grade is not grade.Grade.DECLARED:
        raise InputError(f"only a declared value can be proven, got one graded {value.grade}")
    raised = object.__new__(type(value))  # a copy would be declared
    for field in dataclasses.fields(value):
        object.__setattr__(raised, field.name, getattr(value, field.name))
    object.__setattr__(raised, "grade", grade.Grade.PROVEN)
    return raised
