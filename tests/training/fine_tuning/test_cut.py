"""Cuts of networks that timm might have: exact, or refused with the reason."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from reticent.training.fine_tuning.cut import Features, cut_below_last_block, last_block
from reticent.validation import InputError

IMAGE = torch.rand(1, 4)


class Chain(nn.Module):
    """Three blocks and a norm, with the methods by which timm runs a network."""

    pattern: Any = r"^blocks\.(\d+)"

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(nn.Linear(4, 4) for _ in range(3)), nn.ReLU())
        self.norm = nn.LayerNorm(4)

    def group_matcher(self, coarse: bool) -> dict[str, Any]:
        return {"blocks": self.pattern}

    def forward_features(self, rows: torch.Tensor) -> torch.Tensor:
        return self.norm(self.blocks(rows))

    def forward_head(self, rows: torch.Tensor, pre_logits: bool) -> torch.Tensor:
        assert pre_logits
        return rows


class Around(Chain):
    """What comes in is added to what goes out."""

    def forward_features(self, rows: torch.Tensor) -> torch.Tensor:
        return rows + super().forward_features(rows)


class Written(Chain):
    """The last block writes into what a list keeps: a graph does not see it."""

    def forward_features(self, rows: torch.Tensor) -> torch.Tensor:
        kept = self.blocks[0](rows)
        seen = self.blocks[1](kept)
        found = self.blocks[2](seen)
        return found + self.counted()

    def counted(self) -> float:
        self.calls = getattr(self, "calls", 0) + 1
        return float(self.calls)


class Choosing(Chain):
    def forward_features(self, rows: torch.Tensor) -> torch.Tensor:
        return super().forward_features(rows) if rows.sum() > 0 else rows


class Twice(Chain):
    def forward_features(self, rows: torch.Tensor) -> torch.Tensor:
        return self.blocks[2](self.blocks[2](self.blocks[0](rows)))


class Unnamed(Chain):
    pattern = r"^nowhere\.(\d+)"


def test_both_parts_together_are_the_network() -> None:
    network = Chain().eval()
    assert last_block(network) == "blocks.2"  # the fourth has no weights
    parts = cut_below_last_block(Features(network), IMAGE)
    rows = torch.rand(5, 4)
    assert torch.equal(parts.above(parts.below(rows)), network.forward_features(rows))
    trained = {name for name, one in parts.above.named_parameters() if one.requires_grad}
    assert trained == {"network.blocks.2.weight", "network.blocks.2.bias"}
    assert not any(one.requires_grad for one in parts.below.parameters())
    with torch.no_grad():  # they share no weights
        parts.above.network.blocks.get_submodule("2").weight.zero_()
    assert bool(network.blocks[2].weight.any())


def test_what_is_kept_of_a_record_is_not_changed_by_a_step() -> None:
    """Layers may write into their input; what was computed once is read again."""
    network = Chain()
    network.blocks[2] = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 4))
    parts = cut_below_last_block(Features(network.eval()), IMAGE)
    kept = -torch.ones(5, 4)
    parts.above(kept)
    assert torch.equal(kept, -torch.ones(5, 4))


@pytest.mark.parametrize(
    ("network", "why"),
    [
        (Around, r"what comes after network\.blocks\.2 reads images as well"),
        (Written, "its parts do not give what it gives"),
        (Choosing, "what it does depends on what it is given"),
        (Twice, r"network\.blocks\.2 is not called once, with one tensor"),
        (Unnamed, "timm does not say what its blocks are"),
    ],
)
def test_others_are_refused(network: type[Chain], why: str) -> None:
    with pytest.raises(InputError, match=f"{why}: say FOLDER#head"):
        cut_below_last_block(Features(network().eval()), IMAGE)
