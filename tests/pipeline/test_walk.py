"""The demonstration draws real noise and real accounts."""

from reticent.pipeline import walk


def test_the_walk():
    first, again = walk(), walk()
    released = [row[-1] for row in first.tables[0].rows]
    assert released != [row[-1] for row in again.tables[0].rows]
    together = {row[0]: float(row[2]) for row in first.tables[2].rows}
    assert together["gaussian"] < together["logistic"] < together["laplace"] < 100
    for table in first.tables:
        assert {len(row) for row in table.rows} == {len(table.columns)}
    assert "declared" in first.verdict
