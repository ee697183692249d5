"""What ``reticent attack --json`` and ``reticent audit --json`` print, read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reticent.audit.lower_bound import percent
from reticent.guarantee import Guarantee
from reticent.guarantee.rounding import lower_text
from reticent.protect.sealed_pair import paths_of
from reticent.results import Attack, Audit, Bound, Claim, Curve, Interval, Rate
from reticent.validation import InputError

_Kind = TypeVar("_Kind", bound=BaseModel)


class _Step(BaseModel):
    """What is not shown here may be there, too."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class _Report(_Step):
    """One attack (``AttackReport.to_dict``)."""

    threat: str
    members: int
    others: int
    auc: Interval
    balanced_accuracy: Interval
    leakage: Interval
    tpr_at_fpr: dict[float, Interval]
    leaks: bool
    verdict: str
    notes: tuple[str, ...] = ()
    smallest_auc: float | None = None

    def attack(self, name: str) -> Attack:
        """As a run records it; the curve is not in the file."""
        own = {field: getattr(self, field) for field in type(self).model_fields}
        rates = own.pop("tpr_at_fpr")
        return Attack(
            name=name,
            black_box=self.threat.startswith("black box"),
            rates=tuple(Rate(fpr=fpr, tpr=tpr) for fpr, tpr in rates.items()),
            roc=Curve(fpr=(), tpr=()),
            **own,
        )


class AttackFile(_Step):
    """``reticent attack --json``."""

    target: str
    attacks: dict[str, _Report] = Field(min_length=1)
    skipped: dict[str, str] = {}
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> tuple[Attack, ...]:
        """Its attacks, as a run records them."""
        return tuple(report.attack(name) for name, report in self.attacks.items())


class _Analytic(_Step):
    epsilon: float
    exact: bool


class _Measured(_Step):
    """``LowerBound.to_dict``."""

    epsilon: float = Field(ge=0)
    delta: float
    confidence: float
    method: str
    conditional: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def bound(self) -> Bound:
        """As a run records it; a condition stands with the method, wherever that is printed."""
        method = self.method
        if self.conditional is not None:
            method += f", conditional on {self.conditional}"
        return Bound(
            epsilon=self.epsilon,
            delta=self.delta,
            confidence=self.confidence,
            method=method,
            text=f"ε ≥ {lower_text(self.epsilon)} at δ = {lower_text(self.delta)} with"
            f" {percent(self.confidence)} % confidence ({method})",
        )


class AuditFile(_Step):
    """``reticent audit --json`` of one release."""

    stated_claim: dict[str, Any] = Field(alias="claim")
    verdict: Literal["refuted", "not refuted"]
    refuted_by: str | None = None
    measured: _Measured
    analytic: _Analytic | None = None
    tightness: float | None = None
    pair: str | None = None
    runs: int

    @property
    def claim(self) -> Claim:
        """What was audited; at most declared, as all that is read from a file."""
        return claim_of(Guarantee.from_dict(self.stated_claim))

    @property
    def audit(self) -> Audit:
        """As a run records it."""
        return Audit(
            verdict=self.verdict,
            refuted_by=self.refuted_by,
            measured=self.measured.bound,
            analytic=None if self.analytic is None else self.analytic.epsilon,
            exact=self.analytic is not None and self.analytic.exact,
            tightness=self.tightness,
            pair=self.pair,
            runs=self.runs,
            notes=self.measured.notes,
        )


def claim_of(guarantee: Guarantee) -> Claim:
    """A guarantee as a run records it."""
    values = guarantee.to_dict()
    known = {name: values[name] for name in Claim.model_fields if name in values}
    return Claim.model_validate(known | {"text": str(guarantee)})


class _Audits(_Step):
    """``reticent audit --json``; of several releases, by their paths."""

    audits: dict[str, Any] | None = None


def read_attack(path: Path) -> AttackFile:
    """A file that ``reticent attack --json`` wrote."""
    return _read(AttackFile, path, _content(path), "attack")


def read_audit(path: Path, release: str) -> AuditFile:
    """A file that ``reticent audit --json`` wrote; of several audits, that of the named release."""
    content = _content(path)
    audits = _read(_Audits, path, content, "audit").audits
    if audits is None:
        return _read(AuditFile, path, content, "audit")
    own = [audit for name, audit in audits.items() if paths_of(name)[1].stem == release]
    if len(own) != 1:
        raise InputError(f"{path} must hold one audit of {release}, got {len(own)}")
    return _read(AuditFile, path, json.dumps(own[0]).encode(), "audit")


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
