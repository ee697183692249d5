"""The study of learners at pure ε, in small."""

from dataclasses import replace

from reticent.studies import pure
from reticent.studies.trained import Run


def test_a_small_study_on_digits():
    (spec,) = pure.SPECS["digits"]
    outcome = pure.study((replace(spec, draws=2),), Run())
    (table,) = outcome.tables
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [(row["mechanism"], row["ε"]) for row in rows] == [
        (cell.label, f"{cell.epsilon:g}") for cell in spec.cells
    ]
    assert {(row["grade"], row["δ"]) for row in rows} == {("declared", "0")}
    assert all(0.1 < float(row["accuracy"]) < 1 for row in rows)


def test_every_number_of_records_has_its_own_specification():
    for name, specs in pure.SPECS.items():
        for spec in specs:
            assert {cell.records for cell in spec.cells} == {spec.records}
            assert spec.draws >= 5
            assert 0.5 < spec.before < 1
            assert spec.on.removesuffix("-log") == name  # a map of the same records
    noises = {cell.mechanism for cell in pure.SPECS["cifar10"][1].cells}
    assert noises >= {"laplace", "logistic", "l2-laplace"}


def test_random_maps_differ_from_draw_to_draw_and_public_ones_do_not():
    cells = pure.SPECS["cifar10"][0].cells
    assert [cell.map_is_random for cell in cells] == [False, False, True, False]
