"""``reticent pretrain``: an encoder learnt from public images without labels."""

from __future__ import annotations

import json as json_text
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.arrays import Array
from reticent.cli.options import Json
from reticent.cli.output import print_json, print_line
from reticent.cli.progress import stages
from reticent.validation import InputError, count

if TYPE_CHECKING:
    from reticent.training.contrastive import EpochRecord, SimCLRSpec
    from reticent.training.encoders.torch_encoder import TorchEncoder

NOTICE = "This training is NOT private: only public images belong in it."
_GREY_AXES, _IMAGE_AXES = 3, 4
_ARRIVED = ("loss", "contrastive_accuracy")

Public = Annotated[
    str,
    typer.Option(
        metavar="NAME_OR_FILE",
        help="Public images: a data set's name, or an .npz file with one array of images"
        " (n, height, width) or (n, height, width, channels). Labels are not used.",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(help="The data folder; by default RETICENT_DATA.", show_default=False),
]
Out = Annotated[
    Path,
    typer.Option(
        help="Where to write OUT.safetensors and OUT.log.jsonl; after a stop the same command goes"
        " on from OUT.state.safetensors."
    ),
]
Architecture = Annotated[
    str, typer.Option(help="conv, four convolutions, or resnet18 with group normalisation.")
]
AugmentationName = Annotated[
    str,
    typer.Option(
        "--augmentation",
        help="How views of an image are made: natural (photographs) or digits (never mirrored)."
        " It also chooses the defaults below.",
    ),
]
Width = Annotated[
    int | None,
    typer.Option(
        help="Filters: conv 128, with digits 32; resnet18 64 in its first stage.",
        show_default=False,
    ),
]
Epochs = Annotated[int | None, typer.Option(help="natural: 20; digits: 50.", show_default=False)]
Batch = Annotated[
    int | None,
    typer.Option(help="Images in a batch. natural: 525; digits: 125.", show_default=False),
]
Temperature = Annotated[
    float | None, typer.Option(help="Of the loss. natural: 0.1; digits: 0.2.", show_default=False)
]
Seed = Annotated[int, typer.Option(help="Of initial weights, order and views.")]
Restart = Annotated[bool, typer.Option("--restart", help="Forget where an earlier run stopped.")]
Limit = Annotated[
    int | None, typer.Option(help="Use only the first images, this many.", show_default=False)
]


def pretrain(
    public: Public,
    out: Out,
    data: Data = None,
    architecture: Architecture = "conv",
    augmentation: AugmentationName = "natural",
    width: Width = None,
    epochs: Epochs = None,
    batch: Batch = None,
    temperature: Temperature = None,
    seed: Seed = 0,
    restart: Restart = False,
    limit: Limit = None,
    json: Json = False,
) -> None:
    """Train an encoder on PUBLIC images with SimCLR. Not private: each image leaves its traces."""
    from reticent.training.encoders.torch_encoder import save_encoder

    chosen = {"epochs": epochs, "batch": batch, "temperature": temperature, "width": width}
    spec = _spec(augmentation, architecture, seed, chosen)
    if not json:
        print_line(NOTICE)
    images = _public_images(public, data)[: None if limit is None else count("limit", limit)]
    encoder, state, log = _trained(images, spec, out, restart=restart)
    result = {
        "notice": NOTICE,
        "encoder": str(save_encoder(encoder, out)),
        "log": str(log),
        "fingerprint": encoder.fingerprint(),
        "images": len(images),
        **_summary(log),
        "spec": asdict(spec),
    }
    state.unlink(missing_ok=True)
    if json:
        print_json(result)
    else:
        _print(result)


def _summary(log: Path) -> dict[str, float]:
    """The time of all epochs, and where the last one arrived."""
    rows = [json_text.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    seconds = sum(row["seconds"] for row in rows)
    return {"seconds": seconds} | {name: rows[-1][name] for name in _ARRIVED}


def _print(result: dict[str, Any]) -> None:
    print_line(
        f"{result['images']} images, {result['spec']['epochs']} epochs, {result['seconds']:.1f} s;"
        f" loss {result['loss']:.3f}; the other view is found for"
        f" {result['contrastive_accuracy']:.1%} of the views"
    )
    print_line(f"fingerprint {result['fingerprint']}")
    print_line(f"written to {result['encoder']} and {result['log']}")


def _spec(augmentation: str, architecture: str, seed: int, chosen: dict[str, Any]) -> SimCLRSpec:
    """The preset of that augmentation, with what the user chose instead."""
    from reticent.training.contrastive import SimCLRSpec

    presets = {"natural": SimCLRSpec(), "digits": SimCLRSpec.digits()}
    if augmentation not in presets:
        raise InputError(f"--augmentation must be {' or '.join(presets)}, got {augmentation!r}")
    preset = presets[augmentation]
    if architecture != preset.architecture:
        preset = replace(preset, architecture=architecture, width=None)  # type: ignore[arg-type]
    given = {name: value for name, value in chosen.items() if value is not None}
    return replace(preset, seed=seed, **given)


def _public_images(public: str, folder: Path | None) -> Array:
    from reticent.data import load

    return _stored_images(Path(public)) if public.endswith(".npz") else load(public, folder).images


def _stored_images(path: Path) -> Array:
    """The one array of images in a file, whatever its name; grey ones get their channel."""
    from reticent.data.columns import open_columns

    columns = open_columns(path)
    arrays = [columns.column(name, role="images") for name in columns.names]
    found = [array for array in arrays if array.ndim in (_GREY_AXES, _IMAGE_AXES)]
    if len(found) != 1:
        raise InputError(
            f"{path.name} must hold one array of images (n, height, width) or (n, height, width,"
            f" channels), got {len(found)}"
        )
    return found[0] if found[0].ndim == _IMAGE_AXES else found[0][..., None]


def _trained(
    images: Array, spec: SimCLRSpec, out: Path, *, restart: bool
) -> tuple[TorchEncoder, Path, Path]:
    """The encoder, its state file and its log; a bar on a terminal, lines elsewhere."""
    from reticent.training.contrastive import pretrain as train
    from reticent.training.encoders.torch_encoder import encoder_path

    base = encoder_path(out).with_suffix("")
    state, log = (base.with_name(base.name + end) for end in (".state.safetensors", ".log.jsonl"))
    if restart:
        state.unlink(missing_ok=True)
    with stages() as tell:

        def advance(record: EpochRecord) -> None:
            tell("epochs", record.epoch, spec.epochs)

        try:
            return train(images, spec, state=state, log=log, progress=advance), state, log
        except KeyboardInterrupt:
            if state.exists():
                typer.echo("stopped: the same command goes on from the last epoch", err=True)
            raise
