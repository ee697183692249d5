"""Files of answers: the plan, which is public, and a head from a fit's file, which is not.

A head that is read from a file is as private as the records: the file is refused where others than
its owner can read it. That it holds the optimum of the records was certified where it was fitted
and cannot be seen here, so what is promised of its answers is *declared*.
"""

import dataclasses
import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from reticent.arrays import Floats
from reticent.data.schema import Schema
from reticent.files import write_atomic
from reticent.guarantee import Grade, Guarantee, grade
from reticent.ledger.filters import as_filter
from reticent.protect.answers.answer_mechanisms import space_of
from reticent.protect.answers.answers import PrivateAnswers, claims_of, refuse_other_schema
from reticent.protect.answers.plan import AnswerPlan
from reticent.protect.head_numbers import PublicNumbers, checked_head
from reticent.protect.public_facts import SCHEMA, document_of_schema, schema_of_document
from reticent.protect.terms import checked_each
from reticent.strict_json import read
from reticent.training.fit_file import fit_path, load_fit
from reticent.validation import InputError, count, positive, probability

FORMAT: Final = "reticent-answers-1"
FROM_FILE: Final = (
    "the head was read from a file: that it is the certified optimum of the records is the word of "
    "whoever wrote the file"
)


class PlanFile(NamedTuple):
    """A plan, the names of its classes, and the schema of raw tables, where they have one."""

    plan: AnswerPlan
    classes: tuple[str, ...]
    schema: Schema | None = None


def save_plan(
    plan: AnswerPlan, classes: tuple[str, ...], path: Path, *, schema: Schema | None = None
) -> None:
    """Write a plan with the names of its classes; all of it is public.

    With ``schema`` raw records are prepared by it, the private ones and those of clients alike.
    """
    refuse_other_schema(schema, plan, classes)
    if plan.before is not None or plan.public.mean is not None:
        raise InputError("plan must be that of a head without a noisy mean to be kept, got one")
    public = {name: value for name, value in plan.public.to_dict().items() if name != "mean"}
    document = {
        "format": FORMAT,
        "classes": list(classes),
        "public": public,
        "relation": str(plan.relation),
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "queries": plan.queries,
        "mechanism": plan.mechanism,
        "space": plan.space,
        "scale": plan.scale,
        "filter": None if plan.filter is None else str(plan.filter),
        **({} if schema is None else {SCHEMA: document_of_schema(schema)}),
    }
    write_atomic(path, (json.dumps(document, indent=2, allow_nan=False) + "\n").encode())


def load_plan(path: Path) -> PlanFile:
    """A plan with what stands beside it; whether its noise is enough is computed anew."""
    document = read(path, role="plan")
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise InputError(f"plan {path} must be of format {FORMAT}, got another file")
    try:
        plan = AnswerPlan(
            public=_public(document["public"]),
            relation=grade.as_relation(document["relation"]),
            epsilon=positive("epsilon", document["epsilon"]),
            delta=probability("delta", document["delta"]),
            queries=count("queries", document["queries"]),
            mechanism=document["mechanism"],
            space=space_of(document["mechanism"], document["space"]),
            scale=positive("scale", document["scale"]),
            filter=None if document["filter"] is None else as_filter(document["filter"]),
        )
        classes = document["classes"]
    except (KeyError, TypeError):
        raise InputError(f"plan {path} must have all of its fields, got fewer or others") from None
    named = isinstance(classes, list) and all(isinstance(name, str) for name in classes)
    if not named or len(set(classes)) != plan.public.classes:
        raise InputError(f"plan {path} must name each of its classes once, got others")
    with np.errstate(over="ignore", invalid="ignore"):  # numbers of a changed file: refused
        plan.require_enough()
    schema = schema_of_document(document.get(SCHEMA))
    refuse_other_schema(schema, plan, tuple(classes))
    return PlanFile(plan, tuple(classes), schema)


def fit_numbers(
    path: Path, max_records_per_person: int | None
) -> tuple[PublicNumbers, tuple[str, ...]]:
    """The public numbers of a fit's file, and the names of its classes."""
    public, head, _ = _read_fit(path, max_records_per_person)
    return public, tuple(map(str, head.classes))


def _read_fit(path: Path, max_records_per_person: int | None) -> tuple[PublicNumbers, Any, Floats]:
    refuse_readable_by_others(fit_path(path))
    head, coordinates = load_fit(path)
    if head.centre is not None or head.classes is None or head.tolerance is not None:
        raise InputError(f"{path} must come from reticent fit, got one with a centre or tolerance")
    width = coordinates.shape[1] - (1 if head.intercept else 0)
    public = PublicNumbers.of(
        head.planned(width), max_records_per_person=max_records_per_person, mean=None
    )
    return public, head, coordinates


def answers_from_file(
    path: Path, plan: AnswerPlan, *, schema: Schema | None = None
) -> PrivateAnswers:
    """A head that was kept by ``save_fit``, answering by a plan: *declared*."""
    public, head, coordinates = _read_fit(path, plan.public.max_records_per_person)
    if public != plan.public or coordinates.shape != public.shape:
        raise InputError(f"plan must be made for the head in {path}, got one for another")
    if not np.isfinite(coordinates).all():
        raise InputError(f"{path} must hold finite numbers, got others")
    plan.require_enough()
    refuse_other_schema(schema, plan, tuple(map(str, head.classes)))
    known = () if schema is None else schema.stated
    return PrivateAnswers(
        coordinates=coordinates,
        classes=np.asarray(head.classes),
        centre=None,
        plan=plan,
        claims=tuple(map(_taken_on_trust, claims_of(plan, known))),  # type: ignore[arg-type]
    )


def refuse_readable_by_others(path: Path) -> None:
    """A private file that its group or everybody can read is refused, with what to do."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise InputError(f"{path} must be readable, got: {error.strerror}") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InputError(
            f"{path} must be its owner's alone, got mode {stat.S_IMODE(mode):04o}; it is as "
            f"private as the records: chmod 600 {path}"
        )


def _taken_on_trust(claim: Guarantee) -> Guarantee:
    """Nothing of the head was seen to hold here: what is checked elsewhere is stated."""
    return dataclasses.replace(
        claim, grade=Grade.DECLARED, checked=(), stated=(FROM_FILE, *claim.checked, *claim.stated)
    )


def _public(values: Any) -> PublicNumbers:
    if not isinstance(values, Mapping):
        raise TypeError
    each = checked_each(values["max_records_per_person"])
    return PublicNumbers(**checked_head(values), max_records_per_person=each)
