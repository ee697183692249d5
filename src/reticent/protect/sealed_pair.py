"""Weights as safetensors and a certificate in JSON, each sealed with a hash of the other.

The seal finds damage and mix-ups. It is no signature: whoever can write both can seal them anew.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from reticent.arrays import Floats
from reticent.files import write_together
from reticent.validation import InputError

_SEAL = "certificate_sha256"
_WEIGHTS = "weights_sha256"


@dataclass(frozen=True, kw_only=True)
class Pair:
    """What was read: claims, those tensors that are finite float64, and what does not fit."""

    claims: Mapping[str, Any]
    tensors: Mapping[str, Floats]
    problems: tuple[str, ...]


def write_pair(
    path: str | Path, claims: Mapping[str, Any], tensors: dict[str, Floats]
) -> tuple[Path, Path]:
    """Write PATH.safetensors and PATH.json; neither is there half-written, or alone."""
    weights_path, certificate_path = paths_of(path)
    content = save_tensors(tensors, metadata={_SEAL: _digest(claims)})
    certificate = {**claims, _WEIGHTS: hashlib.sha256(content).hexdigest()}
    document = json.dumps(certificate, ensure_ascii=False, allow_nan=False, indent=2)
    write_together({weights_path: content, certificate_path: document.encode()})
    return weights_path, certificate_path


def read_pair(path: str | Path) -> Pair:
    """Both files; what is no JSON object is refused, what does not match is a problem."""
    weights_path, certificate_path = paths_of(path)
    try:
        document = certificate_path.read_text(encoding="utf-8")
        content = weights_path.read_bytes()
    except OSError as error:
        raise InputError(f"{error.filename} must be readable, got: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{certificate_path} must be a JSON text, got other bytes") from None
    claims = _claims(document, certificate_path)
    problems = []
    if claims.pop(_WEIGHTS, None) != hashlib.sha256(content).hexdigest():
        problems.append("the weights are not those that were certified")
    if _seal(content) != _digest(claims):
        problems.append("the certificate is not the one that the weights were sealed with")
    tensors, odd = _tensors(content)
    problems += [f"the tensor {name} is not finite float64 numbers" for name in odd]
    return Pair(claims=claims, tensors=tensors, problems=tuple(problems))


def paths_of(path: str | Path) -> tuple[Path, Path]:
    """The two files of a release: PATH.safetensors and PATH.json."""
    base = Path(path)
    if not base.name:
        raise InputError(f"path must name a file, got {str(path)!r}")
    if base.suffix in (".safetensors", ".json"):
        base = base.with_suffix("")
    return base.with_name(base.name + ".safetensors"), base.with_name(base.name + ".json")


def _claims(document: str, path: Path) -> dict[str, Any]:
    try:
        claims = json.loads(document, parse_constant=_refuse_constant, object_pairs_hook=_distinct)
    except RecursionError:
        raise InputError(f"{path} must be JSON, got one nested too deeply") from None
    except ValueError:  # whole numbers of thousands of digits raise it too
        raise InputError(f"{path} must be JSON, got another text") from None
    if not isinstance(claims, dict):
        raise InputError(f"{path} must be a certificate, got another file")
    return claims


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a field that stands twice the last would win silently."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a field stands twice")
    return dict(pairs)


def _refuse_constant(name: str) -> None:
    """NaN and the infinities are none of JSON's numbers, though Python reads them."""
    raise ValueError(name)


def _tensors(content: bytes) -> tuple[dict[str, Floats], list[str]]:
    """The tensors that are finite float64 arrays, and the names of others; none of another file."""
    try:
        tensors = load_tensors(content)
    except (safetensors.SafetensorError, TypeError, ValueError, KeyError):
        return {}, []
    sound = {
        name: tensor.copy()
        for name, tensor in tensors.items()
        if tensor.dtype == np.float64 and np.isfinite(tensor).all()
    }
    return sound, sorted(set(tensors) - set(sound))


def _digest(claims: Mapping[str, Any]) -> str:
    """Of all claims but the hash of the weights, which carry this digest."""
    document = json.dumps(claims, ensure_ascii=True, allow_nan=False, sort_keys=True)
    return hashlib.sha256(document.encode()).hexdigest()


def _seal(content: bytes) -> str | None:
    """The digest in the header of a safetensors file: its length in 8 bytes, then JSON."""
    length = int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8 : 8 + length])
        return str(header["__metadata__"][_SEAL])
    except (ValueError, KeyError, TypeError):
        return None
