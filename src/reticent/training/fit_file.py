"""A fitted head on disk, before anything protects it: as private as the records.

Nothing that is read back is trusted: ``reticent protect`` takes the coordinates as the start of a
new fit on the records, which certifies them again with one gradient where they are the optimum.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from reticent.arrays import Floats
from reticent.files import write_atomic
from reticent.read_limit import bounded_bytes
from reticent.strict_json import parsed_object, safetensors_metadata
from reticent.training.softmax_head import SoftmaxHead
from reticent.validation import InputError

FORMAT = "reticent-fit-1"
WARNING = "UNPROTECTED: these weights tell about the records; publish a release of them instead"
_PARAMETERS = ("penalty", "bound", "classes", "records", "intercept", "norms", "tolerance")


def save_fit(head: SoftmaxHead, path: str | Path) -> Path:
    """Write PATH.fit.safetensors, for the owner's eyes alone."""
    fit = head.certified()
    if head.class_weight is not None:
        raise InputError("head must have no class weights to be kept as a fit, got some")
    parameters = {name: getattr(head, name) for name in _PARAMETERS}
    parameters |= {"classes": list(fit.classes), "records": fit.numbers.records}
    tensors = {"coordinates": np.frombuffer(fit.coordinates).reshape(fit.numbers.shape)}
    if head.centre is not None:
        tensors["centre"] = np.array(head.centre, dtype=np.float64)
    document = json.dumps({"parameters": parameters, "warning": WARNING}, allow_nan=False)
    header = {"format": FORMAT, "fit": document, "sha256": _seal(document, tensors)}
    target = fit_path(path)
    write_atomic(target, save_tensors(tensors, metadata=header), private=True)
    return target


def load_fit(path: str | Path) -> tuple[SoftmaxHead, Floats]:
    """A head with the file's parameters, to be fitted again, and the coordinates to start from."""
    source = fit_path(path)
    content = bounded_bytes(source)
    metadata = safetensors_metadata(content, source=str(source))
    try:
        tensors = load_tensors(content)
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError, OverflowError):
        raise InputError(f"{source} must be a whole safetensors file, got another") from None
    if metadata.get("format") != FORMAT:
        raise InputError(f"{source} must be a fit of format {FORMAT}, got another file")
    document = metadata.get("fit", "")
    changed = InputError(f"{source} must be as it was written, got a changed file")
    if metadata.get("sha256") != _seal(document, tensors):
        raise changed
    parameters = parsed_object(document, source=str(source)).get("parameters")
    if not isinstance(parameters, dict) or set(parameters) != set(_PARAMETERS):
        raise changed  # and sealed anew
    coordinates = tensors.get("coordinates")
    if coordinates is None or coordinates.dtype != np.float64 or coordinates.ndim != 2:
        raise changed
    return SoftmaxHead(**parameters, centre=tensors.get("centre")), coordinates


def fit_path(path: str | Path) -> Path:
    """PATH.fit.safetensors, whether the ending was given or not."""
    base = Path(path)
    ending = ".fit.safetensors"
    return base if base.name.endswith(ending) else base.with_name(base.name + ending)


def _seal(document: str, tensors: dict[str, Any]) -> str:
    """Finds damage and mix-ups; it is no signature."""
    digest = hashlib.sha256(document.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name}:{tensor.dtype}:{tensor.shape};".encode())
        digest.update(np.ascontiguousarray(tensor).tobytes())
    return digest.hexdigest()
