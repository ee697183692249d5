"""Networks of timm with random weights."""

from __future__ import annotations

from typing import Any

from torch import nn

from reticent.training.fine_tuning.timm_library import imported_timm


def timm_network(name: str, **options: Any) -> nn.Module:
    """``timm.create_model`` with random weights."""
    model: nn.Module = imported_timm().create_model(name, pretrained=False, **options)
    return model
