"""A copy of the project in which one file at a time is mutated, and processes that run in it."""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tools.mutation.forks import ForkServer
from tools.mutation.probe import FIRST, SECTIONS
from tools.mutation.sites import Mutant

_LEFT_OUT = {"build", "dist"}
LIBRARIES = (
    "cryptography.hazmat.primitives.ciphers",
    "flint",
    "joblib",
    "numba",
    "numpy",
    "pandas",
    "pyarrow",
    "pydantic",
    "pytest",
    "safetensors.numpy",
    "scipy.integrate",
    "scipy.optimize",
    "scipy.signal",
    "scipy.special",
    "scipy.stats",
    "sklearn.linear_model",
    "sqlalchemy",
    "autodp.rdp_acct",
    "dp_accounting",
    "mpmath",
    "opacus.accountants",
    "opendp.prelude",
)
"""What the package and its tests import of others, and takes long. Not hypothesis: pytest rewrites
its assertions when it is imported."""
_COMPILED = ("@compiled", "njit")


@dataclass(frozen=True, kw_only=True)
class Project:
    """What is mutated: the folders of a package, and the tests that mirror them."""

    root: Path
    package: str = "reticent"
    folders: tuple[str, ...] = ("bounds", "protect", "mechanisms", "accounting", "ledger")
    probe: tuple[str, ...] = ("-m", "tools.mutation.probe")
    calls: tuple[str, ...] = ("-m", "tools.mutation.calls")
    """The same figures with the functions that they call; empty where there is no such command."""
    preloaded: tuple[str, ...] = LIBRARIES
    """Imported once for all processes."""
    sections: tuple[str, ...] = SECTIONS
    first: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: FIRST)

    @property
    def source(self) -> Path:
        """The folder of the package."""
        return self.root / "src" / self.package

    def files(self, folders: Sequence[str] | None = None) -> list[tuple[str, Path]]:
        """The files that may be mutated, by their names within the package."""
        chosen = self.folders if folders is None else folders
        paths = [path for folder in chosen for path in sorted((self.source / folder).rglob("*.py"))]
        return [(path.relative_to(self.source).as_posix(), path) for path in paths]

    def digest(self) -> str:
        """Of the package and of the figures that are asked of it: with others, all begins anew."""
        digest = hashlib.sha256()
        for folder in (self.source, self.root / "tools" / "mutation" / "probes"):
            for path in sorted(folder.rglob("*.py")):
                digest.update(path.relative_to(self.root).as_posix().encode() + path.read_bytes())
        return digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class Finished:
    """How a process ended. ``code`` is None where it did not end within its time."""

    code: int | None
    seconds: float
    cpu: float
    output: str


class Workspace:
    """One copy, for one mutant at a time."""

    def __init__(self, project: Project, folder: Path) -> None:
        """Copy what the tests need; times stay, so that compiled caches stay valid."""
        self.project = project
        self.folder = folder
        self._cache = folder / ".numba"
        self._second = 0
        self._server: ForkServer | None = None
        folder.mkdir(parents=True, exist_ok=True)
        for entry in sorted(project.root.iterdir()):
            if entry.name.startswith(".") or entry.name in _LEFT_OUT:
                continue
            _copied(entry, folder / entry.name)
        self._inlined = _inlined(folder / "src" / project.package, project.package)

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """The copy with one change, and as it was afterwards.

        The changed file gets a second of its own: Python and numba know their caches by it.
        """
        path = self._path(mutant.file)
        source, times = path.read_bytes(), path.stat()
        path.write_bytes(mutant.applied(source))
        self._second = max(self._second + 1, int(time.time()))
        os.utime(path, (self._second, self._second))
        try:
            yield
        finally:
            path.write_bytes(source)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    @contextmanager
    def cache(self, mutant: Mutant | None) -> Iterator[Path]:
        """Where machine code is kept: an empty folder where the change is compiled into it.

        Numba looks at the file of a function, not at those of the functions that it calls.
        """
        if mutant is None or not self.compiled_in(mutant):
            self._cache.mkdir(exist_ok=True)
            yield self._cache
            return
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=".numba-") as empty:
            yield Path(empty)

    def compiled_in(self, mutant: Mutant) -> bool:
        """Whether the changed file may be part of machine code."""
        return mutant.file in self._inlined

    def run(self, command: Sequence[str], *, cache: Path, cpu: float) -> Finished:
        """A Python process in the copy, ended with all its children after ``cpu`` core seconds."""
        environment = os.environ | {
            "CI": "true",  # the same examples in every run
            "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": str(self.folder / "src"),
        }
        with tempfile.NamedTemporaryFile() as output:
            start = time.monotonic()
            if self._server is None:
                self._server = ForkServer(self.project.preloaded, self.folder, environment)
            code, spent = self._server.run(
                command, cache=cache, cpu=cpu, output=output.name, deadline=start + 1200 + 4 * cpu
            )
            text = output.read().decode(errors="replace")
        return Finished(code=code, seconds=time.monotonic() - start, cpu=spent, output=text)

    def _path(self, name: str) -> Path:
        return self.folder / "src" / self.project.package / name


def _copied(source: Path, target: Path) -> None:
    if source.is_dir():
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.rmtree(target, ignore_errors=True)  # of an earlier run
        shutil.copytree(source, target, ignore=ignored)
    else:
        shutil.copy2(source, target)


def _inlined(source: Path, package: str) -> set[str]:
    """The files whose functions and constants may be part of compiled code."""
    files = {path.relative_to(source).as_posix(): path for path in source.rglob("*.py")}
    texts = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    found: set[str] = set()
    waiting = [name for name, text in texts.items() if any(mark in text for mark in _COMPILED)]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [other for other in _imported(texts[name], package) if other in files]
    return found


def _imported(text: str, package: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for module in modules:
                if module.startswith(f"{package}."):
                    yield module.removeprefix(f"{package}.").replace(".", "/") + ".py"
