"""Links between the Markdown pages of the repository, as a forge follows them, anchors included."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_FENCE = re.compile(r"^(`{3,}).*?^\1", re.DOTALL | re.MULTILINE)
_CODE_SPAN = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
_LINK_TEXT = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def pages_of(root: Path) -> list[Path]:
    """The Markdown pages of the repository: at its top and in docs."""
    return [
        *sorted(root.glob("*.md")),
        *sorted(root.glob("results/*.md")),
        *sorted(root.glob("docs/**/*.md")),
    ]


def anchors_of(text: str) -> set[str]:
    """The anchors that a forge gives to the headings of a page.

    Lower case, without punctuation, spaces as hyphens; the second of two equal ones ends in -1.
    """
    found: set[str] = set()
    for heading in _HEADING.findall(_FENCE.sub("", text)):
        plain = _LINK_TEXT.sub(r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        anchor, again = slug, 0
        while anchor in found:
            again += 1
            anchor = f"{slug}-{again}"
        found.add(anchor)
    return found


def broken_in_pages(root: Path) -> list[str]:
    """A line for each link to a file that is not there or to an anchor that its page lacks."""
    return [line for page in pages_of(root) for line in _broken(root, page)]


def _broken(root: Path, page: Path) -> Iterator[str]:
    text = _CODE_SPAN.sub("", _FENCE.sub("", page.read_text(encoding="utf-8")))
    for target in _LINK.findall(text):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        where = page.relative_to(root)
        if not file.exists():
            yield f"{where}: link to {target}, which is not there"
        elif anchor and file.suffix == ".md" and anchor not in anchors_of(file.read_text("utf-8")):
            yield f"{where}: link to {target}, which has no anchor {anchor}"
