"""``reticent train``: a network by DP-SGD, released once, with a certificate.

``--model scattering-head`` is ``reticent protect`` with a fixed encoder and learner: no network is
trained there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli.ledger_options import DataSet, LedgerPath, OpenAccount, charger
from reticent.cli.options import (
    Delta,
    Epsilon,
    Json,
    RelationName,
    Replace,
    Sign,
    delta_of,
    relation_of,
    signer_of,
    warn_of_weakness,
)
from reticent.cli.private_table import (
    Classes,
    DropColumns,
    Embedding,
    EncoderName,
    EncoderPeople,
    FeatureColumns,
    Label,
    Private,
    Records,
    SchemaFile,
    TextColumn,
    read_texts,
    refuse_beside_text,
    required_option,
    said_records,
    used_encoder,
)
from reticent.cli.progress import progress_line
from reticent.cli.protect import Out
from reticent.cli.release_output import refuse_unwritable, write_release
from reticent.cli.stopped_training import StoppedTraining
from reticent.cli.table_form import TableForm
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.data import Dataset
    from reticent.protect import ReleaseRequest, Terms

Model = Annotated[
    str,
    typer.Option(
        help="mlp: one hidden layer; conv: two convolutions for images; scattering-head: a linear"
        " head on fixed wavelet features of images, as protect --encoder scattering --learner"
        " noisy-gradient --longest-step 8; scattering-conv: two convolutions on such features"
        " (--encoder scattering-maps); from public weights minilm-lora, minilm-lora-last or"
        " minilm-head for texts, efficientnet-lite0-last for images, or a FOLDER of transformers"
        " (FOLDER#lora-last, FOLDER#head); or package.module:function of a function from the shape"
        " of a record and the number of classes to a torch module."
    ),
]
Shape = Annotated[
    str | None,
    typer.Option(
        help="Of a record as it lies in the table: an image channels last, as 32x32x3, or first,"
        " as 3x32x32; by default that of the array of images. Of a text its tokens, as 32.",
        show_default=False,
    ),
]
Batch = Annotated[
    int | None,
    typer.Option(
        help="Records that a step sees on average; by default 512, under replace-one all.",
        show_default=False,
    ),
]
Epochs = Annotated[float, typer.Option(help="How many times all records are seen.")]
Clip = Annotated[float, typer.Option(help="The norm to which each record's gradient is clipped.")]
Rate = Annotated[float, typer.Option(help="Of the optimiser.")]
Momentum = Annotated[float, typer.Option(help="Of SGD; of Adam the decay of its first moment.")]
Optimiser = Annotated[str, typer.Option(help="sgd or adam.")]
Average = Annotated[
    float, typer.Option(help="Decay of a moving average of the weights, which is then released.")
]
Noise = Annotated[str, typer.Option("--mechanism", help="The noise: gaussian or logistic.")]
Fast = Annotated[
    bool, typer.Option("--fast", help="Books in float32: faster, and declared instead of proven.")
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with a training that was stopped, charging nothing.")
]
Seed = Annotated[int, typer.Option(help="Of the public first weights.")]


SCATTERING_HEAD = "scattering-head"
SCATTERING_CONV = "scattering-conv"
SCATTERING_STEP = 8.0
"""Scattering spreads over more directions than the features that the learner's own 2 is from."""
_OF_DP_SGD = (
    *("shape", "batch", "epochs", "clip", "learning_rate", "momentum", "optimiser"),
    *("average", "fast", "seed", "resume", "text"),
)
"""Options that a head without DP-SGD has no use for."""
_OF_IMAGES = ("conv", "efficientnet-lite0-last")


def train(
    context: typer.Context,
    private: Private,
    epsilon: Epsilon,
    out: Out,
    schema: SchemaFile = None,
    label: Label = None,
    delta: Delta = None,
    relation: RelationName = None,
    classes: Classes = None,
    records: Records = None,
    model: Model = "mlp",
    shape: Shape = None,
    batch: Batch = None,
    epochs: Epochs = 20.0,
    clip: Clip = 0.1,
    learning_rate: Rate = 1.0,
    momentum: Momentum = 0.9,
    optimiser: Optimiser = "sgd",
    average: Average = 0.0,
    mechanism: Noise = "gaussian",
    fast: Fast = False,
    seed: Seed = 0,
    embedding: Embedding = None,
    encoder: EncoderName = None,
    encoder_people: EncoderPeople = None,
    text: TextColumn = None,
    features: FeatureColumns = None,
    drop: DropColumns = None,
    ledger: LedgerPath = None,
    data_set: DataSet = None,
    open_account: OpenAccount = False,
    resume: Resume = False,
    replace: Replace = False,
    sign: Sign = None,
    json: Json = False,
) -> None:
    """Train a network with clipped, noisy gradients and release it once, with a proven ε."""
    from reticent.protect import Terms, release_table

    options = {
        "architecture": model,
        "shape": shape,
        "batch": batch,
        "epochs": epochs,
        "clip": clip,
        "learning_rate": learning_rate,
        "momentum": momentum,
        "optimiser": optimiser,
        "average": average,
        "exact": not fast,
        "seed": seed,
    }
    if model == SCATTERING_CONV and encoder is None:
        encoder = "scattering-maps"
    plan = _Plan(recipe="network", mechanism=mechanism, encoder=encoder, options=options)
    if model == SCATTERING_HEAD:
        _refuse_idle(context, encoder)
        plan = _head(mechanism)
    form = TableForm.of(
        schema,
        label=label,
        classes=classes,
        embedding=embedding,
        encoder=plan.encoder,
        text=text,
        features=features,
        drop=drop,
    )
    _refuse_persons(form)
    terms = Terms(
        epsilon=epsilon,
        delta=delta_of(delta, False),
        relation=relation_of(relation),
        encoder=used_encoder(encoder, encoder_people),
    )
    normaliser = said_records(form.said_records(records), terms.relation)
    refuse_beside_text(text, embedding=embedding, encoder=encoder)
    _refuse_without_text(model, text)
    charge = charger(ledger, data_set, open_account)
    refuse_unwritable(out, replace=replace)
    signer = signer_of(sign)
    warn_of_weakness(epsilon=epsilon, delta=terms.delta, records=normaliser)
    training = StoppedTraining(out, ledger=ledger, data_set=data_set)
    charged = training.goes_on(resume)
    if text is None:
        data = form.read_private(private)
    else:
        data = read_texts(
            private,
            text=text,
            model=model,
            length=_tokens(shape),
            label=form.said_label(),
            classes=required_option("--classes", form.classes),
        )
    request = plan.request(terms, normaliser, data)
    pay = None
    if charge is not None and not charged:
        pay = training.charge_once(charge, terms, f"{plan.recipe}, {mechanism} noise")
    with progress_line("training") as progress:
        released = training.follow(lambda: release_table(data, request, charge=pay), progress)
    write_release(released, out, signer, json=json, charged=ledger is not None)
    training.ended()


def _refuse_persons(form: TableForm) -> None:
    """A schema may name persons, whose records DP-SGD would have to sample together."""
    if form.person is not None:
        raise InputError("the schema must name no person to train a network, got one")
    form.said_label()
    required_option("--classes", form.classes)


def _refuse_without_text(model: str, text: str | None) -> None:
    """Numbers of a table would be taken for tokens."""
    from reticent.training.networks import reads_texts

    if text is None and reads_texts(model):
        raise InputError(
            f"--text must name the column of texts for {model}, got none: it reads texts alone"
        )


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """What is learnt, on what the encoder makes of the records."""

    recipe: str
    mechanism: str
    encoder: str | None
    options: dict[str, Any]

    def request(self, terms: Terms, records: int, data: Dataset) -> ReleaseRequest:
        """The release that is asked for; a network that reads images is told their shape."""
        from reticent.protect import ReleaseRequest

        options = self.options
        if options.get("architecture") in _OF_IMAGES and options["shape"] is None:
            options = options | {"shape": _shape_in_table(data)}
        return ReleaseRequest(
            terms=terms,
            records=records,
            recipe=self.recipe,
            mechanism=self.mechanism,
            options=options,
        )


def _head(mechanism: str) -> _Plan:
    """A linear head on wavelet features: as ``reticent protect`` has it, and no network."""
    return _Plan(
        recipe="noisy-gradient",
        mechanism=mechanism,
        encoder="scattering",
        options={"longest_step": SCATTERING_STEP},
    )


def _shape_in_table(data: Dataset) -> str | None:
    """Of an image as its array holds it, as 32x32x3; None where records are vectors."""
    sizes = data.inputs.shape[1:]
    return "x".join(map(str, sizes)) if len(sizes) == 3 else None


def _refuse_idle(context: typer.Context, encoder: str | None) -> None:
    """What was said to a head that is not trained by DP-SGD, and would be ignored."""
    for name in _OF_DP_SGD:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = "--" + name.replace("_", "-")
            raise InputError(f"{option} must not be given to {SCATTERING_HEAD}, which has no use")
    if encoder not in (None, "scattering"):
        raise InputError(
            f"--encoder must be scattering for {SCATTERING_HEAD}, got {encoder!r}: for another take"
            " reticent protect --learner noisy-gradient"
        )


def _tokens(shape: str | None) -> int:
    from reticent.training.fine_tuning.texts import LENGTH

    if shape is None:
        return LENGTH
    if not (shape.isascii() and shape.isdigit()):
        raise InputError(f"--shape must be a number of tokens for texts, got {shape!r}")
    return int(shape)
