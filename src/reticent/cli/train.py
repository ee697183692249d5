"""``reticent train``: a network by DP-SGD, released once, with a certificate.

``--model scattering-head`` is ``reticent protect`` by another name: no network is trained there.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli.ledger_options import NOT_CHARGED, DataSet, LedgerPath, OpenAccount, charger
from reticent.cli.options import (
    Delta,
    Epsilon,
    Json,
    RelationName,
    Sign,
    delta_of,
    relation_of,
    signer_of,
)
from reticent.cli.output import print_line, print_warning
from reticent.cli.private_table import (
    Classes,
    Embedding,
    EncoderName,
    Label,
    Private,
    Records,
    TextColumn,
    listed,
    read_private,
    read_texts,
    refuse_beside_text,
    said_records,
)
from reticent.cli.progress import progress_line
from reticent.cli.protect import Out, print_released, protect, refuse_unwritable
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect import Release, ReleaseRequest

Model = Annotated[
    str,
    typer.Option(
        help="mlp: one hidden layer; conv: two convolutions for images; scattering-head: a linear"
        " head on fixed wavelet features of images, as protect --encoder scattering --learner"
        " noisy-gradient --longest-step 4; from public weights minilm-lora, minilm-lora-last or"
        " minilm-head for texts, efficientnet-lite0-last for images, or a FOLDER of transformers"
        " (FOLDER#lora-last, FOLDER#head); or package.module:function of a function from the shape"
        " of a record and the number of classes to a torch module."
    ),
]
Shape = Annotated[
    str | None,
    typer.Option(
        help="Of a record, as 1x28x28: channels first; of a text its tokens, as 32.",
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
SCATTERING_STEP = 4.0
"""Scattering spreads over more directions than the features that the learner's own 2 is from."""
_OF_DP_SGD = (
    *("shape", "batch", "epochs", "clip", "learning_rate", "momentum", "optimiser"),
    *("average", "fast", "seed", "resume", "text"),
)
"""Options that a head without DP-SGD has no use for."""


def train(
    context: typer.Context,
    private: Private,
    label: Label,
    epsilon: Epsilon,
    out: Out,
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
    text: TextColumn = None,
    ledger: LedgerPath = None,
    data_set: DataSet = None,
    open_account: OpenAccount = False,
    resume: Resume = False,
    sign: Sign = None,
    json: Json = False,
) -> None:
    """Train a network with clipped, noisy gradients and release it once, with a proven ε."""
    from reticent.protect import ReleaseRequest, Terms, save

    if model == SCATTERING_HEAD:
        _refuse_idle(context, encoder)
        protect(
            *(private, label, epsilon, out),
            delta=delta,
            relation=relation,
            classes=classes,
            records=records,
            learner="noisy-gradient",
            longest_step=SCATTERING_STEP,
            mechanism=mechanism,
            embedding=embedding,
            encoder="scattering",
            ledger=ledger,
            data_set=data_set,
            open_account=open_account,
            sign=sign,
            json=json,
        )
        return
    terms = Terms(epsilon=epsilon, delta=delta_of(delta, False), relation=relation_of(relation))
    request = ReleaseRequest(
        terms=terms,
        records=said_records(records, terms.relation),
        recipe="network",
        mechanism=mechanism,
        options={
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
        },
    )
    refuse_beside_text(text, embedding=embedding, encoder=encoder)
    charged = charger(ledger, data_set, open_account)
    refuse_unwritable(out)
    signer = signer_of(sign)
    names = listed(classes)
    checkpoint = out.with_name(f".{out.name}.training")
    charge = None
    if charged is not None and not _goes_on(checkpoint, resume, [ledger, data_set]):
        charge = partial(charged, terms, f"network, {mechanism} noise")
    elif charged is None:
        _goes_on(checkpoint, resume, [ledger, data_set])
    if text is None:
        data = read_private(
            private, label=label, embedding=embedding, classes=names, encoder=encoder
        )
    else:
        length = _tokens(shape)
        data = read_texts(
            private, text=text, model=model, length=length, label=label, classes=names
        )
    released = _trained(data, request, checkpoint, charge, [ledger, data_set])
    weights, certificate = save(released, out, sign=signer)
    checkpoint.unlink(missing_ok=True)
    print_released(released, weights, certificate, json)
    if signer is not None and not json:
        print_line(f"signed by {signer.name}")
    if ledger is None and not json:
        print_warning(NOT_CHARGED)


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


def _trained(
    data: Any, request: ReleaseRequest, checkpoint: Path, charge: Any, charged_to: list[str | None]
) -> Release:
    from reticent.protect import follow_training, release_table

    with (
        progress_line("training") as progress,
        follow_training(progress=progress, checkpoint=checkpoint, note={"charged": charged_to}),
    ):
        return release_table(data, request, charge=charge)


def _tokens(shape: str | None) -> int:
    from reticent.training.fine_tuning.texts import LENGTH

    if shape is None:
        return LENGTH
    if not (shape.isascii() and shape.isdigit()):
        raise InputError(f"--shape must be a number of tokens for texts, got {shape!r}")
    return int(shape)


def _goes_on(checkpoint: Path, resume: bool, charged_to: list[str | None]) -> bool:
    """Whether a stopped training is gone on with: it was charged before its first step."""
    from reticent.protect.training_progress import note_in

    if not checkpoint.exists():
        if resume:
            raise InputError(
                f"--resume must be said of a training that was stopped, got none at {checkpoint}"
            )
        return False
    if not resume:
        raise InputError(
            f"{checkpoint} is a training that was stopped: go on with --resume, or remove the file"
            " to begin anew, which is charged again"
        )
    if note_in(checkpoint).get("charged") != charged_to:
        raise InputError(
            "--ledger and --data-set must be those that the stopped training was charged to, got"
            " others"
        )
    return True
