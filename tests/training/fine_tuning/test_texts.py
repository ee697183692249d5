"""Encoders of texts with a part to train: what is trained, whose gradient it is, whose padding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from reticent.training.encoders.pretrained import MiniLM
from reticent.training.fine_tuning.folder import folder_source
from reticent.training.fine_tuning.partly import PartlyTrained, example_batches, grouped
from reticent.training.fine_tuning.texts import PARTS, TextNetwork, TextSource, text_network
from reticent.training.gradients import Clipper, GradientSum, check_slots
from reticent.training.networks import network, public_weights, token_encoder
from reticent.validation import InputError
from tests.training.fine_tuning.tiny_bert import write_tiny_bert

QUESTIONS = np.array(
    ["Who?", "where is the city ?", "who was the king " * 2, "the " * 60, "", "what is it ?"]
)
LABELS = torch.tensor([0, 1, 2, 0, 1, 2])
LENGTH = 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def source(folder: Path) -> TextSource:
    return folder_source(folder)


def loss(model: nn.Module, rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(model(rows), labels, reduction="none")


def built(source: TextSource, part: str) -> TextNetwork:
    """With adapters that are not zero: zero hides what it multiplies."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = text_network(source, part, (LENGTH,), 3).train()
        for name, one in model.named_parameters():
            if name.endswith("up.weight"):
                nn.init.normal_(one, std=0.1)
    return model


def tokens(folder: Path) -> torch.Tensor:
    return torch.from_numpy(token_encoder(str(folder), LENGTH).encode(QUESTIONS))


def assert_gradients_of_each_alone(model: PartlyTrained, rows: torch.Tensor, clip: float) -> None:
    """The clipped sum is that of a loop over records with autograd, group by group."""
    parameters = [one for one in model.parameters() if one.requires_grad]
    examples = example_batches(model, 8)
    seen = 0
    for places, inputs in grouped(model, rows):
        labels = LABELS[places]
        example = (examples[tuple(inputs.shape[1:])], LABELS[torch.arange(8) % 6])
        sums = GradientSum(model, loss, clip=clip, example=example, physical=4)
        expected = torch.zeros(sums.size, dtype=torch.float64)
        for place in places.tolist():
            with torch.no_grad():
                alone = model.public_part(rows[place : place + 1])
            value = loss(model, alone, LABELS[place : place + 1]).sum()
            flat = torch.cat([one.flatten() for one in torch.autograd.grad(value, parameters)])
            expected += flat.double() * min(1.0, clip / float(flat.norm()))
        np.testing.assert_allclose(
            sums.of((inputs, labels)), expected.numpy(), atol=2e-5 * clip * len(places)
        )
        sums.clipper.remove()
        seen += len(places)
    assert seen == len(rows)


@pytest.mark.parametrize("part", PARTS)
def test_per_example_gradients_are_those_of_each_text_alone(
    source: TextSource, folder: Path, part: str
) -> None:
    assert_gradients_of_each_alone(built(source, part), tokens(folder), clip=0.5)


def test_only_adapters_and_head_are_trained(source: TextSource) -> None:
    def trained(part: str) -> set[str]:
        parameters = text_network(source, part, (LENGTH,), 3).train().named_parameters()
        return {name for name, one in parameters if one.requires_grad}

    head = {"head.weight", "head.bias"}
    adapters = {f"attention.self.{one}.{way}.weight" for one in ("query", "value")
                for way in ("down", "up")}  # fmt: skip
    assert trained("head") == head
    assert trained("lora-last") == head | {f"layers.0.{one}" for one in adapters}
    assert trained("lora") == head | {
        f"encoder.encoder.layer.{layer}.{one}" for layer in range(3) for one in adapters
    }


def test_all_parts_begin_at_the_public_encoder(source: TextSource, folder: Path) -> None:
    """The mean of the states of transformers itself, padding left out."""
    rows = tokens(folder)
    there = rows > 0
    ids = torch.where(there, rows - 1, 0).long()
    with torch.no_grad():
        states = source.encoder(input_ids=ids, attention_mask=there.long()).last_hidden_state
    expected = torch.stack([one[which].mean(0) for one, which in zip(states, there, strict=True)])
    for part in PARTS:
        model = text_network(source, part, (LENGTH,), 3)
        model.head = nn.Identity()
        for places, inputs in grouped(model, rows):
            with torch.no_grad():
                assert torch.allclose(model(inputs), expected[places], atol=1e-5)


@pytest.mark.parametrize("part", ["lora", "lora-last"])
def test_no_bit_of_a_gradient_depends_on_a_neighbours_padding(
    source: TextSource, part: str
) -> None:
    model = built(source, part)
    whole = torch.from_numpy(np.random.default_rng(1).integers(1, 13, (4, 16)).astype(np.float32))
    short = whole.clone()
    short[1:, 9:] = 0
    clipper, found = Clipper(model), []
    for rows in (whole, short):
        with torch.no_grad():
            inputs = torch.cat([model.public_part(row[None]) for row in rows])
        assert inputs.shape[1] == 16
        with clipper.watch(4):
            losses = loss(model, inputs, LABELS[:4])
        parts = clipper.contributions(losses, wide=True)
        found.append([one for part in parts for one in part.ingredients()])
    for one, other in zip(*found, strict=True):
        assert torch.equal(one[0], other[0])
        assert not torch.equal(one[1], other[1])


@pytest.mark.parametrize("part", ["lora", "lora-last"])
def test_no_neighbours_padding_chooses_the_kernel(
    source: TextSource, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Left alone, transformers drops the mask of a batch in which no text is padded."""
    attention, masks = functional.scaled_dot_product_attention, []

    def spy(*args: Any, **kwargs: Any) -> torch.Tensor:
        masks.append(kwargs.get("attn_mask"))
        return attention(*args, **kwargs)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", spy)
    model = built(source, part)
    model(model.public_part(torch.ones(1, 16)))
    assert len(masks) == 3
    assert all(one is not None for one in masks)


def test_a_text_runs_at_its_own_length(source: TextSource, folder: Path) -> None:
    model = built(source, "lora")
    assert model.lengths == [8, 16, 24]
    lengths = {
        int(place): inputs.shape[1]
        for places, inputs in grouped(model, tokens(folder))
        for place in places
    }
    assert lengths == {0: 8, 1: 8, 2: 16, 3: 24, 4: 8, 5: 8}


@pytest.mark.parametrize("part", PARTS)
def test_what_is_public_of_a_record_depends_on_it_alone(
    source: TextSource, folder: Path, part: str
) -> None:
    model, rows = built(source, part), tokens(folder)
    for places, inputs in grouped(model, rows):
        for place, seen in zip(places.tolist(), inputs, strict=True):
            ((_, alone),) = grouped(model, rows[place : place + 1])
            assert torch.equal(alone[0], seen)


def test_batches_have_the_same_bits_in_every_slot(source: TextSource) -> None:
    model = built(source, "lora")
    for rows in model.examples(12):
        check_slots(Clipper(model), loss, (rows, LABELS[torch.arange(12) % 6]), 4)


def test_rows_that_no_text_gives_have_scores_too(source: TextSource) -> None:
    rows = torch.zeros(3, LENGTH)
    rows[1] = -7.5
    rows[2] = 1e30
    for part in PARTS:
        model = built(source, part)
        for _, inputs in grouped(model, rows):
            assert bool(torch.isfinite(model(inputs)).all())


def test_tokens_of_a_text_depend_on_it_alone(folder: Path) -> None:
    encoder = token_encoder(str(folder), LENGTH)
    rows = encoder.encode(QUESTIONS)
    assert rows[0].tolist() == [3, 5, 12, 4] + [0] * (LENGTH - 4)  # [CLS] who ? [SEP]
    assert rows[3].all()  # cut off
    for text, row in zip(QUESTIONS, rows, strict=True):
        np.testing.assert_array_equal(encoder.encode(np.array([text]))[0], row)
    assert encoder.encode(np.array([], dtype=np.str_)).shape == (0, LENGTH)
    with pytest.raises(InputError, match="must be a list of texts"):
        encoder.encode(np.zeros(3))
    with pytest.raises(InputError, match="given to an encoder of texts"):
        token_encoder("mlp", 8)


def test_lengths_and_parts_that_are_none(source: TextSource) -> None:
    with pytest.raises(InputError, match="number of tokens up to 64"):
        text_network(source, "lora", (65,), 3)
    with pytest.raises(InputError, match="part must be one of lora, lora-last, head"):
        text_network(source, "everything", (8,), 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["minilm-lora", "minilm-lora-last", "minilm-head"])
def test_minilm(name: str) -> None:
    texts = np.array(["Who was the king?", "Where is it?", "Why?"])
    rows = torch.from_numpy(token_encoder(name, 8).encode(texts))
    model = network(name, (8,), 3, seed=0)
    assert isinstance(model, TextNetwork)
    assert model.public_weights == public_weights(name)
    assert_gradients_of_each_alone(model, rows, clip=0.1)
    model.head = nn.Identity()
    with torch.no_grad():
        ((_, inputs),) = grouped(model, rows)
        unit = functional.normalize(model(inputs)).numpy()
    np.testing.assert_allclose(unit, MiniLM().encode(texts), atol=1e-5)
