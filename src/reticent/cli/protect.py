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
    said,
)
from reticent.guarantee import Event, Guarantee
from reticent.guarantee.rounding import scale_text
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.pipeline.protecting import Wanted
    from reticent.protect import ReleasedHead, ReleasedLinear

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
        help="weights: noise on the optimum of a softmax head. With the noise inside: "
        "noisy-gradient, class-means, adassp, lda.",
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
    norms: Norms = "clip",
    centre: Centre = "none",
    mean_bound: MeanBound = None,
    person: Person = None,
    records_each: Each = 1,
    embedding: Embedding = None,
    encoder: EncoderName = None,
    ledger: LedgerPath = None,
    data_set: DataSet = None,
    json: Json = False,
) -> None:
    """Learn a linear classifier from private features and release it once, with a proven ε."""
    from reticent.pipeline.learning import WEIGHTS, protect_with
    from reticent.pipeline.protecting import Wanted
    from reticent.protect import save
    from reticent.training.features import as_norms

    asked: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta_of(delta, pure),
        "relation": relation_of(relation),
        "mechanism": mechanism,
        "records_each": each_of(person, records_each),
    }
    start = None
    if fit is None:
        names = listed(classes)
        wanted = Wanted(
            **asked,
            records=said("--records", records),
            bound=said("--bound", bound) if learner == WEIGHTS else 1.0,
            penalty=penalty,
            norms=as_norms(norms),
            centre=_centre(centre),
            mean_bound=mean_bound,
        )
        if learner != WEIGHTS:
            _refuse_with_learner(learner, bound, penalty, centre)
    else:
        _refuse_with_fit(classes, bound, records, penalty, centre)
        names, wanted, start = _from_fit(fit, asked)
    charge = _charger(ledger, data_set, wanted)
    _refuse_unwritable(out)
    data = read_private(
        private, label=label, person=person, embedding=embedding, classes=names, encoder=encoder
    )
    released = protect_with(data, wanted, learner=learner, charge=charge, start=start)
    weights, certificate = save(released, out)
    _print_released(released, weights, certificate, json)
    if ledger is None and not json:
        print_warning("not charged to a ledger: releases on the same data add up (--ledger)")


def _centre(value: str) -> Any:
    if value not in ("none", "mean"):
        raise InputError(f"--centre must be none or mean, got {value!r}")
    return value


def _refuse_with_learner(
    learner: str, bound: float | None, penalty: float | None, centre: str
) -> None:
    """Learners with the noise inside scale rows to norm 1 and centre them by themselves."""
    given = {"--bound": bound, "--penalty": penalty, "--centre": None if centre == "none" else 1}
    idle = [option for option, value in given.items() if value is not None]
    if idle:
        raise InputError(f"{idle[0]} must not be given to the learner {learner}, which has no use")


def _refuse_with_fit(
    classes: str | None,
    bound: float | None,
    records: int | None,
    penalty: float | None,
    centre: str,
) -> None:
    given = {"--classes": classes, "--bound": bound, "--records": records, "--penalty": penalty}
    twice = [option for option, value in given.items() if value is not None]
    if twice:
        raise InputError(f"{twice[0]} must not be given beside --fit, which holds it")
    if centre != "none":
        raise InputError("--centre mean must be said without --fit: the fit was not centred by it")


def _from_fit(path: Path, asked: dict[str, Any]) -> tuple[list[str], Wanted, Any]:
    from reticent.pipeline.protecting import Wanted
    from reticent.training.fit_file import load_fit

    head, start = load_fit(path)
    if head.centre is not None or head.tolerance is not None:
        raise InputError(f"{path} must come from reticent fit, got one with a centre or tolerance")
    wanted = Wanted(
        **asked,
        records=said("--records", head.records),
        bound=head.bound,
        penalty=head.penalty,
        intercept=head.intercept,
        norms=head.norms,
    )
    return list(map(str, said("--classes", head.classes))), wanted, start


def _charger(
    ledger: str | None, data_set: str | None, wanted: Wanted
) -> Callable[[Event], object] | None:
    """What charges the plan before anything is computed from the records."""
    if ledger is None:
        if data_set is not None:
            raise InputError(f"--data-set must be said with --ledger, got {data_set!r} alone")
        return None
    from reticent.ledger import Ledger
    from reticent.protect.public_numbers import unit_of

    name = said("--data-set", data_set)
    unit = unit_of(wanted.records_each)

    def charge(event: Event) -> None:
        with Ledger.open(ledger) as book:  # a mistyped path must not make one without budgets
            done = book.charge(
                name,
                event,
                relation=wanted.relation,
                unit=unit,
                purpose=f"a linear classifier, {wanted.mechanism} noise",
                claim=(wanted.epsilon, wanted.delta),
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


def _print_released(
    released: ReleasedHead | ReleasedLinear, weights: Path, certificate: Path, json: bool
) -> None:
    if json:
        print_json(
            {
                "weights": str(weights),
                "certificate": str(certificate),
                "mechanism": released.mechanism,
                "guarantee": released.guarantee.to_dict(),
                **_numbers(released),
            }
        )
        return
    print_line(str(released.guarantee))
    print_line(f"{_noise(released)}; written to {weights} and {certificate}")
    print_assumptions(released.guarantee)


def _numbers(released: ReleasedHead | ReleasedLinear) -> dict[str, Any]:
    """The public numbers, as they stand in the certificate."""
    from reticent.protect import ReleasedHead

    if isinstance(released, ReleasedHead):
        return {"scale": released.scale, "public": released.public.to_dict()}
    return {
        "learner": released.learner,
        "recipe": released.recipe.to_dict(),
        "scales": released.scales,
    }


def _noise(released: ReleasedHead | ReleasedLinear) -> str:
    from reticent.protect import ReleasedHead

    if isinstance(released, ReleasedHead):
        return (
            f"{released.mechanism} noise of scale {scale_text(released.scale)}, penalty "
            f"{released.public.penalty:.6g}"
        )
    scales = ", ".join(f"{name} {scale_text(s)}" for name, s in released.scales.items())
    return f"{released.learner}: {released.mechanism} noise of scales {scales}"


def print_assumptions(claim: Guarantee) -> None:
    """The two lists that every proven claim rests on."""
    print_line("checked by the code:")
    for line in claim.checked:
        print_line(f"  - {line}")
    print_line("stated by you:")
    for line in claim.stated:
        print_line(f"  - {line}")
