"""Records of two views: one forward pass over all views, gradients summed for each record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from reticent.training.contrastive.spectral import spectral, spectral_terms
from reticent.training.encoders.convolutional import (
    ResNet18Config,
    ResNet18Encoder,
    StridedConfig,
    StridedEncoder,
    projection_head,
)
from reticent.training.gradients import Clipper, SharedGradientSum, check_gradients
from reticent.training.gradients import convolution as convolution_module
from reticent.training.gradients.layouts import Layout
from reticent.validation import InputError

RECORDS, WIDTH = 6, 4
MOMENT = torch.diag(torch.tensor([0.4, 0.3, 0.2, 0.1]))


def strided() -> nn.Module:
    encoder = StridedEncoder(StridedConfig(channels=1, height=12, width=12, filters=4))
    head = projection_head(encoder.config.dimension, hidden=8, outputs=WIDTH, standardised=True)
    return nn.Sequential(encoder, head)


def resnet() -> nn.Module:
    encoder = ResNet18Encoder(ResNet18Config(channels=1, height=12, width=12, filters=4))
    return nn.Sequential(encoder, nn.Linear(encoder.config.dimension, WIDTH))


def embed(model: nn.Module, views: torch.Tensor) -> torch.Tensor:
    """(n, 2, …) to (n, 2, k), all first views before all second ones."""
    found = model(views.transpose(0, 1).flatten(0, 1))
    return torch.stack(found.chunk(2), dim=1)


def terms(embedded: torch.Tensor, released: torch.Tensor) -> torch.Tensor:
    return spectral_terms(embedded[:, 0], embedded[:, 1], released, repulsion=5.0)


def loss(model: nn.Module, views: torch.Tensor) -> torch.Tensor:
    return terms(embed(model, views), MOMENT)


def views(records: int = RECORDS) -> torch.Tensor:
    return torch.rand(records, 2, 1, 12, 12, generator=torch.Generator().manual_seed(1))


def model_of(build: Any) -> nn.Module:
    torch.manual_seed(0)
    found: nn.Module = build()
    return found


def one_by_one(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    rows = []
    for place in range(len(batch)):
        parts = torch.autograd.grad(
            loss(model, batch[place : place + 1]).sum(), list(model.parameters())
        )
        rows.append(torch.cat([part.flatten() for part in parts]).double())
    return torch.stack(rows)


@pytest.mark.parametrize("build", [strided, resnet])
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("gram", [True, False])
def test_gradients_of_a_record_are_those_of_a_loop(
    build: Any, wide: bool, gram: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convolution_module, "_GRAM_SHARE", 1e9 if gram else 0.0)
    model, batch = model_of(build), views()
    clipper = Clipper(model)
    check_gradients(clipper, loss, (batch,))
    assert set(clipper.layouts.values()) == {Layout.STRIDED}
    assert not clipper.slow_modules
    alone = one_by_one(model, batch)
    norms = alone.norm(dim=1)
    clip = float(norms.median())
    with clipper.watch(RECORDS):
        losses = loss(model, batch)
    found = clipper.clipped_sums(losses, clip=clip, wide=wide)
    total = torch.cat([found.sums[one].flatten().double() for one in clipper.parameters])
    expected = ((clip / norms).clamp(max=1)[:, None] * alone).sum(0)
    assert (found.norms - norms).abs().max() <= 1e-5 * norms.max()
    assert (total - expected).norm() <= 1e-5 * expected.norm()


def summed(model: nn.Module, *, exact: bool, physical: int, clip: float) -> SharedGradientSum:
    return SharedGradientSum(
        model,
        embed,
        terms,
        released=MOMENT,
        clip=clip,
        example=(views(16),),
        physical=physical,
        exact=exact,
    )


def exact_moment(outputs: Any) -> torch.Tensor:
    rows = outputs.reshape(-1, WIDTH)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return torch.from_numpy(rows.T @ rows / len(rows)).float()


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("physical", [4, 16])
def test_without_noise_and_clip_it_is_the_gradient_of_the_coupled_loss(
    exact: bool, physical: int
) -> None:
    model, batch = model_of(strided), views(10)
    total = summed(model, exact=exact, physical=physical, clip=1e6).of_step((batch,), exact_moment)
    embedded = embed(model, batch)
    value = spectral(embedded[:, 0], embedded[:, 1], repulsion=5.0)
    parts = torch.autograd.grad(value, list(model.parameters()))
    expected = 10 * torch.cat([part.flatten() for part in parts]).double().numpy()
    assert np.linalg.norm(total - expected) <= 1e-5 * np.linalg.norm(expected)


@pytest.mark.parametrize("exact", [True, False])
def test_passes_that_do_not_fit_are_made_again(
    exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All kept, the first alone, none: in exact mode the same bits, from the fewest passes."""
    model, batch = model_of(strided), views(10)
    sums, found, passes = summed(model, exact=exact, physical=4, clip=0.5), [], []
    model.register_forward_hook(lambda *_: passes.append(1))
    each = sums._passed(sums._filled((batch[: sums.physical],))).size
    for kept in (2**30, each, 0):
        monkeypatch.setattr("reticent.training.gradients.shared_sum._KEPT_BYTES", kept)
        passes.clear()
        found.append((sums.of_step((batch,), exact_moment), len(passes)))
    parts = -(-10 // sums.physical)
    assert [count for _, count in found] == [parts, 2 * parts - 1, 2 * parts]
    for one, _ in found:
        assert np.linalg.norm(one - found[0][0]) <= (0 if exact else 1e-6) * np.linalg.norm(one)


def test_a_kept_pass_has_memory_of_its_own() -> None:
    """A module that reads what it is given would find the last physical batch in all of them."""
    rows = torch.randn(10, 3, generator=torch.Generator().manual_seed(0))
    sums = SharedGradientSum(
        model_of(lambda: nn.Linear(3, WIDTH)),
        lambda model, batch: model(batch)[:, None].expand(-1, 2, -1),
        terms,
        released=MOMENT,
        clip=1e6,
        example=(rows,),
        physical=4,
    )
    inputs = [sums._filled((rows[start : start + 4],))[0] for start in (0, 4, 6)]
    assert len({one.data_ptr() for one in inputs}) == len(inputs)
    assert all(one.data_ptr() % 64 == 0 for one in inputs)
    parts = [sums.of_step((one,), lambda _: MOMENT) for one in rows.split(1)]
    whole = sums.of_step((rows,), lambda _: MOMENT)
    np.testing.assert_allclose(whole, sum(parts), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("exact", [True, False])
def test_no_records_are_a_sum_of_zero_and_a_statistic_of_none(exact: bool) -> None:
    seen = []

    def statistic(outputs: Any) -> torch.Tensor:
        seen.append(outputs.shape)
        return MOMENT

    sums = summed(model_of(strided), exact=exact, physical=4, clip=1.0)
    assert not sums.of_step((views(10)[:0],), statistic).any()
    assert seen == [(0, 2, WIDTH)]


def test_outputs_that_depend_on_neighbours_are_refused() -> None:
    class Centred(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(144, WIDTH)
            self.mixes = False

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = self.layer(rows.flatten(1))
            return found - found.mean(0) if self.mixes else found

    model = Centred()
    sums = SharedGradientSum(
        model, embed, terms, released=MOMENT, clip=1.0, example=(views(16),), physical=4
    )
    model.mixes = True
    with pytest.raises(InputError, match="slots of a batch"):
        sums._check_slots((views(16),), 4)
