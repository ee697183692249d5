"""Values as notebooks show them: one block of HTML that loads and runs nothing.

Every text is escaped, since names and labels come from files. Colours follow the reader's theme:
that of JupyterLab where it says one, else that of the system.
"""

from collections.abc import Mapping, Sequence, Sized
from html import escape

from reticent.validation import printable

_STYLE = """
.reticent{--ink:#1b1e23;--muted:#5a6169;--line:#d5d8dc;--back:#ffffff;font:14px/1.45 sans-serif;
color:var(--ink);background:var(--back);border:1px solid var(--line);border-radius:6px;
padding:.7em 1em;max-width:60em;overflow-wrap:break-word}
@media (prefers-color-scheme:dark){.reticent{--ink:#eceef1;--muted:#a7aeb8;--line:#343a43;
--back:#1c2026}}
[data-jp-theme-light="true"] .reticent{--ink:#1b1e23;--muted:#5a6169;--line:#d5d8dc;--back:#ffffff}
[data-jp-theme-light="false"] .reticent{--ink:#eceef1;--muted:#a7aeb8;--line:#343a43;--back:#1c2026}
.reticent strong{font-weight:600}.reticent .kind{color:var(--muted)}
.reticent table{border-collapse:collapse;margin:.5em 0;color:inherit;background:none}
.reticent th,.reticent td{text-align:left;padding:.15em 1em .15em 0;color:inherit;background:none;
border-bottom:1px solid var(--line);vertical-align:top}
.reticent th{color:var(--muted);font-weight:400}.reticent ul{margin:.2em 0;padding-left:1.3em}
""".replace("\n", "")

SHOWN = 8
"""Names of a list that stand in a table."""


def more(names: Sized) -> str:
    """How many names of a list are not shown.

    >>> more(range(10)), more("abc")
    (', and 2 more', '')
    """
    left = len(names) - SHOWN
    return f", and {left} more" if left > 0 else ""


def shown(text: object) -> str:
    """A text as it may stand in HTML, wherever it came from.

    >>> shown("<b>a</b>")
    '&lt;b&gt;a&lt;/b&gt;'
    """
    return escape(printable(str(text)), quote=True)


def block(kind: str, line: object, *parts: str) -> str:
    """What it is, in a muted word, and its line; below it parts that are HTML already."""
    head = f'<span class="kind">{shown(kind)}</span><br><strong>{shown(line)}</strong>'
    return f'<div class="reticent"><style>{_STYLE}</style>{head}{"".join(parts)}</div>'


def pairs(values: Mapping[str, object]) -> str:
    """A table of names and values."""
    rows = (
        f"<tr><th>{shown(key)}</th><td>{shown(value)}</td></tr>" for key, value in values.items()
    )
    return f"<table>{''.join(rows)}</table>"


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table with a header."""
    head = "".join(f"<th>{shown(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{shown(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def folded(title: str, lines: Sequence[str]) -> str:
    """A list that opens when it is asked for; nothing where it is empty."""
    if not lines:
        return ""
    items = "".join(f"<li>{shown(line)}</li>" for line in lines)
    return f"<details><summary>{shown(title)}: {len(lines)}</summary><ul>{items}</ul></details>"
