"""What may be published of a release: what its certificate says, verified now, or nothing.

Whoever can edit a document could otherwise have any ε printed on a page that goes out with a model.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reticent.protect import sealed_pair, terms
from reticent.report.evidence import Checked, Evidence
from reticent.results import Attack, ByClass, Claim, Results, allowed, task_results
from reticent.validation import InputError

UNSIGNED: Final = (
    "unsigned: the files say what is promised and let everybody compute it anew, but not whose"
    " promise it is"
)


def publishable(evidence: Evidence) -> Evidence:
    """The part of it that a public text is written from; one line says why there is none.

    Every figure of the claim is the certificate's. One accuracy may stand beside it, on public
    records.
    """
    _refuse_unpublishable(evidence)
    own = evidence.certificate
    assert own is not None
    file = own.file or evidence.file
    return Evidence(
        title=file or "this model",
        claim=own.claim,
        learner=own.learner,
        mechanism=own.mechanism,
        scales=own.scales,
        certificate=own,
        file=file,
        used=own.used,
        covered=evidence.covered,
        covered_by_class=_of_its_classes(evidence.covered_by_class, own.classes),
        covered_measures=_of_its_labels(evidence.covered_measures, own),
        versions={"reticent": own.version},
    )


def _of_its_classes(by_class: ByClass | None, classes: tuple[str, ...]) -> ByClass | None:
    """Recalls of the certificate's own classes: no other word of a document becomes public."""
    known = by_class is not None and all(one.label in classes for one in by_class.recalls)
    return by_class if known else None


def _of_its_labels(
    measures: tuple[task_results.Measure, ...], own: Checked
) -> tuple[task_results.Measure, ...]:
    """Measures of known names, of the certificate's own labels, in the unit of its schema."""
    known = all(
        one.name in task_results.MEASURES and (not one.label or one.label in own.classes)
        for one in measures
    )
    units = all(one.unit in ("", own.unit) for one in measures)
    return measures if known and units else ()


def signature_of(evidence: Evidence) -> str:
    """Whose word the claim is, as far as the files say."""
    own = evidence.certificate
    if own is None or own.signed_by is None:
        return UNSIGNED
    return f"signed by the holder of the Ed25519 key {own.signed_by}; the files do not say who"


def release_beside(document: Path, results: Results | task_results.TaskResults) -> Path:
    """The release that a run wrote beside its document, by its name alone: no other folder."""
    kept = results.recommended.file
    name = "" if kept is None else Path(kept).name
    prefix = document.parent / (name or "released")
    if not name or not all(path.is_file() for path in sealed_pair.paths_of(prefix)):
        raise InputError(
            f"{prefix} must be the release of {document}, with its certificate, got none: a public"
            " text says what the certificate says (--released)"
        )
    return prefix


@dataclass(frozen=True, kw_only=True)
class _Judged:
    """A release with the attacks on it, by its certified claim."""

    claim: Claim
    mechanism: str
    attacks: tuple[Attack, ...]


def _refuse_unpublishable(evidence: Evidence) -> None:
    own = evidence.certificate
    if own is None:
        raise InputError(
            "a public text must be written from a certificate, got none: give the release"
            " (--released)"
        )
    if own.inferred:
        tells = "; N tells the number of records" if terms.RECORDS in own.inferred else ""
        raise InputError(
            f"a public text must rest on numbers that were said, got {', '.join(own.inferred)} read"
            f" off the private data{tells}"
        )
    if evidence.refuted or _others_refuted(evidence):
        raise InputError(
            "a public text must be of a claim that stands, got one that its audit refuted"
        )
    judged = _Judged(
        claim=own.claim, mechanism=own.mechanism, attacks=evidence.attacks(protected=True)
    )
    if _forbidden(evidence) or allowed.attack_allowance(judged).broken:
        raise InputError(
            "a public text must be of a release that may be published, got the verdict: do not"
            " publish"
        )


def _others_refuted(evidence: Evidence) -> bool:
    """Whether the run found a claim untrue that rests on theorems as this one does."""
    return evidence.run is not None and bool(evidence.run.refuted(grades=("proven", "declared")))


def _forbidden(evidence: Evidence) -> bool:
    return evidence.run is not None and evidence.run.conclusion.forbids
