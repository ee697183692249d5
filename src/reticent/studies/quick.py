"""One item of every paper at a small size, on data that come with packages: minutes, no folder.

What comes out says that the way from data to verdict runs. Sizes are far below the papers', so a
verdict here is about these sizes alone, each row says ``quick``, and nothing is kept.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from reticent.studies.index import PAPERS, entries
from reticent.studies.index.entry import (
    Counted,
    Document,
    Entry,
    Held,
    Ours,
    Row,
    figure_at,
    read_from,
    row_of,
)
from reticent.studies.trained import Outcome, Run

QUICK: Final = "quick"
_ON: Final = "--on digits --quick"


def _alm(run: Run) -> Outcome:
    from reticent.studies import alm_attack

    spec = replace(alm_attack.SPECS["digits"], members=300, around=8, seeds=2)
    return alm_attack.study(spec, run)


def _lu(run: Run) -> Outcome:
    from reticent.studies.lu import findings

    spec = findings.SPECS["digits"]
    small = replace(spec.data[0], members=200, shadows=2, passes=20)
    grid = (0.1, 1.0, 10.0, 100.0)
    return findings.study(replace(spec, data=(small,), seeds=2, removed=2, epsilons=grid), run)


def _slides(run: Run) -> Outcome:
    from reticent.studies import slides_table

    spec = slides_table.SPECS["digits"]
    victim = replace(spec.victim, passes=30)
    return slides_table.study(
        replace(spec, members=200, shadows=4, around=8, seeds=2, victim=victim), run
    )


def _dpcl(run: Run) -> Outcome:
    from reticent.studies import dpcl_figures

    spec = dpcl_figures.SPECS["digits"]
    training = replace(spec.training, steps=30, marks=(0, 30))
    return dpcl_figures.study(replace(spec, training=training, losses=("SimCLR",)), run)


@read_from(QUICK)
def _falls(document: Document) -> Ours:
    rows = document["tables"][3]["rows"]
    falling = [row for row in rows if row[0].startswith("2: the loss falls")]
    return Counted(sum(row[2] == "holds" for row in falling), len(falling))


@read_from(QUICK)
def _above_guessing(document: Document) -> Ours:
    ours = next(row[2] for row in document["tables"][0]["rows"] if row[0] == "attack precision")
    return Held(ours != "–" and float(ours) > 0.5, f"precision {ours}")


@read_from(QUICK)
def _above_naive(document: Document) -> Ours:
    (row,) = (
        one
        for one in document["tables"][1]["rows"]
        if one[2:4] == ["published ends above naive", "kNN"]
    )
    return Held(row[-1] == "holds", row[-2])


ITEMS: Final[Mapping[str, tuple[Callable[[Run], Outcome], Entry]]] = {
    "alm": (
        _alm,
        Entry(
            item="quick: accuracy of the attack on a tuned head, digits",
            source="Section 6.2, CIFAR-10",
            published="0.62",
            ours=figure_at(QUICK, 0, "accuracy", attack="ALM's shadow network"),
            command=f"alm attack {_ON}",
            tolerance=0.1,
        ),
    ),
    "lu": (
        _lu,
        Entry(
            item="quick: accuracy loss falls in ε, both noises, digits",
            source="Finding 2",
            published="falls",
            ours=_falls,
            command=f"lu findings {_ON}",
        ),
    ),
    "slides": (
        _slides,
        Entry(
            item="quick: shadow attack finds members, digits",
            source="How well can MIA perform?",
            published="precision above .5",
            ours=_above_guessing,
            command=f"slides table {_ON}",
        ),
    ),
    "dpcl": (
        _dpcl,
        Entry(
            item="quick: noisy similarities end above naive noise in kNN, digits",
            source="Figure 2",
            published="above",
            ours=_above_naive,
            command=f"dpcl figures {_ON}",
        ),
    ),
}


def quick_row(paper: str, run: Run) -> Row:
    """The small item of one paper, run now, with its verdict."""
    compute, entry = ITEMS[paper]
    document = {"tables": [table.to_dict() for table in compute(run).tables]}
    row = row_of(paper, entry, {QUICK: document}.get)
    return row._replace(file="–")  # nothing is kept


def exact_row(paper: str) -> Row:
    """How many exact items of a paper are reproduced, or known to be false claims, now."""
    own = [entry for entry in entries(paper) if entry.kind == "exact"]
    made = [row_of(paper, entry, lambda _: None) for entry in own]
    settled = sum(row.verdict in ("reproduced", "claim is false") for row in made)
    entry = Entry(
        item="quick: exact items that are reproduced, or false as stated",
        kind="exact",
        source="all of them",
        published=str(len(own)),
        ours=lambda _: Counted(settled, len(own)),
        command=f"{paper} --quick",
    )
    return row_of(paper, entry, lambda _: None)


def quick_rows(papers: tuple[str, ...], run: Run) -> list[Row]:
    """Both rows of each paper."""
    run.steps.plan(2 * len(papers))
    found = []
    for place, paper in enumerate(papers):
        found.append(exact_row(paper))
        run.steps.reach(2 * place + 1)
        found.append(quick_row(paper, Run(jobs=run.jobs)))
        run.steps.reach(2 * place + 2)
    return found


def quick_papers() -> tuple[str, ...]:
    """Those that have a small item."""
    return tuple(paper for paper in PAPERS if paper in ITEMS)
