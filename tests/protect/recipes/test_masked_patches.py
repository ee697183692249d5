"""The recipe masked-patches: hidden blocks are told from the others, and no record from another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from reticent.protect import RECIPES, Terms
from reticent.protect.contrastive_run import ContrastiveRun
from reticent.protect.noise_scales import noise_plan
from reticent.protect.noisy_query import with_noise_function
from reticent.protect.recipes.contrastive import Sample
from reticent.training.contrastive.masked_patches import block_mask, blocks_of, masked_patch_terms
from reticent.training.contrastive.networks import masking_network
from reticent.validation import InputError

TERMS = Terms(epsilon=2.0, delta=1e-5, relation="add-remove")
IMAGES = np.random.default_rng(0).random((9, 64))


def recipe(**options: Any) -> Any:
    asked = {"records": 9, "features": 64, "shape": "8x8x1", "batch": 9, "physical": 4}
    return RECIPES["masked-patches"].planned(TERMS, **(asked | options))


def test_blocks_cover_the_image_and_are_kept_whole() -> None:
    assert blocks_of(30, 32) == (4, 8, 8)
    side, down, across = blocks_of(9, 8)
    uniforms = torch.rand(3, down * across, generator=torch.Generator().manual_seed(0))
    kept = block_mask(uniforms, 9, 8)
    assert kept.shape == (3, 1, 9, 8)
    assert kept[1, 0, 2 * side, 3 * side] == float(uniforms[1, 2 * across + 3] < 0.5)
    assert torch.equal(kept[..., 0::2, :][..., :4, :], kept[..., 1::2, :][..., :4, :])


def test_only_what_was_hidden_counts() -> None:
    truth, kept = torch.zeros(2, 1, 2, 2), torch.ones(2, 1, 2, 2)
    kept[1, 0, 0, 0] = 0
    predicted = torch.full((2, 1, 2, 2), 3.0)
    assert masked_patch_terms(predicted, truth, kept).tolist() == [0.0, 9.0]


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 30, 17), (1, 8, 8)])
def test_the_decoder_makes_an_image_of_every_size(shape: tuple[int, int, int]) -> None:
    for architecture in ("strided", "resnet18") if shape[1] == 8 else ("strided",):
        network = masking_network(architecture, int(np.prod(shape)), shape, seed=0)
        assert network(torch.zeros(2, *shape)).shape == (2, *shape)
    with pytest.raises(InputError, match="shape must be said for strided"):
        masking_network("strided", 4, None, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False])
def test_without_clip_the_sum_is_the_gradient_of_a_loop_over_records(exact: bool) -> None:
    """Encoder and its first weights are those of the other recipes: only the head differs."""
    planned = recipe(clip=1e6, exact=exact)
    run = ContrastiveRun(planned)
    with with_noise_function(lambda noise, value: value):
        inputs = run.views.inputs(torch.from_numpy(IMAGES.astype(np.float32)))
        sample = Sample(inputs, IMAGES, np.zeros(9), 0)
        total = planned.total(run, sample, noise_plan(planned, TERMS))
        inputs, uniforms = sample.batch(run.draws)
    alone: Any = 0.0
    parameters = list(run.model.parameters())
    for place in range(9):
        drawn = uniforms[place : place + 1]
        seen = run.views.view(inputs[place : place + 1], drawn[:, : run.views.draws])
        kept = block_mask(drawn[:, run.views.draws :], 8, 8)
        loss = ((run.model(seen * kept) - seen) ** 2 * (1 - kept)).sum()
        found = torch.autograd.grad(loss, parameters)
        alone = alone + torch.cat([one.flatten() for one in found]).double().numpy()
    assert np.linalg.norm(total - alone) <= 1e-5 * np.linalg.norm(alone)
    start = RECIPES["spectral"].planned(TERMS, records=9, features=64, shape="8x8x1").network()
    ours = run.model.encoder.state_dict()
    for name, one in start.encoder.state_dict().items():
        assert torch.equal(one, ours[name])


def test_it_takes_no_projection() -> None:
    assert "embedding" not in RECIPES["masked-patches"].options
    rows = RECIPES["masked-patches"].planned(TERMS, records=9, features=5)
    assert rows.network()(torch.zeros(2, 5)).shape == (2, 5)


def test_images_take_shorter_steps_unless_said() -> None:
    numbers = {"records": 24, "features": 64, "batch": 12, "epochs": 1.0}
    planned = RECIPES["masked-patches"].planned
    assert planned(TERMS, **numbers, shape="8x8x1", augmentation="digits").learning_rate == 0.02
    said = planned(TERMS, **numbers, shape="8x8x1", augmentation="digits", learning_rate=0.3)
    assert said.learning_rate == 0.3
    assert planned(TERMS, **numbers).learning_rate == 0.5
