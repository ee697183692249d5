"""``reticent train``: a network by DP-SGD, released once, with a certificate.

``--model scattering-head`` is ``reticent protect`` with a fixed encoder and learner: no network is
trained there.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli import option_groups, private_table, release_output
from reticent.cli import options as shared
from reticent.cli.ledger_options import LedgerOptions
from reticent.cli.progress import progress_line
from reticent.cli.protect import Out
from reticent.cli.stopped_training import StoppedTraining
from reticent.cli.table_form import TableForm, TableOptions
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.data import Dataset
    from reticent.protect import ReleaseRequest, Terms, UsedStart

Noise = Annotated[str, typer.Option("--mechanism", help="The noise: gaussian or logistic.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with a training that was stopped, charging nothing.")
]
StartPeople = Annotated[
    str | None,
    typer.Option(
        help="Whose records the start was made of: same, or other where nobody is in both."
    ),
]


SCATTERING_HEAD = "scattering-head"
SCATTERING_CONV = "scattering-conv"
SCATTERING_STEP = 8.0
"""Scattering spreads over more directions than the features that the learner's own 2 is from."""
_OF_DP_SGD = (
    *("shape", "batch", "epochs", "clip", "learning_rate", "momentum", "optimiser"),
    *("average", "fast", "seed", "resume", "text", "head_share", "start", "start_people"),
    *("augmentation", "views"),
)
"""Options that a head without DP-SGD has no use for."""


@dataclass(frozen=True, kw_only=True)
class TokenTableOptions(TableOptions):
    """How a table is read whose texts may be a network's tokens."""

    text: private_table.TextColumn = None


@dataclass(frozen=True, kw_only=True)
class NetworkOptions:
    """The network, and how it is trained."""

    model: Annotated[
        str,
        typer.Option(
            help="mlp: one hidden layer; conv: two convolutions for images; scattering-head: a"
            " linear head on fixed wavelet features of images, as protect --encoder scattering"
            " --learner noisy-gradient --longest-step 8; scattering-conv: two convolutions on such"
            " features (--encoder scattering-maps); from public weights minilm-lora,"
            " minilm-lora-last or minilm-head for texts, efficientnet-lite0-last for images, or a"
            " FOLDER of transformers (texts; FOLDER#lora-last, FOLDER#head) or timm (images;"
            " FOLDER#head); or package.module:function of a function from the shape of a record"
            " and the number of classes to a torch module."
        ),
    ] = "mlp"
    shape: Annotated[
        str | None,
        typer.Option(
            help="Of a record as it lies in the table: an image channels last, as 32x32x3, or"
            " first, as 3x32x32; by default that of the array of images. Of a text its tokens, as"
            " 32."
        ),
    ] = None
    batch: Annotated[
        int | None,
        typer.Option(
            help="Records that a step sees on average, at most --records; by default 512, under"
            " replace-one all."
        ),
    ] = None
    epochs: Annotated[float, typer.Option(help="How many times all records are seen.")] = 20.0
    clip: Annotated[
        float, typer.Option(help="The norm to which each record's gradient is clipped.")
    ] = 0.1
    learning_rate: Annotated[float, typer.Option(help="Of the optimiser.")] = 1.0
    momentum: Annotated[
        float, typer.Option(help="Of SGD; of Adam the decay of its first moment.")
    ] = 0.9
    optimiser: Annotated[str, typer.Option(help="sgd or adam.")] = "sgd"
    average: Annotated[
        float,
        typer.Option(help="Decay of a moving average of the weights, which is then released."),
    ] = 0.0
    fast: Annotated[
        bool,
        typer.Option("--fast", help="Books in float32: faster, and declared instead of proven."),
    ] = False
    seed: Annotated[int, typer.Option(help="Of the public first weights.")] = 0
    head_share: Annotated[
        float,
        typer.Option(
            help="Warm start of an encoder from public weights: this share of the budget learns a"
            " head on frozen features first, and training starts from it."
        ),
    ] = 0.0
    start: Annotated[
        Path | None,
        typer.Option(
            help="Start from a released head on features of the same encoder: OUT of protect"
            " --learner noisy-gradient. --epsilon is that of this training; that of both is"
            " printed."
        ),
    ] = None
    augmentation: Annotated[
        str | None,
        typer.Option(
            help="natural or digits: each step averages the gradients of several views of an image,"
            " drawn from secret bits, and clips that mean. Slower by as many times."
        ),
    ] = None
    views: Annotated[
        int | None, typer.Option(help="Views of an image in a step; by default 4.")
    ] = None

    def numbers(self) -> dict[str, Any]:
        """The same by the names of the recipe's fields."""
        numbers = dataclasses.asdict(self)
        numbers |= {"architecture": numbers.pop("model"), "exact": not numbers.pop("fast")}
        return numbers | {"start": None if self.start is None else str(self.start)}


@option_groups.with_option_groups
def train(
    context: typer.Context,
    private: private_table.Private,
    epsilon: shared.Epsilon,
    out: Out,
    table: TokenTableOptions,
    network: NetworkOptions,
    account: LedgerOptions,
    delta: shared.Delta = None,
    relation: shared.RelationName = None,
    classes: private_table.Classes = None,
    records: private_table.Records = None,
    mechanism: Noise = "gaussian",
    start_people: StartPeople = None,
    encoder_people: private_table.EncoderPeople = None,
    resume: Resume = False,
    replace: shared.Replace = False,
    sign: shared.Sign = None,
    json: shared.Json = False,
) -> None:
    """Train a network with clipped, noisy gradients and release it once, with a proven ε."""
    from reticent.protect import Terms, release_table

    model, encoder, text = network.model, table.encoder, table.text
    if model == SCATTERING_CONV and encoder is None:
        encoder = "scattering-maps"
    plan = _Plan(recipe="network", mechanism=mechanism, encoder=encoder, options=network.numbers())
    if model == SCATTERING_HEAD:
        _refuse_idle(context, encoder)
        plan = _head(mechanism)
    form = dataclasses.replace(table, encoder=plan.encoder).form(classes=classes)
    _refuse_persons(form)
    terms = Terms(
        epsilon=epsilon,
        delta=shared.delta_of(delta, False),
        relation=shared.relation_of(relation),
        encoder=private_table.used_encoder(encoder, encoder_people),
        start=_used_start(network.start, start_people),
    )
    normaliser = private_table.required_records(form.records_or(records), terms.relation)
    private_table.refuse_beside_text(text, embedding=table.embedding, encoder=encoder)
    _refuse_without_text(model, text)
    charge = account.charger()
    release_output.refuse_unwritable(out, replace=replace)
    signer = shared.signer_of(sign)
    shared.warn_of_weakness(epsilon=epsilon, delta=terms.delta, records=normaliser)
    training = StoppedTraining(out, ledger=account.ledger, data_set=account.data_set)
    charged = training.goes_on(resume)
    if text is None:
        data = form.read_private(private)
    else:
        data = private_table.read_texts(
            private,
            text=text,
            model=model,
            length=_tokens(network.shape),
            label=form.required_label(),
            classes=private_table.required_option("--classes", form.classes),
        )
    request = plan.request(terms, normaliser, data)
    pay = None
    if charge is not None and not charged:
        pay = training.charge_once(charge, terms, f"{plan.recipe}, {mechanism} noise")
    with progress_line("training") as progress:
        released = training.follow(lambda: release_table(data, request, charge=pay), progress)
    release_output.write_release(released, out, signer, json=json, charged=account.is_named)
    training.ended()


def _used_start(start: Path | None, people: str | None) -> UsedStart | None:
    """What a network that starts from this released head must say."""
    from reticent.protect import use_start

    try:
        return use_start(start, people)
    except InputError as error:
        raise InputError(str(error).replace("start_people", "--start-people")) from None


def _refuse_persons(form: TableForm) -> None:
    """A schema may name persons, whose records DP-SGD would have to sample together."""
    if form.person is not None:
        raise InputError(
            f"the schema must name no person for train, got column {form.person!r}: DP-SGD protects"
            " single records here; run and protect protect persons"
        )
    form.required_label()
    private_table.required_option("--classes", form.classes)


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
        """The release that is asked for; a network of images, or of views, is told their shape."""
        from reticent.protect import ReleaseRequest
        from reticent.training.networks import reads_images

        options = self.options
        model = options.get("architecture")
        augmented = options.get("augmentation") is not None
        if model is not None and options["shape"] is None and (augmented or reads_images(model)):
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
            raise InputError(
                f"{option_groups.option_name(name)} must not be given to {SCATTERING_HEAD}, which"
                " has no use"
            )
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
