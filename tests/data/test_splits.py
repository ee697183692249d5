"""Splits: disjoint, complete, deterministic, persons never divided, shares kept."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.data import Dataset, split
from reticent.validation import InputError

NAMES = ("public", "members", "test", "non-members", "shadow", "population")
SEEDS = st.integers(0, 2**70)


@st.composite
def counts(draw, most=60):
    """A number of units, and sizes that sum to at most that number."""
    wanted = draw(st.lists(st.integers(1, 12), min_size=1, max_size=len(NAMES)))
    total = sum(wanted) + draw(st.integers(0, most))
    return total, dict(zip(NAMES, wanted, strict=False))


@given(counts(), SEEDS)
def test_parts_are_disjoint_and_as_large_as_asked(case, seed):
    total, sizes = case
    parts = split(total, sizes=sizes, seed=seed)
    assert {name: len(rows) for name, rows in parts.items()} == sizes
    rows = np.concatenate(list(parts.values()))
    assert rows.dtype == np.int64
    assert len(np.unique(rows)) == len(rows)
    assert set(rows.tolist()) <= set(range(total))


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(200, 400), SEEDS)
def test_shares_that_sum_to_one_leave_nothing_over(weights, total, seed):
    hundredths = [max(1, 100 * weight // sum(weights)) for weight in weights[:-1]]
    shares = [*hundredths, 100 - sum(hundredths)]
    sizes = {name: share / 100 for name, share in zip(NAMES, shares, strict=False)}
    parts = split(total, sizes=sizes, seed=seed)
    assert sorted(np.concatenate(list(parts.values())).tolist()) == list(range(total))
    assert all(abs(len(parts[name]) - share * total) < 1 for name, share in sizes.items())


def test_decimal_shares_are_exact():
    assert 0.7 + 0.2 + 0.1 < 1  # as floats: the last record would fall out
    parts = split(10, sizes={"a": 0.7, "b": 0.2, "c": 0.1}, seed=0)
    assert [len(rows) for rows in parts.values()] == [7, 2, 1]


@given(counts(), SEEDS)
def test_equal_arguments_give_equal_parts(case, seed):
    total, sizes = case
    first, second = (split(total, sizes=sizes, seed=seed) for _ in range(2))
    assert all(np.array_equal(first[name], second[name]) for name in sizes)


def test_another_seed_gives_another_split():
    splits = {tuple(split(50, sizes={"a": 20}, seed=seed)["a"]) for seed in range(20)}
    assert len(splits) == 20


def test_a_split_stays_the_same_from_version_to_version():
    stratify = np.arange(1000) % 3
    parts = split(1000, sizes={"members": 300, "test": 0.5}, seed=7)
    even = split(1000, sizes={"members": 300, "test": 0.5}, seed=7, stratify=stratify)
    rows = np.concatenate([*parts.values(), *even.values()]).astype("<i8")
    assert hashlib.sha256(rows.tobytes()).hexdigest() == (
        "0246cafec51ad465b748ca9bab0d165badbaddb604e5ca45f1ae41edc14ffb2b"
    )


@given(counts(), st.integers(1, 5), SEEDS)
def test_a_part_more_leaves_the_earlier_ones(case, size, seed):
    total, sizes = case
    before = split(total + 5, sizes=sizes, seed=seed)
    after = split(total + 5, sizes={**sizes, "later": size}, seed=seed)
    assert all(np.array_equal(before[name], after[name]) for name in sizes)


def test_every_record_is_as_likely_as_another():
    chosen = np.concatenate([split(20, sizes={"a": 5}, seed=seed)["a"] for seed in range(4000)])
    share = np.bincount(chosen, minlength=20) / 4000
    assert np.abs(share - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 4000)


@given(counts(most=10), st.data(), SEEDS)
def test_a_person_is_never_divided(case, data, seed):
    people, sizes = case
    extra = data.draw(st.lists(st.integers(0, people - 1), max_size=80))
    persons = np.array([*range(people), *extra])
    parts = split(len(persons), sizes=sizes, seed=seed, persons=persons)
    owners = {name: set(persons[rows].tolist()) for name, rows in parts.items()}
    for name, rows in parts.items():
        assert len(owners[name]) == sizes[name]
        assert sorted(rows.tolist()) == np.flatnonzero(np.isin(persons, [*owners[name]])).tolist()
    assert sum(map(len, owners.values())) == len(set().union(*owners.values()))


def test_persons_of_a_data_set_count_unless_others_are_given():
    data = Dataset(
        name="d",
        source="test",
        inputs=np.zeros((6, 1), np.float32),
        persons=np.array(["a", "a", "b", "b", "c", "c"]),
    )
    parts = split(data, sizes={"x": 1, "y": 2}, seed=3)
    assert [len(rows) for rows in parts.values()] == [2, 4]
    assert len(split(data, sizes={"x": 6}, seed=3, persons=np.arange(6))["x"]) == 6


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6), SEEDS)
def test_strata_keep_their_shares(sizes, seed):
    strata = np.repeat(np.arange(len(sizes)), sizes)
    total = len(strata)
    if total < 4:
        return
    parts = split(total, sizes={"a": 0.25, "b": total // 2}, seed=seed, stratify=strata)
    for rows in parts.values():
        held = np.bincount(strata[rows], minlength=len(sizes))
        shares = np.array(sizes) / total
        assert (np.abs(held - shares * len(rows)) <= 2 + len(sizes) * shares).all()


def test_without_strata_the_shares_are_not_kept():
    strata = np.repeat([0, 1], 500)
    held = [np.sum(strata[split(1000, sizes={"a": 500}, seed=s)["a"]]) for s in range(20)]
    assert max(abs(int(count) - 250) for count in held) > 4


def test_a_lone_stratum_falls_into_every_part():
    strata = np.array([1] + [0] * 19)
    names = set()
    for seed in range(40):
        parts = split(20, sizes={"a": 10, "b": 10}, seed=seed, stratify=strata)
        names |= {name for name, rows in parts.items() if 0 in rows}
    assert names == {"a", "b"}


def test_persons_and_strata_together():
    persons = np.repeat(np.arange(100), 2)
    strata = persons % 2
    parts = split(200, sizes={"a": 50, "b": 50}, seed=1, persons=persons, stratify=strata)
    assert all(abs(int(strata[rows].sum()) - 50) <= 4 for rows in parts.values())
    with pytest.raises(InputError, match="stratify must be one value for each person"):
        split(200, sizes={"a": 50}, seed=1, persons=persons, stratify=np.arange(200))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sizes": {"a": 6, "b": 5}}, "sizes must sum to at most 10 records, got 11"),
        ({"sizes": {"a": 0.6, "b": 0.5}}, "sizes must sum to at most 10 records, got 11"),
        ({"sizes": {"a": 4}, "persons": [0, 1] * 5}, "sizes must sum to at most 2 persons, got 4"),
        ({"sizes": {"a": 0.05}}, "sizes['a'] must be at least one of 10 records, got a share of"),
        ({"sizes": {"a": 0}}, "sizes['a'] must be >= 1, got 0"),
        ({"sizes": {"a": -0.5}}, "sizes['a'] must be a count or a share in (0, 1], got -0.5"),
        (
            {"sizes": {"a": float("nan")}},
            "sizes['a'] must be a count or a share in (0, 1], got nan",
        ),
        ({"sizes": {"a": 1.5}}, "sizes['a'] must be a count or a share in (0, 1], got 1.5"),
        ({"sizes": {"a": True}}, "sizes['a'] must be a whole number, got bool True"),
        ({"sizes": {"": 1}}, "a part of sizes must be a non-empty text"),
        ({"sizes": {}}, "sizes must map the name of each part to its size, got none"),
        ({"sizes": {"a": 1}, "seed": -1}, "seed must be >= 0, got -1"),
        ({"sizes": {"a": 1}, "persons": [0, 1]}, "persons must have shape (10,), got (2,)"),
        ({"sizes": {"a": 1}, "persons": [0.5] * 10}, "persons must be whole numbers or texts"),
        ({"sizes": {"a": 1}, "stratify": [0, 1]}, "stratify must have shape (10,), got (2,)"),
        ({"sizes": {"a": 1}, "stratify": [0.5] * 10}, "stratify must be whole numbers or texts"),
    ],
)
def test_what_cannot_be_split_is_refused_in_one_line(arguments, message):
    with pytest.raises(InputError) as error:
        split(10, **{"seed": 0, **arguments})
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
