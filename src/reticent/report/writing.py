"""The page and its figures and tables, as files: all of them, or none."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reticent.files import write_atomic
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.results import Results

NEEDED: Final = ("matplotlib", "jinja2")


def page(results: Results, public: bool = False) -> str:
    """The whole page as HTML: one text that loads and runs nothing.

    Args:
        results: The document of a run.
        public: Leave out what no guarantee covers: accuracies, attacks, audits, exposure, counts.
    """
    drawings, rendered = _pages()
    return str(rendered(results, drawings(results, public=public), public=public))


def write_report(results: Results, folder: Path, *, public: bool = False) -> list[Path]:
    """Write ``report.html``, ``figures`` and ``tables``, and say which files there are.

    A public report is ``report-public.html`` with folders of its own, so that a copy of them holds
    nothing internal; internal files can be read by their owner alone.

    Args:
        results: The document of a run.
        folder: Made where it is missing; files of an earlier report in it are replaced.
        public: Leave out what no guarantee covers.
    """
    contents = _contents(results, public=public)
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(prefix=".report-", dir=folder))
    except OSError as error:
        raise _refused(folder, error) from None
    try:
        for name, content in contents.items():
            (staged / name).parent.mkdir(exist_ok=True)
            write_atomic(staged / name, content, private=not public)
        # From here on no more space is needed: a full disk has left the folder as it was.
        return _moved(staged, folder, list(contents))
    except OSError as error:
        raise _refused(folder, error) from None
    except InputError as error:
        raise InputError(str(error).replace(str(staged), str(folder))) from None
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _refused(folder: Path, error: OSError) -> InputError:
    return InputError(f"{folder} must be a folder to write to, got: {error.strerror}")


def _pages() -> Any:
    """Whatever draws; one line says what is not installed."""
    try:
        from reticent.report import figures, rendering
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        raise InputError(
            f"{error.name} must be installed for the report: pip install 'reticent[report]'"
        ) from None
    return figures.drawings, rendering.rendered


def _contents(results: Results, *, public: bool) -> dict[str, bytes]:
    """Every file by its name; all is made before anything is written."""
    drawings, rendered = _pages()
    from reticent.report.tables import tables

    figures = drawings(results, public=public)
    suffix = "-public" if public else ""
    files = {f"figures{suffix}/{name}.svg": one.svg.encode() for name, one in figures.items()}
    files |= {f"figures{suffix}/{name}.png": one.png for name, one in figures.items()}
    made = tables(results, public=public)
    # Spreadsheets take UTF-8 for what it is where the file begins with a mark.
    files |= {f"tables{suffix}/{name}.csv": one.csv().encode("utf-8-sig")
              for name, one in made.items()}  # fmt: skip
    files[f"report{suffix}.html"] = rendered(results, figures, public=public).encode()
    return files


def _moved(staged: Path, folder: Path, names: Iterable[str]) -> list[Path]:
    """Each file to its place, the page last; what an earlier report had more is taken away."""
    places = {folder / name: staged / name for name in names}
    for place, source in places.items():
        place.parent.mkdir(exist_ok=True)
        source.replace(place)
    for left in _left_over(folder, set(places)):
        left.unlink(missing_ok=True)
    return list(places)


def _left_over(folder: Path, places: set[Path]) -> list[Path]:
    """Figures and tables of an earlier report that this one does not have."""
    parents = {place.parent for place in places if place.parent != folder}
    endings = {place.suffix for place in places} - {".html"}
    known = _known_names()
    return [
        path
        for parent in parents
        for path in parent.iterdir()
        if path not in places and path.suffix in endings and path.stem in known
    ]


def _known_names() -> set[str]:
    from reticent.report.figures import INTERNAL, PUBLIC
    from reticent.report.tables import NAMES

    return {*INTERNAL, *PUBLIC, *NAMES}
