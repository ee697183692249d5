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
    heads = first.tables[4].rows
    assert {row[3] for row in heads} == {"proven"}
    assert all(0 <= float(row[4]) <= 1 for row in heads)
    assert float(heads[2][4]) > 0.6
