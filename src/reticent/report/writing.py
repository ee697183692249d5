"""The page and its figures and tables, as files: all of them, or none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from reticent.files import partial_folder, write_atomic
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect import Release
    from reticent.report import drawing, table
    from reticent.report.evidence import Evidence
    from reticent.results import Results, task_results

NEEDED: Final = ("matplotlib", "jinja2")


def page(
    results: Results, public: bool = False, *, released: Release | str | Path | None = None
) -> str:
    """The whole page as HTML: one text that loads and runs nothing.

    Args:
        results: The document of a run.
        public: Leave out what no guarantee covers: accuracies, attacks, audits, exposure, counts.
        released: For a public page, whose figures are those of the release itself, verified now:
            its files, or the release of a run that has just ended, which alone can be proven.
    """
    return _drawn(results, public=public, released=released).page


def write_report(
    results: Results,
    folder: Path,
    *,
    public: bool = False,
    released: Release | str | Path | None = None,
) -> list[Path]:
    """Write ``report.html``, ``figures`` and ``tables``, and say which files there are.

    A public report is ``report-public.html`` with folders of its own, so that a copy of them holds
    nothing internal; internal files can be read by their owner alone.

    Args:
        results: The document of a run.
        folder: Made where it is missing; files of an earlier report in it are replaced.
        public: Leave out what no guarantee covers.
        released: As for ``page``.
    """
    contents = contents_of(_drawn(results, public=public, released=released), public=public)
    return write_contents(contents, folder, public=public)


def write_contents(contents: Mapping[str, bytes], folder: Path, *, public: bool) -> list[Path]:
    """Files by their names within a folder, all or none; the last one is the page."""
    folder = Path(folder)
    staged = folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with partial_folder(".report-", within=folder) as staged:
            for name, content in contents.items():
                (staged / name).parent.mkdir(exist_ok=True)
                write_atomic(staged / name, content, private=not public)
            # From here on no more space is needed: a full disk has left the folder as it was.
            return _moved(staged, folder, list(contents))
    except OSError as error:
        raise _refused(folder, error) from None
    except InputError as error:
        raise InputError(str(error).replace(str(staged), str(folder))) from None


def _refused(folder: Path, error: OSError) -> InputError:
    return InputError(f"{folder} must be a folder to write to, got: {error.strerror}")


def drawing_modules() -> Any:
    """Whatever draws; one line says what is not installed."""
    try:
        from reticent.report import figures, rendering
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        raise InputError(
            f"{error.name} must be installed for the report: pip install 'reticent[report]'"
        ) from None
    return figures.drawings, rendering


class Drawn(NamedTuple):
    """The page with its parts."""

    page: str
    figures: dict[str, drawing.Drawing]
    tables: dict[str, table.Table]


def _drawn(results: Results, *, public: bool, released: Release | str | Path | None) -> Drawn:
    """All is made before anything is written."""
    drawings, rendering = drawing_modules()
    from reticent.report.evidence import of_results
    from reticent.report.tables import tables

    if not public:
        figures, made = drawings(results), tables(results)
        return Drawn(rendering.rendered(results, figures), figures, made)
    return public_drawn(of_results(results, released), results)


def public_drawn(evidence: Evidence, results: Results | task_results.TaskResults) -> Drawn:
    """The public page of a run, of what may be published of this evidence."""
    drawings, rendering = drawing_modules()
    from reticent.report.publication import publishable
    from reticent.report.tables import public_tables

    shown = publishable(evidence)
    figures, made = drawings(_certified(results, shown), public=True), public_tables(shown)
    return Drawn(rendering.rendered_public(shown, figures), figures, made)


def _certified(results: Results | task_results.TaskResults, evidence: Evidence) -> Any:
    """The document with the claim of the certificate: public figures are drawn from that alone."""
    row = results.recommended.model_copy(update={"claim": evidence.claim})
    return results.model_copy(update={"releases": (row,)})


def contents_of(drawn: Drawn, *, public: bool) -> dict[str, bytes]:
    """Every file by its name."""
    suffix, figures = "-public" if public else "", drawn.figures.items()
    files = {f"figures{suffix}/{name}.svg": one.svg.encode() for name, one in figures}
    files |= {f"figures{suffix}/{name}.png": one.png for name, one in figures}
    # Spreadsheets take UTF-8 for what it is where the file begins with a mark.
    files |= {f"tables{suffix}/{name}.csv": one.csv().encode("utf-8-sig")
              for name, one in drawn.tables.items()}  # fmt: skip
    files[f"report{suffix}.html"] = drawn.page.encode()
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

    return {*INTERNAL, *PUBLIC, *NAMES, "epsilon-measure", "measures"}
