"""Networks that start from a head on frozen features: of the same budget, or released before.

Both fine-tune a small BERT of public random weights, in a folder that is made here once for each
process, on a table of texts.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from reticent import protect
from reticent.audit.end_to_end import adversarial
from reticent.audit.end_to_end.releases import Audited, published
from reticent.audit.end_to_end.replay import Covered, Published, Release
from reticent.audit.end_to_end.settings import Settings
from reticent.data import Dataset, read_table
from reticent.protect import noise_scales, table
from reticent.training.encoders.base import missing

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_NETWORK: Final = "network"
_HEAD: Final = "noisy-gradient"
_SHARES: Final = (0.1, 0.5, 0.9)
_TRAINED_ON: Final = 2_000
"""The largest N: what an accountant needs grows with the steps."""
_DELTA: Final = 1e-5
_WIDTH: Final = 8
SHORT: Final = {"epochs": 1.0}
"""Of further ways to a training: a text goes through the network by itself, many times a step."""
Train = Callable[..., protect.Release]
"""From settings, records and how the head comes in, to a released network."""


@cache
def encoder_folder() -> Path:
    """A folder of transformers: one BERT of two layers and width 8, and the words that it knows."""
    from safetensors.torch import save_file

    try:
        from transformers import BertConfig, BertModel
    except ModuleNotFoundError as error:
        raise missing(str(error.name), encoder="the audit of a network on texts") from None
    from reticent.training.encoders.torch_extra import torch

    place = tempfile.TemporaryDirectory(prefix="reticent-")
    _KEPT.append(place)
    tokenizer = _tokenizer()
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=_WIDTH,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=_WIDTH,
        max_position_embeddings=64,
        initializer_range=1.0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        weights = BertModel(config).state_dict()
    folder = Path(place.name)
    (folder / "config.json").write_text(config.to_json_string(), encoding="utf-8")
    save_file(dict(weights), folder / "model.safetensors")
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


_KEPT: Final[list[tempfile.TemporaryDirectory[str]]] = []
"""Removed when the process ends."""


def _tokenizer() -> Tokenizer:
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ("[PAD]", "[UNK]", *adversarial.WORDS[:-1])
    known = {word: place for place, word in enumerate(words)}
    made = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return made


def architecture_of(settings: Settings) -> str:
    """All layers, the last one or a head alone are trained, by turns."""
    from reticent.training.fine_tuning.texts import PARTS

    return f"{encoder_folder()}#{PARTS[settings.records % len(PARTS)]}"


def covered(settings: Settings) -> Settings:
    """With noise and numbers that both queries of a head and of DP-SGD take."""
    noise = settings.mechanism if settings.mechanism == "logistic" else "gaussian"
    records = min(settings.records, _TRAINED_ON + settings.records % 3)
    return dataclasses.replace(settings, mechanism=noise, delta=_DELTA, records=records)


def head_share(settings: Settings) -> float:
    """Of the budget, for the head: little, half, most."""
    return _SHARES[settings.records % len(_SHARES)]


def read_texts(path: Path, settings: Settings) -> Dataset:
    """As ``reticent train --text`` reads them, with persons where there are some."""
    from reticent.training.networks import token_encoder

    data = read_table(
        path,
        label=adversarial.LABEL,
        person=settings.person,
        classes=settings.shape.classes,
        text_column=adversarial.TEXT,
    )
    tokens = token_encoder(architecture_of(settings), settings.shape.width)
    return dataclasses.replace(data, inputs=tokens.encode(data.inputs), columns=())


def _by_table(settings: Settings, data: Dataset, **more: Any) -> protect.Release:
    """By ``release_table``, as commands do."""
    asked = settings.request(_NETWORK).for_rows_of(data)
    start = protect.use_start(more.get("start"), more.pop("start_people", None))
    return protect.release_table(
        data,
        dataclasses.replace(
            asked,
            terms=dataclasses.replace(asked.terms, start=start),
            options={**asked.options, "architecture": architecture_of(settings), **more},
        ),
    )


def _by_estimator(settings: Settings, data: Dataset, **more: Any) -> protect.Release:
    """By an estimator on rows of tokens, each person's capped by its user."""
    rows, labels = table.private_rows(data, settings.max_records_per_person)
    learner = protect.PrivateNetwork(
        classes=settings.shape.classes,
        records=settings.records,
        architecture=architecture_of(settings),
        **settings.budget,
        **settings.options(_NETWORK) | SHORT,
        **more,
    )
    return learner.fit(rows, labels).released_


def _from_a_head(train: Train) -> Callable[[Settings], Release]:
    def build(settings: Settings) -> Release:
        settings = covered(settings)

        def run(path: Path) -> Published:
            data = read_texts(path, settings)
            return published(train(settings, data, head_share=head_share(settings)))

        return run

    return build


def _from_a_released_head(train: Train) -> Callable[[Settings], Release]:
    def build(settings: Settings) -> Release:
        settings = covered(settings)

        def run(path: Path) -> Published:
            data = read_texts(path, settings)
            with saved_head(settings, data, path) as (head, place):
                trained = train(settings, data, start=str(place), start_people="same")
                return both_published(head, trained)

        return run

    return build


@contextmanager
def saved_head(
    settings: Settings, data: Dataset, path: Path
) -> Iterator[tuple[protect.Release, Path]]:
    """A head on the features that the public weights make of each text, released and written.

    It lies beside the table, which has one path for both neighbours: the certificate names it.
    """
    from reticent.training.encoders.torch_extra import torch
    from reticent.training.fine_tuning.partly import PartlyTrained, frozen_features
    from reticent.training.networks import network

    shape = (settings.shape.width,)
    model = network(architecture_of(settings), shape, len(settings.shape.classes), seed=0)
    assert isinstance(model, PartlyTrained)
    rows = frozen_features(model, torch.from_numpy(np.array(data.inputs, dtype=np.float32)))
    head = protect.release_table(dataclasses.replace(data, inputs=rows), settings.request(_HEAD))
    place = path.with_name("head")
    files = protect.save(head, place)
    try:
        yield head, place
    finally:
        for file in files:
            file.unlink()


def both_published(
    head: protect.Release, trained: protect.Release, printed: bytes = b""
) -> Published:
    """What both promise together, and each by itself; all bytes of both."""
    both = protect.composed_guarantee(trained)
    assert both is not None
    first, second = (
        sum(step.times for step in noise_scales.noise_plan(one.recipe, one.terms).values())
        for one in (head, trained)
    )
    return Published(
        claims=(
            Covered(both),
            Covered(head.guarantee, tuple(range(first))),
            Covered(trained.guarantee, tuple(range(first, first + second))),
        ),
        outputs=published(head).outputs + published(trained).outputs + printed,
    )


def of_texts(build: Callable[[Settings], Release]) -> Audited:
    """A release of a table whose records are texts."""
    return Audited(build=build, texts=True, embedded=False)


HEAD_STARTS: Final[dict[str, Audited]] = {
    "network from a head": of_texts(_from_a_head(_by_table)),
    "network from a released head": of_texts(_from_a_released_head(_by_table)),
    "network from a head, arrays": of_texts(_from_a_head(_by_estimator)),
    "network from a released head, arrays": of_texts(_from_a_released_head(_by_estimator)),
}
"""Beside the recipe ``network``, which the registry has without a start."""
