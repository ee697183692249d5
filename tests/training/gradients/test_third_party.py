"""Networks that nobody here wrote, from a configuration: as they come, against a plain loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from tests.training.gradients.record_loop import RECORDS, assert_as_in_a_loop
from tests.training.gradients.timm_networks import timm_network

SMALL: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "num_labels": 3,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
STAGES: dict[str, Any] = {
    "embedding_size": 32,
    "hidden_sizes": [32, 64],
    "depths": [1, 1],
    "num_labels": 3,
}


def _bert() -> nn.Module:
    from transformers import BertConfig, BertForSequenceClassification

    return BertForSequenceClassification(
        BertConfig(vocab_size=11, max_position_embeddings=12, **SMALL)
    )


def _adapted_bert() -> nn.Module:
    """With adapters of peft, whose second factors are not zero, and a classifier of its own."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=2, target_modules=["query", "value"], modules_to_save=["classifier"])
    model: nn.Module = get_peft_model(_bert(), config)  # type: ignore[arg-type]
    for name, one in model.named_parameters():
        if "lora_B" in name:
            nn.init.normal_(one)
    return model


def _vit() -> nn.Module:
    from transformers import ViTConfig, ViTForImageClassification

    return ViTForImageClassification(ViTConfig(image_size=8, patch_size=4, **SMALL))


def _resnet() -> nn.Module:
    """With GroupNorm in the place of batch norms, as Opacus puts it there."""
    from opacus.validators import ModuleValidator
    from transformers import ResNetConfig, ResNetForImageClassification

    model = ResNetForImageClassification(ResNetConfig(layer_type="basic", **STAGES))
    fixed: nn.Module = ModuleValidator.fix(model)
    return fixed


def _big_transfer() -> nn.Module:
    """A ResNet with GroupNorm and standardised kernels, in classes of its own."""
    from transformers import BitConfig, BitForImageClassification

    return BitForImageClassification(BitConfig(num_groups=8, **STAGES))


def _timm_resnet() -> nn.Module:
    """With GroupNorm, in timm's own subclass of torch's."""
    return timm_network(
        "resnet18",
        layers=(1, 1, 1, 1),
        channels=(32, 32, 64, 64),
        num_classes=3,
        norm_layer="groupnorm",
    )


def _ids() -> torch.Tensor:
    return torch.randint(0, 11, (RECORDS, 5))


def _images(size: int) -> Callable[[], torch.Tensor]:
    return lambda: torch.randn(RECORDS, 3, size, size)


Rows = Callable[[], torch.Tensor]
NETWORKS: dict[str, tuple[Callable[[], nn.Module], Rows, bool]] = {
    "transformers' BERT": (_bert, _ids, True),
    "transformers' BERT with peft's adapters": (_adapted_bert, _ids, True),
    "transformers' ViT": (_vit, _images(8), False),
    "transformers' ResNet with Opacus' GroupNorm": (_resnet, _images(16), True),
    "transformers' BiT": (_big_transfer, _images(16), False),
    "timm's ResNet with GroupNorm": (_timm_resnet, _images(64), False),
}
"""A network, its records, and whether rules serve all of it; else modules are run again."""


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("wide", [False, True], ids=["fast", "exact"])
@pytest.mark.parametrize("name", NETWORKS)
def test_norms_and_clipped_sums_are_those_of_a_loop(name: str, wide: bool) -> None:
    torch.manual_seed(0)
    build, rows, by_rules = NETWORKS[name]
    clipper = assert_as_in_a_loop(build().train(), rows(), wide=wide)
    assert (clipper.slow_modules == {}) == by_rules
