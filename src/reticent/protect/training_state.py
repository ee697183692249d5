"""State of optimisers and schedulers in a file: tensors, and plain values as JSON. No pickle.

JSON has neither tuples nor infinity nor numbers as names, and the states of torch have all of them;
so each is written as an object that says its kind.
"""

import math
from collections import Counter
from typing import Any

from reticent.training.encoders.torch_extra import torch
from reticent.validation import InputError

Tensors = dict[str, torch.Tensor]
_MAPPINGS = {"dict": dict, "counter": Counter}


def written(value: Any, name: str, tensors: Tensors) -> Any:
    """A value for JSON; its tensors go to ``tensors``, under names that begin with ``name``.

    What is neither a plain value nor a tensor, such as a function, is refused by its name.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, torch.Tensor):
        tensors[name] = value.detach().clone()
        return {"tensor": name}
    if isinstance(value, (list, tuple)):
        parts = [written(one, f"{name}.{place}", tensors) for place, one in enumerate(value)]
        return parts if isinstance(value, list) else {"tuple": parts}
    if isinstance(value, dict):
        kind = "counter" if isinstance(value, Counter) else "dict"
        pairs = value.items()
        return {kind: [[key, written(one, f"{name}.{key}", tensors)] for key, one in pairs]}
    raise InputError(
        f"{name} must be of plain values and tensors to be saved, got {type(value).__name__}"
    )


def read(value: Any, tensors: Tensors) -> Any:
    """The value that ``written`` was given."""
    if isinstance(value, list):
        return [read(one, tensors) for one in value]
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "float":
        return float(inner)
    if kind == "tensor":
        return tensors[inner]
    if kind == "tuple":
        return tuple(read(one, tensors) for one in inner)
    return _MAPPINGS[kind]({key: read(one, tensors) for key, one in inner})


def below(prefix: str, tensors: Tensors) -> Tensors:
    """The tensors whose names begin so, by the rest of their names."""
    return {
        name.removeprefix(prefix): one for name, one in tensors.items() if name.startswith(prefix)
    }
