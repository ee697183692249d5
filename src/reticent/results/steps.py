"""What single commands found, in the values of a run: ``attack --json`` and ``audit --json``.

A card is written from these files as it is from ``results.json``: nothing is read out of texts.
"""

from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError

from reticent.results.attack import Attack
from reticent.results.audit import Audit, Claim
from reticent.results.value import Value
from reticent.validation import InputError

_Kind = TypeVar("_Kind", bound=BaseModel)


class AttackStep(Value):
    """What ``reticent attack --json`` prints."""

    kind: Literal["attack"] = "attack"
    target: str
    """What was attacked, in words."""
    claim: Claim | None = None
    """What the target promises, where it is a release; at most declared, as read from its file."""
    attacks: tuple[Attack, ...] = Field(min_length=1)
    left_out: dict[str, str] = Field(default_factory=dict)
    """Attacks that were not possible, and why."""
    notes: tuple[str, ...] = ()
    confidence: float
    """That all intervals hold together."""
    strongest: str
    leaks: bool
    verdict: str
    above: tuple[dict[str, Any], ...] = ()
    """Figures above the limits of ``--fail-above``."""
    slices: tuple[dict[str, Any], ...] | None = None
    """The strongest attack by class and by confidence, where it was asked for."""
    too_small_slices: tuple[str, ...] = ()


class AuditStep(Value):
    """``reticent audit --json`` of one release."""

    kind: Literal["audit"] = "audit"
    release: str
    """The file that was audited."""
    claim: Claim
    audit: Audit
    figures: dict[str, Any] = Field(default_factory=dict)
    """Everything else that this kind of audit found."""


class AuditSteps(Value):
    """``reticent audit --json`` of several releases: β is divided over them."""

    kind: Literal["audits"] = "audits"
    audits: tuple[AuditStep, ...]
    beta: float
    beta_each: float
    refuted: tuple[str, ...]


class _AnyAudit(BaseModel):
    kind: str = ""


def read_attack(path: Path) -> AttackStep:
    """A file that ``reticent attack --json`` wrote."""
    return _read(AttackStep, path, _content(path), "attack")


def read_audit(path: Path, release: str) -> AuditStep:
    """A file that ``reticent audit --json`` wrote; of several audits, that of the named release."""
    content = _content(path)
    if _read(_AnyAudit, path, content, "audit").kind != "audits":
        return _read(AuditStep, path, content, "audit")
    audits = _read(AuditSteps, path, content, "audit").audits
    own = [audit for audit in audits if Path(audit.release).stem == release]
    if len(own) != 1:
        raise InputError(f"{path} must hold one audit of {release}, got {len(own)}")
    return own[0]


def _content(path: Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path} must be a readable file, got {error.strerror}") from None


def _read(kind: type[_Kind], path: Path, content: bytes, command: str) -> _Kind:
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the document"
        raise InputError(
            f"{path} must be what reticent {command} --json prints, got one where {where} is"
            f" wrong: {first['msg']}"
        ) from None
