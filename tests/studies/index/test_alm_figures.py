"""ALM's sentences are judged on cells: each holds on one table and fails on its contrary."""

import pytest

from reticent.results.table import Cell, Limits, Table
from reticent.studies.index import alm_figures
from reticent.studies.index.entry import Figure

KINDS = ("laplace", "logistic", "classical gaussian")
EPSILONS = ("0.5", "1", "10")


def near(value):
    low, high = value - 0.01, value + 0.01
    return Cell(f"{value:.3f} [{low:.3f}, {high:.3f}]", Limits(value, low, high))


def document(losses=(0.03, 0.03, 0.2), attacks=(0.5, 0.5, 0.5), before=0.6):
    """One loss and one attack accuracy for each kind of noise, at every ε."""
    rows = [("–", "none", "–", near(before), near(0.8), near(0.0))]
    for kind, loss, attack in zip(KINDS, losses, attacks, strict=True):
        rows += [
            ("published", kind, Cell(one, float(one)), near(attack), near(0.8), near(loss))
            for one in EPSILONS
        ]
    return written(("grade", "mechanism", "ε", "attack", "accuracy", "loss"), rows)


def written(columns, rows):
    """As it stands in a file."""
    table = Table(title="", columns=columns, rows=tuple(map(tuple, rows)))
    return {"tables": [table.to_dict()]}


def holds(reader, found):
    return reader(lambda _: found).holds


@pytest.mark.parametrize(
    ("reader", "contrary"),
    [
        (alm_figures.sentence("f", alm_figures.alike), {"losses": (0.03, 0.06, 0.2)}),
        (alm_figures.sentence("f", alm_figures.gaussian_above), {"losses": (0.03, 0.19, 0.2)}),
        (alm_figures.sentence("f", alm_figures.below_a_tenth), {"losses": (0.03, 0.095, 0.2)}),
        (alm_figures.fall("f"), {"attacks": (0.5, 0.53, 0.5)}),
        (alm_figures.fall("f"), {"before": 0.525}),
        (alm_figures.by_grade("f", "published", "logistic"), {"losses": (0.03, 0.095, 0.2)}),
        (alm_figures.by_grade("f", "published", "logistic"), {"attacks": (0.5, 0.53, 0.5)}),
        (alm_figures.smallest_loss("f", 0.05), {"losses": (0.03, 0.06, 0.2)}),
    ],
)
def test_a_sentence_holds_and_its_contrary_does_not(reader, contrary):
    assert holds(reader, document())
    assert not holds(reader, document(**contrary))


def test_laplace_must_be_above_both_others():
    reader = alm_figures.sentence("f", alm_figures.laplace_highest)
    assert holds(reader, document(attacks=(0.6, 0.5, 0.55)))
    assert not holds(reader, document(attacks=(0.6, 0.5, 0.59)))


def test_only_epsilons_below_the_bound_are_asked():
    found = document()
    (table,) = found["tables"]
    for row, values in zip(table["rows"], table["values"], strict=True):
        if row[1:3] == ["logistic", "10"]:
            values[5] = [0.5, 0.49, 0.51]
    rule = alm_figures.below_a_tenth
    assert holds(alm_figures.sentence("f", rule, below=1.0), found)
    assert not holds(alm_figures.sentence("f", rule), found)
    assert str(alm_figures.sentence("f", rule)(lambda _: found)) == (
        "does not hold: at ε = 0.5, 1, not at ε = 10"
    )


def test_no_file_and_no_such_grade_is_no_verdict():
    assert alm_figures.fall("f")(lambda _: None) is None
    assert alm_figures.by_grade("f", "proven", "logistic")(lambda _: document()) is None


def layers(*losses):
    """(layers, noisy, ε, loss), each with an interval of .01 to both sides."""
    rows = [
        (
            *(Cell(f"{one}", one) for one in (d, n)),
            at,
            *(Cell(f"{one:.2f}", one) for one in (v - 0.01, v + 0.01)),
        )
        for d, n, at, v in losses
    ]
    found = written(("layers", "noisy", "ε", "low", "high"), rows)
    return lambda _: found


GROWING = ((1, 1, "1", 0.1), (2, 1, "1", 0.1), (2, 2, "1", 0.3))


def test_the_loss_must_grow_on_every_path_and_fall_on_none():
    judged = alm_figures.layers
    level = [(depth, noisy, "10", 0.3) for depth, noisy, *_ in GROWING]
    assert str(judged(layers(*GROWING, *level))) == "holds: grows at 2 of 4 places, falls at 0"
    falling = [(1, 1, "10", 0.3), (2, 1, "10", 0.3), (2, 2, "10", 0.1)]
    found = judged(layers(*GROWING, *falling))
    assert str(found) == "does not hold: grows at 2 of 4 places, falls at 2"
    assert not judged(layers(*level)).holds


def test_a_fall_begins_clearly_above_guessing():
    assert alm_figures.falls(Figure.of(near(0.62)), Figure.exact(0.51))
    assert not alm_figures.falls(Figure(value=0.62, low=0.515, high=0.63), Figure.exact(0.5))
