"""The studies of learners and of Table 1: proven rows, exact pairs, and cells that are kept."""

import dataclasses

import pytest

from reticent.neighbours import published_sensitivity
from reticent.protect.table import ReleaseRequest
from reticent.studies import alm_table1, learners, settled
from reticent.studies.alm_fig1 import unprotected_head
from reticent.studies.tasks import task
from reticent.studies.trained import Cells, Run
from reticent.training import SoftmaxHead

SMALL = learners.Learners(
    on="digits", records=600, plan=((0.1, learners.ALL), (50.0, learners.ALL)), draws=2
)


@pytest.mark.slow
def test_every_learner_is_proven_and_more_budget_helps(tmp_path):
    cells = Cells(tmp_path / "cells.json")
    table = learners.study((SMALL,), Run(cells=cells)).tables[0]
    assert [row[1] for row in table.rows] == [*learners.ALL, *learners.ALL]
    seen = settled.SETTLED["digits"]  # a rule of theirs was settled after figures on digits
    assert all(row[0] == ("declared" if row[1] in seen else "proven") for row in table.rows)
    after = [float(row[5]) for row in table.rows]
    few, much = after[: len(learners.ALL)], after[len(learners.ALL) :]
    assert all(more > less + 0.2 for less, more in zip(few, much, strict=True))
    again = learners.study((SMALL,), Run(cells=Cells(tmp_path / "cells.json"))).tables[0]
    assert again == table  # fresh noise would differ: every cell was kept


def test_table_1_is_algorithm_2_on_exact_heads():
    """The solver's largest distance beside that of refits of the same pairs."""
    spec = alm_table1.Table1(on="digits", records=150, pairs=6, penalties=(1e-2,))
    table = alm_table1.study(spec, Run()).tables[0]
    data = task("digits", records=150, seed=0)
    request = ReleaseRequest.of(
        epsilon=1.0, delta=1e-5, relation="replace-one", records=150, bound=1.0, norms="scale",
        intercept=0.1, mean_bound=1.0, penalty=1e-2,
    )  # fmt: skip
    whole = unprotected_head(data, request)
    tight = SoftmaxHead(**(whole.get_params() | {"tolerance": 1e-10}))

    def refit(kept):
        return tight.fit(data.rows[kept], data.labels[kept]).weights_.ravel()

    found = published_sensitivity(refit, 150, 6, 0)
    assert float(table.rows[0][1]) == pytest.approx(found.l1, rel=1e-3)
    assert float(table.rows[0][2]) == pytest.approx(found.l2, rel=1e-3)
    assert table.rows[1][1:3] == (".017492", ".013842")


def test_specifications_have_the_sizes_of_the_data():
    assert learners.SPECS["cifar10"][0].records == 50_000
    assert alm_table1.SPECS["cifar10"].pairs == 500
    for specs in learners.SPECS.values():
        assert all(spec.draws >= 5 for spec in specs)
        assert all(dataclasses.asdict(spec)["delta"] == 1e-5 for spec in specs)
