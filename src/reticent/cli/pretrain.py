"""``reticent pretrain``: an encoder learnt from images without labels.

From public images without privacy; from private ones with a claim of its grade, proven where a
theorem covers it (``cli.pretrain_private``).
"""

from __future__ import annotations

import dataclasses
import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from reticent.arrays import Array
from reticent.cli import pretrain_options
from reticent.cli.ledger_options import DataSet, LedgerPath, OpenAccount
from reticent.cli.options import Delta, Json, RelationName, Replace, Sign
from reticent.cli.output import print_json, print_line
from reticent.cli.pretrain_private import (
    Asked,
    pretrain_private,
    refuse_two_sources,
    refuse_unknown,
)
from reticent.cli.private_table import Embedding, Person, Records
from reticent.cli.progress import stages
from reticent.cli.train import Resume
from reticent.validation import InputError, count

if TYPE_CHECKING:
    from reticent.training.contrastive import EpochRecord, SimCLRSpec
    from reticent.training.encoders.torch_encoder import TorchEncoder

NOTICE = "This training is NOT private: only public images belong in it."
_GREY_AXES, _IMAGE_AXES = 3, 4
_ARRIVED = ("loss", "contrastive_accuracy")


def pretrain(
    out: pretrain_options.Out,
    public: pretrain_options.Public = None,
    private: pretrain_options.PrivateImages = None,
    method: pretrain_options.Method = "simclr",
    way: pretrain_options.Way = None,
    privacy: pretrain_options.PrivacyName = "none",
    epsilon: pretrain_options.MaybeEpsilon = None,
    delta: Delta = None,
    relation: RelationName = None,
    records: Records = None,
    embedding: Embedding = None,
    person: Person = None,
    encoder: pretrain_options.Base = None,
    data: pretrain_options.Data = None,
    architecture: pretrain_options.Architecture = None,
    augmentation: pretrain_options.AugmentationName = None,
    width: pretrain_options.Width = None,
    epochs: pretrain_options.Epochs = None,
    batch: pretrain_options.Batch = None,
    temperature: pretrain_options.Temperature = None,
    clip: pretrain_options.Clip = None,
    learning_rate: pretrain_options.Rate = None,
    projection: pretrain_options.Projection = None,
    repulsion: pretrain_options.Repulsion = None,
    coupling_share: pretrain_options.CouplingShare = None,
    components: pretrain_options.Components = None,
    clusters: pretrain_options.Clusters = None,
    rounds: pretrain_options.Rounds = None,
    root: pretrain_options.Root = False,
    views: pretrain_options.ViewCount = None,
    fast: pretrain_options.Fast = False,
    seed: pretrain_options.Seed = 0,
    restart: pretrain_options.Restart = False,
    resume: Resume = False,
    limit: pretrain_options.Limit = None,
    ledger: LedgerPath = None,
    data_set: DataSet = None,
    open_account: OpenAccount = False,
    replace: Replace = False,
    sign: Sign = None,
    json: Json = False,
) -> None:
    """Learn an encoder from images without labels: public ones, or private ones with an ε."""
    refuse_two_sources(public, private, method, privacy)
    refuse_unknown(method, privacy, private=private is not None)
    of_private = {
        "epsilon": epsilon,
        "delta": delta,
        "relation": relation,
        "records": records,
        "embedding": embedding,
        "person": person,
        "encoder": encoder,
        "way": way,
        "clip": clip,
        "learning_rate": learning_rate,
        "projection": projection,
        "repulsion": repulsion,
        "coupling_share": coupling_share,
        **(of_sums := _of_sums(components, clusters, rounds, root, views)),
        "ledger": ledger,
        "data_set": data_set,
        "sign": sign,
        "fast": fast or None,
        "resume": resume or None,
    }
    of_public = {"width": width, "limit": limit, "data": data, "restart": restart or None}
    _refuse_idle(of_private if private is None else of_public, private=private is not None)
    if private is None:
        assert public is not None
        chosen = {"epochs": _whole(epochs), "batch": batch, "temperature": temperature}
        spec = _spec(
            augmentation or "natural", architecture or "conv", seed, chosen | {"width": width}
        )
        spec = dataclasses.replace(spec, method=method)  # type: ignore[arg-type]
        _pretrain_public(public, out, spec, data=data, restart=restart, limit=limit, json=json)
        return
    options = {
        "architecture": architecture,
        "augmentation": augmentation,
        "epochs": epochs,
        "batch": batch,
        "temperature": temperature,
        "clip": clip,
        "learning_rate": learning_rate,
        "embedding": projection,
        "repulsion": repulsion,
        "coupling_share": coupling_share,
        **of_sums,
        "exact": False if fast else None,
        "seed": seed or None,
    }
    pretrain_private(
        Asked(
            private=private,
            out=out,
            method=method,
            way=way,
            public=public,
            privacy=privacy,
            epsilon=epsilon,
            delta=delta,
            relation=relation,
            records=records,
            embedding=embedding,
            person=person,
            encoder=encoder,
            options={name: value for name, value in options.items() if value is not None},
            ledger=ledger,
            data_set=data_set,
            open_account=open_account,
            resume=resume,
            sign=sign,
            replace=replace,
            json=json,
        )
    )


def _of_sums(
    components: int | None,
    clusters: int | None,
    rounds: int | None,
    root: bool,
    views: int | None,
) -> dict[str, int | bool | None]:
    """Options of the recipes of noisy sums alone; None where nothing was said."""
    return {
        "components": components,
        "clusters": clusters,
        "rounds": rounds,
        "root": root or None,
        "views": views,
    }


def _refuse_idle(given: dict[str, Any], *, private: bool) -> None:
    """An option that would be ignored."""
    for name, value in given.items():
        if value is not None:
            option = "--" + name.replace("_", "-")
            other = "--public" if private else "--private"
            raise InputError(f"{option} must be said with {other} images alone, got it without")


def _whole(epochs: float | None) -> int | None:
    """Epochs of public images, each of which is seen as often as all others."""
    if epochs is None:
        return None
    if epochs != round(epochs) if abs(epochs) < 2**53 else True:
        raise InputError(f"--epochs must be a whole number for --public images, got {epochs}")
    return int(epochs)


def _pretrain_public(
    public: str,
    out: Path,
    spec: SimCLRSpec,
    *,
    data: Path | None,
    restart: bool,
    limit: int | None,
    json: bool,
) -> None:
    from reticent.training.encoders.torch_encoder import save_encoder

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
        "spec": dataclasses.asdict(spec),
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
        preset = dataclasses.replace(preset, architecture=architecture, width=None)  # type: ignore[arg-type]
    given = {name: value for name, value in chosen.items() if value is not None}
    return dataclasses.replace(preset, seed=seed, **given)


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
