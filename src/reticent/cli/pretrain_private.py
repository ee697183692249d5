"""``reticent pretrain --private``: an encoder of private images, with a claim of its grade."""

from __future__ import annotations

import dataclasses
import json as json_text
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from reticent.cli import option_groups, private_table, release_output
from reticent.cli.options import delta_of, relation_of, signer_of
from reticent.cli.output import print_json, print_line
from reticent.cli.progress import progress_line
from reticent.cli.stopped_training import LogLines, StoppedTraining, lines_of_steps
from reticent.files import write_atomic
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.cli.ledger_options import LedgerOptions
    from reticent.cli.pretrain_options import PretrainOptions
    from reticent.data import Dataset
    from reticent.protect import Terms
    from reticent.protect.published.dpcl import DPCL
    from reticent.training.contrastive.networks import NetworkChoice

T = TypeVar("T")
PRIVACIES: Final = ("none", "naive", "published", "proven")
_OF_PAPER: Final = ("simclr", "barlow")
_SIMCLR: Final = "simclr"
_CLOSED_FORM: Final = "closed-form"
_FILTERS: Final = {"natural": "gabor-views", "digits": "gabor-digit-views"}
_IMAGE_AXES: Final = 4


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


def pretrain_private(options: PretrainOptions, account: LedgerOptions) -> None:
    """Train, write and print what was asked for."""
    if options.epsilon is None:
        raise InputError("--epsilon must be said for --private images, got nothing")
    if options.privacy == "proven":
        _proven(options, account, options.epsilon)
    else:
        _of_paper(options, account, options.epsilon)


def _proven(options: PretrainOptions, account: LedgerOptions, epsilon: float) -> None:
    from reticent.protect import RECIPES, ReleaseRequest, Terms, release_encoder
    from reticent.protect.recipes.encoding import refuse_unnamed

    terms = Terms(
        epsilon=epsilon,
        delta=delta_of(options.delta, False),
        relation=relation_of(options.relation),
    )
    records = private_table.required_records(options.records, terms.relation)
    refuse_unnamed(options.encoder or "")
    numbers = options.numbers() | _way_options(options, terms)
    charged = account.charger()
    release_output.refuse_unwritable(options.out, replace=options.replace)
    signer = signer_of(options.sign)
    training = StoppedTraining(options.out, ledger=account.ledger, data_set=account.data_set)
    is_charged = training.goes_on(options.resume)
    encoder, data = _read(options, filters=_filters(options))
    if options.method == _CLOSED_FORM:
        numbers.pop("augmentation", None)  # it chose the filters
    if data.inputs.ndim == _IMAGE_AXES and "shape" in RECIPES.named(options.method).options:
        numbers["shape"] = "x".join(str(side) for side in data.inputs.shape[1:])
    if encoder is not None:
        numbers["base"] = encoder
    request = ReleaseRequest(terms=terms, records=records, recipe=options.method, options=numbers)
    charge = None
    if charged is not None and not is_charged:
        charge = training.charge_once(charged, terms, f"{options.method}, an encoder")
    log = _Log(options.out, goes_on=is_charged)
    released = log.followed(training, lambda: release_encoder(data, request, charge=charge))
    release_output.write_release(
        released, options.out, signer, json=options.json, charged=account.is_named
    )
    training.ended()


class _Log:
    """OUT.log.jsonl, a line a step of noisy answers alone; kept apart until the training ended."""

    def __init__(self, out: Path, *, goes_on: bool) -> None:
        self.path = out.with_name(f"{out.name}.log.jsonl")
        self._kept = self.path.with_name(f".{self.path.name}.part")
        if not goes_on:
            self._kept.unlink(missing_ok=True)  # of a training given up

    def followed(self, training: StoppedTraining, make: Callable[[], T]) -> T:
        """What a training makes that saves its state on the way; its log is written then."""
        with progress_line("training") as progress:
            made = training.follow(make, progress, LogLines(self._kept))
        if lines := lines_of_steps(self._kept):
            write_atomic(self.path, lines.encode())
        self._kept.unlink(missing_ok=True)
        return made


def _way_options(options: PretrainOptions, terms: Terms) -> dict[str, str]:
    """How simclr keeps private images apart, as its options; a line where nobody said how."""
    if options.method != _SIMCLR:
        if options.way is not None:
            raise InputError(f"--way must be said with --method simclr, got {options.method}")
        return {}
    from reticent.protect.recipes.simclr import way_named
    from reticent.protect.recipes.simclr_ways import PublicNegatives

    way = way_named(options.way or PublicNegatives.name)
    way.refuse_uncovered(terms)
    if options.way is None and not options.json:
        print_line(f"--way {way.name} is taken: {way.why}")
    if way.name != PublicNegatives.name:
        if options.public is not None:
            raise InputError(f"--public must be given with --way public-negatives, got {way.name}")
        return {"way": way.name}
    if options.public is not None:
        return {"public": _public_text(Path(options.public), options.embedding)}
    if not options.json:
        print_line(
            "no --public images: synthetic ones are the negatives, which private images are"
            " easily told from; images of their kind serve better"
        )
    return {}


def _public_text(public: Path, embedding: str | None) -> str:
    from reticent.data import read_table
    from reticent.protect.recipes.pate import public_text

    data = read_table(public, label=None, embedding=embedding)
    return public_text(data.features.astype("float64"))


def _filters(options: PretrainOptions) -> str | None:
    """The public encoder through which the closed form looks at images and at views of them."""
    if options.method != _CLOSED_FORM:
        return None
    if options.augmentation not in (None, *_FILTERS):
        raise InputError(f"--augmentation must be natural or digits, got {options.augmentation!r}")
    if options.augmentation is not None and options.encoder is not None:
        raise InputError("--augmentation must not be given with --encoder, which makes the views")
    return _FILTERS[options.augmentation or "natural"]


def _read(options: PretrainOptions, *, filters: str | None = None) -> tuple[str | None, Dataset]:
    """The public encoder, and the rows that a recipe sees; images may have filters for one."""
    from reticent.data import read_table

    assert options.private is not None
    data = read_table(
        options.private, label=None, person=options.person, embedding=options.embedding
    )
    name = options.encoder or (filters if data.inputs.ndim == _IMAGE_AXES else None)
    if name is None:
        return None, data
    from reticent.training.encoders.cache import cached_features
    from reticent.training.encoders.named import encoder_of

    with progress_line("encoding") as progress:
        encoder = encoder_of(name)
        return name, cached_features(data, encoder, progress=progress, record_by_record=True)


# ------------------------------------------------------------------- the paper, as it was published


def _of_paper(options: PretrainOptions, account: LedgerOptions, epsilon: float) -> None:
    from reticent.protect import terms, training_progress
    from reticent.protect.published.dpcl import train
    from reticent.training.encoders.torch_encoder import encoder_path

    _refuse_of_proven(options, account)
    target = encoder_path(options.out)
    base = target.with_name(target.stem)
    claim_path = base.with_name(f"{base.name}.claim.json")
    training = StoppedTraining(base, ledger=None, data_set=None)
    goes_on, before = training.goes_on(options.resume), training_progress.resumptions()
    _, data = _read(options)
    spec, network = _paper_spec(options, epsilon, data)
    rows = data.features.astype("float64")
    log = _Log(base, goes_on=goes_on)
    tensors, multiplier = log.followed(training, lambda: train(spec, rows, network))
    guarantee = spec.guarantee()
    if training_progress.resumptions() > before:
        guarantee = dataclasses.replace(guarantee, stated=(*guarantee.stated, terms.RESUMED))
    own, tight = spec.composed_epsilon(multiplier)
    claim = {
        "guarantee": guarantee.to_dict(),
        "noise_multiplier": multiplier,
        "composed_first": {"the paper's accountant": own, "tight": tight},
        "verdicts": list(spec.verdicts(multiplier)),
    }
    _save_encoder(tensors, network, data, target, claim=str(guarantee))
    write_atomic(claim_path, (json_text.dumps(claim, indent=2) + "\n").encode())
    training.ended()
    if options.json:
        print_json(
            {"encoder": str(target), "claim": str(claim_path), "log": str(log.path), **claim}
        )
        return
    print_line(str(guarantee))
    for line in spec.verdicts(multiplier):
        print_line(f"  - {line}")
    print_line(
        f"noise multiplier {multiplier:.4f}; written to {target}, {claim_path} and {log.path}"
    )


def _refuse_of_proven(options: PretrainOptions, account: LedgerOptions) -> None:
    """A ledger counts what holds: the paper's ε is not to be charged, nor signed."""
    given = {
        "--ledger": account.ledger,
        "--sign": options.sign,
        "--encoder": options.encoder,
        "--person": options.person,
        "--way": options.way,
    }
    for option, value in given.items():
        if value is not None:
            raise InputError(f"{option} must be said with --privacy proven, got {options.privacy}")
    if options.relation not in (None, "replace-one"):
        raise InputError(f"--relation must be replace-one, as in the paper, got {options.relation}")


def _paper_spec(
    options: PretrainOptions, epsilon: float, data: Dataset
) -> tuple[DPCL, NetworkChoice]:
    from reticent.protect.published.dpcl import DPCL
    from reticent.training.contrastive.networks import NetworkChoice

    numbers = options.numbers()
    shape = "x".join(map(str, data.inputs.shape[1:])) if data.inputs.ndim == _IMAGE_AXES else ""
    if not shape:
        raise InputError("--private must hold images for --privacy naive or published, got rows")
    network = NetworkChoice(
        numbers.pop("architecture", "strided"),
        shape,
        numbers.pop("augmentation", "natural"),
        numbers.pop("seed", 0),
    )
    records = len(data)
    batch = numbers.pop("batch", 128)
    epochs = numbers.pop("epochs", 1.0)
    allowed = {"clip", "learning_rate", "temperature"}
    if idle := sorted(set(numbers) - allowed):
        raise InputError(
            f"{option_groups.option_name(idle[0])} must not be given with --privacy"
            f" {options.privacy}"
        )
    spec = DPCL(
        method=options.method,  # type: ignore[arg-type]
        privacy=options.privacy,  # type: ignore[arg-type]
        epsilon=epsilon,
        delta=delta_of(options.delta, False),
        records=records,
        batch=batch,
        steps=max(1, round(epochs * records / batch)),
        **numbers,
    )
    return spec, network


def _save_encoder(
    tensors: Any, network: NetworkChoice, data: Dataset, target: Path, *, claim: str
) -> None:
    """With its claim, which keeps it from being taken for a public encoder."""
    from reticent.training.contrastive.networks import contrastive_network, image_shape
    from reticent.training.encoders.torch_encoder import TorchEncoder, save_encoder
    from reticent.training.encoders.torch_extra import torch

    features = data.features.shape[1]
    image = image_shape(network.shape, features)
    encoder = contrastive_network(network.architecture, features, image, width=1, seed=0).encoder
    encoder.load_state_dict({name: torch.tensor(one).float() for name, one in tensors.items()})
    made = TorchEncoder(encoder, name=f"DPCL {network.architecture}")
    made.private = claim
    save_encoder(made, target)
