"""``reticent protect``: a head's weights, released once, with a certificate."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli.ledger_options import (
    NOT_CHARGED,
    DataSet,
    LedgerPath,
    OpenAccount,
    charger,
)
from reticent.cli.options import (
    Delta,
    Epsilon,
    Json,
    Pure,
    RelationName,
    Sign,
    delta_of,
    relation_of,
    signer_of,
)
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
    said_records,
)
from reticent.cli.progress import progress_line
from reticent.guarantee import Guarantee
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
LongestStep = Annotated[
    float | None,
    typer.Option(
        help="Of the learner noisy-gradient: no step is longer; by default 2.", show_default=False
    ),
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
    longest_step: LongestStep = None,
    person: Person = None,
    max_records_per_person: Each = 1,
    embedding: Embedding = None,
    encoder: EncoderName = None,
    ledger: LedgerPath = None,
    data_set: DataSet = None,
    open_account: OpenAccount = False,
    sign: Sign = None,
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
    options = {"bound": bound, "penalty": penalty, "norms": norms, "longest_step": longest_step}
    centred = _is_centred(centre, mean_bound)
    start = None
    if fit is None:
        names = listed(classes)
        _refuse_idle(learner, options, centred)
        if centred:
            options["mean_bound"] = bound if mean_bound is None else mean_bound
        request = ReleaseRequest(
            terms=terms,
            records=said_records(records, terms.relation),
            recipe=learner,
            mechanism=mechanism,
            options=options,
        )
    else:
        _refuse_with_fit(learner, {"classes": classes, "records": records, **options}, centred)
        names, request, start = _from_fit(fit, terms, mechanism)
    charged = charger(ledger, data_set, open_account)
    purpose = f"{request.recipe}, {request.mechanism} noise"
    charge = None if charged is None else partial(charged, request.terms, purpose)
    refuse_unwritable(out)
    signer = signer_of(sign)
    data = read_private(
        private, label=label, person=person, embedding=embedding, classes=names, encoder=encoder
    )
    with progress_line("release") as progress:
        progress(0, 1)
        released = release_table(data, request, charge=charge, start=start)
    weights, certificate = save(released, out, sign=signer)
    print_released(released, weights, certificate, json)
    if signer is not None and not json:
        print_line(f"signed by {signer.name}")
    if ledger is None and not json:
        print_warning(NOT_CHARGED)


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
    said = [name for name, value in options.items() if value is not None]
    idle = [_option(name) for name in said if name not in taken]
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
        raise InputError(f"{_option(twice[0])} must not be given beside --fit, which holds it")


def _option(name: str) -> str:
    """As it is typed."""
    return "--" + name.replace("_", "-")


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


def refuse_unwritable(out: Path) -> None:
    """A path that cannot be written would be found out after the budget was spent."""
    from reticent.files import writable_file
    from reticent.protect.sealed_pair import paths_of

    for path in paths_of(out):
        writable_file(path)


def print_released(released: Release, weights: Path, certificate: Path, json: bool) -> None:
    """The guarantee, its two lists and where the release was written."""
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
