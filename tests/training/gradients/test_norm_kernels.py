"""Gradients of scale and shift after a normalisation, against autograd in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from reticent.training.gradients.norm_kernels import group_norm_gradients

EPSILON = 1e-5


def _images(far: float) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    images, gradients = (torch.randn(3, 8, 35, generator=draw) for _ in range(2))
    return images + far, gradients


@pytest.mark.parametrize("far", [0.0, 1000.0])
@pytest.mark.parametrize("groups", [1, 4, 8])
def test_they_are_those_of_autograd_for_each_image(groups: int, far: float) -> None:
    """Also where the mean is far from zero, beside which float32 would lose the spread."""
    images, gradients = _images(far)
    scales, shifts = group_norm_gradients(images.numpy(), gradients.numpy(), groups, EPSILON)
    for place in range(len(images)):
        one = images[place : place + 1].double()
        scale, shift = (torch.ones(8, dtype=torch.float64, requires_grad=True) for _ in range(2))
        normal = functional.group_norm(one, groups, scale, shift, EPSILON)
        expected = torch.autograd.grad((normal * gradients[place].double()).sum(), [scale, shift])
        assert np.allclose(scales[place], expected[0], rtol=1e-9, atol=1e-9)
        assert np.allclose(shifts[place], expected[1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_shows_in_its_image_alone(bad: float) -> None:
    images, gradients = _images(0.0)
    images[1, 3, 7] = bad
    scales, _ = group_norm_gradients(images.numpy(), gradients.numpy(), 4, EPSILON)
    assert np.isfinite(scales).all(axis=1).tolist() == [True, False, True]
