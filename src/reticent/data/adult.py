"""UCI Adult (Becker and Kohavi 1996): one column for each category of ``adult.names``.

Numbers are divided by round constants, so that no statistic of the records enters the features.
"""

import csv
from pathlib import Path
from typing import Final

import numpy as np

from reticent.data.dataset import Dataset, where
from reticent.data.folder import decoded, find
from reticent.read_limit import refuse_above_limit
from reticent.validation import InputError

_GET: Final = "the UCI data set 'Adult' by Becker and Kohavi (adult.zip)"
_CLASSES: Final = ("<=50K", ">50K")


def _words(line: str) -> tuple[str, ...]:
    return tuple(line.split())


# Attributes in file order: a scale, or the categories in the order of adult.names.
_ATTRIBUTES: Final[dict[str, float | tuple[str, ...]]] = {
    "age": 100.0,
    "workclass": _words(
        "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay"
        " Never-worked ?"
    ),
    "fnlwgt": 1e6,
    "education": _words(
        "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th"
        " Masters 1st-4th 10th Doctorate 5th-6th Preschool"
    ),
    "education-num": 16.0,
    "marital-status": _words(
        "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent"
        " Married-AF-spouse"
    ),
    "occupation": _words(
        "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty"
        " Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving"
        " Priv-house-serv Protective-serv Armed-Forces ?"
    ),
    "relationship": _words("Wife Own-child Husband Not-in-family Other-relative Unmarried"),
    "race": _words("White Asian-Pac-Islander Amer-Indian-Eskimo Other Black"),
    "sex": ("Female", "Male"),
    "capital-gain": 1e5,
    "capital-loss": 1e4,
    "hours-per-week": 100.0,
    "native-country": _words(
        "United-States Cambodia England Puerto-Rico Canada Germany"
        " Outlying-US(Guam-USVI-etc) India Japan Greece South China Cuba Iran Honduras"
        " Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland France"
        " Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua"
        " Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong"
        " Holand-Netherlands ?"
    ),
}
COLUMNS: Final = tuple(
    column
    for name, kind in _ATTRIBUTES.items()
    for column in ([name] if isinstance(kind, float) else [f"{name}={value}" for value in kind])
)
_POSITION: Final = {column: position for position, column in enumerate(COLUMNS)}


def adult(folder: Path, part: str) -> Dataset:
    """Adult, ``part`` train (adult.data) or test (adult.test); ``?`` is a category of its own."""
    file = {"train": "adult.data", "test": "adult.test"}[part]
    path = find(folder, [f"adult/{file}"], get=_GET)
    lines = [line for line in decoded(path).splitlines() if line and not line.startswith("|")]
    if not lines:
        raise InputError(f"{path.name} must hold records, got none")
    refuse_above_limit(path.name, 4 * len(lines) * len(COLUMNS))
    inputs = np.zeros((len(lines), len(COLUMNS)), dtype=np.float32)
    labels = np.empty(len(lines), dtype=np.int64)
    for row, fields in enumerate(_fields(path, lines)):
        if len(fields) != len(_ATTRIBUTES) + 1:
            raise InputError(
                f"{path.name} must hold {len(_ATTRIBUTES) + 1} fields a record,"
                f" got {len(fields)} in {where(row)}"
            )
        labels[row] = _class(path, row, fields[-1])
        for name, value in zip(_ATTRIBUTES, fields, strict=False):
            column, number = _entry(path, row, name, value)
            inputs[row, column] = number
    return Dataset(
        name=f"adult-{part}",
        source="UCI Adult, Becker and Kohavi 1996; categories as columns, numbers scaled",
        inputs=inputs,
        labels=labels,
        classes=_CLASSES,
        columns=COLUMNS,
    )


def _fields(path: Path, lines: list[str]) -> list[list[str]]:
    """The fields of each line; a quote that is open at its end would take the next one in."""
    try:
        rows = list(csv.reader(lines, skipinitialspace=True))
    except csv.Error:
        rows = []
    if len(rows) != len(lines):
        raise InputError(f"{path.name} must hold a record in each line, got one over several lines")
    return rows


def _class(path: Path, row: int, field: str) -> int:
    label = field.strip().removesuffix(".")
    if label not in _CLASSES:
        raise InputError(
            f"{path.name} must have the classes {' and '.join(_CLASSES)},"
            f" got another in {where(row)}"
        )
    return _CLASSES.index(label)


def _entry(path: Path, row: int, name: str, value: str) -> tuple[int, float]:
    """The column that one field fills, and with what."""
    kind = _ATTRIBUTES[name]
    value = value.strip()
    if isinstance(kind, float) and value.isascii() and value.isdigit() and len(value) < 16:
        return _POSITION[name], int(value) / kind
    column = f"{name}={value}"
    if isinstance(kind, float) or column not in _POSITION:
        rule = "a whole number" if isinstance(kind, float) else "a category of adult.names"
        raise InputError(
            f"{path.name} must hold {rule}, got another value in {where(row)}, column {name!r}"
        )
    return _POSITION[column], 1.0
