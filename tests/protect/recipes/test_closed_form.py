"""The closed form: what one unit moves, to the last bit, and what comes of the answers."""

import dataclasses

import numpy as np
import pytest

from reticent.guarantee import Grade
from reticent.protect import RECIPES, Terms, release_records
from reticent.protect.noise_scales import noise_plan
from reticent.protect.noisy_query import with_noise_function
from reticent.protect.recipes import closed_form
from reticent.protect.recipes.statistics import flat
from reticent.validation import InputError

D, V = 5, 3
F = (1 + V) * D
NONE = np.zeros(0)
AXES = np.eye(D)


def terms_of(relation="add-remove", each=None):
    return Terms(epsilon=1.0, delta=1e-5, relation=relation, max_records_per_person=each)


def planned(terms, **options):
    asked = {"stacked": True, "components": 4, "embedding": 3} | options
    return RECIPES["closed-form"].planned(terms, records=100, features=F, **asked)


def row_of(*views):
    """A stacked row: the record's own block, which training does not read, and its views."""
    return np.concatenate([np.full(D, 7.0), *views])


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
    """Answers after which nothing is centred and the whitened directions are the first axes."""
    seen = exact_sums(recipe, terms, np.zeros((0, F)))
    answers = [value for _, value in seen]
    answers[0] = np.append(np.zeros(D), 0.25 * 1000)
    answers[1] = flat(np.diag([400.0, 300.0, 200.0, 100.0, 0.0]))
    return answers


def others(seed=0, number=40):
    return np.random.default_rng(seed).normal(size=(number, F))


@pytest.mark.parametrize("each", [None, 3])
class TestBounds:
    """Theory E.7: every bound is kept, and reached to .95 by the constructions named there."""

    def moved(self, terms, one, other):
        recipe = planned(terms)
        answers = axes_answers(recipe, terms)
        worlds = [
            exact_sums(recipe, terms, np.vstack([others(), rows]), answers) for rows in (one, other)
        ]
        shares = []
        for (noise, value), (_, there) in zip(*worlds, strict=True):
            moved = float(np.linalg.norm(value - there))
            assert moved <= noise.sensitivity.l2
            assert float(np.abs(value - there).sum()) <= noise.sensitivity.l1
            shares.append(moved / noise.sensitivity.l2)
        return shares

    def test_one_unit_more(self, each):
        rows = np.tile(row_of(*[AXES[1]] * V), (each or 1, 1))
        shares = self.moved(terms_of(each=each), rows, rows[:0])
        assert len(shares) == 3
        assert min(shares) > 0.95

    def test_one_unit_in_place_of_another(self, each):
        """Opposite views for the mean, orthogonal ones for the moments."""
        times, terms = (each or 1, 1), terms_of("replace-one", each)
        here, there = (np.tile(row_of(*[axis] * V), times) for axis in (AXES[1], AXES[2]))
        assert self.moved(terms, here, -here)[0] > 0.95
        assert min(self.moved(terms, here, there)[1:]) > 0.95

    def test_views_apart_move_the_pair_less(self, each):
        """Views across one another: P and W have norms 1/√3 and √2/3."""
        rows = np.tile(row_of(*AXES[:V]), (each or 1, 1))
        share = self.moved(terms_of(each=each), rows, rows[:0])[2]
        assert share == pytest.approx(np.hypot(1 / 3, np.sqrt(2) / 3), abs=1e-3)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("stacked", [True, False])
def test_no_pair_moves_a_sum_further(relation, stacked):
    """Random neighbours after random answers: rows of every size, ties and zeros among them."""
    rng = np.random.default_rng(1)
    terms = terms_of(relation)
    recipe = planned(terms, stacked=stacked)
    for _ in range(10):
        rows = rng.choice([-1.0, 0.0, 1.0, 1e-300, 1e300], size=(30, F))
        rows[::3] = rng.normal(size=(10, F))
        rows[0, D : 2 * D] = 0.0
        answers = [
            value + rng.normal(size=value.shape) * rng.choice([0.0, 1.0, 10.0])
            for _, value in exact_sums(recipe, terms, rows)
        ]
        other = rows[1:] if relation == "add-remove" else np.vstack([-rows[1:2], rows[1:]])
        shuffled = np.asfortranarray(other[rng.permutation(len(other))])
        here = exact_sums(recipe, terms, rows, answers)
        there = exact_sums(recipe, terms, shuffled, answers)
        for (noise, value), (_, neighbour) in zip(here, there, strict=True):
            assert np.linalg.norm(value - neighbour) <= noise.sensitivity.l2


def test_sums_are_exact_whatever_stands_beside_a_record():
    """Sums over parts add up to the sum over all, bit by bit: no product rounds by its place."""
    terms = terms_of()
    recipe = planned(terms)
    answers = [value for _, value in exact_sums(recipe, terms, others(2, 300))]

    def moments(rows):
        return [value for _, value in exact_sums(recipe, terms, rows, answers)]

    rows = others(2, 300)
    whole = moments(rows)
    for start in (1, 2, 7, 130):
        parts = moments(rows[:start]), moments(np.asfortranarray(rows[start:]))
        assert np.array_equal(parts[0][0] + parts[1][0], whole[0])
        for one, other, all_ in zip(*parts, whole, strict=True):
            assert np.abs(one + other - all_).max() <= 2.0**-40  # √2 and 1/V round, nothing else


def test_a_mean_view_is_cut_to_the_grid_and_no_longer_than_1():
    rows = np.tile(AXES[0], (2, 1 + V)) * 3.0
    rows[1, D : 2 * D] = AXES[1]
    mean = planned(terms_of())._mean_views(rows)
    assert np.array_equal(mean * 2**20, np.trunc(mean * 2**20))
    assert np.linalg.norm(mean, axis=1).max() <= 1
    assert mean[1] == pytest.approx((2 * AXES[0] + AXES[1]) / 3, abs=2e-6)


def release_of(rows, **options):
    terms = terms_of()
    return release_records(planned(terms, **options), terms, rows, NONE)


def test_features_of_a_row_depend_on_it_alone():
    released = release_of(others(3, 200))
    rows = others(4, 50)
    whole = released.transform(rows)
    assert whole.shape == (50, released.recipe.width) == (50, 3)
    for place in (0, 17, 49):
        assert np.array_equal(released.transform(rows[[place]])[0], whole[place])
    assert np.array_equal(released.transform(np.asfortranarray(rows)), whole)
    assert np.linalg.norm(whole, axis=1).max() <= 1 + 1e-9
    views = rows.copy()
    views[:, D:] = 0.0
    assert np.array_equal(released.transform(views), whole)  # a query needs no views


def test_features_of_a_row_depend_on_it_alone_with_tensors_of_a_strangers_file():
    """Tensors that lie on no grid: a library's product would round a row by its place."""
    rng = np.random.default_rng(6)
    released = release_of(others(3, 50))
    odd = {name: rng.normal(size=one.shape) / 3 for name, one in released.tensors.items()}
    rows = others(4, 200)
    own = [released.recipe.encoded(odd, rows[part]) for part in (slice(0, 200), slice(3, 10))]
    assert np.array_equal(own[0][3:10], own[1])


@pytest.mark.parametrize("rows", [np.zeros((0, F)), np.zeros((5, F)), np.full((3, F), 1e308)])
@pytest.mark.parametrize("embedding", [0, 3])
def test_every_table_ends_in_a_release(rows, embedding):
    released = release_of(rows, embedding=embedding)
    assert released.guarantee.grade is Grade.PROVEN
    assert np.isfinite(released.transform(np.ones((2, F)))).all()


def test_the_map_is_the_minimum_of_the_loss():
    """Against gradient descent on −2·tr(F P Fᵀ) + ‖F (P + W) Fᵀ‖², up to a turn and the scale."""
    rng = np.random.default_rng(5)
    factor = rng.normal(size=(2, 6, 40))
    between, within = (one @ one.T / 40 for one in factor)
    total = between + within
    found = rng.normal(size=(3, 6)) * 0.1
    for _ in range(20_000):
        gradient = -4 * found @ between + 4 * found @ total @ found.T @ found @ total
        found -= 0.005 * gradient
    ours = closed_form.minimum(between, within, width=3, damping=0.0).T
    ours *= np.linalg.norm(found, 2) / np.linalg.norm(ours, 2)
    assert ours.T @ ours == pytest.approx(found.T @ found, abs=1e-4)


def test_what_views_share_is_kept_and_what_they_do_not_is_dropped():
    """Two directions tell records apart, three are noise of the view: the first two are found."""
    rng = np.random.default_rng(6)
    records = rng.normal(size=(4000, 2))
    views = [
        np.hstack([records, 3 * rng.normal(size=(4000, 3))]) + rng.normal(size=(4000, D)) * 0.1
        for _ in range(1 + V)
    ]
    terms = Terms(epsilon=8.0, delta=1e-5, relation="add-remove")
    recipe = RECIPES["closed-form"].planned(
        terms, records=4000, features=F, stacked=True, embedding=2
    )
    features = release_records(recipe, terms, np.hstack(views), NONE).transform(np.hstack(views))
    told = np.linalg.lstsq(features, records / np.linalg.norm(views[0], axis=1)[:, None])[1]
    lost = np.sum((records / np.linalg.norm(views[0], axis=1)[:, None]) ** 2, axis=0)
    assert (told < 0.2 * lost).all()


def test_numbers_that_do_not_go_together_are_refused():
    terms = terms_of()
    with pytest.raises(InputError, match="rows must hold a record and its 2 views, 3 blocks"):
        planned(terms, views=2)
    with pytest.raises(InputError, match="views must be between 1 and 64, got 65"):
        planned(terms, views=65, stacked=False)
    with pytest.raises(InputError, match="views must be 3, stacked, for the base gabor-views"):
        planned(terms, base="gabor-views", stacked=False)
    assert planned(terms, components=99, embedding=99).components == D
    recipe = planned(terms)
    assert recipe.misfits(terms) == []
    assert dataclasses.replace(recipe, ridge=0.2).misfits(terms)


def test_whitening_alone_has_the_whole_budget():
    terms = terms_of()
    alone = planned(terms, embedding=0)
    assert list(alone.steps(terms)) == ["mean", "second moment"]
    whole, part = (
        noise_plan(one, terms)["second moment"].noise.scale for one in (alone, planned(terms))
    )
    assert whole < part
