"""Private prototypes: what one unit moves, to the last bit, and what comes of the answers."""

import dataclasses

import numpy as np
import pytest

from reticent.guarantee import Grade
from reticent.protect import RECIPES, Terms, release_records
from reticent.protect.noise_scales import noise_plan
from reticent.protect.noisy_query import with_noise_function
from reticent.protect.recipes import prototypes, statistics
from reticent.protect.recipes.exact_rows import unit_rows
from reticent.validation import InputError

D, K = 6, 3
SIZES = {"components": 3, "clusters": 2, "rounds": 2}
NONE = np.zeros(0)


def terms_of(relation="add-remove", each=None):
    return Terms(epsilon=1.0, delta=1e-5, relation=relation, max_records_per_person=each)


def planned(terms, **options):
    kind = RECIPES["prototypes"]
    return kind.planned(terms, records=100, features=D, **(SIZES | options))


def exact_sums(recipe, terms, rows, answers=None):
    """All sums of a fit as they are before noise; each is answered as it was in ``answers``."""
    seen = []

    def answer(noise, value):
        seen.append((noise, value.copy()))
        return value if answers is None else answers[len(seen) - 1]

    with with_noise_function(answer):
        recipe.learn(rows, NONE, noise_plan(recipe, terms))
    return seen


def axes_answers(recipe, terms):
    """Answers after which components are axes 0 to 2 and both centres lie in their first two."""
    seen = exact_sums(recipe, terms, np.zeros((0, D)))
    answers = [value for _, value in seen]
    answers[0] = np.append(np.zeros(D), 0.25 * 1000)  # no mean, a thousand records
    spread = np.diag([300.0, 200.0, 100.0, 0.0, 0.0, 0.0])
    answers[1] = statistics.flat(spread)
    answers[2] = statistics.flat(np.diag([300.0, 200.0, 100.0]))
    sums = np.array([[1e5, 0.0, 0.0], [0.0, 1e5, 0.0]])
    for place in (3, 4):
        answers[place] = np.concatenate([sums.ravel(), 0.5 * np.full(2, 5e5)])
    return answers


@pytest.mark.parametrize("each", [None, 3])
class TestBounds:
    """Theory E.8: every bound is kept, and reached to .95 by the constructions named there."""

    def moved(self, terms, one, other):
        recipe = planned(terms)
        answers = axes_answers(recipe, terms)
        worlds = [exact_sums(recipe, terms, rows, answers) for rows in (one, other)]
        shares = []
        for (noise, value), (_, there) in zip(*worlds, strict=True):
            moved = float(np.linalg.norm(value - there))
            assert moved <= noise.sensitivity.l2
            assert float(np.abs(value - there).sum()) <= noise.sensitivity.l1
            shares.append(moved / noise.sensitivity.l2)
        return shares

    def test_one_unit_more(self, each):
        unit = np.tile(np.eye(D)[2], (each or 1, 1))
        others = np.random.default_rng(0).normal(size=(40, D))
        terms = terms_of(each=each)
        shares = self.moved(terms, others, np.vstack([others, unit]))
        assert min(shares) > 0.95

    def test_one_unit_in_place_of_another(self, each):
        """Opposite rows for sums, orthogonal ones for moments; both lie across the centres.

        Across both centres a row and its opposite have equal scores: the first cluster has both.
        """
        others = np.random.default_rng(0).normal(size=(40, D))
        terms, times = terms_of("replace-one", each), (each or 1, 1)
        along, across = np.eye(D)[2], np.eye(D)[1]
        opposite = self.moved(
            terms,
            np.vstack([others, np.tile(along, times)]),
            np.vstack([others, np.tile(-along, times)]),
        )
        orthogonal = self.moved(
            terms,
            np.vstack([others, np.tile(along, times)]),
            np.vstack([others, np.tile(across, times)]),
        )
        best = np.maximum(opposite, orthogonal)
        assert best[0] > 0.95
        assert best[1] > 0.95
        assert best[2] > 0.95
        assert best[-1] > 0.95  # after the first step both centres are in the plane of two axes


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_no_pair_moves_a_sum_further(relation):
    """Random neighbours after random answers: rows of every size, ties and zeros among them."""
    rng = np.random.default_rng(1)
    terms = terms_of(relation)
    recipe = planned(terms, root=True)
    for _ in range(15):
        rows = rng.choice([-1.0, 0.0, 1.0, 1e-300, 1e300], size=(30, D))
        rows[::3] = rng.normal(size=(10, D))
        answers = [
            value + rng.normal(size=value.shape) * rng.choice([0.0, 1.0, 10.0])
            for _, value in exact_sums(recipe, terms, rows)
        ]
        other = rows[1:] if relation == "add-remove" else np.vstack([-rows[:1], rows[1:]])
        shuffled = other[rng.permutation(len(other))]
        here = exact_sums(recipe, terms, rows, answers)
        there = exact_sums(recipe, terms, shuffled, answers)
        for (noise, value), (_, neighbour) in zip(here, there, strict=True):
            assert np.linalg.norm(value - neighbour) <= noise.sensitivity.l2


def test_a_record_is_in_the_same_cluster_whatever_stands_beside_it():
    """Scores within the rounding of a product, which would order them by the size of a batch."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        middle = prototypes._directions(rng.normal(size=(1, 48)))
        near = middle + 2.0**-52 * rng.normal(size=(64, 48))
        rows = unit_rows(rng.normal(size=(500, 48)), np.zeros(48)).astype(np.float32)
        sums, counts = prototypes._cluster_sums(rows, near)
        for start in (1, 2, 3, 5, 7, 130):
            part, number = prototypes._cluster_sums(rows[:start], near)
            rest, others = prototypes._cluster_sums(np.asfortranarray(rows[start:]), near)
            assert np.array_equal(part + rest, sums)
            assert np.array_equal(number + others, counts)


def test_features_of_a_row_depend_on_it_alone():
    released = release_of(np.random.default_rng(3).normal(size=(200, D)))
    rows = np.random.default_rng(4).normal(size=(50, D))
    whole = released.transform(rows)
    assert whole.shape == (50, released.recipe.width) == (50, D + 3)
    for place in (0, 17, 49):
        assert np.array_equal(released.transform(rows[[place]])[0], whole[place])
    assert np.array_equal(released.transform(np.asfortranarray(rows)), whole)
    assert np.linalg.norm(whole[:, :D], axis=1).max() <= 1
    assert np.linalg.norm(whole[:, D:], axis=1) == pytest.approx(1, abs=1e-4)


def test_features_of_a_row_depend_on_it_alone_with_tensors_of_a_strangers_file():
    """Tensors that lie on no grid: a library's product would round a row by its place."""
    rng = np.random.default_rng(6)
    released = release_of(rng.normal(size=(50, D)))
    odd = {name: rng.normal(size=one.shape) / 3 for name, one in released.tensors.items()}
    stranger = dataclasses.replace(released, tensors=odd)
    rows = rng.normal(size=(200, D))
    whole = stranger.transform(rows)
    for part in (slice(0, 1), slice(3, 10), slice(50, 200)):
        assert np.array_equal(stranger.transform(rows[part]), whole[part])


def test_the_features_are_those_that_clusters_were_made_of():
    """Exact products: projected rows of the fit and of a query are equal, bit by bit."""
    rows = np.random.default_rng(7).normal(size=(300, D))
    released = release_of(rows, rounds=0)  # the map is the identity then
    mean, components = released.tensors["mean"], released.tensors["components"]
    unit = unit_rows(rows, np.zeros(D))
    fitted = prototypes._projected_rows(unit, mean, components)
    asked = released.transform(rows)[:, D:]
    assert np.abs(asked - fitted).max() <= 2.0**-19


def release_of(rows, **options):
    terms = terms_of()
    return release_records(planned(terms, **options), terms, rows, NONE)


@pytest.mark.parametrize("rows", [np.zeros((0, D)), np.zeros((5, D)), np.full((3, D), 1e308)])
def test_every_table_ends_in_a_release(rows):
    released = release_of(rows)
    assert released.guarantee.grade is Grade.PROVEN
    assert np.isfinite(released.transform(np.eye(D))).all()


@pytest.mark.slow
def test_clusters_are_found_and_weighed():
    """Four groups in a plane, large differences within them across it: the plane counts most."""
    rng = np.random.default_rng(5)
    count, width = 40_000, 12
    middle = np.zeros((4, width))
    middle[:, :2] = [[1, 1], [1, -1], [-1, 1], [-1, -1]]
    labels = rng.integers(4, size=count)
    rows = middle[labels] + rng.normal(size=(count, width)) * np.r_[0.1, 0.1, np.full(10, 0.7)]
    terms = Terms(epsilon=3.0, delta=1e-5, relation="add-remove")
    kind = RECIPES["prototypes"]
    found = {}
    for rounds in (0, 4):
        recipe = kind.planned(terms, records=count, features=width, rounds=rounds, clusters=16)
        features = release_records(recipe, terms, rows, NONE).transform(rows[:4000])[:, width:]
        means = np.array([features[labels[:4000] == one].mean(axis=0) for one in range(4)])
        within = features - means[labels[:4000]]
        found[rounds] = np.trace(np.cov(means.T)) / np.trace(np.cov(within.T))
    assert found[4] > 2 * found[0]


def test_numbers_that_do_not_go_together_are_refused():
    terms = terms_of()
    with pytest.raises(InputError, match="components must be >= 1"):
        planned(terms, components=0)
    with pytest.raises(InputError, match="base must be one of efficientnet-lite0"):
        planned(terms, base="os:system")
    with pytest.raises(InputError, match="clusters must be >= 1"):
        planned(terms, clusters=0)
    assert planned(terms, components=48).components == D
    recipe = planned(terms)
    assert recipe.misfits(terms) == []
    assert dataclasses.replace(recipe, ridge=0.2).misfits(terms)


def test_without_rounds_the_components_have_the_whole_budget():
    terms = terms_of()
    alone = planned(terms, rounds=0)
    assert list(alone.steps(terms)) == ["mean", "second moment"]
    whole, part = (
        noise_plan(one, terms)["second moment"].noise.scale for one in (alone, planned(terms))
    )
    assert whole < part


def test_equal_eigenvalues_give_directions_too():
    """LAPACK's search for a part of the spectrum found no vector of this matrix."""
    equal = np.full((48, 48), -5.56130658e-05)
    np.fill_diagonal(equal, 7.43447840e-03)
    found = prototypes._components(equal, np.zeros(48), 2)
    assert np.allclose(found.T @ found, np.eye(2), atol=1e-6)
