"""Commands that make an encoder, or a head on what one makes of the records.

``pretrain --private`` by every method; ``protect`` on features of a public encoder, of rows and of
texts, and on those of an encoder that was released before, with what both promise together.
"""

import dataclasses
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from reticent.arrays import Array, Floats
from reticent.audit.end_to_end import encoders, head_starts
from reticent.audit.end_to_end.adversarial import LABEL, PERSON, TEXT
from reticent.audit.end_to_end.pairs import read_whole
from reticent.audit.end_to_end.releases import Audited
from reticent.audit.end_to_end.replay import Published, Release
from reticent.audit.end_to_end.settings import Settings
from reticent.audit.end_to_end.table import Writing
from reticent.protect import load, registry
from reticent.run import end_to_end_calls as calls
from reticent.run.end_to_end_heads import delta_words

_RELEASED: Final = "prototypes"
_HEAD: Final = "class-means"
_WAYS: Final = ("released-embeddings", "logit-clipping")
_DELTA: Final = 1e-5
_WIDTH: Final = 5


def public_features(rows: Array) -> Floats:
    """A public encoder of numbers that a batch of several would couple, as some networks do.

    Commands must show it one record at a time.
    """
    bent = np.arctan(np.asarray(rows, dtype=np.float64))
    return np.asarray(30 * (bent + bent.mean(axis=0)))


def public_text_features(texts: Array) -> Floats:
    """The same of texts: five numbers that follow from the bytes of each."""
    codes = [[zlib.crc32(f"{text} {place}".encode()) for place in range(_WIDTH)] for text in texts]
    return public_features(np.array(codes, dtype=np.float64) / 2.0**31 - 1.0)


def _gaussian(settings: Settings) -> Settings:
    """With the noise of ``pretrain``, which also keeps one row of each person."""
    each = 1 if settings.shape.persons else None
    return dataclasses.replace(
        settings,
        mechanism="gaussian",
        delta=settings.delta or _DELTA,
        max_records_per_person=each,
    )


def _pretrain_words(method: str, settings: Settings, path: Path, more: dict[str, Any]) -> list[str]:
    options: dict[str, Any] = {
        "--private": path,
        "--method": method,
        "--privacy": "proven",
        "--epsilon": settings.epsilon,
        "--delta": settings.delta,
        "--relation": settings.relation,
        "--records": settings.records,
    }
    numbers = settings.options(method) | more
    options |= {f"--{name.replace('_', '-')}": value for name, value in numbers.items()}
    options |= {"--person": PERSON} if settings.shape.persons else {}
    options |= {"--embedding": settings.shape.features[0]} if settings.shape.embedded else {}
    return ["pretrain", *calls.as_words(options)]


def _pretrain(
    method: str, more: Callable[[Settings], dict[str, Any]] = lambda _: {}
) -> Callable[[Settings], Release]:
    """``pretrain --private``; the log of noisy answers beside the release leaves as well."""

    def build(settings: Settings) -> Release:
        settings = _gaussian(settings)

        def release(path: Path) -> Published:
            with calls.folder_beside(path) as folder:
                out = folder / "out"
                words = _pretrain_words(method, settings, path, more(settings))
                made = calls.written(out, calls.command([*words, "--out", str(out)]))
                log = out.with_name("out.log.jsonl")
                kept = log.read_bytes() if log.exists() else b""
            return made._replace(outputs=made.outputs + kept)

        return release

    return build


def _head_words(settings: Settings, path: Path) -> list[str]:
    noise = ["--mechanism", settings.mechanism, "--learner", _HEAD]
    return ["protect", *calls.table_words(settings, path), *noise, *delta_words(settings)]


def _on_public_encoder(function: Callable[[Array], Floats], *more: str) -> Callable[..., Release]:
    """``protect --encoder package.module:function``."""

    def build(settings: Settings) -> Release:
        named = f"{__name__}:{function.__name__}"

        def release(path: Path) -> Published:
            return calls.protect_command([*_head_words(settings, path), "--encoder", named, *more])

        return release

    return build


def _on_released_encoder(settings: Settings) -> Release:
    """``pretrain``, and ``protect`` on its features of the same people."""
    settings = _gaussian(settings)

    def release(path: Path) -> Published:
        with calls.folder_beside(path) as folder:
            encoder, out = folder / "encoder", folder / "out"
            words = _pretrain_words(_RELEASED, settings, _without_labels(path, folder), {})
            printed = calls.command([*words, "--out", str(encoder)])
            on_it = ["--encoder", str(encoder), "--encoder-people", "same", "--out", str(out)]
            printed += calls.command([*_head_words(settings, path), *on_it])
            return head_starts.both_published(load(encoder), load(out), printed.encode())

    return release


def _without_labels(path: Path, folder: Path) -> Path:
    """The user's copy for ``pretrain``, which reads every column as numbers."""
    table = read_whole(path)
    columns = {name: cells for name, cells in table.columns.items() if name != LABEL}
    return dataclasses.replace(table, columns=columns).write(folder / path.name, Writing())


def commands() -> dict[str, Audited]:
    """``pretrain`` by every encoder that is registered now; ``protect`` on encoders."""
    methods = {
        f"pretrain {name} (command)": Audited(build=_pretrain(name), targets=True)
        for name in registry.encoders()
    }
    ways = {
        f"pretrain simclr, {way} (command)": Audited(
            build=_pretrain("simclr", partial(encoders.by_way, way=way)),
            targets=True,
            replaced_alone=True,
        )
        for way in _WAYS
    }
    return {
        **methods,
        **ways,
        "protect on an encoder (command)": Audited(build=_on_public_encoder(public_features)),
        "protect on an encoder of texts (command)": Audited(
            build=_on_public_encoder(public_text_features, "--text", TEXT),
            texts=True,
            embedded=False,
        ),
        "protect on a released encoder (command)": Audited(
            build=_on_released_encoder, embedded=False
        ),
    }
