"""Barlow Twins and the spectral loss against plain loops and at points of known value."""

import math

import numpy as np
import pytest
import torch

from reticent.training.contrastive import barlow_twins, nt_xent, spectral, spectral_terms
from reticent.training.contrastive.barlow_twins import barlow_terms, correlation_loss
from reticent.training.contrastive.nt_xent import nt_xent_terms
from reticent.training.contrastive.spectral import moment
from reticent.training.gradients import Clipper, check_gradients
from reticent.validation import InputError


def pair(n=6, d=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(2, n, d, generator=generator, dtype=torch.float64)


def plain_barlow(first, second, weight):
    """Equation 1 of Zbontar et al., entry by entry, with standardised columns."""
    (n, d), total = first.shape, 0.0
    columns = [
        [(views[:, i] - views[:, i].mean()) / views[:, i].std() for i in range(d)]
        for views in (first.numpy(), second.numpy())
    ]
    for i in range(d):
        for j in range(d):
            entry = float(columns[0][i] @ columns[1][j]) / n
            total += (1 - entry) ** 2 if i == j else weight * entry**2
    return total


def plain_spectral(first, second, weight):
    """HaoChen et al., Definition 3.1: the mean over all ordered pairs of all views."""
    one, other = ((v / v.norm(dim=1, keepdim=True)).numpy() for v in (first, second))
    views = np.concatenate([one, other])
    pairs = np.mean([float(a @ b) ** 2 for a in views for b in views])
    return -2 * np.mean([float(a @ b) for a, b in zip(one, other, strict=True)]) + weight * pairs


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weight", [5e-3, 1.0])
def test_they_are_the_plain_loops(seed, weight):
    first, second = pair(seed=seed)
    found = float(barlow_twins(first, second, off_diagonal=weight))
    assert found == pytest.approx(plain_barlow(first, second, weight), rel=1e-6)
    found = float(spectral(first, second, repulsion=weight))
    assert found == pytest.approx(plain_spectral(first, second, weight), rel=1e-9)


def test_known_values():
    same = torch.eye(4, dtype=torch.float64)
    assert float(spectral(same, 3 * same, repulsion=1.0)) == pytest.approx(-2 + 1 / 4)
    collapsed = torch.ones(5, 3, dtype=torch.float64)
    assert float(spectral(collapsed, collapsed, repulsion=7.0)) == pytest.approx(5.0)
    rows = pair(200, 2)[0]
    whitened = torch.linalg.qr(rows - rows.mean(0))[0]
    assert float(barlow_twins(whitened, whitened)) == pytest.approx(0.0, abs=1e-6)
    assert float(barlow_twins(whitened, -whitened)) == pytest.approx(8.0, rel=1e-3)


def test_terms_at_the_moment_have_the_gradient_of_the_coupled_loss():
    views = pair(7, 4).requires_grad_()
    directions = views.detach() / views.detach().norm(dim=2, keepdim=True)
    at = moment(directions[0], directions[1])
    coupled = torch.autograd.grad(spectral(views[0], views[1], repulsion=3.0), views)[0]
    apart = spectral_terms(views[0], views[1], at, repulsion=3.0).mean()
    assert torch.allclose(torch.autograd.grad(apart, views)[0], coupled, rtol=1e-9, atol=1e-12)


def test_terms_of_barlow_twins_at_the_correlation_have_the_gradient_of_its_loss():
    views = pair(7, 4).requires_grad_()
    one, other = (rows / rows.norm(dim=1, keepdim=True) for rows in views)
    correlation = 4 * one.T @ other / 7
    whole = torch.autograd.grad(
        correlation_loss(correlation, off_diagonal=0.3), views, retain_graph=True
    )[0]
    apart = barlow_terms(views[0], views[1], correlation.detach(), off_diagonal=0.3).mean()
    assert torch.allclose(torch.autograd.grad(apart, views)[0], whole, rtol=1e-9, atol=1e-12)


def test_noise_on_the_cosines_is_that_of_the_paper():
    first, second = pair(4)
    zero = torch.zeros(8, 8, dtype=torch.float64)
    plain = nt_xent_terms(first, second, temperature=0.5)
    assert torch.equal(nt_xent_terms(first, second, temperature=0.5, noise=zero), plain)
    assert float(plain.mean()) == pytest.approx(float(nt_xent(first, second, temperature=0.5)))
    shifted = nt_xent_terms(first, second, temperature=0.5, noise=zero + 1)
    assert torch.allclose(shifted, plain)  # a softmax does not see a constant
    zero[0, 4] = math.log(2)
    assert float(nt_xent_terms(first, second, temperature=0.5, noise=zero)[0]) < float(plain[0])


IDENTITY = torch.eye(3) / 3


@pytest.mark.parametrize(
    "terms",
    [
        lambda a, b: nt_xent_terms(a, b, temperature=0.5).view(2, -1).sum(0),
        lambda a, b: barlow_twins(a, b).expand(len(a)),
        lambda a, b: spectral(a, b).expand(len(a)),
        lambda a, b: spectral_terms(a, b, torch.einsum("ni,nj->ij", a, b), repulsion=5.0),
    ],
)
def test_losses_that_couple_images_are_refused_by_the_check_before_training(terms):
    with pytest.raises(InputError, match=r"rows that belong to one record|influence each other"):
        checked(terms)


@pytest.mark.parametrize(
    "terms",
    [
        lambda a, b: spectral_terms(a, b, IDENTITY, repulsion=5.0),
        lambda a, b: barlow_terms(a, b, IDENTITY, off_diagonal=0.05),
    ],
)
def test_terms_at_a_released_matrix_pass_it(terms):
    checked(terms)


def checked(terms):
    """As a training by a user's own loss is: of each image both views."""
    images = pair(6, 5).transpose(0, 1).float()
    check_gradients(
        Clipper(torch.nn.Linear(5, 3)),
        lambda model, batch: terms(model(batch[:, 0]), model(batch[:, 1])),
        (images,),
    )


@pytest.mark.parametrize("loss", [barlow_twins, spectral])
def test_wrong_input_is_refused(loss):
    with pytest.raises(InputError, match="two tensors of one shape"):
        loss(torch.eye(2), torch.eye(3))
    with pytest.raises(InputError, match="n >= 2"):
        loss(torch.ones(1, 3), torch.ones(1, 3))
