"""The items of Lu et al. by name; those that need more than formulas load with their first use."""

from collections.abc import Mapping

from reticent.results.table import Table
from reticent.studies.lu.bounds import bounds
from reticent.studies.lu.fig2 import fig2
from reticent.studies.lu.queries import queries, splits
from reticent.studies.lu.table6 import table6
from reticent.studies.trained import Outcome, Run, Trained


def verdicts() -> Table:
    """Every claim, true or false, with the figures of a deciding case."""
    from reticent.studies.lu import verdicts as study

    return study.verdicts()


def oaro(on: str, run: Run) -> Outcome:
    """Definition 3 and Corollary 3: stability measured by leaving records out, with noise too."""
    from reticent.studies.lu import oaro as study

    return study.study(study.SPECS[on], run)


def findings(on: str, run: Run) -> Outcome:
    """Table 5, Figs. 3–13 for Algorithm 1, and findings 1, 2, 4 and 5, each with its verdict."""
    from reticent.studies.lu import findings as study

    return study.study(study.SPECS[on], run)


def alpha(on: str, run: Run) -> Outcome:
    """The open question of α against privacy, and the search for α."""
    from reticent.studies.lu import alpha as study

    return study.study(study.SPECS[on], run)


ITEMS = {
    "table6": table6,
    "fig2": fig2,
    "bounds": bounds,
    "splits": splits,
    "queries": queries,
    "verdicts": verdicts,
}
TRAINED: Mapping[str, Trained] = {
    "oaro": Trained(run=oaro, on=("digits",)),
    "findings": Trained(run=findings, on=("all", "digits"), in_folder=frozenset({"all"})),
    "alpha": Trained(run=alpha, on=("location", "digits"), in_folder=frozenset({"location"})),
}
