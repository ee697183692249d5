"""Counts what the code base is measured by: ``python tools/count_code.py [FOLDER]``.

Lines of code (no docstrings, comments or blank lines), the share of import lines among them, files
below 50 lines, checks for released kinds, public docstrings of at most four words.
"""

from __future__ import annotations

import ast
import io
import json
import re
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
_RELEASED_KINDS = re.compile(r"isinstance\([^)]*\bReleased[A-Z]\w*")


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


def counted(folder: Path) -> dict[str, float]:
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
        "isinstance of released kinds": sum(len(_RELEASED_KINDS.findall(text)) for text in texts),
        "docstrings of at most four words": sum(short_docstrings(text) for text in texts),
    }


if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent / "src" / "reticent"
    print(json.dumps(counted(Path(sys.argv[1]) if sys.argv[1:] else root), indent=1))
