"""The lecture on membership inference and differential privacy: its counting examples and table."""

from reticent.guarantee import Relation, Sensitivity
from reticent.mechanisms import DiscreteLaplace, Laplace, Logistic
from reticent.results.table import Table
from reticent.studies.trained import Outcome, Run, Trained

COUNT = Sensitivity(
    l1=1.0, relation=Relation.ADD_REMOVE, source="one person changes a count by one"
)


def smokers() -> Table:
    """How many of 100 people smoke? Laplace(1) for ε = 1, Laplace(10) for ε = 0.1."""
    rows = []
    for epsilon, published in ((1.0, 1.0), (0.1, 10.0)):
        laplace = Laplace.calibrate(COUNT, epsilon=epsilon, delta=0.0)
        logistic = Logistic.calibrate(COUNT, epsilon=epsilon, delta=0.0)
        integer = DiscreteLaplace.calibrate(COUNT, epsilon=epsilon, delta=0.0)
        rows.append(
            (
                str(epsilon),
                f"{published:.4f}",
                f"{laplace.scale:.4f}",
                f"{laplace.std:.4f}",
                f"{logistic.std:.4f}",
                f"{integer.scale:.4f}",
            )
        )
    return Table(
        title="Counting smokers: the scale that the slides give, and ours",
        columns=(
            "ε",
            "published scale",
            "laplace scale",
            "laplace std",
            "logistic std",
            "discrete laplace scale",
        ),
        rows=tuple(rows),
        notes=("Grade declared; neighbours: add-remove; unit: one person.",),
    )


def table(on: str, run: Run) -> Outcome:
    """Accuracies of victims and the precision of shadow attacks; LiRA beside them."""
    from reticent.studies import slides_table

    return slides_table.study(slides_table.SPECS[on], run)


_IN_FOLDER = ("location", "mnist", "adult")
ITEMS = {"smokers": smokers}
TRAINED = {"table": Trained(run=table, on=(*_IN_FOLDER, "digits"), in_folder=frozenset(_IN_FOLDER))}
