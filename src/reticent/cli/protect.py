"""``reticent protect``: a head's weights, released once, with a certificate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli.options import Delta, Epsilon, Json, Pure, RelationName, delta_of, relation_of
from reticent.cli.output import print_json, print_line, print_warning
from reticent.cli.private_table import (
    Bound,
    Classes,
    Each,
    Embedding,
    EncoderName,
    Label,
    MechanismOption,
    Norms,
    Penalty,
    Person,
    Private,
    Records,
    each_of,
    listed,
    read_private,
    required_option,
)
from reticent.guarantee import Event, Guarantee
from reticent.guarantee.rounding import scale_text
from reticent.protect.registry import RECIPES, classifier_named, classifiers
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect import Release, ReleaseRequest

Out = Annotated[Path, typer.Option(help="Where to write OUT.safetensors and OUT.json.")]
Fit = Annotated[
    Path | None,
    typer.Option(
        help="OUT of fit: classes, bound, records, norms and penalty are taken from there.",
        show_default=False,
    ),
]
LearnerName = Annotated[
    str,
    typer.Option(
        "--learner",
        help="The recipe: "
        + "; ".join(f"{name}, {RECIPES.summary(name)}" for name in classifiers())
        + ".",
    ),
]
Centre = Annotated[
    str, typer.Option(help="none, or mean: centre the rows by a noisy mean, for a part of ε.")
]
MeanBound = Annotated[
    float | None,
    typer.Option(
        help="Public bound on a row before it is centred; by default --bound.", show_default=False
    ),
]
LedgerPath = Annotated[
    str | None,
    typer.Option("--ledger", help="Charge this ledger before the release.", show_default=False),
]
DataSet = Annotated[
    str | None,
    typer.Option("--data-set", help="The name of the data set in the ledger.", show_default=False),
]


def protect(
    private: Private,
    label: Label,
    epsilon: Epsilon,
    out: Out,
    delta: Delta = None,
    pure: Pure = False,
    relation: RelationName = None,
    classes: Classes = None,
    bound: Bound = None,
    records: Records = None,
    fit: Fit = None,
    learner: LearnerName = "weights",
    mechanism: MechanismOption = "gaussian",
    penalty: Penalty = None,
    norms: Norms = None,
    centre: Centre = "none",
    mean_bound: MeanBound = None,
    person: Person = None,
    max_records_per_person: Each = 1,
    embedding: Embedding = None,
    encoder: EncoderName = None,
    ledger: LedgerPath = None,
    data_set: DataSet = None,
    json: Json = False,
) -> None:
    """Learn a linear classifier from private features and release it once, with a proven ε."""
    from reticent.protect import ReleaseRequest, Terms, release_table, save

    terms = Terms(
        epsilon=epsilon,
        delta=delta_of(delta, pure),
        relation=relation_of(relation),
        max_records_per_person=each_of(person, max_records_per_person),
    )
    options = {"bound": bound, "penalty": penalty, "norms": norms}
    centred = _is_centred(centre, mean_bound)
    start = None
    if fit is None:
        names = listed(classes)
        _refuse_idle(learner, options, centred)
        if centred:
            options["mean_bound"] = bound if mean_bound is None else mean_bound
        request = ReleaseRequest(
            terms=terms,
            records=required_option("--records", records),
            recipe=learner,
            mechanism=mechanism,
            options=options,
        )
    else:
        _refuse_with_fit(learner, {"classes": classes, "records": records, **options}, centred)
        names, request, start = _from_fit(fit, terms, mechanism)
    charge = _charger(ledger, data_set, request)
    _refuse_unwritable(out)
    data = read_private(
        private, label=label, person=person, embedding=embedding, classes=names, encoder=encoder
    )
    released = release_table(data, request, charge=charge, start=start)
    weights, certificate = save(released, out)
    _print_released(released, weights, certificate, json)
    if ledger is None and not json:
        print_warning("not charged to a ledger: releases on the same data add up (--ledger)")


def _is_centred(centre: str, mean_bound: float | None) -> bool:
    """Whether rows are centred by a noisy mean."""
    if centre not in ("none", "mean"):
        raise InputError(f"--centre must be none or mean, got {centre!r}")
    if centre == "none" and mean_bound is not None:
        raise InputError("--mean-bound must be said with --centre mean, got it alone")
    return centre == "mean"


def _refuse_idle(learner: str, options: dict[str, Any], centred: bool) -> None:
    """Options that the recipe takes none of, by the recipe's own list; and one that it needs."""
    taken = classifier_named(learner).options
    idle = [
        f"--{name}" for name, value in options.items() if value is not None and name not in taken
    ]
    if centred and "mean_bound" not in taken:
        idle.append("--centre mean")
    if idle:
        raise InputError(f"{idle[0]} must not be given to the learner {learner}, which has no use")
    if "bound" in taken:
        required_option("--bound", options["bound"])


def _refuse_with_fit(learner: str, given: dict[str, Any], centred: bool) -> None:
    """What a fit holds by itself, or was not made for."""
    if learner != "weights":
        raise InputError(f"--fit must be given to the learner weights, got {learner}")
    if centred:
        raise InputError("--centre mean must be said without --fit: the fit was not centred by it")
    twice = [name for name, value in given.items() if value is not None]
    if twice:
        raise InputError(f"--{twice[0]} must not be given beside --fit, which holds it")


def _from_fit(path: Path, terms: Any, mechanism: str) -> tuple[list[str], ReleaseRequest, Any]:
    from reticent.protect import ReleaseRequest
    from reticent.training.fit_file import load_fit

    head, start = load_fit(path)
    if head.centre is not None or head.tolerance is not None:
        raise InputError(f"{path} must come from reticent fit, got one with a centre or tolerance")
    request = ReleaseRequest(
        terms=terms,
        records=required_option("--records", head.records),
        mechanism=mechanism,
        options={
            "bound": head.bound,
            "penalty": head.penalty,
            "intercept": head.intercept,
            "norms": head.norms,
        },
    )
    return list(map(str, required_option("--classes", head.classes))), request, start


def _charger(
    ledger: str | None, data_set: str | None, request: ReleaseRequest
) -> Callable[[Event], object] | None:
    """What charges the plan before anything is computed from the records."""
    if ledger is None:
        if data_set is not None:
            raise InputError(f"--data-set must be said with --ledger, got {data_set!r} alone")
        return None
    from reticent.ledger import Ledger

    name = required_option("--data-set", data_set)
    terms = request.terms

    def charge(event: Event) -> None:
        with Ledger.open(ledger) as book:  # a mistyped path must not make one without budgets
            done = book.charge(
                name,
                event,
                relation=terms.relation,
                unit=terms.unit,
                purpose=f"{request.recipe}, {request.mechanism} noise",
                claim=(terms.epsilon, terms.delta),
            )
        if done.warning is not None:
            print_warning(done.warning)

    return charge


def _refuse_unwritable(out: Path) -> None:
    """A path that cannot be written would be found out after the budget was spent."""
    from reticent.files import writable_file
    from reticent.protect.sealed_pair import paths_of

    for path in paths_of(out):
        writable_file(path)


def _print_released(released: Release, weights: Path, certificate: Path, json: bool) -> None:
    if json:
        from reticent.protect.certificate import document_of

        print_json(
            {"weights": str(weights), "certificate": str(certificate), **document_of(released)}
        )
        return
    print_line(str(released.guarantee))
    print_line(f"{_noise(released)}; written to {weights} and {certificate}")
    print_assumptions(released.guarantee)


def _noise(released: Release) -> str:
    scales = ", ".join(f"{name} {scale_text(s)}" for name, s in released.scales.items())
    penalty = released.recipe.to_dict().get("penalty")
    decay = "" if penalty is None else f", penalty {penalty:.6g}"
    return f"{released.recipe.name}: {released.mechanism} noise of scales {scales}{decay}"


def print_assumptions(claim: Guarantee) -> None:
    """The two lists that every proven claim rests on."""
    print_line("checked by the code:")
    for line in claim.checked:
        print_line(f"  - {line}")
    print_line("stated by you:")
    for line in claim.stated:
        print_line(f"  - {line}")
