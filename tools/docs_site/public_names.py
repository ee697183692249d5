"""What is public: the names in ``__all__`` of each package, with where each is defined and why.

Sources are read and never imported: torch and its kin need not be installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import griffe

MARK = "<!-- public names -->"
"""The line of docs/public-names.md that the list takes the place of."""

_END_OF_SENTENCE = re.compile(r"[.!?](?=\s+[A-ZΑ-Ω`]|\s*$)")


@dataclass(frozen=True, kw_only=True)
class PublicName:
    """One entry of one ``__all__``."""

    package: str
    """The package in whose ``__all__`` it stands, such as ``reticent.protect``."""
    name: str
    defined: griffe.Object | None
    """Where it is defined; None if that is not in the package."""
    address: str
    """Where it is to be imported from: the shortest of the paths that lead to this definition."""

    @property
    def docstring(self) -> str:
        """The docstring of its definition, or an empty text."""
        found = self.defined.docstring if self.defined is not None else None
        return "" if found is None else found.value

    @property
    def first_sentence(self) -> str:
        """The first sentence of the docstring on one line."""
        paragraph = " ".join(self.docstring.partition("\n\n")[0].split())
        end = _END_OF_SENTENCE.search(paragraph)
        return paragraph[: end.end()] if end else paragraph


def read_package(name: str, sources: Path) -> griffe.Module:
    """The syntax of a whole package.

    Args:
        name: of the package.
        sources: the folder that holds it.
    """
    loaded = griffe.load(name, search_paths=[sources], allow_inspection=False)
    if not isinstance(loaded, griffe.Module):
        raise LookupError(f"{name} must be a package in {sources}")
    return loaded


def packages(root: griffe.Module) -> Iterator[griffe.Module]:
    """The package and all packages in it that have an ``__all__``, parents first, by name."""
    if root.is_init_module and root.exports is not None:
        yield root
    for _, member in sorted(root.members.items()):
        if isinstance(member, griffe.Module):
            yield from packages(member)


def public_names(root: griffe.Module) -> list[PublicName]:
    """Each name of each ``__all__``, package by package, in the order of ``__all__``."""
    entries = [
        (package.path, str(name), definition(root, f"{package.path}.{name}"))
        for package in packages(root)
        for name in package.exports or ()
    ]
    addresses: dict[str, list[str]] = {}
    for package, name, defined in entries:
        if defined is not None:
            addresses.setdefault(defined.path, []).append(f"{package}.{name}")
    return [
        PublicName(
            package=package,
            name=name,
            defined=defined,
            address=_shortest(
                addresses.get(defined.path if defined is not None else "", [f"{package}.{name}"])
            ),
        )
        for package, name, defined in entries
    ]


def definition(root: griffe.Module, path: str) -> griffe.Object | None:
    """What a dotted path means, through imports, also those for type checkers alone.

    A name that is imported goes before a module of the same name, as it does in Python.
    """
    seen: set[str] = set()
    while path not in seen:
        seen.add(path)
        module_path, _, name = path.rpartition(".")
        module = _module(root, module_path)
        if module is None:
            return None
        if name in module.imports:
            path = module.imports[name]
            continue
        member = module.members.get(name)
        return member if isinstance(member, griffe.Object) else None
    return None


def undocumented(names: Sequence[PublicName], *, words: int) -> list[str]:
    """The addresses of definitions whose docstring has ``words`` words or fewer."""
    return sorted({each.address for each in names if len(each.docstring.split()) <= words})


def names_page(names: Sequence[PublicName], text: str) -> str:
    """The page of the rule, ``text``, with the list in place of its mark.

    Each package has a section and a table: name, first sentence. Names lead to the reference.
    """
    if text.count(MARK) != 1:
        raise ValueError(f"the page of public names must hold {MARK!r} once")
    lines: list[str] = []
    package = None
    for each in names:
        if each.package != package:
            package = each.package
            lines += ["", f"## {package}", "", "| name | what it is |", "| :-- | :-- |"]
        sentence = each.first_sentence.replace("|", "\\|")
        lines.append(f"| {{py:obj}}`{each.name} <{each.address}>` | {sentence} |")
    return text.replace(MARK, "\n".join(lines).strip())


def _module(root: griffe.Module, path: str) -> griffe.Module | None:
    """The module of the package at this path; names that are imported do not hide it."""
    first, *rest = path.split(".")
    if first != root.name:
        return None
    found: griffe.Module = root
    for part in rest:
        member = found.members.get(part)
        if not isinstance(member, griffe.Module):
            return None
        found = member
    return found


def _shortest(paths: Sequence[str]) -> str:
    return min(paths, key=lambda path: (path.count("."), path))
