"""Packages whose names load with their first use: one list, under ``if TYPE_CHECKING``.

Type checkers and readers see plain imports; at run time a name is imported from there when it is
first asked for, so that ``import reticent.attacks`` loads neither torch nor scikit-learn.
"""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_exports(package: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose imports stand under ``if TYPE_CHECKING``."""
    homes = _homes(Path(str(sys.modules[package].__file__)))

    def getattr_(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return getattr_


def _homes(path: Path) -> dict[str, str]:
    """The module of each name that is imported for type checkers alone."""
    blocks = [
        node.body
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    return {
        alias.name: str(statement.module)
        for block in blocks
        for statement in block
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
