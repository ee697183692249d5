"""Counts what the code base is measured by: ``python tools/count_code.py [FOLDER]``.

Lines of code (no docstrings, comments or blank lines), the share of import lines among them, files
below 50 lines, public docstrings of at most four words, and where code asks which kind of release
it has instead of what the release says of itself: ``isinstance`` of a class ``Released…`` or of a
recipe's, and comparisons of a recipe's name, or of a learner with a constant. Recipes may know each
other, and studies are about some of them, so neither is counted.
"""

from __future__ import annotations

import ast
import io
import json
import sys
import tokenize
from pathlib import Path

_SKIPPED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
_KNOW_RECIPES = ("protect/recipes/", "studies/")


def docstring_lines(tree: ast.Module) -> set[int]:
    """The lines of all docstrings, those of attributes included."""
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and _is_text(node.value)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }


def _is_text(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def code_lines(text: str) -> set[int]:
    """The lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _SKIPPED:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines - docstring_lines(ast.parse(text))


def import_lines(text: str) -> set[int]:
    """The lines of import statements."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            lines.update(range(node.lineno, (node.end_lineno or 0) + 1))
    return lines


def short_docstrings(text: str) -> int:
    """Docstrings of public classes and functions that have at most four words."""
    found = 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
            said = ast.get_docstring(node)
            found += said is not None and len(said.split()) <= 4
    return found


def kinds_of_release(trees: list[ast.Module]) -> set[str]:
    """The names of ``Recipe``'s subclasses, and of classes that are called ``Released…``."""
    classes = {
        node.name: {_last_name(base) for base in node.bases}
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    kinds = {"Recipe"}
    while more := {name for name, bases in classes.items() if bases & kinds} - kinds:
        kinds |= more
    return (kinds - {"Recipe"}) | {name for name in classes if name.startswith("Released")}


def kind_checks(tree: ast.Module, kinds: set[str]) -> list[int]:
    """The lines that ask which kind of release something is."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if (isinstance(node, ast.Call) and _asks_class(node, kinds))
        or (isinstance(node, ast.Compare) and _compares_recipes(_sides(node)))
    ]


def _asks_class(call: ast.Call, kinds: set[str]) -> bool:
    if _last_name(call.func) not in ("isinstance", "issubclass") or len(call.args) != 2:
        return False
    return any(_last_name(part) in kinds for part in ast.walk(call.args[1]))


def _sides(compare: ast.Compare) -> list[ast.expr]:
    return [compare.left, *compare.comparators]


def _compares_recipes(sides: list[ast.expr]) -> bool:
    learner = any(_last_name(side) == "learner" for side in sides)
    return any(map(_is_recipe_name, sides)) or (learner and any(map(_is_constant, sides)))


def _is_constant(side: ast.expr) -> bool:
    """A text, or a name in capitals; of a tuple, one of its parts."""
    if isinstance(side, ast.Tuple):
        return any(map(_is_constant, side.elts))
    return _is_text(side) or (isinstance(side, ast.Name) and side.id.isupper())


def _is_recipe_name(side: ast.expr) -> bool:
    """``recipe.name``, ``released.recipe.name`` and their like."""
    return (
        isinstance(side, ast.Attribute)
        and side.attr == "name"
        and _last_name(side.value) in ("recipe", "head_recipe")
    )


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def asked_kinds(folder: Path) -> list[str]:
    """FILE:LINE of each place that asks for a kind of release, outside recipes and studies."""
    trees = {
        path.relative_to(folder).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.py"))
    }
    kinds = kinds_of_release(list(trees.values()))
    return [
        f"{name}:{line}"
        for name, tree in trees.items()
        if not name.startswith(_KNOW_RECIPES)
        for line in kind_checks(tree, kinds)
    ]


def counted(folder: Path) -> dict[str, float | list[str]]:
    """All figures of the Python files in a folder."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))]
    code = sum(len(code_lines(text)) for text in texts)
    imports = sum(len(import_lines(text)) for text in texts)
    return {
        "files": len(texts),
        "files below 50 lines": sum(text.count("\n") < 50 for text in texts),
        "lines of code": code,
        "import lines": imports,
        "imports / code": round(imports / code, 4),
        "asks which kind of release": asked_kinds(folder),
        "docstrings of at most four words": sum(short_docstrings(text) for text in texts),
    }


if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent / "src" / "reticent"
    print(json.dumps(counted(Path(sys.argv[1]) if sys.argv[1:] else root), indent=1))
