"""One item of every paper at a small size, on data that come with packages: minutes, no folder.

What comes out says that the way from data to verdict runs. Sizes are far below the papers', so a
verdict here is about these sizes alone, each row says ``quick``, and nothing is kept.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from reticent.studies.index import PAPERS, entries, entry
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


@entry.read_from(QUICK)
def _falls(document: entry.Document) -> entry.Ours:
    rows = document["tables"][3]["rows"]
    falling = [row for row in rows if row[0].startswith("2: the loss falls")]
    return entry.Counted(sum(row[2] == "holds" for row in falling), len(falling))


@entry.read_from(QUICK)
def _above_guessing(document: entry.Document) -> entry.Ours:
    ours = next(row[2] for row in document["tables"][0]["rows"] if row[0] == "attack precision")
    return entry.Held(ours != "–" and float(ours) > 0.5, f"precision {ours}")


@entry.read_from(QUICK)
def _above_naive(document: entry.Document) -> entry.Ours:
    (row,) = (
        one
        for one in document["tables"][1]["rows"]
        if one[2:4] == ["published ends above naive", "kNN"]
    )
    return entry.Held(row[-1] == "holds", row[-2])


ITEMS: Final[Mapping[str, tuple[Callable[[Run], Outcome], entry.Entry]]] = {
    "alm": (
        _alm,
        entry.Entry(
            item="quick: accuracy of the attack on a tuned head, digits",
            source="Section 6.2, CIFAR-10",
            published="0.62",
            ours=entry.figure_at(QUICK, 0, "accuracy", attack="ALM's shadow network"),
            command=f"alm attack {_ON}",
            tolerance=0.1,
        ),
    ),
    "lu": (
        _lu,
        entry.Entry(
            item="quick: accuracy loss falls in ε, both noises, digits",
            source="Finding 2",
            published="falls",
            ours=_falls,
            command=f"lu findings {_ON}",
        ),
    ),
    "slides": (
        _slides,
        entry.Entry(
            item="quick: shadow attack finds members, digits",
            source="How well can MIA perform?",
            published="precision above .5",
            ours=_above_guessing,
            command=f"slides table {_ON}",
        ),
    ),
    "dpcl": (
        _dpcl,
        entry.Entry(
            item="quick: noisy similarities end above naive noise in kNN, digits",
            source="Figure 2",
            published="above",
            ours=_above_naive,
            command=f"dpcl figures {_ON}",
        ),
    ),
}


def quick_row(paper: str, run: Run) -> entry.Row:
    """The small item of one paper, run now, with its verdict."""
    compute, item = ITEMS[paper]
    document = {"tables": [table.to_dict() for table in compute(run).tables]}
    row = entry.row_of(paper, item, {QUICK: document}.get)
    return row._replace(file="–")  # nothing is kept


def exact_row(paper: str) -> entry.Row:
    """How many exact items of a paper are reproduced, or known to be false claims, now."""
    own = [item for item in entries(paper) if item.kind == "exact"]
    made = [entry.row_of(paper, item, lambda _: None) for item in own]
    settled = sum(row.verdict in ("reproduced", "claim is false") for row in made)
    exact = entry.Entry(
        item="quick: exact items that are reproduced, or false as stated",
        kind="exact",
        source="all of them",
        published=str(len(own)),
        ours=lambda _: entry.Counted(settled, len(own)),
        command=f"{paper} --quick",
    )
    return entry.row_of(paper, exact, lambda _: None)


def quick_rows(papers: tuple[str, ...], run: Run) -> list[entry.Row]:
    """Both rows of each paper."""
    run.steps.plan(2 * len(papers))
    rows = []
    for place, paper in enumerate(papers):
        rows.append(exact_row(paper))
        run.steps.reach(2 * place + 1)
        rows.append(quick_row(paper, Run(jobs=run.jobs)))
        run.steps.reach(2 * place + 2)
    return rows


def quick_papers() -> tuple[str, ...]:
    """Those that have a small item."""
    return tuple(paper for paper in PAPERS if paper in ITEMS)
