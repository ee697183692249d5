"""What a pair of runs can show, each once with code that is wrong in just that way."""

import time

import numpy as np
import pytest

from reticent.audit.end_to_end.replay import Covered, Published, run_pair
from reticent.guarantee import Guarantee, Sensitivity
from reticent.mechanisms import Gaussian
from reticent.protect import release_mean
from reticent.protect.noisy_query import REPLACED, noisy_query
from reticent.validation import InputError

CLAIM = Guarantee(epsilon=1.0, delta=1e-5, relation="add-remove")
NOISE = Gaussian.calibrate(Sensitivity(l2=1.0, relation="add-remove"), epsilon=1.0, delta=1e-5)


def published(*answers, claim=CLAIM):
    content = b"".join(np.asarray(answer).tobytes() for answer in answers)
    return Published(claims=(Covered(claim),), outputs=content)


def numbers(path):
    return np.array([float(line) for line in path.read_text().split()])


def pair(release, tmp_path, one="1 1", other="1 1 1", **options):
    first, second = tmp_path / "one", tmp_path / "other"
    first.write_text(one)
    second.write_text(other)
    return run_pair(release, first, lambda _: second, **options)


def honest(path):
    total = np.clip(numbers(path), 0, 1).sum(keepdims=True)
    return published(noisy_query(NOISE, total))


@pytest.mark.parametrize("noise_share", [0.0, 0.1, 1.0])
def test_an_honest_sum_holds(tmp_path, noise_share):
    outcome = pair(honest, tmp_path, noise_share=noise_share)
    assert outcome.holds
    assert outcome.ratio == 1.0
    assert outcome.epsilon_ratio == pytest.approx(1.0, abs=1e-9)
    assert outcome.queries == 1


def test_a_sum_that_is_not_clipped(tmp_path):
    outcome = pair(
        lambda path: published(noisy_query(NOISE, numbers(path).sum(keepdims=True))),
        tmp_path,
        other="1 1 1.25",
    )
    assert outcome.problems[0] == "a query moved by 1.25 of its claimed sensitivity"
    assert "of the claimed ε" in outcome.problems[1]


def test_an_epsilon_that_counts_one_of_two_queries(tmp_path):
    def twice(path):
        total = np.clip(numbers(path), 0, 1).sum(keepdims=True)
        return published(noisy_query(NOISE, total), noisy_query(NOISE, total))

    (problem,) = pair(twice, tmp_path).problems
    assert "of the claimed ε" in problem


def test_an_output_that_passes_by_the_noise(tmp_path):
    def leaky(path):
        found = honest(path)
        return found._replace(outputs=found.outputs + str(len(numbers(path))).encode())

    assert pair(leaky, tmp_path).problems == (
        "equal answers lead to different outputs: something passes by the noise",
    )


def test_another_claim(tmp_path):
    def boastful(path):
        claim = Guarantee(epsilon=float(len(numbers(path))), delta=1e-5, relation="add-remove")
        return honest(path)._replace(claims=(Covered(claim),))

    assert "neighbours claim different guarantees" in pair(boastful, tmp_path).problems


def test_a_scale_that_is_read_off_the_data(tmp_path):
    def scaled(path):
        noise = Gaussian(scale=10.0 * len(numbers(path)), sensitivity=NOISE.sensitivity)
        return published(noisy_query(noise, np.zeros(1)))

    assert pair(scaled, tmp_path).problems == ("the noise of a query differs between neighbours",)


def test_a_size_that_is_read_off_the_data(tmp_path):
    outcome = pair(lambda path: published(noisy_query(NOISE, numbers(path))), tmp_path)
    assert outcome.problems == ("the size of a query differs between neighbours",)


@pytest.mark.parametrize(("one", "other"), [("1 1", "1 1 1"), ("1 1 1", "1 1")])
def test_a_number_of_queries_that_is_read_off_the_data(tmp_path, one, other):
    def each(path):
        return published(*(noisy_query(NOISE, value[None]) for value in numbers(path)))

    (problem,) = pair(each, tmp_path, one, other).problems
    assert "quer" in problem


@pytest.mark.parametrize(("one", "other"), [("1", "1 1"), ("1 1", "1")])
def test_a_refusal_of_one_world_alone(tmp_path, one, other):
    def choosy(path):
        if len(numbers(path)) < 2:
            raise InputError("records must be two, got fewer")
        return honest(path)

    (problem,) = pair(choosy, tmp_path, one, other).problems
    assert problem.startswith("only one of two neighbours is refused: records must be two")


def test_a_refusal_of_both_is_none(tmp_path):
    def never(path):
        raise InputError("epsilon must be > 0, got 0")

    outcome = pair(never, tmp_path)
    assert outcome.holds
    assert outcome.refused == "epsilon must be > 0, got 0"


def test_a_release_that_does_not_end(tmp_path):
    def endless(path):
        while True:
            time.sleep(0.01)

    assert pair(endless, tmp_path, limit=0.2).problems == (
        "a release did not end within 0.2 seconds",
    )


def test_what_is_made_under_an_audit_is_not_proven(tmp_path):
    grades = []

    def real(path):
        rows = numbers(path)[:, None]
        mean = release_mean(
            rows, bound=1.0, records=10, epsilon=1.0, delta=1e-5, relation="add-remove"
        )
        grades.append(str(mean.guarantee.grade))
        assert REPLACED in mean.guarantee.stated
        return published(mean.tensors["mean"], claim=mean.guarantee)

    assert pair(real, tmp_path).holds
    assert grades == ["declared", "declared"]
