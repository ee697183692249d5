"""Where a source file can be mutated, and how: operators, comparisons, constants, functions.

A site is one node of the syntax tree. Docstrings and other texts, type annotations, decorators,
imports and the arguments of ``raise`` are no sites. Only the node that changes is written anew; the
rest of the file stays as it is, byte by byte.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add, ast.Div),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult, ast.Sub),
    ast.Pow: (ast.Mult, ast.Div),
    ast.FloorDiv: (ast.Div, ast.Mult),
    ast.Mod: (ast.FloorDiv, ast.Mult),
    ast.BitOr: (ast.BitAnd,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitXor: (ast.BitOr,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
}
_ORDER: tuple[type[ast.cmpop], ...] = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_NAMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmin": "argmax",
    "argmax": "argmin",
    "nanargmin": "nanargmax",
    "nanargmax": "nanargmin",
    "floor": "ceil",
    "ceil": "floor",
    "log": "log1p",
    "log1p": "log",
    "exp": "expm1",
    "expm1": "exp",
}
_TO_IDENTITY = {"sqrt", "isqrt", "tanh", "abs", "trunc", "rint"}
_INFINITE = "inf"


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One changed node: where it stands, and the lines of source before and after the change."""

    file: str
    line: int
    function: str
    kind: str
    before: str
    after: str
    start: int
    end: int
    text: str

    def applied(self, source: bytes) -> bytes:
        """The file with this change."""
        return source[: self.start] + self.text.encode() + source[self.end :]

    def to_dict(self) -> dict[str, object]:
        """What a reader needs of it."""
        names = ("file", "line", "function", "kind", "before", "after")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Site:
    """One place, and every mutant of it."""

    file: str
    start: int
    alternatives: tuple[Mutant, ...]


def sites_of(path: Path, name: str) -> list[Site]:
    """All sites of one file, in the order of its text; ``name`` is how the file is called."""
    source = path.read_bytes()
    finder = _Finder(source, name)
    finder.visit(ast.parse(source))
    return sorted(finder.found, key=lambda site: site.start)


def drawn(sites: Iterable[Site], count: int, seed: int) -> list[Mutant]:
    """So many sites, uniformly and without repetition, and one mutant of each.

    A smaller count draws the first mutants of a larger one.
    """
    shuffled = list(sites)
    random.Random(seed).shuffle(shuffled)
    return [
        random.Random(f"{seed} {site.file} {site.start}").choice(site.alternatives)
        for site in shuffled[:count]
    ]


class _Finder(ast.NodeVisitor):
    """Walks a module, remembers the function it is in, and leaves out what is no site."""

    def __init__(self, source: bytes, name: str) -> None:
        self.found: list[Site] = []
        self._source = source
        self._starts = [0, *(i + 1 for i, byte in enumerate(source) if byte == ord("\n"))]
        self._name = name
        self._scope: list[str] = []
        self._in_index = False

    # --- what is walked ---------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Defaults and body: neither decorators nor annotations."""
        self._scope.append(node.name)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        for statement in node.body:
            self.visit(statement)
        self._scope.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """The body alone."""
        self._scope.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._scope.pop()

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """The body alone."""
        self.visit(node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """The value alone."""
        if node.value is not None:
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        """All of it, unless it is for type checkers."""
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Not an alias of a type, such as ``int | str``."""
        alias = isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.BitOr)
        if self._scope or not alias:
            self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """A number inside the brackets is a place."""
        self.visit(node.value)
        outside, self._in_index = self._in_index, True
        self.visit(node.slice)
        self._in_index = outside

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Texts are no sites."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """Nor are errors."""

    # --- what is changed --------------------------------------------------------------------------

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """+ − × ÷ ** // %, and those on bits."""
        if not _is_text(node.left) and not _is_text(node.right):
            self._add(node, "operator", _with_operators(node))
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """The same before =."""
        self._add(node, "operator", _with_operators(node))
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Each comparison of a chain is a site of its own."""
        for place, operator in enumerate(node.ops):
            self._add(node, "comparison", _with_comparisons(node, place, operator))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """And for or, or for and."""
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._add(node, "boolean", [ast.BoolOp(op=other, values=node.values)])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Without its minus, its not or its ~."""
        kind = "boolean" if isinstance(node.op, ast.Not) else "operator"
        self._add(node, kind, [node.operand])
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Numbers and truths."""
        if isinstance(node.value, bool):
            self._add(node, "constant", [ast.Constant(value=not node.value)])
        elif isinstance(node.value, (int, float)):
            values = _other_numbers(node.value, whole=self._in_index)
            self._add(node, "constant", [ast.Constant(value=value) for value in values])

    def visit_Call(self, node: ast.Call) -> None:
        """√ and its like: left out."""
        if _called(node.func) in _TO_IDENTITY and len(node.args) == 1 and not node.keywords:
            self._add(node, "function", [node.args[0]])
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        """Functions by another, called or handed on."""
        if node.id in _NAMES and isinstance(node.ctx, ast.Load):
            self._add(node, "function", [ast.Name(id=_NAMES[node.id])])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """The same of a module or an array, and ∞ with the other sign."""
        if node.attr in _NAMES:
            self._add(node, "function", [ast.Attribute(value=node.value, attr=_NAMES[node.attr])])
        elif node.attr == _INFINITE:
            self._add(node, "constant", [ast.UnaryOp(op=ast.USub(), operand=node)])
        self.visit(node.value)

    def _add(self, node: ast.expr | ast.stmt, kind: str, changed: Iterable[ast.AST]) -> None:
        mutants = tuple(self._mutant(node, kind, other) for other in changed)
        if mutants:
            self.found.append(Site(self._name, mutants[0].start, mutants))

    def _mutant(self, node: ast.expr | ast.stmt, kind: str, changed: ast.AST) -> Mutant:
        text = ast.unparse(changed)
        mutant = Mutant(
            file=self._name,
            line=node.lineno,
            function=".".join(self._scope) or "module",
            kind=kind,
            before="",
            after="",
            start=self._offset(node.lineno, node.col_offset),
            end=self._offset(node.end_lineno or node.lineno, node.end_col_offset or 0),
            text=text if isinstance(node, ast.stmt) or _is_atom(changed) else f"({text})",
        )
        before, after = self._lines(mutant)
        return dataclasses.replace(mutant, before=before, after=after)

    def _lines(self, mutant: Mutant) -> tuple[str, str]:
        """The whole lines that the change touches, before and after it, in one line each."""
        first = self._source.rfind(b"\n", 0, mutant.start) + 1
        last = self._source.find(b"\n", mutant.end)
        last = len(self._source) if last < 0 else last
        tail = len(self._source) - last
        changed = mutant.applied(self._source)
        lines = self._source[first:last], changed[first : len(changed) - tail]
        before, after = (" ".join(line.decode().split()) for line in lines)
        return before, after

    def _offset(self, line: int, column: int) -> int:
        """From a line and a column, which Python counts in bytes of UTF-8."""
        return self._starts[line - 1] + column


def _with_operators(node: ast.BinOp | ast.AugAssign) -> Iterator[ast.AST]:
    for operator in _ARITHMETIC.get(type(node.op), ()):
        other = copy.copy(node)
        other.op = operator()
        yield other


def _with_comparisons(node: ast.Compare, place: int, operator: ast.cmpop) -> Iterator[ast.AST]:
    opposite = _OPPOSITE.get(type(operator))
    others = [kind for kind in _ORDER if kind is not type(operator)] if not opposite else [opposite]
    for kind in others:
        other = copy.copy(node)
        other.ops = [*node.ops[:place], kind(), *node.ops[place + 1 :]]
        yield other


def _other_numbers(value: float, *, whole: bool) -> list[float]:
    """x + 1, 2x, 0, −x, and a thousandth more where it need not be whole."""
    zero: float = 0 if isinstance(value, int) else 0.0
    candidates = [value + 1, value * 2, zero, -value]
    if not whole:
        candidates.append(value * (1 + 1e-3))
    return [number for number in dict.fromkeys(candidates) if number != value]


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    )


def _is_atom(node: ast.AST) -> bool:
    """Whether the text needs no parentheses wherever it stands."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, bool) or bool(node.value >= 0)  # type: ignore[operator]
    return isinstance(node, (ast.Name, ast.Call, ast.Subscript, ast.Attribute))


def _called(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
