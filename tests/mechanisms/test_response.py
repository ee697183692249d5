"""Randomised response: its odds, its exact profile, and a sampler that a wrong one fails."""

import math

import numpy as np
import pytest

from reticent import Sensitivity
from reticent.accounting import account
from reticent.audit.many_runs import SeparateRuns, many_runs
from reticent.guarantee import Repeated
from reticent.guarantee.events import Event, ResponseEvent
from reticent.mechanisms import integer_noise
from reticent.mechanisms.response import RandomisedResponse, _fill_responses, _response
from reticent.randomness import seeded
from reticent.validation import InputError
from tests.mechanisms.rounded.goodness import counts_fit

DRAWS = 300_000
RARELY = 1e-6


def noise_of(epsilon, classes, lines=1):
    label = Sensitivity(
        l2=math.sqrt(2 * lines), l1=2.0 * lines, l21=2.0 * lines, blocks=classes + 1
    )
    return RandomisedResponse.calibrate(label, epsilon=lines * epsilon, delta=0.0)


def one_hot(labels, classes):
    """As a vector, class by class and last none, which is −1 here."""
    places = np.append(np.arange(classes), -1)
    return (places[:, None] == np.asarray(labels)).astype(np.float64).ravel()


def answered(noise, labels, classes, *, draw=None):
    """The classes that were answered."""
    noisy = (draw or noise).release(one_hot(labels, classes)).reshape(classes + 1, -1)
    assert (noisy.sum(axis=0) == 1).all()
    assert not noisy[-1].any()  # none is never answered
    return noisy.argmax(axis=0)


def odds(epsilon, classes, own):
    """Of each answer, by the formula of the theorem."""
    if own < 0:
        return np.full(classes, 1 / classes)
    return np.where(np.arange(classes) == own, math.exp(epsilon), 1.0) / (
        math.exp(epsilon) + classes - 1
    )


CASES = [(1.0, 2, 1), (0.1, 3, 0), (2.5, 10, 7), (1.0, 5, -1), (9.0, 4, 2), (1e-9, 3, 1)]


@pytest.mark.parametrize(("epsilon", "classes", "own"), CASES)
def test_answers_have_their_exact_odds(epsilon, classes, own):
    drawn = answered(noise_of(epsilon, classes), np.full(DRAWS, own), classes)
    counts = np.bincount(drawn, minlength=classes)
    assert counts_fit(counts, odds(epsilon, classes, own))


@pytest.mark.parametrize("seen", [1.08, 0.92])
def test_answers_of_another_epsilon_are_rejected(seen):
    """A sampler that keeps a label a little too often, or too rarely, does not fit."""
    drawn = answered(noise_of(seen, 4), np.full(DRAWS, 2), 4)
    assert not counts_fit(np.bincount(drawn, minlength=4), odds(1.0, 4, 2))


def test_a_sampler_that_skips_the_own_class_in_its_second_draw_is_rejected():
    """The slip of many codes: with probability p the label, else *any* class, the own one too."""
    rng = seeded("a wrong response")
    kept = rng.random(DRAWS) < noise_of(1.0, 4).kept
    drawn = np.where(kept, 2, rng.integers(4, size=DRAWS))
    assert not counts_fit(np.bincount(drawn, minlength=4), odds(1.0, 4, 2))


@pytest.mark.parametrize(("epsilon", "classes", "own"), CASES[:5])
def test_float_answers_of_studies_have_the_same_odds(epsilon, classes, own):
    float_noise = noise_of(epsilon, classes).with_float_noise(seeded("float response"))
    drawn = answered(None, np.full(DRAWS, own), classes, draw=float_noise)
    assert counts_fit(np.bincount(drawn, minlength=classes), odds(epsilon, classes, own))


def exact_delta(epsilon, one, other):
    return np.maximum(one - math.exp(epsilon) * other, 0).sum()


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 6.0])
def test_the_profile_is_the_hockey_stick_of_two_labels_and_none_is_nearer(epsilon, classes):
    noise = noise_of(epsilon, classes)
    label, other, none = (odds(epsilon, classes, own) for own in (0, 1, -1))
    for share in (0.0, 0.3, 0.9, 1.0, 1.1):
        exact = exact_delta(share * epsilon, label, other)
        assert noise.delta(epsilon=share * epsilon) == pytest.approx(exact, rel=1e-9, abs=1e-14)
        for one, two in ((label, none), (none, label)):
            assert exact_delta(share * epsilon, one, two) <= exact * (1 + 1e-9) + 1e-14
    for share in (0.1, 0.5, 0.9):
        delta = noise.delta(epsilon=share * epsilon)
        assert noise.epsilon(delta=delta) == pytest.approx(share * epsilon, rel=1e-6)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_what_delta_buys_is_calibrated_for_so_many_classes(classes):
    label = Sensitivity(l1=2.0, l21=2.0, blocks=classes + 1)
    for delta in (1e-5, 0.05):
        noise = RandomisedResponse.calibrate(label, epsilon=1.0, delta=delta)
        assert noise.delta(epsilon=1.0) == pytest.approx(delta, rel=1e-6)
        assert noise.epsilon(delta=delta) <= 1.0


@pytest.mark.parametrize("classes", [2, 5])
def test_the_accountants_have_the_exact_epsilon_of_one_label_and_less_than_pure_of_many(classes):
    one = noise_of(0.5, classes).event()
    assert isinstance(one, ResponseEvent)
    assert Event.from_dict(one.to_dict()) == one
    for delta in (1e-2, 1e-1):
        exact = noise_of(0.5, classes).epsilon(delta=delta)
        assert account(one, relation="add-remove", delta=delta).epsilon == pytest.approx(
            exact, rel=1e-4
        )
    many = noise_of(0.5, classes, lines=8).event()
    assert many == Repeated(event=one, count=8)
    found = account(many, relation="add-remove", delta=1e-2).epsilon
    assert found < 0.95 * noise_of(0.5, classes, lines=8).epsilon(delta=1e-2)
    assert many_labels_delta(0.5, classes, 8, found) <= 1e-2
    assert many_labels_delta(0.5, classes, 8, 0.99 * found) > 1e-2


def many_labels_delta(epsilon, classes, lines, at):
    """δ of so many labels, by adding up all that can happen: ups, downs and neither."""
    kept, other = odds(epsilon, classes, 0)[:2]
    total = 0.0
    for up in range(lines + 1):
        for down in range(lines + 1 - up):
            rest = lines - up - down
            ways = math.factorial(lines) / math.prod(map(math.factorial, (up, down, rest)))
            chance = ways * kept**up * other**down * ((classes - 2) * other) ** rest
            total += chance * max(0.0, -math.expm1(at - (up - down) * epsilon))
    return total


def test_estimates_are_unbiased_and_as_noisy_as_said():
    """Means of 300,000 within 5 deviations, which fails once in 10⁶; 1/C for a line without one."""
    noise = noise_of(1.2, 3)
    for own, target in ((1, [0.0, 1.0, 0.0]), (-1, [1 / 3] * 3)):
        given = one_hot(np.full(DRAWS, own), 3)
        estimates = noise.unbiased(noise.release(given))
        error = estimates.std(axis=1) / math.sqrt(DRAWS)
        assert (np.abs(estimates.mean(axis=1) - target) < 5.5 * error).all()
    spread = noise.unbiased(noise.release(one_hot(np.full(DRAWS, 1), 3))).std(axis=1)
    assert spread[0] == pytest.approx(noise.std, rel=0.02)


def audited(noise, drawn, runs):
    """Two worlds with one line of another class, and the exact likelihood ratio of each answer."""
    here, there = one_hot([0], 3), one_hot([1], 3)
    scores = []
    for own, sign in ((here, 1), (there, -1)):
        answers = np.stack([drawn.release(own) for _ in range(runs)])
        ratio = noise.log_ratio(answers - here, answers - there)
        scores.append(ratio)
        assert np.abs(ratio).max() <= noise.epsilon(delta=0.0) * (1 + 1e-12), sign
    return many_runs(
        *scores, delta=0.0, beta=RARELY, threshold=SeparateRuns(share=0.2), relation="add-remove"
    )


def test_an_audit_of_two_worlds_does_not_refute_it_and_refutes_half_the_noise():
    noise = noise_of(2.0, 3)
    assert audited(noise, noise, 3000).epsilon <= 2.0
    half = RandomisedResponse(scale=noise.scale / 2, sensitivity=noise.sensitivity)
    assert audited(noise, half, 3000).epsilon > 2.0


def worst_loss(noise, here, there, classes):
    """Over all answers to these lines: the sum of each line's own."""
    own, other = ([odds(noise._loss, classes, label) for label in side] for side in (here, there))
    return sum(np.abs(np.log(a / b)).max() for a, b in zip(own, other, strict=True))


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ([-1, -1, -1, -1], [0, 0, 0, 0]),  # all in one block: L21 is 2 + 2, as of two lines
        ([0, 0, 0, 0], [1, 1, 1, 1]),
        ([0, 0, 1, 1], [1, 1, 0, 0]),
        ([0, 1, -1, 1], [0, 1, 1, 1]),
    ],
)
def test_lines_that_move_within_one_block_are_all_paid_for(here, there):
    """The norms of two worlds, as an audit measures them, promise no less than the true loss."""
    unit = noise_of(1.0, 2)
    apart = one_hot(there, 2) - one_hot(here, 2)
    moved = unit.at_distance(**{name: float(v) for name, v in unit.norms(apart).items()})
    true = worst_loss(unit, here, there, 2)
    assert true <= moved.guarantee(delta=0.0).epsilon
    if -1 not in (*here, *there):  # exact, where no line comes or goes
        assert moved.guarantee(delta=0.0).epsilon == pytest.approx(true, rel=1e-9)
    given = Sensitivity(
        l1=float(np.abs(apart).sum()), l21=float(unit.norms(apart)["l21"]), blocks=3
    )
    planned = RandomisedResponse.calibrate(given, epsilon=1.0, delta=0.0)
    assert worst_loss(planned, here, there, 2) <= 1.0


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_no_label_is_answered_without_a_coin(classes):
    """A uniform class that was the own one would be known by the few words that it took."""
    words = seeded("time of a response").integers(2**64, size=4000, dtype=np.uint64)
    for own in range(classes + 1):
        place = np.zeros(1, np.int64)
        for _ in range(60):
            before = int(place[0])
            _response((words, place), own, (classes, 0, 2**39))
            assert place[0] - before >= 3  # for whoever has none, a class, and the coin


def test_a_density_says_what_became_of_each_line():
    noise = noise_of(1.0, 3)
    given = one_hot([0, 1, -1, 2], 3)
    answer = one_hot([0, 2, 1, 2], 3)
    kept, other = odds(1.0, 3, 0)[:2]
    found = noise.log_density(answer - given)
    assert found == pytest.approx(math.log(kept * other / 3 * kept), rel=1e-9)
    assert noise.log_density(one_hot([0], 3) * 0.5) == -math.inf
    assert noise.norms(answer - given)["l1"] == 4.0  # two lines
    assert noise.log_density(one_hot([-1], 3) - one_hot([0], 3)) == -math.inf


@pytest.mark.parametrize("tape", [1, 3, 1000])
def test_the_length_of_a_tape_does_not_change_the_answers(tape, monkeypatch):
    words = seeded("tape of responses").integers(2**64, size=100_000, dtype=np.uint64)
    given = np.arange(300, dtype=np.int64) % 5  # 4 is none
    found = []
    for length in (tape, 10**6):
        monkeypatch.setattr(integer_noise, "_LARGEST_TAPE", length)
        out = np.empty(300, np.int64)
        place = [0]

        def source(count, place=place):
            place[0] += count
            return words[place[0] - count : place[0]]

        integer_noise.fill_from(source, out, _fill_responses, (given, 4, 1, 2**38))
        found.append(out)
    assert (found[0] == found[1]).all()


def test_what_is_no_label_is_refused():
    noise = noise_of(1.0, 3)
    for value in ([0.5, 0.5, 0, 0], [1.0, 1.0, 0, 0], [2.0, 0, 0, 0], [0.0, 0, 0, 0]):
        with pytest.raises(InputError, match="value must hold one-hot labels"):
            noise.release(value)
    with pytest.raises(InputError, match="value must have 4 entries for each label, got 3"):
        noise.release([1.0, 0.0, 0.0])
    with pytest.raises(InputError, match="grid must be 1"):
        noise.release([1.0, 0.0, 0.0, 0.0], grid=0.5)
    with pytest.raises(InputError, match="blocks must be >= 3 for randomised-response"):
        RandomisedResponse(scale=1.0, sensitivity=Sensitivity(l1=2.0, l21=2.0, blocks=2))
    with pytest.raises(InputError, match="randomised-response needs an L1 sensitivity"):
        RandomisedResponse(scale=1.0, sensitivity=Sensitivity(l21=2.0, blocks=3))
    with pytest.raises(InputError, match="classes must be >= 2, got 1"):
        ResponseEvent(epsilon=1.0, classes=1)
