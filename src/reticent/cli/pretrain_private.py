"""``reticent pretrain --private``: an encoder of private images, with a claim of its grade."""

from __future__ import annotations

import json as json_text
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from reticent.cli.ledger_options import charger
from reticent.cli.options import delta_of, relation_of, signer_of
from reticent.cli.output import print_json, print_line
from reticent.cli.private_table import said_records
from reticent.cli.progress import progress_line
from reticent.cli.release_output import refuse_unwritable, write_release
from reticent.cli.stopped_training import StoppedTraining
from reticent.files import write_atomic
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.data import Dataset
    from reticent.protect import Release, ReleaseRequest, Terms
    from reticent.protect.published.dpcl import DPCL
    from reticent.training.contrastive.networks import NetworkChoice

PRIVACIES: Final = ("none", "naive", "published", "proven")
_OF_PAPER: Final = ("simclr", "barlow")
_SIMCLR: Final = "simclr"
_CLOSED_FORM: Final = "closed-form"
_FILTERS: Final = {"natural": "gabor-views", "digits": "gabor-digit-views"}
_IMAGE_AXES: Final = 4


class Asked(NamedTuple):
    """What the user said of a private training."""

    private: Path
    out: Path
    method: str
    way: str | None
    public: str | None
    privacy: str
    epsilon: float | None
    delta: float | None
    relation: str | None
    records: int | None
    embedding: str | None
    person: str | None
    encoder: str | None
    options: Mapping[str, Any]
    """Numbers of the recipe; None where nothing was said."""
    ledger: str | None
    data_set: str | None
    open_account: bool
    resume: bool
    sign: Path | None
    replace: bool
    json: bool
    filters: str | None = None
    """The public encoder of images where none was named."""


def refuse_two_sources(public: str | None, private: Path | None, method: str, privacy: str) -> None:
    """Images are public or private; both are said where public ones are negatives alone."""
    if public is None and private is None:
        raise InputError("--public or --private must be said, one of them, got neither")
    if public is None or private is None:
        return
    if (method, privacy) != (_SIMCLR, "proven"):
        raise InputError(
            "--public or --private must be said, one of them, got both: they go together for"
            " --method simclr --privacy proven alone"
        )


def refuse_unknown(method: str, privacy: str, *, private: bool) -> None:
    """Before a file is opened: what has no bound is never called proven."""
    from reticent.protect.registry import encoders

    known = tuple(dict.fromkeys((*_OF_PAPER, "spectral", *encoders())))
    if method not in known:
        raise InputError(f"--method must be one of {', '.join(known)}, got {method!r}")
    if privacy not in PRIVACIES:
        raise InputError(f"--privacy must be one of {', '.join(PRIVACIES)}, got {privacy!r}")
    if private == (privacy == "none"):
        raise InputError(
            "--privacy must be naive, published or proven for --private images, and none for"
            f" --public ones, got {privacy}"
        )
    if privacy in ("naive", "published") and method not in _OF_PAPER:
        raise InputError(
            f"--privacy {privacy} is that of a paper on {' and '.join(_OF_PAPER)}, got {method}:"
            " take --privacy proven"
        )


def pretrain_private(asked: Asked) -> None:
    """Train, write and print what was asked for."""
    if asked.epsilon is None:
        raise InputError("--epsilon must be said for --private images, got nothing")
    if asked.privacy == "proven":
        _proven(asked, asked.epsilon)
    else:
        _of_paper(asked, asked.epsilon)


def _proven(asked: Asked, epsilon: float) -> None:
    from reticent.protect import Terms
    from reticent.protect.recipes.encoding import refuse_unnamed

    terms = Terms(
        epsilon=epsilon,
        delta=delta_of(asked.delta, False),
        relation=relation_of(asked.relation),
    )
    said_records(asked.records, terms.relation)
    refuse_unnamed(asked.encoder or "")
    asked = _with_way(asked, terms)
    charged = charger(asked.ledger, asked.data_set, asked.open_account)
    refuse_unwritable(asked.out, replace=asked.replace)
    signer = signer_of(asked.sign)
    training = StoppedTraining(asked.out, ledger=asked.ledger, data_set=asked.data_set)
    is_charged = training.goes_on(asked.resume)
    asked, data = _read(_with_filters(asked))
    request = _request(asked, terms, data)
    charge = None
    if charged is not None and not is_charged:
        charge = training.charge_once(charged, terms, f"{asked.method}, an encoder")
    log = asked.out.with_name(f"{asked.out.name}.log.jsonl")
    released = _trained(data, request, training, charge, log)
    write_release(released, asked.out, signer, json=asked.json, charged=asked.ledger is not None)
    training.ended()


def _trained(
    data: Dataset, request: ReleaseRequest, training: StoppedTraining, charge: Any, log: Path
) -> Release:
    from reticent.protect import release_encoder

    lines: list[str] = []

    def note(answers: Mapping[str, float]) -> None:
        lines.append(json_text.dumps(answers, allow_nan=False) + "\n")

    with progress_line("training") as progress:
        released = training.follow(
            lambda: release_encoder(data, request, charge=charge), progress, note
        )
    if lines:
        write_atomic(log, "".join(lines).encode())
    return released


def _request(asked: Asked, terms: Any, data: Dataset) -> ReleaseRequest:
    from reticent.protect import ReleaseRequest
    from reticent.protect.registry import RECIPES

    options = dict(asked.options)
    taken = RECIPES.named(asked.method).options
    if data.inputs.ndim == _IMAGE_AXES and "shape" in taken:
        options["shape"] = "x".join(str(side) for side in data.inputs.shape[1:])
    if asked.encoder is not None:
        options["base"] = asked.encoder
    assert asked.records is not None
    return ReleaseRequest(terms=terms, records=asked.records, recipe=asked.method, options=options)


def _with_way(asked: Asked, terms: Terms) -> Asked:
    """How simclr keeps private images apart: said where it was not asked for."""
    if asked.method != _SIMCLR:
        if asked.way is not None:
            raise InputError(f"--way must be said with --method simclr, got {asked.method}")
        return asked
    from reticent.protect.recipes.simclr import way_named
    from reticent.protect.recipes.simclr_ways import PublicNegatives

    way = way_named(asked.way or PublicNegatives.name)
    way.refuse_uncovered(terms)
    if asked.way is None and not asked.json:
        print_line(f"--way {way.name} is taken: {way.why}")
    if way.name != PublicNegatives.name:
        if asked.public is not None:
            raise InputError(f"--public must be given with --way public-negatives, got {way.name}")
        return asked._replace(options={**asked.options, "way": way.name})
    if asked.public is None:
        if not asked.json:
            print_line(
                "no --public images: synthetic ones are the negatives, which private images are"
                " easily told from; images of their kind serve better"
            )
        return asked
    return asked._replace(options={**asked.options, "public": _public_text(asked)})


def _public_text(asked: Asked) -> str:
    from reticent.data import read_table
    from reticent.protect.recipes.pate import public_text

    assert asked.public is not None
    data = read_table(Path(asked.public), label=None, embedding=asked.embedding)
    return public_text(data.features.astype("float64"))


def _with_filters(asked: Asked) -> Asked:
    """The closed form looks at images through fixed filters, and at views of them."""
    if asked.method != _CLOSED_FORM:
        return asked
    options = dict(asked.options)
    augmentation = options.pop("augmentation", None)
    if augmentation not in (None, *_FILTERS):
        raise InputError(f"--augmentation must be natural or digits, got {augmentation!r}")
    if augmentation is not None and asked.encoder is not None:
        raise InputError("--augmentation must not be given with --encoder, which makes the views")
    return asked._replace(options=options, filters=_FILTERS[augmentation or "natural"])


def _read(asked: Asked) -> tuple[Asked, Dataset]:
    """The rows that a recipe sees, and with which public encoder they were made."""
    from reticent.data import read_table

    data = read_table(asked.private, label=None, person=asked.person, embedding=asked.embedding)
    if asked.encoder is None and asked.filters is not None and data.inputs.ndim == _IMAGE_AXES:
        asked = asked._replace(encoder=asked.filters)
    if asked.encoder is None:
        return asked, data
    from reticent.training.encoders.cache import cached_features
    from reticent.training.encoders.named import encoder_of

    with progress_line("encoding") as progress:
        return asked, cached_features(data, encoder_of(asked.encoder), progress=progress)


# ------------------------------------------------------------------- the paper, as it was published


def _of_paper(asked: Asked, epsilon: float) -> None:
    from reticent.protect.published.dpcl import train
    from reticent.training.encoders.torch_encoder import encoder_path

    _refuse_of_proven(asked)
    target = encoder_path(asked.out)
    claim_path = target.with_name(f"{target.stem}.claim.json")
    _, data = _read(asked)
    spec, network = _paper_spec(asked, epsilon, data)
    rows = data.features.astype("float64")
    with progress_line("training") as progress:
        tensors, multiplier = train(spec, rows, network, progress=progress)
    own, tight = spec.composed_epsilon(multiplier)
    claim = {
        "guarantee": spec.guarantee().to_dict(),
        "noise_multiplier": multiplier,
        "composed_first": {"the paper's accountant": own, "tight": tight},
        "verdicts": list(spec.verdicts(multiplier)),
    }
    _save_encoder(tensors, network, data, target)
    write_atomic(claim_path, (json_text.dumps(claim, indent=2) + "\n").encode())
    if asked.json:
        print_json({"encoder": str(target), "claim": str(claim_path), **claim})
        return
    print_line(str(spec.guarantee()))
    for line in spec.verdicts(multiplier):
        print_line(f"  - {line}")
    print_line(f"noise multiplier {multiplier:.4f}; written to {target} and {claim_path}")


def _refuse_of_proven(asked: Asked) -> None:
    """A ledger counts what holds: the paper's ε is not to be charged, nor signed."""
    given = {
        "--ledger": asked.ledger,
        "--sign": asked.sign,
        "--resume": asked.resume or None,
        "--encoder": asked.encoder,
        "--person": asked.person,
        "--way": asked.way,
    }
    for option, value in given.items():
        if value is not None:
            raise InputError(f"{option} must be said with --privacy proven, got {asked.privacy}")
    if asked.relation not in (None, "replace-one"):
        raise InputError(f"--relation must be replace-one, as in the paper, got {asked.relation}")


def _paper_spec(asked: Asked, epsilon: float, data: Dataset) -> tuple[DPCL, NetworkChoice]:
    from reticent.protect.published.dpcl import DPCL
    from reticent.training.contrastive.networks import NetworkChoice

    said = {name: value for name, value in asked.options.items() if value is not None}
    shape = "x".join(map(str, data.inputs.shape[1:])) if data.inputs.ndim == _IMAGE_AXES else ""
    if not shape:
        raise InputError("--private must hold images for --privacy naive or published, got rows")
    network = NetworkChoice(
        said.pop("architecture", "strided"),
        shape,
        said.pop("augmentation", "natural"),
        said.pop("seed", 0),
    )
    records = len(data)
    batch = said.pop("batch", 128)
    epochs = said.pop("epochs", 1.0)
    allowed = {"clip", "learning_rate", "temperature"}
    if idle := sorted(set(said) - allowed):
        option = "--" + idle[0].replace("_", "-")
        raise InputError(f"{option} must not be given with --privacy {asked.privacy}")
    spec = DPCL(
        method=asked.method,  # type: ignore[arg-type]
        privacy=asked.privacy,  # type: ignore[arg-type]
        epsilon=epsilon,
        delta=delta_of(asked.delta, False),
        records=records,
        batch=batch,
        steps=max(1, round(epochs * records / batch)),
        **said,
    )
    return spec, network


def _save_encoder(tensors: Any, network: NetworkChoice, data: Dataset, target: Path) -> None:
    from reticent.training.contrastive.networks import contrastive_network, image_shape
    from reticent.training.encoders.torch_encoder import TorchEncoder, save_encoder
    from reticent.training.encoders.torch_extra import torch

    features = data.features.shape[1]
    image = image_shape(network.shape, features)
    encoder = contrastive_network(network.architecture, features, image, width=1, seed=0).encoder
    encoder.load_state_dict({name: torch.tensor(one).float() for name, one in tensors.items()})
    save_encoder(TorchEncoder(encoder, name=f"DPCL {network.architecture}"), target)
