"""The recipe simclr: each record's loss reads public rows alone, and one record moves one term."""

import numpy as np
import pytest
import torch

from reticent.guarantee import Grade
from reticent.protect import RECIPES, Terms, release_records
from reticent.protect.contrastive_run import ContrastiveRun
from reticent.protect.noise_scales import noise_plan
from reticent.protect.noisy_query import everyone, with_noise_function, with_sampler
from reticent.protect.recipes.pate import public_text
from reticent.training.contrastive.nt_xent import nt_xent_terms, public_negative_terms
from reticent.validation import InputError

D = 5
ROWS = np.random.default_rng(0).normal(size=(40, D))
PUBLIC = np.random.default_rng(1).normal(size=(30, D))


def planned(terms, **options):
    asked = {"embedding": 3, "epochs": 0.5, "clip": 1e-3, "physical": 8, "negatives": 10}
    kind = RECIPES["simclr"]
    return kind.planned(terms, records=40, features=D, **(asked | options))


def terms_of(relation="add-remove"):
    return Terms(epsilon=2.0, delta=1e-5, relation=relation)


def gradient_sums(recipe, terms, rows):
    """Each sum of a fit before noise, with no noise in the answers but a fixed small one."""
    seen = []

    def answer(noise, value):
        seen.append((noise, value.copy()))
        return np.full_like(value, 1e-4 * len(seen))

    with with_noise_function(answer), with_sampler(everyone):
        recipe.learn(rows, np.zeros(len(rows)), noise_plan(recipe, terms))
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_one_record_moves_the_sum_by_its_own_gradient(relation):
    """Every gradient is clipped: add-remove reaches the bound, replace-one does not exceed it."""
    terms = terms_of(relation)
    recipe = planned(terms, batch=40, public=public_text(PUBLIC))
    other = ROWS[1:] if relation == "add-remove" else np.vstack([-5 * ROWS[:1], ROWS[1:]])
    shares = []
    for (noise, one), (_, two) in zip(
        gradient_sums(recipe, terms, ROWS), gradient_sums(recipe, terms, other), strict=True
    ):
        moved = float(np.linalg.norm(one - two))
        assert moved <= noise.sensitivity.l2
        shares.append(moved / noise.sensitivity.l2)
    assert max(shares) > (0.95 if relation == "add-remove" else 0.1)


@pytest.mark.slow
def test_opposite_gradients_reach_the_bound_of_replace_one():
    """Two records whose gradients point apart: found by trying pairs, 2C to .95."""
    terms = terms_of("replace-one")
    recipe = planned(terms, embedding=2, negatives=1, public=public_text(PUBLIC[:1]))
    rng = np.random.default_rng(2)
    sums = [gradient_sums(recipe, terms, row[None])[0] for row in rng.normal(size=(90, D)) * 3]
    limit = sums[0][0].sensitivity.l2
    terms_found = np.array([value for _, value in sums])
    distances = np.linalg.norm(terms_found[:, None] - terms_found[None], axis=2)
    assert distances.max() <= limit
    assert distances.max() >= 0.95 * limit


def test_the_loss_is_nt_xent_where_the_negatives_are_the_batch():
    """Of two images each is told from the other's two views: the terms of NT-Xent."""
    embeddings = torch.randn(2, 2, 4, generator=torch.Generator().manual_seed(0))
    whole = nt_xent_terms(*embeddings, temperature=0.7)
    for place in (0, 1):
        own = embeddings[:, [place]]
        ours = public_negative_terms(*own, embeddings[:, 1 - place], temperature=0.7)
        assert ours.item() == pytest.approx((whole[place] + whole[2 + place]).item(), rel=1e-5)


def test_public_rows_are_taken_by_turns_and_synthetic_ones_without_them():
    terms = terms_of()
    recipe = planned(terms, public=public_text(PUBLIC))
    run = ContrastiveRun(recipe)
    first, second, fourth = (recipe.public_embeddings(run, step) for step in (0, 1, 3))
    assert not torch.equal(first, second)
    assert torch.equal(first, fourth)  # 30 rows, ten at a time
    alone = planned(terms)
    assert np.array_equal(alone.public_rows(), planned(terms).public_rows())
    assert planned(terms, negatives=99, public=public_text(PUBLIC)).negatives == 30
    images = RECIPES["simclr"].planned(terms, records=40, features=64, shape="8x8x1", negatives=4)
    assert images.public_rows().shape == (4, 64)


def test_slots_are_checked_at_the_size_of_every_step():
    """Bits of a product depend on its shape: the checks see as many negatives as steps do."""
    recipe = planned(terms_of(), public=public_text(PUBLIC))
    run = ContrastiveRun(recipe)
    assert run.gradients.released.shape == recipe.public_embeddings(run, 0).shape == (10, 3)


def test_a_release_is_proven_and_says_what_is_public():
    terms = terms_of()
    recipe = planned(terms, public=public_text(PUBLIC), batch=20)
    released = release_records(recipe, terms, ROWS, np.zeros(len(ROWS)))
    assert released.guarantee.grade is Grade.PROVEN
    assert any("told from private ones are public" in line for line in released.guarantee.stated)
    assert np.isfinite(released.transform(ROWS)).all()
    nobody = release_records(recipe, terms, ROWS[:0], np.zeros(0))
    assert nobody.guarantee.grade is Grade.PROVEN


def test_numbers_that_do_not_go_together_are_refused():
    terms = terms_of()
    with pytest.raises(InputError, match="temperature must be > 0"):
        planned(terms, temperature=0.0)
    with pytest.raises(InputError, match="public must be finite rows of 5 features"):
        planned(terms, public=public_text(PUBLIC[:, :3][:4]))
