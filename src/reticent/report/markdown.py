"""Markdown whose text cannot be taken for markup, wherever the text came from.

Labels, names of files and notes are somebody else's words. Where a page shows them, they must not
become a heading, a link, an image or a tag.
"""

import re
from collections.abc import Iterable, Sequence

from reticent.validation import printable

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_ACTIVE = re.compile(r"([\\`*_\[\]|~$])")
_OPENING = re.compile(r"^(|\d+(?=[.)](?:\s|$)))([#+=:.)-])")
"""What begins a heading, a list or an underline where a line begins with it."""


def plain(text: str) -> str:
    """One line without control characters and marks that turn the direction of writing."""
    return " ".join(printable(text).split())


def escaped(text: str) -> str:
    r"""The text as itself: nothing in it is markup, or a link by its address alone.

    >>> escaped("<b>*[a](http://b)*")
    '&lt;b&gt;\\*\\[a\\](http:&#47;&#47;b)\\*'
    """
    marked = "".join(_ENTITIES.get(sign, sign) for sign in plain(text))
    marked = _ACTIVE.sub(r"\\\1", marked)
    marked = marked.replace("://", ":&#47;&#47;").replace("@", "&#64;")
    marked = re.sub(r"\bwww\.", "www&#46;", marked, flags=re.IGNORECASE)
    return _OPENING.sub(r"\1\\\2", marked)


def code(command: str) -> str:
    """A block with one command, which nothing in it can close."""
    line = plain(command)
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}console\n{line}\n{fence}"


def bullets(lines: Iterable[str]) -> str:
    """A list of lines that are Markdown already; a dash where there is none."""
    return "\n".join(f"- {line}" for line in lines) or "- none"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""
    shown = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in shown)
