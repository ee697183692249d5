"""A noisy mean: exact sums, its noise, its share of a budget, and heads that are centred by it."""

import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from reticent.guarantee import Grade, LogisticEvent
from reticent.mechanisms.profiles import conversions, gaussian
from reticent.protect import load, mean_share, release_mean, release_weights, save, verify
from reticent.protect.recipes.mean import exact_sum
from reticent.protect.terms import unit_of
from reticent.training import SoftmaxHead
from reticent.validation import InputError

BUDGET = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"}


def rows_of(n=400, d=5):
    rng = np.random.default_rng(7)
    return rng.normal(size=(n, d)) + 1.0, rng.integers(3, size=n)


def test_the_exact_sum_of_many_blocks_is_that_of_its_parts():
    rows = np.random.default_rng(3).normal(size=(9001, 4))
    whole = exact_sum(rows, 1.5)
    parts = [exact_sum(part, 1.5) for part in np.array_split(rows[::-1], 7)]
    for column in range(4):
        assert Fraction(whole[column]) == sum(Fraction(part[column]) for part in parts)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 8)),
               elements=st.floats(-1e12, 1e12)),
    st.floats(1e-3, 1e6),
)  # fmt: skip
def test_one_row_moves_the_exact_sum_by_at_most_the_bound(rows, bound):
    """In exact rational arithmetic: float sums of floats would not keep this."""
    whole, without = exact_sum(rows, bound), exact_sum(rows[1:], bound)
    moved = [Fraction(a) - Fraction(b) for a, b in zip(whole, without, strict=True)]
    assert sum(x * x for x in moved) <= Fraction(bound) ** 2


def test_float_sums_would_exceed_it():
    """The same test rejects the plain sum of clipped floats."""
    rows = np.array([[1.0], *[[0.1 + 1e-9]] * 9, [1.0]])
    whole, without = rows.sum(axis=0), rows[1:].sum(axis=0)
    assert abs(Fraction(whole[0]) - Fraction(without[0])) != 1
    assert abs(Fraction(exact_sum(rows, 1.0)[0]) - Fraction(exact_sum(rows[1:], 1.0)[0])) <= 1


def test_the_noise_is_that_of_the_claim():
    """KS of 600 × 300 differences; false alarm 1e-7; 1.08× the variance is rejected."""
    rows = rows_of(d=300)[0]
    means = [release_mean(rows, bound=3.0, records=400, **BUDGET) for _ in range(600)]
    noise = np.concatenate([mean.tensors["mean"] * 400 - exact_sum(rows, 3.0) for mean in means])
    scale = 3.0 / gaussian.shift(1.0, 1e-5)
    assert means[0].scales["mean"] == pytest.approx(scale)
    assert stats.kstest(noise / scale, "norm").pvalue > 1e-7
    assert stats.kstest(noise / scale * math.sqrt(1.08), "norm").pvalue < 1e-7


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    ("mechanism", "delta"),
    [("gaussian", 1e-5), ("logistic", 1e-5), ("laplace", 1e-5), ("logistic", 0.0),
     ("laplace", 0.0), ("l2-laplace", 0.0), ("l2-laplace", 1e-5)],
)  # fmt: skip
def test_mean_and_weights_together_spend_the_budget(tmp_path, mechanism, delta, relation):
    rows, labels = rows_of()
    terms = {"delta": delta, "relation": relation, "mechanism": mechanism}
    mean = release_mean(rows, bound=3.0, records=400, epsilon=2.0, share=0.2, **terms)
    assert mean.guarantee.grade is Grade.PROVEN
    assert mean.guarantee.epsilon < 2.0
    head = SoftmaxHead(penalty=0.1, classes=range(3), records=400, centre=mean.tensors["mean"])
    released = release_weights(head.fit(rows, labels), epsilon=2.0, mean=mean, **terms)
    assert released.guarantee.grade is Grade.PROVEN
    assert any("all of these queries together" in line for line in released.guarantee.checked)
    save(released, tmp_path / "head")
    found = verify(tmp_path / "head")
    assert found.holds
    # Laplace noise is split by ρ, and the accountants compose its exact curve: 1.907.
    least = 1.9 if mechanism == "laplace" and delta > 0 else 1.999
    assert least < found.epsilon <= 2.0
    assert load(tmp_path / "head").recipe == released.recipe
    alone = release_weights(
        SoftmaxHead(penalty=0.1, classes=range(3), records=400).fit(rows, labels),
        epsilon=2.0, **terms,
    )  # fmt: skip
    if mechanism == "laplace" and delta > 0:
        return  # alone it is better off with its exact curve, which does not add up
    # What is left to the weights is 4/5 of μ², ρ or ε.
    pays_in_epsilon = delta == 0 or mechanism == "l2-laplace"
    assert released.scales["coordinates"] / alone.scales["coordinates"] == pytest.approx(
        1.25 if pays_in_epsilon else math.sqrt(1.25), rel=1e-3
    )


def test_the_shares_by_hand():
    mean = release_mean(rows_of()[0], bound=2.0, records=400, share=0.25, **BUDGET)
    assert mean.scales["mean"] == pytest.approx(2.0 / (gaussian.shift(1.0, 1e-5) * 0.5))
    logistic = release_mean(
        rows_of()[0], bound=2.0, records=400, share=0.25, mechanism="logistic", **BUDGET
    )
    rho = conversions.zcdp_for(1.0, 1e-5)
    assert logistic.scales["mean"] == pytest.approx(2.0 / math.sqrt(6 * 0.25 * rho))


@pytest.mark.parametrize(
    ("part", "name", "value", "problem"),
    [
        ("numbers", "mean_bound", 30.0, "the noise gives epsilon"),
        ("scales", "mean", 0.01, "the noise gives epsilon"),
        ("numbers", "centred", False, "the noisy mean is not the centre"),
        ("numbers", "shape", [2, 5], "centre does not have the shape"),
        ("numbers", "mean_share", None, "mean_bound and mean_share must stand together"),
    ],
)
def test_a_changed_mean_in_a_certificate_is_found(tmp_path, part, name, value, problem):
    rows, labels = rows_of()
    mean = release_mean(rows, bound=3.0, records=400, share=0.1, **BUDGET)
    head = SoftmaxHead(penalty=0.1, classes=range(3), records=400, centre=mean.tensors["mean"])
    save(release_weights(head.fit(rows, labels), mean=mean, **BUDGET), tmp_path / "head")
    path = tmp_path / "head.json"
    document = json.loads(path.read_text())
    document[part][name] = value
    path.write_text(json.dumps(document))
    assert any(problem in line for line in verify(tmp_path / "head").problems)


@pytest.mark.parametrize("each", [None, 1, 3])
def test_persons_are_named_with_the_mean(each):
    claim = release_mean(
        rows_of()[0], bound=3.0, records=400, max_records_per_person=each, **BUDGET
    ).guarantee
    assert claim.unit == unit_of(each)
    assert any("no person owns more than" in line for line in claim.stated) == (each is not None)


class TestRefusals:
    def released(self, **changes):
        rows, labels = rows_of()
        mean = release_mean(rows, bound=3.0, records=400, share=0.1, **BUDGET)
        head = SoftmaxHead(penalty=0.1, classes=range(3), records=400, centre=mean.tensors["mean"])
        return head.fit(rows, labels), mean

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"epsilon": 0.05}, "epsilon must be more than the mean alone has spent"),
            ({"mechanism": "laplace"}, "mean must have the relation, mechanism"),
            ({"relation": "replace-one"}, "mean must have the relation, mechanism"),
            ({"max_records_per_person": 2}, "mean must have the relation, mechanism"),
            ({"max_records_per_person": 1}, "mean must have the relation, mechanism"),
        ],
    )
    def test_other_terms(self, change, message):
        head, mean = self.released()
        with pytest.raises(InputError, match=message):
            release_weights(head, mean=mean, **(BUDGET | change))

    def test_another_mean_or_a_forged_one(self):
        head, mean = self.released()
        other = self.released()[1]
        with pytest.raises(InputError, match="centre of the head must be the values of the mean"):
            release_weights(head, mean=other, **BUDGET)
        with pytest.raises(InputError, match="mean must be as release_mean returned it"):
            release_weights(head, mean=dataclasses.replace(mean, scales={"mean": 1e9}), **BUDGET)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"share": 0.0}, "share must be > 0"),
            ({"share": 1.5}, r"share must be in \(0, 1\]"),
            ({"bound": float("nan")}, "bound must be > 0"),
            ({"records": 0}, "records must be >= 1"),
            ({"epsilon": -1.0}, "epsilon must be > 0"),
            ({"delta": 0.0}, "delta must be > 0 for gaussian"),
            ({"delta": 0.0, "share": 0.5}, "delta must be > 0 for gaussian"),
            ({"relation": "as declared with the sensitivity"}, "relation must be"),
            ({"X": [[math.nan]]}, "X must be finite"),
            ({"X": [1.0]}, "X must have rows and columns"),
        ],
    )
    def test_bad_numbers(self, change, message):
        arguments = {"X": rows_of()[0], "bound": 1.0, "records": 400} | BUDGET | change
        with pytest.raises(InputError, match=message):
            release_mean(arguments.pop("X"), **arguments)


def test_the_empty_data_set_has_a_mean_too():
    mean = release_mean(np.zeros((0, 4)), bound=1.0, records=50, **BUDGET)
    assert mean.tensors["mean"].shape == (4,)


def test_the_share_comes_from_public_numbers():
    few = mean_share(records=1000, features=64, epsilon=1.0, delta=1e-5)
    many = mean_share(records=10**6, features=64, epsilon=1.0, delta=1e-5)
    assert (few, many) == (0.2, 0.01)


def test_what_is_charged_is_charged_first():
    events = []
    rows, labels = rows_of()
    terms = BUDGET | {"mechanism": "logistic", "charge": events.append}
    mean = release_mean(rows, bound=3.0, records=400, share=0.1, **terms)
    head = SoftmaxHead(penalty=0.1, classes=range(3), records=400, centre=mean.tensors["mean"])
    release_weights(head.fit(rows, labels), mean=mean, **terms)
    assert [type(event) for event in events] == [LogisticEvent, LogisticEvent]
    assert {event.norm for event in events} == {"l2"}

    def refuse(_):
        raise RuntimeError("no budget")

    with pytest.raises(RuntimeError, match="no budget"):
        release_mean(rows, bound=3.0, records=400, **(BUDGET | {"charge": refuse}))
    with pytest.raises(RuntimeError, match="no budget"):
        release_weights(head, mean=mean, **(terms | {"charge": refuse}))
