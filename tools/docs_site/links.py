"""Links of a built site: each leads to a file and an anchor, and nothing is loaded from afar.

Links of a reader's choice (``<a href="https://…">``) may lead anywhere; they are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
_NOT_LOADED_LINKS = {"canonical", "next", "prev", "search", "index", "author"}
_IN_STYLES = re.compile(r"""(?:url\(\s*|@import\s+(?!url))["']?(?P<target>[^"')\s]+)""")
_FAR = ("http:", "https:", "//")


@dataclass
class _Page(HTMLParser):
    """What one page links to, loads and offers as anchors."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    in_style: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the targets and the anchors of one tag."""
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        target = values.get(_LOADED.get(tag, ""), "")
        self.in_style = tag == "style"
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif target and not (tag == "link" and values.get("rel") in _NOT_LOADED_LINKS):
            self.loaded.append(target)

    def handle_data(self, data: str) -> None:
        """Note what a style sheet inside the page loads from afar."""
        if self.in_style:
            found = (match["target"] for match in _IN_STYLES.finditer(data))
            self.loaded += [target for target in found if target.startswith(_FAR)]


def broken_in_site(site: Path) -> list[str]:
    """A line for each broken link, missing anchor and thing that would be loaded from elsewhere."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    lines = [line for path, page in pages.items() for line in _broken(site, path, page, pages)]
    for style in sorted(site.rglob("*.css")):
        for match in _IN_STYLES.finditer(style.read_text(encoding="utf-8")):
            if match["target"].startswith(_FAR):
                lines.append(f"{style.relative_to(site)}: loads {match['target']}")
    return lines


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _broken(site: Path, path: Path, page: _Page, pages: dict[Path, _Page]) -> Iterator[str]:
    where = path.relative_to(site)
    for target in page.loaded:
        if target.startswith(_FAR):
            yield f"{where}: loads {target}"
        elif not target.startswith("data:") and not _file(path, target).is_file():
            yield f"{where}: loads {target}, which is not there"
    for target in page.links:
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        file = _file(path, target)
        if not file.is_file():
            yield f"{where}: link to {target}, which is not there"
        elif parts.fragment and file in pages:
            anchor = unquote(parts.fragment)
            if anchor not in pages[file].anchors:
                yield f"{where}: link to {target}, which has no anchor {anchor}"


def _file(page: Path, target: str) -> Path:
    """The file that a relative link of a page means."""
    relative = unquote(urlsplit(target).path)
    return (page.parent / relative).resolve() if relative else page
