"""The folder that Sphinx reads: the pages of the repository at their places, and the reference.

Pages keep their relative links, which a forge follows too. What is in the menu, and in which order,
is read from the tables of docs/README.md.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from tools.docs_site.public_names import names_page, packages, public_names, read_package
from tools.docs_site.reference import Reference, index_page

PACKAGE = "reticent"
NAMES = Path("docs", "public-names.md")
REFERENCE = Path("reference")

_MENU_LINE = re.compile(r"^## (?P<caption>.+)$|\[[^\]]+\]\((?P<page>[^)#:]+\.md)\)", re.MULTILINE)


def stage(root: Path, folder: Path) -> None:
    """Fill a folder, which is emptied first.

    Args:
        root: of the repository.
        folder: what Sphinx will read.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(root / "docs", folder / "docs")
    for page in sorted(root.glob("*.md")):
        shutil.copy(page, folder)
    (folder / "results").mkdir()
    shutil.copy(root / "results" / "README.md", folder / "results")
    for other in ("LICENSE", "CITATION.cff"):
        if (root / other).is_file():
            shutil.copy(root / other, folder)
    _write_reference(root, folder)
    readme = folder / "README.md"
    pages = [page.stem for page in sorted(folder.glob("*.md")) if page.name != "README.md"]
    readme.write_text(readme.read_text(encoding="utf-8") + _menu(root, pages), encoding="utf-8")


def _write_reference(root: Path, folder: Path) -> None:
    read = read_package(PACKAGE, root / "src")
    names = public_names(read)
    found = list(packages(read))
    reference = Reference(root=read, names=names)
    target = folder / REFERENCE
    target.mkdir()
    (target / "index.md").write_text(index_page(found), encoding="utf-8")
    for package in found:
        text = reference.page(package)
        (target / f"{package.path}.md").write_text(text, encoding="utf-8")
    page = folder / NAMES
    page.write_text(names_page(names, page.read_text(encoding="utf-8")), encoding="utf-8")


def _menu(root: Path, pages: list[str]) -> str:
    """Tables of contents, hidden: a part for each section of docs/README.md, then the rest."""
    parts = ["\n\n"]
    for caption, entries in _sections((root / "docs" / "README.md").read_text(encoding="utf-8")):
        parts.append(_contents(caption, [f"docs/{entry.removesuffix('.md')}" for entry in entries]))
    parts.append(_contents("Python", [str(REFERENCE / "index")]))
    parts.append(_contents("Project", ["docs/README", "results/README", *pages]))
    return "".join(parts)


def _sections(index: str) -> Iterator[tuple[str, list[str]]]:
    caption, entries = "", list[str]()
    for line in _MENU_LINE.finditer(index):
        if line["caption"]:
            if entries and caption:
                yield caption, entries
            caption, entries = line["caption"], []
        elif not line["page"].startswith(".."):
            entries.append(line["page"])
    if entries:
        yield caption, entries


def _contents(caption: str, entries: list[str]) -> str:
    lines = ["```{toctree}", ":hidden:", f":caption: {caption}", "", *entries, "```", "", ""]
    return "\n".join(lines)
