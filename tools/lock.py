"""Writes ``requirements/*.txt``: what ``make`` installs, with the hashes of all its files.

``python -m tools.lock`` needs ``uv`` on the path and the network. Versions are those of
``constraints.txt``; hashes are of all files of a version, so that each system and Python finds its
own. No address stands in the files: an index is a matter of whoever installs. PyTorch stands apart:
``make`` takes the CPU build of ``torch-cpu.txt``, which is not on the public index, where pip finds
it, and otherwise ``torch.txt`` with the libraries in ``cuda.txt``. torchvision stands with the
latter: the published build runs beside the published torch alone, and breaks transformers beside
another. timm asks for it, and its networks do without (``training/fine_tuning/timm_library``).
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = ROOT / "requirements"
EXTRAS: Final = {
    "demo": ("demo", "torch"),
    "test": ("demo", "tables", "encoders", "test"),
    "bench": ("bench", "tables", "service"),
    "site": ("site",),
    "coverage": ("coverage",),
}
"""Each file, and the extras of the project whose dependencies it holds."""
BUILD: Final = "setuptools>=77"
"""Of ``build-system`` in pyproject.toml: the project itself is built without another download."""
CPU_BUILDS: Final = ("6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",)
"""PyTorch 2.13.0 for CPUs: Linux on x86-64, Python 3.11."""
CUDA: Final = re.compile(r"(?:nvidia|cuda)-[\w-]+|triton|torchvision")
HEAD: Final = "# Written by tools/lock.py: edit pyproject.toml or constraints.txt instead.\n"


def entries(locked: str) -> dict[str, str]:
    """The lines of each package: its version, where it is needed, and its hashes."""
    parts = re.split(r"^(?=[A-Za-z0-9])", locked, flags=re.MULTILINE)
    return {re.split(r"[=\[]", part)[0]: part for part in parts if part.strip()}


def compiled(extras: tuple[str, ...]) -> dict[str, str]:
    """All packages of these extras on every system, from Python 3.11.5 on."""
    asked = [part for extra in extras for part in ("--extra", extra)]
    with tempfile.NamedTemporaryFile("w", suffix=".in", encoding="utf-8") as build:
        build.write(BUILD)
        build.flush()
        options = ["--quiet", "--universal", "--generate-hashes", "--no-header", "--no-annotate"]
        done = subprocess.run(
            ["uv", "pip", "compile", *options, "--python-version", "3.11.5", *asked,
             "--constraint", "constraints.txt", "pyproject.toml", build.name],
            cwd=ROOT, check=True, capture_output=True, text=True,
        )  # fmt: skip
    return entries(done.stdout)


def main() -> int:
    """Write all files."""
    apart: dict[str, dict[str, str]] = {"torch": {}, "torch-cpu": {}, "cuda": {}}
    FOLDER.mkdir(exist_ok=True)
    for name, extras in EXTRAS.items():
        found = compiled(extras)
        if "torch" in found:
            apart["torch"]["torch"] = found.pop("torch")
            apart["torch-cpu"]["torch"] = _cpu(apart["torch"]["torch"])
        apart["cuda"] |= {key: found.pop(key) for key in list(found) if CUDA.fullmatch(key)}
        _write(name, found)
    for name, found in apart.items():
        _write(name, found)
    return 0


def _cpu(entry: str) -> str:
    """The CPU build of that version which we test with."""
    more = "".join(f" \\\n    --hash=sha256:{digest}" for digest in CPU_BUILDS)
    return f"{entry.split(maxsplit=1)[0]}+cpu{more}\n"


def _write(name: str, found: dict[str, str]) -> None:
    text = HEAD + "".join(found[key] for key in sorted(found))
    (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8")
    print(f"requirements/{name}.txt: {len(found)} packages")


if __name__ == "__main__":
    sys.exit(main())
