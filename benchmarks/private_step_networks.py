"""The networks of ``bench_private_steps``, and the random records that each is stepped on."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from reticent.training.gradients import LoraLinear, add_lora
from reticent.training.networks import conv

Tensor = torch.Tensor
CLASSES, WORDS, LENGTH = 10, 30_522, 32


@dataclass(frozen=True, kw_only=True)
class Case:
    """A network, what it is shown, and how many records of it at a time."""

    name: str
    build: Callable[[], nn.Module]
    inputs: Callable[[int], Tensor]
    batch: int
    at_a_time: int
    """Records whose gradients are computed together in fast mode."""
    exact_at_a_time: int
    """The same in exact mode, which holds a whole gradient of each."""

    def records(self) -> tuple[Tensor, Tensor]:
        """Random ones from a seed."""
        torch.manual_seed(1)
        return self.inputs(self.batch), torch.randint(0, CLASSES, (self.batch,))


def mlp() -> nn.Module:
    """512-128-10, ReLU."""
    return nn.Sequential(nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, CLASSES))


class Block(nn.Module):
    """Two convolutions and a way past them."""

    def __init__(self, channels: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, outputs, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList(nn.GroupNorm(16, outputs) for _ in range(2))
        self.past: nn.Module = nn.Identity()
        if stride != 1 or channels != outputs:
            self.past = nn.Sequential(
                nn.Conv2d(channels, outputs, 1, stride, bias=False), nn.GroupNorm(16, outputs)
            )

    def forward(self, rows: Tensor) -> Tensor:
        inner = functional.relu(self.norms[0](self.first(rows)))
        return functional.relu(self.norms[1](self.second(inner)) + self.past(rows))


def resnet18() -> nn.Module:
    """He et al. 2016 with GroupNorm and the first layer of small images: 11.2 million weights."""
    widths = (64, 64, 64, 128, 128, 256, 256, 512, 512)
    blocks = [
        Block(before, after, 1 if before == after else 2) for before, after in pairwise(widths)
    ]
    first = (nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.GroupNorm(16, 64), nn.ReLU())
    last = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, CLASSES))
    return nn.Sequential(*first, *blocks, *last)


class Classifier(nn.Module):
    """BERT of the size of MiniLM, random weights; places in memory of each record, for Opacus."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import BertConfig, BertForSequenceClassification

        config = BertConfig(
            vocab_size=WORDS,
            hidden_size=384,
            num_hidden_layers=6,
            num_attention_heads=12,
            intermediate_size=1536,
            num_labels=CLASSES,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
        self.bert: Any = BertForSequenceClassification(config)

    def forward(self, ids: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1]).expand_as(ids).contiguous()
        logits: Tensor = self.bert(ids, position_ids=places).logits
        return logits


def adapters() -> nn.Module:
    """The same, frozen, with adapters of rank 8 at queries and values."""
    model = Classifier()
    add_lora(model, ["query", "value"], rank=8)
    for module in model.modules():
        if isinstance(module, LoraLinear):
            nn.init.normal_(module.up.weight, std=0.01)
    return model


def _images(*shape: int) -> Callable[[int], Tensor]:
    return lambda batch: torch.randn(batch, *shape)


def _sentences(batch: int) -> Tensor:
    return torch.randint(0, WORDS, (batch, LENGTH))


def _mnist_network() -> nn.Module:
    return conv((1, 28, 28), CLASSES)


CASES = (
    Case(
        name="MLP 512-128-10",
        build=mlp,
        inputs=_images(512),
        batch=256,
        at_a_time=256,
        exact_at_a_time=256,
    ),
    *(
        Case(
            name="MNIST CNN",
            build=_mnist_network,
            inputs=_images(1, 28, 28),
            batch=batch,
            at_a_time=128,
            exact_at_a_time=256,
        )
        for batch in (256, 1024)
    ),
    Case(
        name="ResNet-18, GroupNorm",
        build=resnet18,
        inputs=_images(3, 32, 32),
        batch=32,
        at_a_time=32,
        exact_at_a_time=8,
    ),
    Case(
        name="BERT, 6×384",
        build=Classifier,
        inputs=_sentences,
        batch=32,
        at_a_time=32,
        exact_at_a_time=8,
    ),
    Case(
        name="BERT, 6×384, LoRA",
        build=adapters,
        inputs=_sentences,
        batch=32,
        at_a_time=32,
        exact_at_a_time=32,
    ),
)
