"""The page and the card of a run that predicts a number, or several labels at once."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from reticent.report.markdown import bullets, escaped, table
from reticent.report.numbers import decimal_range, delta_of, epsilon_of, figure_text, share_range
from reticent.report.table import INTERVAL, Column, Table, places
from reticent.results.task_results import Measure, TaskRelease, TaskResults
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.report.evidence import Evidence
    from reticent.report.writing import Drawn

WORDS: Final = {"regression": "a number", "multilabel": "several labels"}
"""What is predicted, for people."""
FIGURE: Final = "epsilon-measure"


def task_page(results: TaskResults) -> str:
    """The whole page as HTML: one text that loads and runs nothing."""
    return _drawn(results).page


def write_task_report(
    results: TaskResults, folder: Path, *, released: Path | None = None
) -> list[Path]:
    """Write the page, its figures and tables, and say which files there are.

    With the release the page is public, ``report-public.html``: what its certificate says, and
    measures on public test records.
    """
    from reticent.report.writing import contents_of, public_drawn, write_contents

    public = released is not None
    if released is None:
        drawn = _drawn(results)
    else:
        refuse_unpublishable_task(results)
        drawn = public_drawn(task_evidence(results, released), results)
    return write_contents(contents_of(drawn, public=public), folder, public=public)


def _drawn(results: TaskResults) -> "Drawn":
    from reticent.report.writing import Drawn, drawing_modules

    _, rendering = drawing_modules()
    from reticent.report.figures.measures import draw_epsilon_measure

    figures = {FIGURE: draw_epsilon_measure(results)}
    made = task_tables(results)
    page = rendering.page_from(
        "task.html.j2",
        results.recommended.claim,
        figures,
        results=results,
        release=results.recommended,
        tables=made,
        what=WORDS[results.facts.task],
        decisive=_pairs(results)[0],
    )
    return Drawn(page, figures, made)


def _pairs(results: TaskResults) -> list[tuple[Measure, Measure]]:
    """Each measure without protection and of the release."""
    pairs = zip(results.unprotected.measures, results.recommended.measures, strict=True)
    return list(pairs)


def task_tables(results: TaskResults) -> dict[str, Table]:
    """All tables of the page with rows, by their names."""
    from reticent.report.tables import attacks, every_attack, noise, settings, versions

    release, run = results.recommended, cast(Any, results)  # by the names that both kinds have
    made = (
        measures(results), attacks(run), every_attack(run), releases(results),
        noise(release.mechanism, release.scales), versions(results.made.versions), settings(run),
    )  # fmt: skip
    return {one.name: one for one in made if one.rows}


def measures(results: TaskResults) -> Table:
    """Every measure before and after, and of the draw that is handed over."""
    kept = results.recommended.kept_measures or (None,) * len(results.recommended.measures)
    rows = [
        (one.words, "lower" if one.lower_is_better else "higher", one.figure, other.figure,
         None if own is None else own.figure)
        for (one, other), own in zip(_pairs(results), kept, strict=True)
    ]  # fmt: skip
    return Table(
        name="measures",
        caption=(
            f"On {results.facts.test:,} test records that nothing was trained on. Released: the"
            f" mean over {results.recommended.draws} draws of the noise; handed over: the draw that"
            " is in the file. Intervals of 95 %, over records and draws."
        ),
        columns=(
            Column(name="measure"),
            Column(name="better"),
            _figure("without protection"),
            _figure("released"),
            _figure("handed over"),
        ),
        rows=tuple(rows),
    )


def releases(results: TaskResults) -> Table:
    """Every release over the grid of ε."""
    chosen = results.conclusion.attack
    return Table(
        name="releases",
        caption="All releases; the one that is handed over is marked. Every ε carries its grade.",
        columns=(
            Column(name="release"),
            Column(name="claim", show=epsilon_of),
            Column(name="δ ≤", numeric=True),
            _figure(results.unprotected.measures[0].words),
            Column(name="worse by", show=share_range, numeric=True, parts=INTERVAL),
            Column(name=f"AUC of {chosen}", show=decimal_range, numeric=True, parts=INTERVAL),
            Column(name="audit"),
            Column(name="learner"),
            Column(name="mechanism"),
            Column(name="draws", numeric=True),
        ),
        rows=tuple(_release_row(one, chosen) for one in results.releases),
        marked=places(one.name == results.conclusion.recommended for one in results.releases),
    )


def _release_row(release: TaskRelease, chosen: str) -> tuple[Any, ...]:
    auc = next((one.auc for one in release.attacks if one.name == chosen), None)
    return (
        release.name,
        release.claim,
        delta_of(release.claim),
        release.measures[0].figure,
        release.change,
        auc,
        "not audited" if release.audit is None else release.audit.verdict,
        release.learner,
        release.mechanism,
        release.draws,
    )


def _figure(name: str) -> Column:
    return Column(name=name, show=figure_text, numeric=True, parts=INTERVAL)


def task_evidence(results: TaskResults, released: Path) -> "Evidence":
    """What a card is written from: the certificate, the attacks and the audit of the run."""
    from dataclasses import replace

    from reticent.report.evidence import Trial, of_certificate

    alone, release = of_certificate(released), results.recommended
    claimed = (release.claim.epsilon, release.claim.delta, dict(release.scales))
    if (alone.claim.epsilon, alone.claim.delta, dict(alone.scales)) != claimed:
        raise InputError(f"{released} must be the release of the run, got another")
    free = results.unprotected
    trials = (
        Trial(target=free.name, protected=False, attacks=free.attacks),
        Trial(target=release.name, protected=True, attacks=release.attacks),
    )
    measured = results.covered_measures
    return replace(alone, trials=trials, audit=release.audit, covered_measures=measured)


def task_utility(results: TaskResults) -> str:
    """What the release costs, as a part of a card: measures of its task, and no others."""
    facts = results.facts
    unit = f" {facts.unit}" if facts.unit else ""
    spread = "" if facts.low is None else f", from {facts.low:g} to {facts.high:g}{unit}"
    rows = [
        (escaped(one.words), figure_text(one.figure), figure_text(other.figure))
        for one, other in _pairs(results)
    ]
    change = results.recommended.change
    lines = (
        f"**Predicted:** {WORDS[facts.task]}: {', '.join(map(escaped, facts.labels))}{spread}.",
        f"**Change of {escaped(results.unprotected.measures[0].words)}:** {share_range(change)}"
        f" worse, over {results.recommended.draws} draws of the noise.",
    )
    columns = ["measure", "without protection", "released"]
    return f"{bullets(lines)}\n\n{table(columns, rows)}"


def refuse_unpublishable_task(results: TaskResults) -> None:
    """A run whose verdict is not to publish has no public card."""
    if results.conclusion.forbids or results.refuted(grades=("proven", "declared")):
        raise InputError(
            "a public text must be of a release that may be published, got the verdict: do not"
            " publish"
        )
