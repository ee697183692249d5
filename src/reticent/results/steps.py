"""What single commands found, in the values of a run: ``attack --json`` and ``audit --json``.

A card is written from these files as it is from ``results.json``: nothing is read out of texts.
"""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from reticent.results import attack, reading, value
from reticent.results.audit import Audit, Claim
from reticent.validation import InputError


class AttackStep(value.Value):
    """What ``reticent attack --json`` prints."""

    kind: Literal["attack"] = "attack"
    target: str
    """What was attacked, in words."""
    claim: Claim | None = None
    """What the target promises, where it is a release; at most declared, as read from its file."""
    attacks: tuple[attack.Attack, ...] = Field(min_length=1)
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


class AuditStep(value.Value):
    """``reticent audit --json`` of one release."""

    kind: Literal["audit"] = "audit"
    release: str
    """The file that was audited."""
    claim: Claim
    audit: Audit
    figures: dict[str, Any] = Field(default_factory=dict)
    """Everything else that this kind of audit found."""


class AuditSteps(value.Value):
    """``reticent audit --json`` of several releases: β is divided over them."""

    kind: Literal["audits"] = "audits"
    audits: tuple[AuditStep, ...]
    beta: float
    beta_each: float
    refuted: tuple[str, ...]


def read_attack(path: Path) -> AttackStep:
    """A file that ``reticent attack --json`` wrote."""
    return reading.read_value(AttackStep, path, _printed("attack"))


def read_audit(path: Path, release: str) -> AuditStep:
    """A file that ``reticent audit --json`` wrote; of several audits, that of the named release."""
    what = _printed("audit")
    values = reading.read_json(path, what)
    if not isinstance(values, dict) or values.get("kind") != "audits":
        return reading.value_of(AuditStep, values, path, what)
    audits = reading.value_of(AuditSteps, values, path, what).audits
    own = [audit for audit in audits if Path(audit.release).stem == release]
    if len(own) != 1:
        raise InputError(f"{path} must hold one audit of {release}, got {len(own)}")
    return own[0]


def _printed(command: str) -> str:
    return f"what reticent {command} --json prints"
