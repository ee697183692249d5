"""ALM's sentences are judged on cells: each holds on one table and fails on its contrary."""

import pytest

from reticent.studies.index import alm_figures
from reticent.studies.index.entry import Figure

KINDS = ("laplace", "logistic", "classical gaussian")
EPSILONS = ("0.5", "1", "10")


def near(value):
    return f"{value:.3f} [{value - 0.01:.3f}, {value + 0.01:.3f}]"


def document(losses=(0.03, 0.03, 0.2), attacks=(0.5, 0.5, 0.5), before=0.6):
    """One loss and one attack accuracy for each kind of noise, at every ε."""
    rows = [["–", "none", "–", near(before), near(0.8), near(0.0)]]
    for kind, loss, attack in zip(KINDS, losses, attacks, strict=True):
        rows += [["published", kind, one, near(attack), near(0.8), near(loss)] for one in EPSILONS]
    columns = ["grade", "mechanism", "ε", "attack", "accuracy", "loss"]
    return {"tables": [{"columns": columns, "rows": rows, "notes": []}]}


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
    for row in found["tables"][0]["rows"]:
        if row[1:3] == ["logistic", "10"]:
            row[5] = near(0.5)
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
    columns = ["layers", "noisy", "ε", "low", "high"]
    rows = [[str(d), str(n), at, f"{v - 0.01}", f"{v + 0.01}"] for d, n, at, v in losses]
    return lambda _: {"tables": [{"columns": columns, "rows": rows}]}


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
    assert alm_figures.falls(Figure.read("0.620 [0.610, 0.630]"), Figure.read("0.510"))
    assert not alm_figures.falls(Figure.read("0.620 [0.515, 0.630]"), Figure.read("0.500"))
