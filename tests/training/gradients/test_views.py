"""Records of two views: one forward pass over all views, gradients summed for each record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from reticent.training.contrastive.augmentations import digits, natural
from reticent.training.contrastive.spectral import spectral, spectral_terms
from reticent.training.encoders.convolutional import (
    ResNet18Config,
    ResNet18Encoder,
    StridedConfig,
    StridedEncoder,
    projection_head,
)
from reticent.training.gradients import (
    Clipper,
    GradientSum,
    SharedGradientSum,
    Views,
    batches,
    check_gradients,
)
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
    """All kept, the first alone, none: the same sum up to the order of slots, by fewest passes."""
    model, batch = model_of(strided), views(10)
    sums, found, passes = summed(model, exact=exact, physical=4, clip=0.5), [], []
    model.register_forward_hook(lambda *_: passes.append(1))
    part = next(batches.parts(batches.Held((batch,)), sums._arranged(10)))
    each = sums._passed(part).size
    for kept in (2**30, each, 0):
        monkeypatch.setattr("reticent.training.gradients.shared_sum._KEPT_BYTES", kept)
        passes.clear()
        found.append((sums.of_step((batch,), exact_moment), len(passes)))
    parts = -(-10 // sums.physical)
    assert [count for _, count in found] == [parts, 2 * parts - 1, 2 * parts]
    for one, _ in found:
        assert np.linalg.norm(one - found[0][0]) <= (1e-13 if exact else 1e-6) * np.linalg.norm(one)


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
    parts = batches.parts(batches.Held((rows,)), sums._arranged(10))
    inputs = [sums._filled(part)[0] for part in parts]
    assert len({one.data_ptr() for one in inputs}) == len(inputs)
    assert all(one.data_ptr() % 64 == 0 for one in inputs)
    single = [sums.of_step((one,), lambda _: MOMENT) for one in rows.split(1)]
    whole = sums.of_step((rows,), lambda _: MOMENT)
    np.testing.assert_allclose(whole, sum(single), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("exact", [True, False])
def test_no_records_are_a_sum_of_zero_and_a_statistic_of_none(exact: bool) -> None:
    seen = []

    def statistic(outputs: Any) -> torch.Tensor:
        seen.append(outputs.shape)
        return MOMENT

    sums = summed(model_of(strided), exact=exact, physical=4, clip=1.0)
    assert not sums.of_step((views(10)[:0],), statistic).any()
    assert seen == [(0, 2, WIDTH)]


@pytest.mark.parametrize("kept", [2**30, 0])
def test_both_halves_of_an_exact_step_have_one_arrangement(
    kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of kept passes and of those that are made again: a record that counted twice, or in the slot
    of a public one, would be another sum. Two draws for ten records are equal with probability
    below 10⁻⁸; so are the orders of both steps."""
    seen: list[torch.Tensor] = []
    drawn: list[int] = []
    monkeypatch.setattr("reticent.training.gradients.shared_sum._KEPT_BYTES", kept)

    def noted(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
        seen.append(batch[:, 0, 0, 0, 0].clone())
        return embed(model, batch)

    model, batch = model_of(strided), views(10) + 2
    sums = SharedGradientSum(
        model, noted, terms, released=MOMENT, clip=0.5, example=(views(16),), physical=4
    )
    arranged = sums._arranged
    monkeypatch.setattr(sums, "_arranged", lambda *one: (drawn.append(1), arranged(*one))[1])
    embedded = embed(model, batch).detach().numpy().astype(np.float64)
    released = exact_moment(embedded)
    norms, alone = [], []
    for one in batch:
        value = terms(embed(model, one[None]), released).sum()
        parts = torch.autograd.grad(value, list(model.parameters()))
        alone.append(torch.cat([part.flatten() for part in parts]).double())
        norms.append(float(alone[-1].norm()))
    expected = sum(min(1.0, 0.5 / norm) * one for norm, one in zip(norms, alone, strict=True))
    firsts = []
    for step in range(2):
        seen.clear()
        read: list[Any] = []
        found = sums.of_step((batch,), lambda rows, read=read: (read.append(rows), released)[1])
        np.testing.assert_allclose(read[0], embedded, rtol=1e-4, atol=1e-6)  # in their order
        assert np.linalg.norm(found - expected.numpy()) <= 1e-4 * float(expected.norm())
        assert len(drawn) == step + 1
        passes = -(-10 // sums.physical)
        assert len(seen) == passes * (1 if kept else 2)
        if not kept:
            assert all(map(torch.equal, seen[:passes], seen[passes:]))
        firsts.append(torch.cat(seen[:passes]))
    assert not torch.equal(*firsts)


def test_dropout_that_is_turned_up_after_the_check_is_refused() -> None:
    model = model_of(lambda: nn.Sequential(strided(), nn.Dropout(0.0)))
    sums = summed(model, exact=True, physical=4, clip=1.0)
    model[1].p = 0.5
    with pytest.raises(InputError, match="module '1' must have p = 0 in exact mode"):
        sums.of_step((views(6),), exact_moment)


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


AUGMENTATION = natural("classification")


def pictures(*, last: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Images of 3 × 12 × 12, or with their channels last, and labels."""
    images = torch.rand(RECORDS, 3, 12, 12, generator=torch.Generator().manual_seed(2))
    return images.permute(0, 2, 3, 1).contiguous() if last else images, torch.arange(RECORDS) % 3


def classifier(*, last: bool) -> nn.Module:
    torch.manual_seed(3)
    first = [nn.Conv2d(3, 8, 3, stride=2), nn.GroupNorm(2, 8), nn.Tanh(), nn.Flatten()]
    return nn.Sequential(*([_First()] if last else []), *first, nn.Linear(8 * 25, 3))


class _First(nn.Module):
    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images.permute(0, 3, 1, 2)


def cross_entropy(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(model(images), labels, reduction="none")


def loop_over_views(
    model: nn.Module, batch: tuple[torch.Tensor, ...], number: int, *, last: bool
) -> torch.Tensor:
    """Each record's mean gradient over its views, one view at a time by autograd."""
    means = []
    for uniforms, image, label in zip(*batch, strict=True):
        rows = []
        for drawn in uniforms.chunk(number):
            first = image.permute(2, 0, 1) if last else image
            view = AUGMENTATION.of_uniforms(first[None], drawn[None])
            seen = view.permute(0, 2, 3, 1) if last else view
            value = cross_entropy(model, seen, label[None]).sum()
            parts = torch.autograd.grad(value, list(model.parameters()))
            rows.append(torch.cat([part.flatten() for part in parts]).double())
        means.append(torch.stack(rows).mean(0))
    return torch.stack(means)


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("exact", [True, False])
def test_the_mean_gradient_of_views_is_clipped_once(number: int, last: bool, exact: bool) -> None:
    views = Views(augmentation=AUGMENTATION, number=number, channels_last=last)
    images, labels = pictures(last=last)
    draws = views.draws(tuple(images.shape[1:]))
    assert draws == number * AUGMENTATION.draws(3)
    uniforms = torch.rand(RECORDS, draws, generator=torch.Generator().manual_seed(4))
    model, batch = classifier(last=last), (uniforms, images, labels)
    alone = loop_over_views(model, batch, number, last=last)
    norms = alone.norm(dim=1)
    clip = float(norms.median())
    sums = GradientSum(
        model, views.loss(cross_entropy), clip=clip, example=batch, physical=4, exact=exact
    )
    expected = ((clip / norms).clamp(max=1)[:, None] * alone).sum(0)
    found = torch.from_numpy(sums.of(batch))
    assert (found - expected).norm() <= 1e-5 * expected.norm()
    with sums.clipper.watch(RECORDS):
        losses = views.loss(cross_entropy)(model, *batch)
    squares = sums.clipper.clipped_sums(losses, clip=clip, wide=exact)
    assert (squares.norms - norms).abs().max() <= 1e-5 * norms.max()


def test_views_of_what_is_no_image_or_by_noise_are_refused() -> None:
    with pytest.raises(InputError, match=r"shape must be of three sides.*got \(12,\)"):
        Views(augmentation=AUGMENTATION, number=2).draws((12,))
    with pytest.raises(InputError, match=r"noise of the augmentation must be 0.*got 0\.1"):
        Views(augmentation=digits(), number=2)
    with pytest.raises(InputError, match="views must be"):
        Views(augmentation=AUGMENTATION, number=0)


def test_a_loss_of_views_that_is_one_number_is_refused() -> None:
    views = Views(augmentation=AUGMENTATION, number=2)
    images, labels = pictures(last=False)
    uniforms = torch.rand(RECORDS, views.draws((3, 12, 12)))

    def mean(*batch: Any) -> torch.Tensor:
        return cross_entropy(*batch).mean()

    with pytest.raises(InputError, match="one number for each of 6 records"):
        GradientSum(
            classifier(last=False), views.loss(mean), clip=1.0, example=(uniforms, images, labels)
        )
