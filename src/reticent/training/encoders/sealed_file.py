"""Tensors and a JSON document in one safetensors file, sealed: a changed file is refused.

The seal finds damage and mix-ups. It is no signature: whoever can write the file can seal it anew.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import safetensors

from reticent.files import write_atomic
from reticent.training.encoders.torch_extra import torch
from reticent.validation import InputError

_KEY: Final = "reticent"  # one entry only: then equal contents are equal bytes
_NAME: Final = "format"
_SEAL: Final = "sha256"


def write_sealed(
    path: Path, tensors: Mapping[str, torch.Tensor], document: Mapping[str, Any], *, format: str
) -> None:
    """Write the file; under its name it is whole, or it is not there."""
    from safetensors.torch import save

    whole = {_NAME: format, **document}
    header = json.dumps(whole | {_SEAL: _seal(whole, tensors)}, allow_nan=False, sort_keys=True)
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_atomic(path, save(plain, metadata={_KEY: header}))


def read_sealed(path: Path, *, format: str) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """The document and the tensors, if the file is of this format and nothing in it was changed."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            document = _document((file.metadata() or {}).get(_KEY))
            if document.get(_NAME) != format:
                raise InputError(f"{path} must be a file of format {format}, got another file")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except OSError as error:
        raise InputError(f"{path} must be readable, got: {error.strerror or error}") from None
    except safetensors.SafetensorError:
        raise InputError(f"{path} must be a whole safetensors file, got another") from None
    if document.pop(_SEAL, None) != _seal(document, tensors):
        raise InputError(f"{path} must be as it was written, got a changed file")
    del document[_NAME]
    return document, tensors


def weights_digest(tensors: Mapping[str, torch.Tensor]) -> str:
    """SHA-256 over name, type, shape and bytes of every tensor, sorted by name."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name}:{tensor.dtype}:{tuple(tensor.shape)};".encode())
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _seal(document: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> str:
    written = json.dumps(document, allow_nan=False, sort_keys=True)
    return hashlib.sha256(f"{written}\n{weights_digest(tensors)}".encode()).hexdigest()


def _document(header: str | None) -> dict[str, Any]:
    """The document in the header, empty where the file is not one of ours."""
    try:
        document = json.loads(header or "{}")
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
