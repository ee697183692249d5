"""How wide the columns of a table are, so that it fits a terminal and no word is broken."""

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len

BETWEEN: Final = 3
"""Characters between two columns: a line with a space on either side."""


def column_widths(
    names: Sequence[str], rows: Sequence[Sequence[str]], available: int
) -> list[int] | None:
    """The width of each column, together with what is between them at most ``available``.

    Columns are as wide as their longest cell where there is room. Else each begins with its longest
    word, and what is left goes where lines are longest. None where the longest words do not fit.

    >>> rows = [("noisy-gradient, proven", "0.853 [0.841, 0.865]")]
    >>> [column_widths(("release", "accuracy"), rows, width) for width in (60, 40, 20)]
    [[22, 20], [19, 18], None]
    """
    columns = [[name, *(row[place] for row in rows)] for place, name in enumerate(names)]
    widest = [max(map(cell_len, column)) for column in columns]
    room = available - BETWEEN * (len(columns) - 1)
    if sum(widest) <= room:
        return widest
    widths = [max(_longest_word(cell) for cell in column) for column in columns]
    if sum(widths) > room:
        return None
    for _ in range(room - sum(widths)):
        lines = [wide / max(width, 1) for wide, width in zip(widest, widths, strict=True)]
        widths[lines.index(max(lines))] += 1
    return [min(width, wide) for width, wide in zip(widths, widest, strict=True)]


def _longest_word(cell: str) -> int:
    return max(map(cell_len, cell.split()), default=0)
