"""PyTorch, or the one line that says how to get it: whatever needs torch takes it from here."""

from reticent.validation import InputError

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise InputError(
        'torch must be installed for image encoders: pip install "reticent[torch]"'
    ) from None

__all__ = ["functional", "nn", "torch"]
