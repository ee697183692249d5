"""The command line as it is installed, called in this process: how the end-to-end audit runs it."""

import contextlib
import io
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

from reticent.audit.end_to_end.adversarial import LABEL, PERSON
from reticent.audit.end_to_end.replay import Covered, Published
from reticent.audit.end_to_end.settings import Settings
from reticent.files import partial_folder
from reticent.guarantee import Guarantee
from reticent.validation import InputError

_PROGRESS: Final = re.compile(r", after \d+ s$")


@cache
def _main() -> Callable[[list[str]], None]:
    """The command ``reticent`` that the package installs."""
    (script,) = entry_points(group="console_scripts", name="reticent")
    main: Callable[[list[str]], None] = script.load()
    return main


def command(arguments: list[str], *, out: io.StringIO | None = None) -> str:
    """What the command prints, on both streams; one that is refused (exit code 2) raises its line.

    ``out`` gets what it prints on the first, while it runs. Lines of progress, which a busy machine
    adds, are left out.
    """
    out, err = out or io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            _main()(arguments)
        except SystemExit as end:
            code = end.code
    if code == 2:
        raise InputError(err.getvalue().strip())
    if code not in (0, 1):  # 1: the whole job found that a claim is refuted
        raise RuntimeError(f"the command ended with {code}: {err.getvalue().strip()}")
    error_lines = [line for line in err.getvalue().splitlines() if not _PROGRESS.search(line)]
    return "\n".join((out.getvalue(), *error_lines))


def table_words(settings: Settings, path: Path, *, but: tuple[str, ...] = ()) -> list[str]:
    """The options about a private table and its budget that commands share, ``but`` for some."""
    options: dict[str, Any] = {
        "--private": path,
        "--label": LABEL,
        "--classes": ",".join(settings.shape.classes),
        "--epsilon": settings.epsilon,
        "--relation": settings.relation,
        "--records": settings.records,
    }
    if settings.shape.persons:
        options |= {"--person": PERSON, "--max-records-per-person": settings.max_records_per_person}
    if settings.shape.embedded:
        options |= {"--embedding": settings.shape.features[0]}
    return as_words({option: value for option, value in options.items() if option not in but})


def as_words(options: Mapping[str, object]) -> list[str]:
    """Options and their values as they are typed."""
    return [text for option, value in options.items() for text in (option, str(value))]


def protect_command(arguments: list[str]) -> Published:
    """The command ``protect`` with these arguments: what it writes and prints."""
    with partial_folder("reticent-") as folder:
        out = Path(folder) / "out"
        printed = command([*arguments, "--out", str(out)])
        return written(out, printed.replace(str(out), "OUT"))


def written(out: Path, printed: str) -> Published:
    """The claim of the certificate, and all bytes of both files and of the printed lines."""
    files = [out.with_suffix(".safetensors"), out.with_suffix(".json")]
    claim = Guarantee.from_dict(json.loads(files[1].read_text(encoding="utf-8"))["guarantee"])
    content = b"".join(file.read_bytes() for file in files) + printed.encode()
    return Published(claims=(Covered(claim),), outputs=content)


@contextlib.contextmanager
def folder_beside(table: Path) -> Iterator[Path]:
    """A folder for the files of earlier steps, under one path for both neighbours.

    Certificates and printed lines name such files.
    """
    folder = table.with_name("steps")
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
