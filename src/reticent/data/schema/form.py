"""How a file writes its cells: said once, and never found out from the cells of other records."""

import codecs
import math
import re
from dataclasses import dataclass, replace
from typing import Final

from reticent.validation import InputError

_TRUE: Final = ("true", "True", "TRUE", "1", "1.0")
_FALSE: Final = ("false", "False", "FALSE", "0", "0.0")
_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_MOST_DIGITS: Final = 400


class InvalidCellError(Exception):
    """A cell that is no value of its column; what stands in it is said nowhere."""


@dataclass(frozen=True, kw_only=True)
class FileForm:
    """Separator, decimal mark, encoding, header, and what stands for a gap, for true and for false.

    ``comment`` begins lines that are no records; then a record is a line, and quotes are ordinary
    signs. An empty cell is always a gap. Files with types of their own (.npz, .parquet) have none
    of this but gaps, true and false.

    >>> FileForm(decimal=",", thousands=".").number("1.234,5")
    1234.5
    """

    separator: str = ","
    decimal: str = "."
    thousands: str = ""
    encoding: str = "utf-8"
    header: bool = True
    comment: str = ""
    gaps: tuple[str, ...] = ()
    true: tuple[str, ...] = _TRUE
    false: tuple[str, ...] = _FALSE

    def __post_init__(self) -> None:
        """Signs that can be told apart, and an encoding that Python knows."""
        if len(self.separator) != 1 or not self.separator.isascii() or self.separator in '"\r\n':
            raise InputError(f"separator must be one sign such as ; got {self.separator!r}")
        if self.decimal not in (".", ","):
            raise InputError(f"decimal must be . or , got {self.decimal!r}")
        if self.thousands not in ("", ".", ",", "'", " ", "\u00a0", "\u202f", "_"):
            raise InputError(f"thousands must be a mark such as . or ' got {self.thousands!r}")
        if self.thousands == self.decimal:
            raise InputError("thousands must be another mark than decimal, got the same")
        if len(self.comment) > 1 or not self.comment.isascii() or self.comment in ('"', "\n"):
            raise InputError(f"comment must be one sign such as # got {self.comment!r}")
        _refuse_unknown_encoding(self.encoding)
        for name in ("gaps", "true", "false"):
            texts = tuple(getattr(self, name))
            if any(text != text.strip() or len(text.splitlines()) > 1 for text in texts):
                raise InputError(f"{name} must have no spaces around them, got some")
            object.__setattr__(self, name, texts)
        if twice := set(self.true) & set(self.false):
            raise InputError(f"true and false must differ, got {sorted(twice)[0]!r} in both")

    @property
    def of_typed_files(self) -> "FileForm":
        """The same with a decimal point: as programs write numbers where a column has texts too.

        Whether it has some may depend on one record; what the others become may not.
        """
        return replace(self, decimal=".", thousands="")

    def is_gap(self, cell: str) -> bool:
        """Whether a cell, without spaces around it, holds nothing."""
        return not cell or cell in self.gaps

    def number(self, cell: str) -> float:
        """The float64 nearest to what is written; InvalidCellError where none is."""
        written = cell
        if self.thousands and self.thousands in written:
            whole = re.match(
                r"[+-]?[0-9]{1,3}(?:" + re.escape(self.thousands) + r"[0-9]{3})+", cell
            )
            if whole is None:
                raise InvalidCellError
            written = whole[0].replace(self.thousands, "") + cell[whole.end() :]
        if self.decimal == ",":
            if "." in written:
                raise InvalidCellError
            written = written.replace(",", ".")
        if len(written) > _MOST_DIGITS or not _NUMBER.fullmatch(written):
            raise InvalidCellError
        value = float(written)
        if not math.isfinite(value):
            raise InvalidCellError
        return value


def _refuse_unknown_encoding(name: str) -> None:
    try:
        known = codecs.lookup(name)
    except (LookupError, ValueError):
        known = None
    if known is None or not known._is_text_encoding or known.name in ("idna", "punycode"):
        raise InputError(f"encoding must be one such as utf-8 or latin-1, got {name!r}")
