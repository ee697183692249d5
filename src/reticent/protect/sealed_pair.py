"""Weights as safetensors and a certificate in JSON, each sealed with a hash of the other.

The seal finds damage and mix-ups. It is no signature: whoever can write both can seal them anew.
Who wrote them is said by a third file where there is one (``protect.signing``).
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import safetensors
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from reticent.arrays import Floats
from reticent.files import write_together
from reticent.protect.signing import Signer, fingerprint, signed_with
from reticent.read_limit import bounded_bytes
from reticent.strict_json import MOST_BYTES, parsed_object
from reticent.validation import InputError

_SEAL: Final = "certificate_sha256"
_WEIGHTS: Final = "weights_sha256"
_METADATA: Final = "__metadata__"
_OF_TENSOR: Final = {"dtype", "shape", "data_offsets"}
_PADDING: Final = 7
"""Spaces at the end of a header, so that the numbers behind it begin at a multiple of eight."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """What was read: claims, those tensors that are finite float64, and what does not fit."""

    claims: Mapping[str, Any]
    tensors: Mapping[str, Floats]
    problems: tuple[str, ...]
    signed_by: str | None = None
    """The fingerprint of the key that signed both files; None where nobody did."""


class Paths(NamedTuple):
    """The two files of a release."""

    weights: Path
    certificate: Path


def write_pair(
    path: str | Path,
    claims: Mapping[str, Any],
    tensors: dict[str, Floats],
    *,
    sign: Signer | None = None,
) -> Paths:
    """Write PATH.safetensors and PATH.json, and PATH.signature.json with a key; all or none.

    The signature of an earlier release under this name goes: it would be of other files.
    """
    places, signature = paths_of(path), signature_path(path)
    content = save_tensors(tensors, metadata={_SEAL: _digest(claims)})
    whole = {**claims, _WEIGHTS: hashlib.sha256(content).hexdigest()}
    document = json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=2).encode()
    files = {places.weights: content, places.certificate: document}
    if sign is not None:
        files[signature] = sign.document(document, content)
    write_together(files)
    if sign is None:
        signature.unlink(missing_ok=True)
    return places


def read_pair(path: str | Path, *, key: Ed25519PublicKey | None = None) -> Pair:
    """Both files; what is no JSON object is refused, what does not match is a problem.

    With ``key`` it is a problem, too, if that key did not sign them.
    """
    places = paths_of(path)
    _refuse_other(Path(path), places)
    document = bounded_bytes(places.certificate, most=MOST_BYTES)
    claims = parsed_object(document, source=str(places.certificate))
    content = bounded_bytes(places.weights)
    problems = []
    if claims.pop(_WEIGHTS, None) != hashlib.sha256(content).hexdigest():
        problems.append("the weights are not those that were certified")
    header = _header(content)
    if header is None or header[_METADATA].get(_SEAL) != _digest(claims):
        problems.append("the certificate is not the one that the weights were sealed with")
    problems += _more_than_tensors(header)
    tensors, odd = _tensors(content)
    problems += [f"the tensor {name} is not finite float64 numbers" for name in odd]
    signer = _signer(signature_path(path), document, content)
    problems += _unsigned(signer, key)
    named = fingerprint(signer) if isinstance(signer, Ed25519PublicKey) else None
    return Pair(claims=claims, tensors=tensors, problems=tuple(problems), signed_by=named)


def paths_of(path: str | Path) -> Paths:
    """The two files of a release: PATH.safetensors and PATH.json."""
    base = _base(path)
    return Paths(base.with_name(base.name + ".safetensors"), base.with_name(base.name + ".json"))


def _refuse_other(path: Path, places: Paths) -> None:
    """Whoever names the folder of a release, or a fit, is told what to name instead."""
    if os.path.exists(places.certificate):
        return
    fit = path.with_name(f"{path.name}.fit.safetensors")
    if os.path.isfile(fit):
        raise InputError(f"{path} must be a release, got a fit: reticent protect --fit {path}")
    if os.path.isfile(places.weights):
        raise InputError(
            f"{path} must have its certificate beside it, got no {places.certificate.name}: without"
            " one nothing is promised (an encoder of public images has none)"
        )
    if not os.path.isdir(path):
        return
    pairs = [file.with_suffix("") for file in sorted(path.glob("*.safetensors"))]
    there = [str(pair) for pair in pairs if paths_of(pair).certificate.is_file()]
    hint = f"name the release in it: {', '.join(there[:3])}" if there else "there is none in it"
    raise InputError(
        f"{path} must be a release (PATH.json, PATH.safetensors), got a folder: {hint}"
    )


def signature_path(path: str | Path) -> Path:
    """Where the signature of a release stands: PATH.signature.json."""
    base = _base(path)
    return base.with_name(f"{base.name}.signature.json")


def _base(path: str | Path) -> Path:
    base = Path(path)
    if not base.name:
        raise InputError(f"path must name a file, got {str(path)!r}")
    return base.with_suffix("") if base.suffix in (".safetensors", ".json") else base


def _signer(place: Path, document: bytes, content: bytes) -> Ed25519PublicKey | str | None:
    """The key that signed both; None without a signature, and what is wrong with a false one."""
    try:
        signature = place.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{place} must be readable, got: {error.strerror}") from None
    signer = signed_with(signature, document, content, place)
    return "the signature is not one of these files" if signer is None else signer


def _unsigned(signer: Ed25519PublicKey | str | None, key: Ed25519PublicKey | None) -> list[str]:
    if isinstance(signer, str):
        return [signer]
    if key is None:
        return []
    if signer is None:
        return ["unsigned, and a signature by the given key is asked for"]
    return [] if signer == key else [f"signed by another key, {fingerprint(signer)}"]


def _tensors(content: bytes) -> tuple[dict[str, Floats], list[str]]:
    """The tensors that are finite float64 arrays, and the names of others; none of another file."""
    try:
        tensors = load_tensors(content)
    except (safetensors.SafetensorError, TypeError, ValueError, KeyError, OverflowError):
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


def _header(content: bytes) -> dict[str, Any] | None:
    """The header of a safetensors file, with metadata: its length in 8 bytes, then JSON."""
    length = int.from_bytes(content[:8], "little")
    text = content[8 : 8 + length]
    try:
        header = parsed_object(text, source="the header of the weights")
    except InputError:
        return None
    padded = len(text) - len(text.rstrip())
    metadata = header.get(_METADATA) if isinstance(header, dict) else None
    return header if isinstance(metadata, dict) and padded <= _PADDING else None


def _more_than_tensors(header: dict[str, Any] | None) -> list[str]:
    """Where a header holds anything beside the seal and what places its tensors."""
    if header is None:
        return []
    problems = [
        f"the weights carry {name!r} beside their seal"
        for name in header[_METADATA]
        if name != _SEAL
    ]
    return problems + [
        f"the tensor {name} carries more than its numbers"
        for name, place in header.items()
        if name != _METADATA and (not isinstance(place, dict) or set(place) != _OF_TENSOR)
    ]
