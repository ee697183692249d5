"""Folders of timm with its own test networks at random weights, for images of 32 × 32 pixels."""

from __future__ import annotations

from pathlib import Path

import torch

from reticent.training.fine_tuning.timm_library import imported_timm

SIDE = 32


def write_tiny_timm(folder: Path, name: str = "test_resnet", *, seed: int = 0) -> Path:
    """As ``save_for_hf`` leaves it; batch norms have statistics as after training."""
    timm = imported_timm()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fixed = {"img_size": SIDE} if name.startswith("test_vit") else {}
        model = timm.create_model(name, num_classes=5, **fixed)
        for one in model.modules():
            if isinstance(one, torch.nn.BatchNorm2d):
                one.running_mean.normal_()
                one.running_var.uniform_(0.5, 2)
                one.weight.data.uniform_(0.5, 2)
    timm.models.save_for_hf(
        model, folder, safe_serialization=True, data_config={"input_size": (3, SIDE, SIDE)}
    )
    return folder
