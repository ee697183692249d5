"""``reticent fit``: a softmax head at its certified optimum, before anything protects it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from reticent.cli import option_groups, options, output, private_table, table_form
from reticent.validation import InputError

Out = Annotated[Path, typer.Option(help="Where to write OUT.fit.safetensors: a private file.")]
LaterEpsilon = Annotated[
    float | None, typer.Option("--epsilon", help="The ε that protect will be asked for.")
]
LaterDelta = Annotated[float | None, typer.Option("--delta", help="The δ of that ε.")]


@option_groups.with_option_groups
def fit(
    private: private_table.Private,
    out: Out,
    table: table_form.PersonTableOptions,
    classes: private_table.Classes = None,
    bound: private_table.Bound = None,
    records: private_table.Records = None,
    penalty: private_table.Penalty = None,
    epsilon: LaterEpsilon = None,
    delta: LaterDelta = None,
    relation: options.RelationName = None,
    mechanism: private_table.MechanismOption = "gaussian",
    norms: private_table.Norms = None,
    max_records_per_person: private_table.Each = 1,
    json: options.Json = False,
) -> None:
    """Fit a softmax head on private features; nothing is released.

    ``reticent protect --fit OUT`` then releases it at any ε without training again. The penalty is
    given, or chosen for the ε, δ and neighbours that the release will have.
    """
    from reticent.files import writable_file
    from reticent.protect import ReleaseRequest, Terms
    from reticent.protect.table import HeadSpec, fit_head
    from reticent.training.features import as_norms
    from reticent.training.fit_file import fit_path, save_fit

    form = table.form(classes=classes)
    form.required_label()
    names = private_table.required_option("--classes", form.classes)
    writable_file(fit_path(out))
    public: dict[str, Any] = {
        "bound": private_table.required_option("--bound", form.bound_or(bound)),
        "norms": as_norms(norms or "clip"),
    }
    each, normaliser = (
        private_table.each_of(form.person, max_records_per_person),
        private_table.required_option("--records", form.records_or(records)),
    )
    if penalty is None and (epsilon is None or delta is None):
        raise InputError(
            "penalty must be said, or --epsilon, --delta and --relation to choose it for; got "
            "neither"
        )
    data = form.read_private(private)
    if penalty is not None:
        spec = HeadSpec(penalty=penalty, records=normaliser, max_records_per_person=each, **public)
    else:
        assert epsilon is not None
        assert delta is not None
        terms = Terms(
            epsilon=epsilon,
            delta=delta,
            relation=options.relation_of(relation),
            max_records_per_person=each,
        )
        request = ReleaseRequest(
            terms=terms, records=normaliser, mechanism=mechanism, options=public
        )
        spec = HeadSpec.of(request.planned(data.features.shape[1], len(names)), terms)
    head = fit_head(data, spec)
    path = save_fit(head, out)
    if json:
        output.print_json({"fit": str(path), "penalty": head.penalty, "tolerance": head.tolerance_})
        return
    output.print_line(
        f"certified optimum: gradient at most {head.tolerance_:.3g}, penalty {head.penalty:.6g}"
    )
    output.print_line(
        f"written to {path}: UNPROTECTED, as private as the records; reticent protect --fit "
        "releases it"
    )
