"""``reticent pretrain``: an encoder learnt from images without labels.

From public images without privacy; from private ones with a claim of its grade, proven where a
theorem covers it (``cli.pretrain_private``).
"""

from __future__ import annotations

import dataclasses
import json as json_text
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from reticent.arrays import Array
from reticent.cli import output, progress
from reticent.cli.ledger_options import LedgerOptions
from reticent.cli.option_groups import option_name, typed, with_option_groups
from reticent.cli.pretrain_options import OF_PRIVATE, OF_PUBLIC, PretrainOptions
from reticent.cli.pretrain_private import pretrain_private, refuse_two_sources, refuse_unknown
from reticent.validation import InputError, count

if TYPE_CHECKING:
    from reticent.training.contrastive import EpochRecord, SimCLRSpec
    from reticent.training.encoders.torch_encoder import TorchEncoder

NOTICE = "This training is NOT private: only public images belong in it."
_GREY_AXES, _IMAGE_AXES = 3, 4
_ARRIVED = ("loss", "contrastive_accuracy")


@with_option_groups
def pretrain(options: PretrainOptions, account: LedgerOptions) -> None:
    """Learn an encoder from images without labels: public ones, or private ones with an ε."""
    refuse_two_sources(options.public, options.private, options.method, options.privacy)
    refuse_unknown(options.method, options.privacy, private=options.private is not None)
    if options.private is not None:
        _refuse_idle(typed(options, OF_PUBLIC), "--public")
        pretrain_private(options, account)
        return
    charged = typed(account, ("ledger", "data_set"))
    _refuse_idle([*typed(options, OF_PRIVATE), *charged], "--private")
    _pretrain_public(options)


def _refuse_idle(given: Iterable[str], source: str) -> None:
    """An option that would be ignored."""
    for name in given:
        raise InputError(
            f"{option_name(name)} must be said with {source} images alone, got it without"
        )


def _whole(epochs: float | None) -> int | None:
    """Epochs of public images, each of which is seen as often as all others."""
    if epochs is None:
        return None
    if epochs != round(epochs) if abs(epochs) < 2**53 else True:
        raise InputError(f"--epochs must be a whole number for --public images, got {epochs}")
    return int(epochs)


def _pretrain_public(options: PretrainOptions) -> None:
    from reticent.training.encoders.torch_encoder import save_encoder

    assert options.public is not None
    spec = _spec(
        options.augmentation or "natural",
        options.architecture or "conv",
        options.seed,
        {"epochs": _whole(options.epochs), **typed(options, ("batch", "temperature", "width"))},
    )
    spec = dataclasses.replace(spec, method=options.method)  # type: ignore[arg-type]
    if not options.json:
        output.print_line(NOTICE)
    most = None if options.limit is None else count("limit", options.limit)
    images = _public_images(options.public, options.data)[:most]
    encoder, state, log = _trained(images, spec, options.out, restart=options.restart)
    result = {
        "notice": NOTICE,
        "encoder": str(save_encoder(encoder, options.out)),
        "log": str(log),
        "fingerprint": encoder.fingerprint(),
        "images": len(images),
        **_summary(log),
        "spec": dataclasses.asdict(spec),
    }
    state.unlink(missing_ok=True)
    if options.json:
        output.print_json(result)
    else:
        _print(result)


def _summary(log: Path) -> dict[str, float]:
    """The time of all epochs, and where the last one arrived."""
    rows = [json_text.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    seconds = sum(row["seconds"] for row in rows)
    return {"seconds": seconds} | {name: rows[-1][name] for name in _ARRIVED}


def _print(result: dict[str, Any]) -> None:
    output.print_line(
        f"{result['images']} images, {result['spec']['epochs']} epochs, {result['seconds']:.1f} s;"
        f" loss {result['loss']:.3f}; the other view is found for"
        f" {result['contrastive_accuracy']:.1%} of the views"
    )
    output.print_line(f"fingerprint {result['fingerprint']}")
    output.print_line(f"written to {result['encoder']} and {result['log']}")


def _spec(augmentation: str, architecture: str, seed: int, chosen: dict[str, Any]) -> SimCLRSpec:
    """The preset of that augmentation, with what the user chose instead."""
    from reticent.training.contrastive import SimCLRSpec

    presets = {"natural": SimCLRSpec(), "digits": SimCLRSpec.digits()}
    if augmentation not in presets:
        raise InputError(f"--augmentation must be {' or '.join(presets)}, got {augmentation!r}")
    preset = presets[augmentation]
    if architecture != preset.architecture:
        preset = dataclasses.replace(preset, architecture=architecture, width=None)  # type: ignore[arg-type]
    given = {name: value for name, value in chosen.items() if value is not None}
    return dataclasses.replace(preset, seed=seed, **given)


def _public_images(public: str, folder: Path | None) -> Array:
    from reticent.data import load

    if public.endswith(".npz"):
        return _stored_images(Path(public))
    if Path(public).suffix and not public.startswith("features/"):
        raise InputError(
            "--public must be a .npz file with an array of images, or the name of a data set,"
            f" got {public}"
        )
    return load(public, folder).images


def _stored_images(path: Path) -> Array:
    """The one array of images in a file, whatever its name; grey ones get their channel."""
    from reticent.data.columns import open_columns

    columns = open_columns(path)
    arrays = [columns.column(name, role="images") for name in columns.names]
    image_arrays = [array for array in arrays if array.ndim in (_GREY_AXES, _IMAGE_AXES)]
    if len(image_arrays) != 1:
        raise InputError(
            f"{path.name} must hold one array of images (n, height, width) or (n, height, width,"
            f" channels), got {len(image_arrays)}"
        )
    return image_arrays[0] if image_arrays[0].ndim == _IMAGE_AXES else image_arrays[0][..., None]


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
    with progress.stages() as report_progress:

        def advance(record: EpochRecord) -> None:
            report_progress("epochs", record.epoch, spec.epochs)

        try:
            return train(images, spec, state=state, log=log, progress=advance), state, log
        except KeyboardInterrupt:
            if state.exists():
                typer.echo("stopped: the same command goes on from the last epoch", err=True)
            raise
