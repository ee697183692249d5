"""The loss against a plain loop, and at the points where its value is known."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reticent.training.contrastive import contrastive_accuracy, nt_xent
from reticent.validation import InputError


def plain(first, second, temperature):
    """Equation 1 of the SimCLR paper, term by term."""
    views = [view.tolist() for view in (*first, *second)]
    n = len(first)

    def similarity(i, j):
        product = sum(a * b for a, b in zip(views[i], views[j], strict=True))
        return product / math.hypot(*views[i]) / math.hypot(*views[j])

    total = 0.0
    for i in range(2 * n):
        other = (i + n) % (2 * n)
        others = [math.exp(similarity(i, k) / temperature) for k in range(2 * n) if k != i]
        total -= similarity(i, other) / temperature - math.log(math.fsum(others))
    return total / (2 * n)


@given(
    n=st.integers(2, 6),
    d=st.integers(1, 5),
    temperature=st.floats(0.05, 5),
    seed=st.integers(0, 2**31),
)
def test_it_is_the_plain_loop(n, d, temperature, seed):
    generator = torch.Generator().manual_seed(seed)
    first, second = torch.randn(2, n, d, generator=generator, dtype=torch.float64)
    found = float(nt_xent(first, second, temperature=temperature))
    assert found == pytest.approx(plain(first, second, temperature), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n", [2, 3, 10])
@pytest.mark.parametrize("temperature", [0.1, 0.5, 2.0])
def test_known_values(n, temperature):
    same = torch.ones(n, 7, dtype=torch.float64)
    assert float(nt_xent(same, 3 * same, temperature=temperature)) == pytest.approx(
        math.log(2 * n - 1)
    )
    orthogonal = 5 * torch.eye(n, dtype=torch.float64)
    expected = math.log1p((2 * n - 2) * math.exp(-1 / temperature))
    assert float(nt_xent(orthogonal, orthogonal, temperature=temperature)) == pytest.approx(
        expected, rel=1e-9, abs=0
    )


@pytest.mark.slow
def test_the_gradient_is_that_of_the_loss():
    generator = torch.Generator().manual_seed(0)
    views = torch.randn(2, 3, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: nt_xent(v[0], v[1], temperature=0.3), (views,))


def test_accuracy_counts_views_whose_nearest_is_the_other_view():
    first = torch.eye(4)
    assert contrastive_accuracy(first, first) == 1.0
    assert contrastive_accuracy(first, first.roll(1, dims=0)) == 0.0
    half = torch.tensor([[1.0, 0], [0, 1]])
    crossed = torch.tensor([[1.0, 0.1], [1, 0]])  # the views of image 1 are apart
    assert contrastive_accuracy(half, crossed) == 0.25


@pytest.mark.parametrize(
    ("first", "second", "temperature", "message"),
    [
        (torch.eye(2), torch.eye(3), 1.0, "two tensors of one shape"),
        (torch.ones(1, 3), torch.ones(1, 3), 1.0, "n >= 2"),
        (torch.ones(3), torch.ones(3), 1.0, "two tensors of one shape"),
        (torch.eye(2), torch.eye(2), 0.0, "temperature must be > 0"),
        (torch.eye(2), torch.eye(2), math.nan, "temperature must be > 0"),
    ],
)
def test_wrong_input_is_refused(first, second, temperature, message):
    with pytest.raises(InputError, match=message):
        nt_xent(first, second, temperature=temperature)
