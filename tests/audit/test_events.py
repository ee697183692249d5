"""Each scorer on a pair of laws that it is meant for, and on equal laws."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from reticent.audit.events import scorers
from reticent.audit.outputs import known_answers, read_outputs
from reticent.randomness import seeded

RUNS = 4_000


def areas(draw, one=0, other=1, epsilon=1.0):
    """The AUC of each scorer on outputs that it has not learnt from."""
    outputs = read_outputs(draw(one), draw(other))
    learnt = [side[: RUNS // 2] for side in outputs]
    fresh = [side[RUNS // 2 :] for side in outputs]
    found = scorers(*learnt, known_answers(one, other, outputs[0], epsilon), 0)
    other_input = np.repeat([0, 1], RUNS // 2)
    return {
        scorer.name: roc_auc_score(
            other_input, np.concatenate([scorer.scores(side) for side in fresh])
        )
        for scorer in found
    }


def spread_out(moved):
    """A little in each of 60 numbers."""
    return seeded("spread", moved).normal(0.2 * moved, 1.0, (RUNS, 60)).round(6)


def in_one_place(moved):
    """Number 40 of 60 has another variance; the others hide it from every summary."""
    rows = seeded("place", moved).normal(0.0, 100.0, (RUNS, 60))
    rows[:, 40] *= 0.01 * (1 + 4 * moved)
    return rows.round(6)


def wider(moved):
    """A little in the variance of each of 60 numbers."""
    return seeded("wider", moved).normal(0.0, 1 + 0.2 * moved, (RUNS, 60)).round(6)


def whole(moved):
    """Whole numbers, far apart or not: nothing repeats much, no bits, no direction."""
    return np.rint(seeded("whole", moved).normal(0.0, 1e6 * (1 + moved), RUNS)).astype(int)


def labels(moved):
    shares = [0.5 - 0.2 * moved, 0.3, 0.2 + 0.2 * moved]
    return seeded("labels", moved).choice(["a", "b", "c"], RUNS, p=shares).tolist()


def test_a_direction_among_many_numbers():
    found = areas(spread_out)
    assert found["linear"] > 0.8
    assert found["linear"] > found["trees"]


def test_one_number_among_many():
    found = areas(in_one_place)
    assert found["trees"] > 0.75
    assert found["linear"] < 0.6


def test_summaries_of_many_numbers():
    assert areas(wider)["trees"] > 0.9


def test_whole_numbers_have_no_bits_to_look_at():
    found = areas(whole)
    assert set(found) <= {"repeated", "linear", "trees"}
    assert found["trees"] > 0.6


def test_labels_are_counted():
    found = areas(labels)
    assert set(found) == {"repeated"}
    assert found["repeated"] > 0.54  # .63 by arithmetic, ten standard deviations above


def test_the_lowest_bits_of_residuals():
    """Noise on a grid, answers beside it: outputs have one lowest bit, residuals have not."""

    def draw(answer):
        noise = np.rint(seeded("grid", int(answer * 2**25)).normal(0, 2.0**20, RUNS)) / 2**20
        return answer + noise

    found = areas(draw, 2.0**-25, 3 * 2.0**-25)
    assert found["bits"] == 1
    assert found["trees"] < 0.6


@pytest.mark.parametrize("law", ["laplace", "logistic"])
@pytest.mark.parametrize(("epsilon", "right"), [(5.0, True), (4.9, False)])
def test_samplers_know_the_noise_of_the_textbook_scale(law, epsilon, right):
    """With it, no output on an input scores as impossible there; many do on the other."""
    drawn = [getattr(seeded(law, answer), law)(answer, 1.0, RUNS) for answer in (10, 15)]
    outputs = read_outputs(*drawn)
    found = scorers(*outputs, known_answers(10, 15, outputs[0], epsilon), 0)
    (scorer,) = [scorer for scorer in found if scorer.name == law]
    on_one, on_other = (scorer.scores(side) for side in outputs)
    assert (on_one < -1.2).sum() > 100
    assert (on_other > 1.2).sum() > 100
    assert (on_one.max() < 1.2 and on_other.min() > -1.2) == right


@pytest.mark.parametrize("draw", [spread_out, in_one_place, wider, whole, labels])
def test_equal_laws_are_not_told_apart(draw):
    """The AUC of 2,000 + 2,000 runs has a standard deviation of .0092 at most: ten of them."""
    shuffled = seeded("halves").permutation(2 * RUNS)
    pool = [*draw(0), *draw(1)]
    sides = iter([[pool[place] for place in part] for part in np.split(shuffled, 2)])
    for area in areas(lambda _input: next(sides)).values():
        assert abs(area - 0.5) < 0.092
