"""A page as a browser's parser sees it, as far as the tests look."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr"}


@dataclass(eq=False)
class Node:
    tag: str
    attributes: dict[str, str | None]
    parent: Node | None = None
    children: list[Node | str] = field(default_factory=list)

    def walk(self):
        yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.walk()

    def all(self, tag, **wanted):
        return [
            node
            for node in self.walk()
            if node.tag == tag and all(node.attributes.get(k) == v for k, v in wanted.items())
        ]

    def by_id(self, name):
        found = [node for node in self.walk() if node.attributes.get("id") == name]
        assert len(found) == 1, f"{name}: {len(found)}"
        return found[0]

    @property
    def text(self):
        parts = (child if isinstance(child, str) else child.text for child in self.children
                 if isinstance(child, str) or child.tag not in {"style", "script"})  # fmt: skip
        return re.sub(r"\s+", " ", " ".join(parts)).strip()

    def rows(self):
        """Cells of the body, row by row; what stands below a row is its last."""
        found = []
        for row in self.all("tbody")[0].all("tr"):
            cells = [cell.text for cell in row.walk() if cell.tag in {"td", "th"}]
            if "below" in (row.attributes.get("class") or "").split():
                found[-1] += cells
            else:
                found.append(cells)
        return found


class _Builder(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = self.now = Node("", {})

    def handle_starttag(self, tag, attrs):
        node = Node(tag, dict(attrs), self.now)
        self.now.children.append(node)
        if tag not in VOID:
            self.now = node

    def handle_startendtag(self, tag, attrs):
        self.now.children.append(Node(tag, dict(attrs), self.now))

    def handle_endtag(self, tag):
        assert self.now.tag == tag, f"</{tag}> closes <{self.now.tag}>"
        self.now = self.now.parent

    def handle_data(self, data):
        self.now.children.append(data)


def parsed(text):
    builder = _Builder()
    builder.feed(text)
    builder.close()
    assert builder.now is builder.root, f"<{builder.now.tag}> is never closed"
    return builder.root
