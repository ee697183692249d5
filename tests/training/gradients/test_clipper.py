"""Per-example gradients against one-by-one autograd, for every rule, layout and module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from reticent.training.gradients import (
    Clipper,
    LoraLinear,
    WeightStandardisedConv2d,
    add_lora,
    check_gradients,
    hook_attention,
)
from reticent.validation import InputError
from tests.training.gradients.record_loop import LABELS, RECORDS, assert_as_in_a_loop, clipped, loss

Build = Callable[[], tuple[nn.Module, torch.Tensor]]


class Sequence(nn.Module):
    """Three modules over five positions, in one of four layouts."""

    def __init__(self, layout: str) -> None:
        super().__init__()
        self.layout = layout
        self.first, self.norm, self.last = nn.Linear(7, 9), nn.LayerNorm(9), nn.Linear(9, 3)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        records = len(rows)
        if self.layout in ("second", "strided"):
            rows = rows.transpose(0, 1)
        shape = rows.shape[:2]
        if self.layout in ("rows", "strided"):
            rows = rows.reshape(-1, 7)
        out = self.last(torch.tanh(self.norm(self.first(rows)))).view(*shape, 3)
        return out.mean(1 if shape[0] == records and self.layout in ("first", "rows") else 0)


class Reused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.last = nn.Linear(7, 7), nn.Linear(7, 3)

    def forward(self, rows: torch.Tensor) -> Any:
        return self.last(self.inner(torch.tanh(self.inner(rows))))


class Tied(nn.Module):
    """Token and position tables, the one tied to the output, the other without records."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(11, 7, padding_idx=0), nn.Embedding(5, 7)
        self.inner, self.last = nn.Linear(7, 7), nn.Linear(7, 11, bias=False)
        self.last.weight = self.tokens.weight

    def forward(self, ids: torch.Tensor) -> Any:
        rows = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        return self.last(self.inner(rows)).mean(1)


class OneTable(Tied):
    """A table of positions with one row for all records, as in BERT."""

    def forward(self, ids: torch.Tensor) -> Any:
        rows = self.tokens(ids) + self.places(torch.arange(ids.shape[1])[None])
        return self.last(self.inner(input=rows)).mean(1)


class Bare(nn.Module):
    """A parameter beside modules."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.last = nn.Parameter(torch.randn(7)), nn.Linear(7, 3)

    def forward(self, rows: torch.Tensor) -> Any:
        return self.last(rows * self.scale)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.last = nn.LSTM(7, 4), nn.Linear(4, 3)

    def forward(self, rows: torch.Tensor) -> Any:
        return self.last(self.cell(rows.transpose(0, 1))[0][-1])


class Attending(nn.Module):
    def __init__(self, *, batch_first: bool) -> None:
        super().__init__()
        self.batch_first = batch_first
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=batch_first)
        self.last = nn.Linear(8, 3)

    def forward(self, rows: torch.Tensor) -> Any:
        rows = rows if self.batch_first else rows.transpose(0, 1)
        return self.last(self.layer(rows).mean(1 if self.batch_first else 0))


def _rows(*shape: int) -> torch.Tensor:
    return torch.randn(RECORDS, *shape)


def _ids() -> torch.Tensor:
    return torch.randint(0, 11, (RECORDS, 5))


def _conv(*layers: nn.Module, width: int) -> nn.Module:
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(width, 3))


def _lora() -> nn.Module:
    model = hook_attention(Attending(batch_first=True))
    add_lora(model, ["linear1", "linear2"], rank=2)
    for module in model.modules():
        if isinstance(module, LoraLinear):
            nn.init.normal_(module.up.weight)
    model.get_submodule("last").requires_grad_(True)
    return model


MODELS: dict[str, Build] = {
    "mlp, in-place activation": lambda: (
        nn.Sequential(nn.Linear(20, 16), nn.ReLU(inplace=True), nn.Linear(16, 3)),
        _rows(20),
    ),
    "convolutions by patches": lambda: (
        _conv(nn.Conv2d(3, 8, 3, 2, 1), nn.GroupNorm(4, 8), nn.Tanh(), width=8 * 36),
        _rows(3, 12, 12),
    ),
    "patches, strides, dilation and padding of two sizes": lambda: (
        _conv(
            nn.Conv2d(3, 8, (3, 2), stride=(2, 1), padding=(1, 2), dilation=(2, 1)),
            nn.Tanh(),
            width=8 * 5 * 15,
        ),
        _rows(3, 12, 12),
    ),
    "convolution by Gram matrices": lambda: (
        _conv(nn.Conv2d(64, 64, 3, 2, 1), nn.Conv2d(64, 64, 3, 1, 1), width=64 * 9),
        _rows(64, 6, 6),
    ),
    "convolution record by record": lambda: (
        _conv(nn.Conv2d(3, 64, 5, padding=2), nn.AvgPool2d(4), width=64 * 36),
        _rows(3, 24, 24),
    ),
    "groups, dilation, circular padding": lambda: (
        _conv(
            nn.Conv2d(4, 8, 3, padding="same", padding_mode="circular"),
            nn.Conv2d(8, 16, 3, groups=4, dilation=2, padding=2),
            width=16 * 36,
        ),
        _rows(4, 6, 6),
    ),
    "convolution of a sequence": lambda: (
        _conv(nn.Conv1d(4, 5, 3, padding=1), width=5 * 9),
        _rows(4, 9),
    ),
    "standardised convolution": lambda: (
        _conv(WeightStandardisedConv2d(3, 8, 3, 1, 1), nn.GroupNorm(2, 8), width=8 * 36),
        _rows(3, 6, 6),
    ),
    "records first": lambda: (Sequence("first"), _rows(5, 7)),
    "records second": lambda: (Sequence("second"), _rows(5, 7)),
    "rows of a record together": lambda: (Sequence("rows"), _rows(5, 7)),
    "rows of a position together": lambda: (Sequence("strided"), _rows(5, 7)),
    "as many positions as records": lambda: (Sequence("second"), _rows(RECORDS, 7)),
    "long sequence": lambda: (Sequence("first"), _rows(3, 7)),
    "reused module": lambda: (Reused(), _rows(7)),
    "tied tables": lambda: (Tied(), _ids()),
    "one table for all records": lambda: (OneTable(), _ids()),
    "bare parameter": lambda: (Bare(), _rows(7)),
    "recurrent": lambda: (Recurrent(), _rows(5, 7)),
    "torch's attention": lambda: (Attending(batch_first=True), _rows(5, 8)),
    "hooked attention": lambda: (hook_attention(Attending(batch_first=True)), _rows(5, 8)),
    "hooked attention, positions first": lambda: (
        hook_attention(Attending(batch_first=False)),
        _rows(5, 8),
    ),
    "adapters": lambda: (_lora(), _rows(5, 8)),
}


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("wide", [False, True], ids=["fast", "exact"])
@pytest.mark.parametrize("name", MODELS)
def test_norms_and_clipped_sums_are_those_of_a_loop(name: str, wide: bool) -> None:
    model, rows = MODELS[name]()
    assert_as_in_a_loop(model, rows, wide=wide)


@pytest.mark.parametrize("wide", [False, True], ids=["fast", "exact"])
def test_an_infinite_clip_gives_the_gradient_of_plain_training(wide: bool) -> None:
    model, rows = MODELS["convolutions by patches"]()
    clipper = Clipper(model)
    _, total = clipped(model, clipper, rows, 1e30, wide=wide)
    plain = torch.autograd.grad(loss(model, rows, LABELS).sum(), clipper.parameters)
    expected = torch.cat([part.flatten() for part in plain]).double()
    assert (total - expected).norm() <= 1e-5 * expected.norm()


@pytest.mark.parametrize("name", ["mlp, in-place activation", "records first", "tied tables"])
@pytest.mark.parametrize("wide", [False, True], ids=["fast", "exact"])
def test_no_record_is_longer_than_the_clip(name: str, wide: bool) -> None:
    """In float64, from the float32 gradients that the books are kept of."""
    model, rows = MODELS[name]()
    clipper = Clipper(model)
    check_gradients(clipper, loss, (rows, LABELS))
    for place in range(RECORDS):
        with clipper.watch(1):
            losses = loss(model, rows[place : place + 1], LABELS[place : place + 1])
        found = clipper.clipped_sums(losses, clip=1e-3, wide=wide)
        square = sum(float(part.double().square().sum()) for part in found.sums.values())
        assert square**0.5 <= 1e-3 * (1 + (1e-13 if wide else 1e-5))


@pytest.mark.parametrize("entry", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("name", ["convolutions by patches", "mlp, in-place activation"])
def test_a_record_without_a_finite_gradient_counts_as_zero(name: str, entry: float) -> None:
    model, rows = MODELS[name]()
    clipper = Clipper(model)
    whole = rows.clone()
    rows[2] = entry
    others = [place for place in range(RECORDS) if place != 2]
    for wide in (False, True):
        norms, total = clipped(model, clipper, rows, 1.0, wide=wide)
        with clipper.watch(len(others)):
            losses = loss(model, whole[others], LABELS[others])
        expected = clipper.clipped_sums(losses, clip=1.0, wide=wide)
        flat = torch.cat([expected.sums[one].flatten().double() for one in clipper.parameters])
        assert norms[2] == 0
        assert (total - flat).norm() <= 1e-5 * flat.norm()


@pytest.mark.parametrize("wide", [False, True], ids=["fast", "exact"])
def test_an_infinite_gradient_counts_as_zero(wide: bool) -> None:
    """Inputs and losses are finite; the factor of one record's loss makes its gradient infinite."""
    model, rows = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), torch.randn(4, 3)
    clipper = Clipper(model)
    scales = torch.tensor([1.0, torch.inf, 1.0, 1.0])

    def sums(kept: slice) -> tuple[torch.Tensor, torch.Tensor]:
        with clipper.watch(len(rows[kept])):
            losses = model(rows[kept]).sum(1)
        losses.register_hook(lambda back: back * scales[kept])
        found = clipper.clipped_sums(losses, clip=1.0, wide=wide)
        return found.norms, torch.cat([one.flatten() for one in found.sums.values()])

    norms, total = sums(slice(0, 4))
    parts = sums(slice(0, 1))[1] + sums(slice(2, 4))[1]
    assert norms[1] == 0
    assert norms[0] > 0
    assert (total - parts).norm() <= 1e-5 * parts.norm()


class InDictionary(nn.Module):
    """A parameter in a child without a forward pass of its own, read by its parent."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.last = nn.ParameterDict({"scale": torch.randn(7)}), nn.Linear(7, 3)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.last(rows * self.table["scale"])


def test_a_parameter_that_is_used_outside_its_module_is_refused() -> None:
    with pytest.raises(InputError, match=r"table\.scale must be used by the module that owns it"):
        check_gradients(Clipper(InDictionary()), loss, (_rows(7), LABELS))


@pytest.mark.parametrize("wide", [False, True], ids=["fast", "exact"])
def test_a_bare_parameter_takes_the_fallback_of_its_module(wide: bool) -> None:
    """The module that holds it is run again whole, and norms are those of a loop."""
    model, rows = MODELS["bare parameter"]()
    clipper = assert_as_in_a_loop(model, rows, wide=wide)
    assert clipper.slow_modules == {"the model itself": "torch.func"}


def test_rows_that_fill_a_batch_up_do_not_count() -> None:
    model, rows = MODELS["records first"]()
    clipper = Clipper(model)
    with clipper.watch(RECORDS):
        losses = loss(model, rows, LABELS)
    slots = np.array([1, 2, 4])
    some = clipper.clipped_sums(losses, clip=0.1, wide=True, slots=slots)
    with clipper.watch(3):
        losses = loss(model, rows[slots], LABELS[slots])
    expected = clipper.clipped_sums(losses, clip=0.1, wide=True)
    for one in clipper.parameters:
        assert torch.allclose(some.sums[one], expected.sums[one], rtol=1e-5, atol=1e-8)


def test_hooked_attention_keeps_names_and_outputs() -> None:
    model = Attending(batch_first=True).eval()
    rows, state = _rows(5, 8), {name: one.clone() for name, one in model.state_dict().items()}
    mask = torch.zeros(RECORDS, 5, dtype=torch.bool)
    mask[1, 3:] = True
    with torch.no_grad():
        before = model.layer(rows, src_key_padding_mask=mask)
        after = hook_attention(model).get_submodule("layer")(rows, src_key_padding_mask=mask)
    assert torch.allclose(before[~mask], after[~mask], atol=1e-6)
    assert set(model.state_dict()) == set(state)
    model.load_state_dict(state)


def test_slow_modules_are_named() -> None:
    clipper = Clipper(Recurrent())
    assert clipper.slow_modules == {"cell": "torch.func"}


def test_hooks_are_removed() -> None:
    model = nn.Linear(2, 2)
    Clipper(model).remove()
    assert not model._forward_hooks


def test_modules_without_a_rule_are_refused_where_the_fallback_is_off() -> None:
    with pytest.raises(InputError, match=r"cell must be one of .* got LSTM"):
        Clipper(Recurrent(), fallback=False)


@pytest.mark.parametrize("wide", [False, True], ids=["fast", "exact"])
def test_a_row_that_a_record_asks_for_twice_counts_once_in_its_norm(wide: bool) -> None:
    """Two equal rows add up to twice their length; as two rows they would be √2 times as long."""
    model = nn.Embedding(9, 4)
    places = torch.tensor([[3, 3, 3], [1, 2, 1], [0, 4, 8]])
    clipper = Clipper(model)
    with clipper.watch(3):
        losses = model(places).sum((1, 2))
    found = clipper.clipped_sums(losses, clip=1.0, wide=wide)
    assert found.norms.tolist() == pytest.approx([6.0, 20**0.5, 12**0.5], rel=1e-6)
    rows = found.sums[model.weight][:, 0].tolist()
    first, second, third = (1 / one for one in found.norms.tolist())
    expected = [third, 2 * second, second, 3 * first, third, 0, 0, 0, third]
    assert rows == pytest.approx(expected, rel=1e-6)
