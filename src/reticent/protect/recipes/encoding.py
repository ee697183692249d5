"""What recipes share that make features of rows without labels: an encoder is a release.

Its tensors are public from the moment that they are released, and so are the features that it makes
of anybody's rows. Whoever learns from such features of the *same* people composes both guarantees
(``protect.used_encoder``).
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from reticent.arrays import Floats
from reticent.data.cells import SCHEMA_STATED
from reticent.protect import recipe
from reticent.protect.recipes.linear import NOISY_SUMS, OWN_CLASS, UNIT_ROWS
from reticent.protect.terms import NO_SEARCH, Terms
from reticent.validation import InputError

STATED: Final = (
    "one record is one row; the map from raw data to rows is fixed and looks at one record at a"
    " time",
    "the public encoder below, scaling, normaliser, sizes, mechanism and ε were chosen without"
    " looking at the private data: no step before this one was fitted on it",
    NO_SEARCH,
    SCHEMA_STATED,
    "the data set has at most 2N records, N the public normaliser",
    "nothing else computed from the private data is published: no loss, accuracy or timing, nor"
    " that a job on them failed",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class EncoderRecipe(recipe.Recipe):
    """N, the entries of a row, the noise, and the public encoder that makes rows of raw data.

    ``base`` is a name of ``training.encoders.named.NAMES``, or empty where rows are used as they
    come; a release is asked for features of the same kind of rows.
    """

    task: ClassVar[recipe.Task] = "encoding"
    checked: ClassVar[tuple[str, ...]] = (UNIT_ROWS, NOISY_SUMS, OWN_CLASS)
    stated: ClassVar[tuple[str, ...]] = STATED

    records: int
    features: int
    mechanism: str
    base: str = ""
    classes: int = 0

    def __post_init__(self) -> None:
        """A base that has no name would be code that nobody asked to run."""
        refuse_unnamed(self.base)

    @property
    def public_numbers(self) -> tuple[str, ...]:
        """The numbers that its user says; an encoder has no classes."""
        return ("records", *self.options)

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of features that it makes of a row."""

    @abstractmethod
    def encoded(self, tensors: Mapping[str, Floats], rows: Floats) -> Floats:
        """(n, width) features of rows, each a function of its row alone, bit by bit."""

    def misfits(self, terms: Terms) -> list[str]:
        """Numbers that no encoder has."""
        del terms
        problems = [] if self.records >= 1 else ["records must be at least 1"]
        return problems + ([] if self.classes == 0 else ["an encoder has no classes"])


def refuse_unnamed(base: str) -> None:
    """A public encoder is named, so that whoever has the release has the same one below it."""
    from reticent.training.encoders.named import NAMES

    if base and base not in NAMES:
        raise InputError(
            f"base must be one of {', '.join(NAMES)}, or none where rows are features already, got"
            f" {base!r}: encode with it first, and pre-train on what it makes"
        )
