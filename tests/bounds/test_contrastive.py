"""Bounds of contrastive releases: reached by constructions, and exceeded by no pair that we try."""

import numpy as np
import pytest
from scipy.special import softmax

from reticent import bounds
from reticent.guarantee import Grade
from reticent.validation import InputError


def summed_gradient(similarities, gradients, temperature):
    """Of Σ_i −log softmax_j(S_ij/τ) at i: S is (n, m), gradients of each S_ij are (n, m, p).

    The positive of row i stands in column i; −∞ is no candidate.
    """
    weights = softmax(similarities / temperature, axis=1)
    weights[np.arange(len(weights)), np.arange(len(weights))] -= 1
    return np.einsum("ij,ijp->p", weights, gradients) / temperature


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("images", [2, 8, 64])
class TestClippedSimilarities:
    """One image each: rows and columns of the last record change, in all entries at will."""

    def worlds(self, images, replaced):
        """All other rows are driven to the last column, whose gradient turns round or appears."""
        last = images - 1
        here = np.full((images, images), -1.0), np.full((images, images, 1), -1.0)
        here[0][:, last], here[1][:, last] = 1.0, 1.0  # all others look at the last record
        here[0][last], here[1][last] = 1.0, 1.0
        here[0][last, last], here[1][last, last] = -1.0, -1.0
        if not replaced:
            return here, (here[0][:last, :last], here[1][:last, :last])
        there = here[0].copy(), here[1].copy()
        there[0][:last, last] = there[1][:last, last] = -1.0  # turned away
        there[1][last] *= -1
        return here, there

    @pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
    def test_the_bound_is_reached(self, images, temperature, relation):
        pair = self.worlds(images, relation == "replace-one")
        one, other = (summed_gradient(*world, temperature) for world in pair)
        bound = bounds.clipped_similarities(
            clip=1.0, temperature=temperature, images=images, relation=relation
        )
        assert np.linalg.norm(one - other) <= bound.l2
        assert np.linalg.norm(one - other) >= 0.95 * bound.l2
        assert bound.grade is Grade.DECLARED  # nothing here bounds the rounding of a sum

    def test_no_random_pair_exceeds_it(self, images, temperature):
        rng = np.random.default_rng(0)
        limit = bounds.clipped_similarities(
            clip=1.0, temperature=temperature, images=images, relation="replace-one"
        )
        for _ in range(20):
            here = rng.choice([-1.0, 1.0], (images, images)), rng.normal(size=(images, images, 3))
            here[1][:] /= np.linalg.norm(here[1], axis=2, keepdims=True)
            there = here[0].copy(), here[1].copy()
            there[0][-1], there[0][:, -1] = rng.choice([-1.0, 1.0], (2, images))
            there[1][-1] *= -1
            there[1][:, -1] *= -1
            moved = summed_gradient(*here, temperature) - summed_gradient(*there, temperature)
            assert np.linalg.norm(moved) <= limit.l2


def test_the_two_view_bound_holds():
    """Views of one image stand one after the other; a view is no candidate of itself."""
    rng = np.random.default_rng(1)
    images, best = 6, 0.0
    size = 2 * images
    order = np.arange(size)
    partner = order ^ 1
    limit = bounds.clipped_similarities(
        clip=1.0, temperature=1.0, images=images, relation="replace-one", views=2
    ).l2

    def gradient(similarities, gradients):
        masked = np.where(np.eye(size, dtype=bool), -np.inf, similarities)
        return summed_gradient(masked[:, partner], gradients[:, partner], 1.0)

    for _ in range(300):
        here = rng.choice([-1.0, 1.0], (size, size)), rng.choice([-1.0, 1.0], (size, size, 1))
        if rng.random() < 0.5:  # all others look at the last image, against what they shared
            here[0][:-2, :-2], here[0][:-2, -2:] = -1.0, 1.0
            here[1][:-2, :-2], here[1][:-2, -2:] = -1.0, 1.0
        there = here[0].copy(), here[1].copy()
        there[0][:, -2:], there[0][-2:] = rng.choice([-1.0, 1.0], 2)
        there[1][:, -2:] *= -1
        there[1][-2:] = -here[1][-2:]
        moved = abs(float((gradient(*here) - gradient(*there))[0]))
        assert moved <= limit
        best = max(best, moved / limit)
    assert best > 0.3


def test_embeddings_of_a_batch_move_by_two_rows():
    bound = bounds.released_embeddings(width=4)
    assert bound.grade is Grade.PROVEN
    rows = np.zeros((3, 2, 4))
    rows[:, :, 0] = 1.0
    other = rows.copy()
    other[1] *= -1
    moved = np.linalg.norm(rows - other)
    assert 0.95 * bound.l2 <= moved <= bound.l2
    assert np.abs(rows - other).sum() <= bound.l1
    spread = np.full((2, 4), 0.5)
    assert 0.95 * bound.l1 <= np.abs(spread - -spread).sum() <= bound.l1
    assert bounds.released_embeddings(width=4, max_records_per_person=4).l2 == pytest.approx(
        2 * bound.l2
    )


def test_what_has_no_bound_is_refused():
    at = {"clip": 1.0, "images": 8}
    with pytest.raises(InputError, match="relation must be replace-one"):
        bounds.clipped_similarities(temperature=1.0, relation="add-remove", views=2, **at)
    with pytest.raises(InputError, match=r"temperature must be at least 0\.01"):
        bounds.clipped_similarities(temperature=1e-3, relation="replace-one", **at)
    with pytest.raises(InputError, match="temperature must be"):
        bounds.clipped_similarities(temperature=float("nan"), relation="replace-one", **at)
