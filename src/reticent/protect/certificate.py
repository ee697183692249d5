"""A released head on disk: weights as safetensors, and beside them a certificate in JSON.

The certificate holds public numbers only. ``verify`` computes ε anew from them, on any machine,
without the data. No pickle is written or read.
"""

from __future__ import annotations

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

import reticent
from reticent.files import write_whole
from reticent.guarantee import Guarantee
from reticent.guarantee.rounding import upper_text
from reticent.mechanisms import AdditiveMechanism
from reticent.protect.budget import mechanism_of, together
from reticent.protect.public_numbers import PublicNumbers
from reticent.protect.released_head import ReleasedHead
from reticent.validation import InputError, describe

FORMAT = "reticent-head-2"
_SEAL = "certificate_sha256"
_FIELDS = {
    "format",
    "version",
    "weights_sha256",
    "classes",
    "mechanism",
    "scale",
    "public",
    "guarantee",
}


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What a certificate claims and what follows from its public numbers."""

    guarantee: Guarantee
    epsilon: float
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing contradicts the certificate."""
        return not self.problems


def save(head: ReleasedHead, path: str | Path) -> tuple[Path, Path]:
    """Write PATH.safetensors and PATH.json; neither is there half-written."""
    weights_path, certificate_path = paths_of(path)
    claims = {
        "format": FORMAT,
        "version": reticent.__version__,
        "classes": head.classes_.tolist(),
        "mechanism": head.mechanism,
        "scale": head.scale,
        "public": head.public.to_dict(),
        "guarantee": head.guarantee.to_dict(),
    }
    tensors = {"coordinates": head.coordinates}
    if head.centre is not None:
        tensors["centre"] = head.centre
    content = save_tensors(tensors, metadata={_SEAL: _digest(claims)})
    certificate = claims | {"weights_sha256": hashlib.sha256(content).hexdigest()}
    document = json.dumps(certificate, ensure_ascii=False, allow_nan=False, indent=2)
    write_whole(weights_path, content)
    write_whole(certificate_path, document.encode())
    return weights_path, certificate_path


def load(path: str | Path) -> ReleasedHead:
    """The released head, if weights and certificate belong together and ε follows.

    Its guarantee is graded declared: a file proves nothing, and who wrote it is not known here.
    """
    certificate, content = _read(path)
    found = _verified(certificate, content)
    if not found.holds:
        raise InputError(f"{path} must match its certificate, got: {'; '.join(found.problems)}")
    tensors = {name: tensor.copy() for name, tensor in _tensors(content).items()}
    return ReleasedHead(
        coordinates=tensors["coordinates"],
        classes_=np.asarray(certificate["classes"]),
        centre=tensors.get("centre"),
        guarantee=found.guarantee,
        mechanism=str(certificate["mechanism"]),
        scale=float(certificate["scale"]),
        public=PublicNumbers.from_dict(certificate["public"]),
    )


def verify(path: str | Path) -> Verification:
    """Compute ε anew from the certificate's public numbers, and compare weights and certificate."""
    certificate, content = _read(path)
    return _verified(certificate, content)


def _verified(certificate: Mapping[str, Any], content: bytes) -> Verification:
    claim = Guarantee.from_dict(certificate["guarantee"])
    public = PublicNumbers.from_dict(certificate["public"])
    problems = []
    if hashlib.sha256(content).hexdigest() != certificate["weights_sha256"]:
        problems.append("the weights are not those that were certified")
    if _seal(content) != _digest(certificate):
        problems.append("the certificate is not the one that the weights were sealed with")
    epsilon = together(_noises(certificate, public, claim), delta=claim.delta)
    if not epsilon <= claim.epsilon:
        problems.append(
            f"the noise gives epsilon = {upper_text(epsilon)}, not {upper_text(claim.epsilon)}"
        )
    if public.tolerance < public.least_tolerance():
        problems.append("the tolerance is below what float64 can certify")
    if claim.unit != public.unit:
        problems.append(f"the unit is {public.unit}, not {claim.unit}")
    problems.extend(_misfits(certificate, public, _tensors(content)))
    return Verification(guarantee=claim, epsilon=epsilon, problems=tuple(problems))


def _noises(
    certificate: Mapping[str, Any], public: PublicNumbers, claim: Guarantee
) -> list[AdditiveMechanism]:
    """The noise of the mean, where there is one, and that of the weights."""
    kind = mechanism_of(certificate["mechanism"])
    noises = []
    if public.mean is not None:
        moved = public.mean.sensitivity(claim.relation, public.records_each)
        noises.append(kind(scale=public.mean.scale, sensitivity=moved))
    moved = public.sensitivity(claim.relation)
    return [*noises, kind(scale=certificate["scale"], sensitivity=moved)]


def _misfits(
    certificate: Mapping[str, Any], public: PublicNumbers, tensors: Mapping[str, Any]
) -> list[str]:
    """Where the tensors are not those of the public numbers."""
    problems = []
    coordinates, centre = tensors.get("coordinates"), tensors.get("centre")
    if coordinates is None or coordinates.shape != public.shape:
        problems.append(f"the weights do not have the shape {public.shape}")
    if len(certificate["classes"]) != public.classes:
        problems.append(f"{len(certificate['classes'])} classes do not fit {public.shape}")
    if centre is not None and centre.shape != (public.features,):
        problems.append(f"the centre does not have {public.features} entries")
    if public.mean is not None and (centre is None or public.mean.features != public.features):
        problems.append("the noisy mean is not the centre of the weights")
    return problems


def _read(path: str | Path) -> tuple[Mapping[str, Any], bytes]:
    weights_path, certificate_path = paths_of(path)
    try:
        document = certificate_path.read_text(encoding="utf-8")
        content = weights_path.read_bytes()
    except OSError as error:
        raise InputError(f"{error.filename} must be readable, got: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{certificate_path} must be a JSON text, got other bytes") from None
    try:
        certificate = json.loads(document)
    except ValueError:  # whole numbers of thousands of digits raise it too
        raise InputError(f"{certificate_path} must be JSON, got another text") from None
    except RecursionError:
        raise InputError(f"{certificate_path} must be JSON, got one nested too deeply") from None
    _check_fields(certificate, certificate_path)
    return certificate, content


def _check_fields(certificate: object, path: Path) -> None:
    if not isinstance(certificate, dict) or certificate.get("format") != FORMAT:
        raise InputError(f"{path} must be a certificate of format {FORMAT}, got another file")
    if set(certificate) != _FIELDS:
        odd = sorted(set(certificate) ^ _FIELDS)
        raise InputError(f"{path} must have the fields of a certificate, got {odd[0]!r} wrong")
    classes = certificate["classes"]
    if not isinstance(classes, list) or not all(type(c) in (str, int, float) for c in classes):
        raise InputError(f"classes must be a list of texts or numbers, got {describe(classes)}")
    if len(set(classes)) < len(classes):
        raise InputError("classes must be distinct, got one twice")


def _tensors(content: bytes) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
    """The tensors that are finite float64 arrays; none where the file is another."""
    try:
        tensors = load_tensors(content)
    except (safetensors.SafetensorError, TypeError, ValueError, KeyError):
        return {}
    return {
        name: tensor
        for name, tensor in tensors.items()
        if tensor.dtype == np.float64 and np.isfinite(tensor).all()
    }


def _digest(certificate: Mapping[str, Any]) -> str:
    """Of all claims; the hash of the weights is left out, because they carry this digest."""
    claims = {name: value for name, value in certificate.items() if name != "weights_sha256"}
    document = json.dumps(claims, ensure_ascii=False, allow_nan=False, sort_keys=True)
    return hashlib.sha256(document.encode()).hexdigest()


def _seal(content: bytes) -> str | None:
    """The digest in the header of a safetensors file: its length in 8 bytes, then JSON."""
    length = int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8 : 8 + length])
        return str(header["__metadata__"][_SEAL])
    except (ValueError, KeyError, TypeError):
        return None


def paths_of(path: str | Path) -> tuple[Path, Path]:
    """PATH.safetensors and PATH.json."""
    base = Path(path)
    if not base.name:
        raise InputError(f"path must name a file, got {str(path)!r}")
    if base.suffix in (".safetensors", ".json"):
        base = base.with_suffix("")
    return base.with_name(base.name + ".safetensors"), base.with_name(base.name + ".json")
