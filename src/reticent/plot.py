"""The report's figures for your own results, as Matplotlib figures.

``figures`` draws all that a page of ``run`` shows; ``roc`` draws attacks from the scores of your
own; ``ceiling`` draws what a guarantee leaves to any attack; ``study`` draws DPCL's figures from
what ``reticent reproduce dpcl figures --out`` wrote, and ``training`` the log of your own
pre-training. Nothing is drawn on import, and ``pyplot`` is left alone: save a figure with
``savefig``, or let a notebook show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from reticent.validation import InputError, describe

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from reticent.guarantee import Guarantee
    from reticent.results import Results

__all__ = ["Page", "ceiling", "figure", "figures", "page", "roc", "study", "training"]


class _Run(Protocol):
    """What a run returned."""

    @property
    def results(self) -> Results:
        """The document that the run has written."""


def figures(results: Results | _Run | str | PathLike[str]) -> dict[str, Figure]:
    """Every figure that there is something to draw for, by name, in the order of the page.

    Args:
        results: A document, what ``reticent.run.run`` returned, or ``results.json`` or its folder.
    """
    need_matplotlib()
    from reticent.report.figures import drawings

    return {name: one.figure for name, one in drawings(_document(results)).items()}


def figure(results: Results | _Run | str | PathLike[str], name: str) -> Figure:
    """One of them: epsilon-loss, epsilon-attack, attack-loss, roc, audits, exposure, …."""
    made = figures(results)
    if name not in made:
        raise InputError(f"name must be one of {', '.join(made)} for these results, got {name!r}")
    return made[name]


def roc(
    attacks: Mapping[str, tuple[ArrayLike, ArrayLike]], *, guarantee: Guarantee | None = None
) -> Figure:
    """ROC curves of membership inference on logarithmic axes, under the ceiling of a guarantee.

    Args:
        attacks: By name, the scores of members and of others; higher says member.
        guarantee: With it the part that no attack reaches if it holds is shaded.
    """
    need_matplotlib()
    from reticent.report.figures.roc import draw_scores
    from reticent.results.conversions import claim_of

    if not attacks:
        raise InputError("attacks must hold the scores of at least one, got none")
    return draw_scores(attacks, None if guarantee is None else claim_of(guarantee)).figure


def ceiling(guarantee: Guarantee) -> Figure:
    """The largest share of members that any attack finds at each share of false alarms."""
    need_matplotlib()
    from reticent.report.drawing import styled
    from reticent.report.figures.roc import draw_claim_ceiling
    from reticent.results.conversions import claim_of

    with styled():
        return draw_claim_ceiling(claim_of(guarantee)).figure


def study(results: Mapping[str, Any] | str | PathLike[str]) -> dict[str, Figure]:
    """DPCL's Figs. 1–5, by the names of their files: loss, accuracy and norms along the steps.

    Args:
        results: What ``reticent reproduce dpcl figures --out`` wrote, as a path or as read.
    """
    need_matplotlib()
    from reticent import strict_json
    from reticent.report.figures.along_steps import study_drawings

    read = results if isinstance(results, Mapping) else strict_json.read(Path(fspath(results)))
    return {name: one.figure for name, one in study_drawings(read).items()}


def training(log: str | PathLike[str]) -> Figure:
    """A panel for each thing that the log of a pre-training tells, along its steps or epochs.

    Args:
        log: ``OUT.log.jsonl``, as ``reticent pretrain`` wrote it.
    """
    need_matplotlib()
    from reticent import read_limit, strict_json
    from reticent.report.figures.training_log import draw_training_log

    path = Path(fspath(log))
    content = read_limit.bounded_bytes(path, most=strict_json.MOST_BYTES, role="log")
    lines = [
        strict_json.parsed_object(line, source=f"line {number} of {path}")
        for number, line in enumerate(content.splitlines(), start=1)
    ]
    return draw_training_log(lines, source=str(path)).figure


@dataclass(frozen=True)
class Page:
    """The page of a run as a notebook shows it: in a frame of its own that runs nothing."""

    html: str
    height: int = 720

    def _repr_html_(self) -> str:
        return (
            f'<iframe sandbox title="reticent report" width="100%" height="{self.height}"'
            f' style="border:0" srcdoc="{escape(self.html, quote=True)}"></iframe>'
        )


def page(results: Results | _Run | str | PathLike[str], *, height: int = 720) -> Page:
    """The whole internal page of a run, for a notebook: as private as the records."""
    from reticent.report import page as whole

    return Page(whole(_document(results)), height)


def _document(results: Any) -> Results:
    from reticent.results import Results, read_results

    if isinstance(results, (str, PathLike)):
        path = Path(fspath(results))
        return read_results(path / "results.json" if path.is_dir() else path)
    run_results = getattr(results, "results", results)
    if not isinstance(run_results, Results):
        raise InputError(f"results must be those of a run, got {describe(type(results))}")
    return run_results


def need_matplotlib() -> None:
    """Refuse, in one line, to draw without Matplotlib."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise InputError(
            "matplotlib must be installed for figures: pip install 'reticent[report]'"
        ) from None
    del matplotlib
