"""The API reference: one Markdown page for each package with an ``__all__``.

A definition is described once, at its shortest public address; packages that export it as well
refer to it. Docstrings are Markdown with the sections of Google's style.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import griffe

from tools.docs_site.public_names import PublicName, definition

if TYPE_CHECKING:
    from griffe import DocstringSection

_LABELS = {"parameters": "Arguments", "returns": "Returns", "raises": "Raises"}
_CODE_SPAN = re.compile(r"(``.+?``|`[^`]+`)", re.DOTALL)
_DOCTEST = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)
_TAG = re.compile(r"<(?=[A-Za-z/!])")
_TYPE = re.compile(r"(?<![\w.'\"])(?<!= )[A-Z]\w*")
_KINDS = {griffe.Kind.CLASS: "class", griffe.Kind.FUNCTION: "function"}


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Writes the pages of all packages under one root."""

    root: griffe.Module
    names: Sequence[PublicName]

    @cached_property
    def addresses(self) -> dict[str, str]:
        """From where a thing is defined to where it is described."""
        return {each.defined.path: each.address for each in self.names if each.defined is not None}

    def page(self, package: griffe.Module) -> str:
        """The page of one package, whose docstring opens it."""
        blocks = [f"# {package.path}", _docstring(package)]
        for each in self.names:
            address = f"{each.package}.{each.name}"
            if each.package != package.path or each.defined is None:
                continue
            if each.address == address:
                blocks.append(self._described(each.defined, address))
            else:
                blocks.append(f"`{each.name}` is {{py:obj}}`{each.address}`.")
        return "\n\n".join(filter(None, blocks)) + "\n"

    def _described(self, defined: griffe.Object, address: str) -> str:
        """One directive of Sphinx's Python domain, its members inside."""
        kind = _KINDS.get(defined.kind, "data")
        inner = [_docstring(defined)]
        if isinstance(defined, griffe.Class):
            if defined.bases:
                inner.insert(0, "Bases: " + ", ".join(f"`{base}`" for base in defined.bases))
            inner += [self._member(member) for member in _members(defined)]
        return _directive(f"py:{kind}", address + self._signature(defined), inner)

    def _member(self, member: griffe.Object) -> str:
        kind = "method" if isinstance(member, griffe.Function) else "attribute"
        if "property" in member.labels:
            kind = "property"
        flags = [
            f":{label}:" for label in ("classmethod", "staticmethod") if label in member.labels
        ]
        signature = member.name + self._signature(member)
        return _directive(f"py:{kind}", signature, [_docstring(member)], flags)

    def _signature(self, defined: griffe.Object) -> str:
        """Parameters and result as Python writes them; public types by their addresses."""

        def addressed(found: re.Match[str]) -> str:
            meant = definition(self.root, f"{defined.module.path}.{found[0]}")
            address = None if meant is None else self.addresses.get(meant.path)
            return found[0] if address is None else f"~{address}"

        return _TYPE.sub(addressed, _signature(defined))


def index_page(packages: Sequence[griffe.Module]) -> str:
    """The page that lists the pages of all packages, with the first line of each docstring."""
    lines = ["# API reference", "", "Made from docstrings. [Public names](../docs/public-names.md)"]
    lines += ["lists every name and says what may change.", ""]
    lines += ["| package | what it is for |", "| :-- | :-- |"]
    for package in packages:
        first = package.docstring.value.partition("\n")[0] if package.docstring else ""
        lines.append(f"| [{package.path}]({package.path}.md) | {first.replace('|', '&#124;')} |")
    pages = [package.path for package in packages]
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", *pages, "```", ""])


def prose(docstring: str) -> str:
    """A docstring as Markdown: what looks like a tag is text, and sections become lists."""
    if not docstring.strip():
        return ""
    sections = griffe.Docstring(docstring).parse("google", warnings=False)
    return "\n\n".join(filter(None, map(_section, sections)))


def _docstring(documented: griffe.Object) -> str:
    return prose(documented.docstring.value) if documented.docstring else ""


def _members(defined: griffe.Class) -> Iterator[griffe.Object]:
    """Public methods and attributes that the class itself defines and documents."""
    for name, member in defined.members.items():
        if not name.startswith("_") and isinstance(member, griffe.Object) and member.docstring:
            yield member


def _signature(defined: griffe.Object) -> str:
    """Parameters and result, in the words of Python; nothing for what is not called."""
    written = ""
    if isinstance(defined, griffe.Function):
        written = defined.signature()
    elif isinstance(defined, griffe.Class):
        init = defined.members.get("__init__")
        if isinstance(init, griffe.Function):
            written = init.signature(return_type=False)
        elif "dataclass" in defined.labels:
            made = griffe.Function("made", parameters=defined.parameters)
            written = made.signature(return_type=False)
    _, bracket, rest = written.partition("(")
    return bracket + re.sub(r"^(?:self|cls)(?:, |(?=\)))", "", rest)


def _section(section: DocstringSection) -> str:
    if section.kind is griffe.DocstringSectionKind.text:
        return _DOCTEST.sub(lambda found: f"```pycon\n{found[0]}\n```", _escaped(section.value))
    if section.kind is griffe.DocstringSectionKind.examples:
        return "\n\n".join(
            text if kind is griffe.DocstringSectionKind.text else f"```pycon\n{text}\n```"
            for kind, text in section.value
        )
    label = section.title or _LABELS.get(section.kind.value, section.kind.value.capitalize())
    if not isinstance(section.value, list):
        return f"**{label}:** {_escaped(str(getattr(section.value, 'description', section.value)))}"
    return "\n".join([f"**{label}:**", "", *map(_item, section.value)])


def _item(item: griffe.DocstringElement) -> str:
    """One argument, result or error of a section, as an item of a list."""
    name = getattr(item, "name", "") or ""
    if not name and isinstance(item, griffe.DocstringRaise):
        name = str(item.annotation)
    text = _escaped(item.description).replace("\n", "\n  ")
    return f"- `{name}`: {text}" if name else f"- {text}"


def _escaped(text: str) -> str:
    """Text in which no word in angle brackets becomes a tag; code stays as it is."""
    parts = _CODE_SPAN.split(text)
    return "".join(
        part if position % 2 else _TAG.sub("&lt;", part) for position, part in enumerate(parts)
    )


def _directive(name: str, signature: str, inner: Sequence[str], options: Sequence[str] = ()) -> str:
    """A directive in a fence that is longer than every fence inside it."""
    body = "\n\n".join(filter(None, inner))
    longest = max((len(run) for run in re.findall(r"^`{3,}", body, re.MULTILINE)), default=2)
    fence = "`" * (longest + 1)
    return "\n".join([f"{fence}{{{name}}} {signature}", *options, "", body, fence])
