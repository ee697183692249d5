"""``reticent protect``: a head's weights, released once, with a certificate."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli import (
    charge_key,
    ledger_options,
    option_groups,
    output,
    private_table,
    release_output,
    table_form,
    task_release,
)
from reticent.cli import options as shared
from reticent.cli.progress import progress_line
from reticent.mechanisms.registry import DEFAULT_NOISE
from reticent.protect.registry import RECIPES, classifier_named
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.data import Dataset
    from reticent.protect import ReleaseRequest

Out = Annotated[Path, typer.Option(help="Where to write OUT.safetensors and OUT.json.")]
Fit = Annotated[
    Path | None,
    typer.Option(
        help="OUT of fit: classes, bound, records, norms and penalty are taken from there."
    ),
]
Centre = Annotated[
    str, typer.Option(help="none, or mean: centre the rows by a noisy mean, for a part of ε.")
]
MeanBound = Annotated[
    float | None,
    typer.Option(help="Public bound on a row before it is centred; by default --bound."),
]
LongestStep = Annotated[
    float | None,
    typer.Option(help="Of the learner noisy-gradient: no step is longer; by default 2."),
]
PublicMap = Annotated[
    str | None,
    typer.Option(
        help="Of the learner matrix-lda: the public layer whose directions rows are shortened to,"
        " efficientnet-lite0 or a file .npy or .npz of outputs × features; else a random map."
    ),
]
MapSeed = Annotated[
    int | None, typer.Option("--seed", help="Of the learner matrix-lda: public, of its random map.")
]
WEIGHTS = "weights"
_OWN_OPTIONS = {
    WEIGHTS: ("penalty", "norms", "mean_bound"),
    "noisy-gradient": ("longest_step",),
    "matrix-lda": ("public_map", "seed"),
    "pate": ("public",),
}
"""Options that say which learner is meant."""
PublicRecords = Annotated[
    Path | None,
    typer.Option(
        "--public",
        help="Of the learner pate: public records, features alone, that its teachers vote on.",
    ),
]


@option_groups.with_option_groups
def protect(
    private: private_table.Private,
    epsilon: shared.Epsilon,
    out: Out,
    table: table_form.LabelTableOptions,
    account: ledger_options.LedgerOptions,
    delta: shared.Delta = None,
    pure: shared.Pure = False,
    relation: shared.RelationName = None,
    bound: private_table.Bound = None,
    records: private_table.Records = None,
    fit: Fit = None,
    learner: private_table.LearnerName = None,
    prototypes: private_table.Prototypes = False,
    mechanism: private_table.NoiseName = None,
    penalty: private_table.Penalty = None,
    norms: private_table.Norms = None,
    centre: Centre = "none",
    mean_bound: MeanBound = None,
    longest_step: LongestStep = None,
    public_map: PublicMap = None,
    map_number: MapSeed = None,
    public: PublicRecords = None,
    max_records_per_person: private_table.Each = 1,
    encoder_people: private_table.EncoderPeople = None,
    replace: shared.Replace = False,
    sign: shared.Sign = None,
    json: shared.Json = False,
) -> None:
    """Learn a linear model from private features and release it once, with a proven ε.

    It tells classes; a number where --target-range or the schema says its range; or several labels
    at once. Without --learner public numbers choose it, as plan does: a line says which, and why.
    """
    from reticent.protect import ReleaseRequest, Terms, release_table

    form = table.form()
    form.required_labels()
    terms = Terms(
        epsilon=epsilon,
        delta=shared.delta_of(delta, pure),
        relation=shared.relation_of(relation),
        max_records_per_person=private_table.each_of(form.person, max_records_per_person),
        encoder=private_table.used_encoder(table.encoder, encoder_people),
    )
    options: dict[str, Any] = {
        "bound": bound if fit is not None else form.bound_or(bound),
        "penalty": penalty,
        "norms": norms,
        "longest_step": longest_step,
        "public_map": public_map,
        "seed": map_number,
    }
    if public is not None:
        options["public"] = _public_text(public, form)
    centred = _is_centred(centre, mean_bound)
    if centred:
        options["mean_bound"] = options["bound"] if mean_bound is None else mean_bound
    choosing, start = {"prototypes": prototypes or None}, None  # of who has no learner yet
    if form.task != "classification":
        idle = {"classes": table.classes, "fit": fit, **choosing, **options}
        request = task_release.TaskRequest(
            form=form, terms=terms, learner=learner, mechanism=mechanism, options=options
        ).of(records, idle)
    elif fit is not None:
        held = {"classes": table.classes, "records": records, **choosing, **options}
        _refuse_with_fit(learner, held, centred)
        form, request, start = _from_fit(fit, form, terms, mechanism or DEFAULT_NOISE)
    else:
        private_table.required_option("--classes", form.classes)
        many = private_table.required_records(form.records_or(records), terms.relation)
        chosen_learner = learner or _implied(options)
        if chosen_learner is not None:
            _refuse_idle(
                chosen_learner, choosing | options, centred, follows=form.schema is not None
            )
    charged = account.charger()
    release_output.refuse_unwritable(out, replace=replace)
    signer = shared.signer_of(sign)
    data = form.read_private(private)
    if fit is None and form.task == "classification":
        request = ReleaseRequest(
            terms=terms, records=many, mechanism=mechanism or DEFAULT_NOISE, options=options
        )
        request = (
            advised_request(data, request, mechanism, prototypes=prototypes)
            if chosen_learner is None
            else request.by(chosen_learner)
        )
    shared.warn_of_weakness(epsilon=terms.epsilon, delta=terms.delta, records=request.records)
    once = charge_key.ChargeOnce.beside(out, charged_to=account.account)
    with once.unseen(), progress_line("release") as progress:
        progress(0, 1)
        charge = once.charging(charged, request.terms, _purpose(request))
        released = release_table(data, request, charge=charge, start=start)
    release_output.write_release(released, out, signer, json=json, charged=account.is_named)


def advised_request(
    data: Dataset, request: ReleaseRequest, mechanism: str | None, *, prototypes: bool
) -> ReleaseRequest:
    """The request by the learner that ``plan`` recommends for its public numbers, and a line."""
    from reticent.protect.noise_scales import noise_plan
    from reticent.protect.plan import CLASS_MEANS, Situation, plan

    bound = request.options.get("bound")
    request = request.for_rows_of(data)  # with the unit that its claim will have
    terms = request.terms
    advice = plan(
        Situation(
            records=request.records,
            features=data.features.shape[1],
            classes=len(data.classes),
            epsilon=terms.epsilon,
            delta=terms.delta,
            relation=terms.relation,
            bound=1.0 if bound is None else bound,
            max_records_per_person=terms.max_records_per_person,
            prototypes=prototypes or (data.schema is not None and data.schema.label_facts.clusters),
        )
    )
    learner, why = advice.learner, f"as plan says: {advice.why[0]}"
    covered = RECIPES.named(learner).noises
    if mechanism is not None and covered and mechanism not in covered:
        learner, why = CLASS_MEANS, f"which can have it; plan says {learner}, with its own noise."
    taken = RECIPES.named(learner).options
    if "bound" in taken:
        private_table.required_option("--bound", bound)
    idle = "" if bound is None or "bound" in taken else " It has no use for --bound."
    noise = mechanism or advice.mechanism
    advised = dataclasses.replace(request.by(learner), mechanism=noise)
    noise_plan(advised.planned(data.features.shape[1], len(data.classes)), terms)  # or refused
    output.print_warning(
        f"learner {learner}, {noise} noise, {why}{idle} Another is taken with --learner."
    )
    return advised


def _purpose(request: ReleaseRequest) -> str:
    return f"{request.recipe}, {request.noise_name} noise"


def _implied(options: dict[str, Any]) -> str | None:
    """The learner that alone has use of an option which was said; None where there is none."""
    for learner, own in _OWN_OPTIONS.items():
        if any(options.get(name) is not None for name in own):
            return learner
    return None


def _public_text(path: Path, form: table_form.TableForm) -> str:
    """Public records as the recipe holds them."""
    from reticent.protect.recipes.pate import public_text

    data = form.read(path, queries=True, label=None, person=None, classes=None)
    return public_text(data.features.astype("float64"))


def _is_centred(centre: str, mean_bound: float | None) -> bool:
    """Whether rows are centred by a noisy mean."""
    if centre not in ("none", "mean"):
        raise InputError(f"--centre must be none or mean, got {centre!r}")
    if centre == "none" and mean_bound is not None:
        raise InputError("--mean-bound must be said with --centre mean, got it alone")
    return centre == "mean"


def _refuse_idle(learner: str, options: dict[str, Any], centred: bool, *, follows: bool) -> None:
    """Options that the recipe takes none of, by the recipe's own list; and one that it needs.

    A bound that ``follows`` from a schema was not said: it may be of no use.
    """
    taken = (*classifier_named(learner).options, "mean_bound")
    given = [name for name, value in options.items() if value is not None]
    idle = [
        option_groups.option_name(name)
        for name in given
        if name not in taken and not (follows and name == "bound")
    ]
    if centred and "mean_bound" not in classifier_named(learner).options:
        idle.append("--centre mean")
    if idle:
        raise InputError(f"{idle[0]} must not be given to the learner {learner}, which has no use")
    if "bound" in taken:
        private_table.required_option("--bound", options["bound"])


def _refuse_with_fit(learner: str | None, given: dict[str, Any], centred: bool) -> None:
    """What a fit holds by itself, or was not made for."""
    if learner is not None and not classifier_named(learner).on_optimum:
        raise InputError(f"--fit must be given to the learner weights, got {learner}")
    if centred:
        raise InputError("--centre mean must be said without --fit: the fit was not centred by it")
    twice = [name for name, value in given.items() if value is not None]
    if twice:
        raise InputError(
            f"{option_groups.option_name(twice[0])} must not be given beside --fit, which holds it"
        )


def _from_fit(
    path: Path, form: table_form.TableForm, terms: Any, mechanism: str
) -> tuple[table_form.TableForm, ReleaseRequest, Any]:
    from reticent.protect import ReleaseRequest
    from reticent.training.fit_file import load_fit

    head, start = load_fit(path)
    if head.centre is not None or head.tolerance is not None:
        raise InputError(f"{path} must come from reticent fit, got one with a centre or tolerance")
    request = ReleaseRequest(
        terms=terms,
        records=private_table.required_option("--records", head.records),
        mechanism=mechanism,
        options={
            "bound": head.bound,
            "penalty": head.penalty,
            "intercept": head.intercept,
            "norms": head.norms,
        },
    )
    names = list(map(str, private_table.required_option("--classes", head.classes)))
    if form.schema is not None and names != form.classes:
        raise InputError("--fit must be of the classes of the schema, got others")
    return dataclasses.replace(form, classes=names), request, start
