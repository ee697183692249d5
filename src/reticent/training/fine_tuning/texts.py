"""Text encoders with adapters: token ids in, one score for each class out.

A text is cut into tokens by itself, to a public length: a row of numbers, 0 where there is no token
and otherwise 1 + the token's id. Texts run at the next power of two above their own length, never
at that of a neighbour. The attention mask is handed over whole: transformers would leave it out for
batches without padding, and then a neighbour's padding would choose the kernel.
"""

from __future__ import annotations

import copy
import hashlib
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from reticent.arrays import Array, Floats32
from reticent.training.encoders.torch_extra import nn, torch
from reticent.training.fine_tuning.partly import PartlyTrained
from reticent.training.gradients import add_lora
from reticent.validation import InputError, count

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Tensor = torch.Tensor
Part = Literal["lora", "lora-last", "head"]
PARTS: Final[tuple[Part, ...]] = ("lora", "lora-last", "head")
LENGTH: Final = 32
"""Tokens of a text where nothing is said."""
RANK: Final = 8
LAST: Final = 1
"""Layers that ``lora-last`` trains in."""
_SHORTEST: Final = 8
_PROJECTIONS: Final = ("query", "value", "q_lin", "v_lin", "q_proj", "v_proj")
"""What families of models call the two layers that Hu et al. 2022 adapt."""


@dataclass(frozen=True, kw_only=True)
class TextSource:
    """A transformers encoder and its tokenizer, as their files have them."""

    encoder: Any
    tokenizer: Tokenizer
    public_weights: str
    """The files with their SHA-256."""


class TokenEncoder:
    """From texts to rows of 1 + token ids, each text by itself; 0 where a text has ended."""

    def __init__(self, source: TextSource, length: int) -> None:
        self.length = count("length", length)
        self._source = source
        source.tokenizer.enable_truncation(self.length)
        source.tokenizer.no_padding()

    def fingerprint(self) -> str:
        """SHA-256 of files and length."""
        text = f"tokens; {self._source.public_weights}; {self.length}"
        return hashlib.sha256(text.encode()).hexdigest()

    def encode(self, inputs: Array) -> Floats32:
        """Rows (n, length) of n texts; ids are below 2²⁴, hence exact."""
        texts = np.asarray(inputs)
        if texts.ndim != 1 or (texts.size and texts.dtype.kind != "U"):
            raise InputError(
                f"texts must be a list of texts, got {texts.dtype} of shape {texts.shape}"
            )
        rows = np.zeros((len(texts), self.length), dtype=np.float32)
        for row, text in zip(rows, texts.tolist(), strict=True):
            ids = self._source.tokenizer.encode(text).ids[: self.length]
            row[: len(ids)] = np.asarray(ids, dtype=np.float32) + 1
        return rows


def text_network(
    source: TextSource, part: str, shape: tuple[int, ...], classes: int
) -> TextNetwork:
    """The encoder with what ``part`` names to be trained, and a head on the mean of its states."""
    if part not in PARTS:
        raise InputError(f"part must be one of {', '.join(PARTS)}, got {part!r}")
    config = source.encoder.config
    longest = int(getattr(config, "max_position_embeddings", 2**24))
    if config.pad_token_id:  # RoBERTa counts positions from the one after padding's
        longest -= int(config.pad_token_id) + 1
    if len(shape) != 1 or not 1 <= shape[0] <= longest:
        raise InputError(f"shape must be a number of tokens up to {longest}, got {shape}")
    return _KINDS[part](source, shape[0], classes)


class TextNetwork(PartlyTrained):
    """Of a length and a number of classes; ``head`` reads the mean over the tokens of a text."""

    def __init__(self, source: TextSource, length: int, classes: int) -> None:
        super().__init__()
        self.public_weights, self.length = source.public_weights, length
        config = source.encoder.config
        self.vocabulary, self.padding = int(config.vocab_size), int(config.pad_token_id or 0)
        self._build(copy.deepcopy(source.encoder).requires_grad_(False))
        self.head = nn.Linear(int(config.hidden_size), classes)

    def public_part(self, record: Tensor) -> Tensor:
        """The states below the first trained layer; of a text at the length of its own."""
        ended = int(record[0].nonzero().max()) + 1 if bool(record.any()) else 1
        length = next(one for one in self.lengths if one >= ended)
        return self._below(record[:, :length])

    @property
    def lengths(self) -> list[int]:
        """The lengths at which texts run: powers of two up to the public one."""
        lengths = [_SHORTEST]
        while lengths[-1] < self.length:
            lengths.append(2 * lengths[-1])
        return [*lengths[:-1], self.length]

    def examples(self, records: int) -> list[Tensor]:
        """Random tokens, with as much padding as texts of each length may have."""
        random, shortest, examples = np.random.default_rng(0), 1, []
        for length in self.lengths:
            rows = np.zeros((records, length), dtype=np.float32)
            for place, row in enumerate(rows):
                used = length if place % 4 == 0 else int(random.integers(shortest, length + 1))
                row[:used] = random.integers(1, self.vocabulary + 1, used)
            shortest = length + 1
            with torch.no_grad():
                parts = [self._below(torch.from_numpy(row[None])) for row in rows]
            examples.append(torch.cat(parts))
        return examples

    @abstractmethod
    def _build(self, encoder: Any) -> None:
        """Take what is needed of the encoder, all of it frozen, and add what is trained."""

    @abstractmethod
    def _below(self, rows: Tensor) -> Tensor:
        """What is public of a row of tokens."""

    def _encoded(self, encoder: nn.Module, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The states of tokens, and which of them there are."""
        numbers = rows.nan_to_num(0.0, 0.0, 0.0).round().clamp(0, self.vocabulary)
        there = numbers > 0
        there[:, 0] = True  # a text without tokens has a state as well
        ids = torch.where(numbers > 0, numbers - 1, self.padding).long()
        states = encoder(input_ids=ids, attention_mask=_mask(there)).last_hidden_state
        return states, there


class _AllLayers(TextNetwork):
    """Adapters in every layer: below the first there is nothing but the tokens."""

    def _build(self, encoder: Any) -> None:
        add_lora(encoder, _PROJECTIONS, rank=RANK)
        self.encoder = encoder

    def _below(self, rows: Tensor) -> Tensor:
        return rows

    def features(self, inputs: Tensor) -> Tensor:
        """The mean over the states of rows of tokens."""
        return _mean(*self._encoded(self.encoder, inputs))


class _LastLayers(TextNetwork):
    """Adapters in the last layer; the states below are computed once."""

    def _build(self, encoder: Any) -> None:
        layers = getattr(getattr(encoder, "encoder", None), "layer", None)
        if not isinstance(layers, nn.ModuleList) or len(layers) <= LAST:
            raise InputError(
                f"lora-last must be asked of an encoder with more than {LAST} layer in"
                " encoder.layer, as BERT's, got another: say lora or head"
            )
        self.layers = layers[-LAST:]
        add_lora(self.layers, _PROJECTIONS, rank=RANK)
        encoder.encoder.layer = layers[:-LAST]
        self.encoder = encoder

    def _below(self, rows: Tensor) -> Tensor:
        """The states, with a last column that says which tokens there are."""
        states, there = self._encoded(self.encoder, rows)
        return torch.cat([states, there[..., None].to(states.dtype)], dim=2)

    def features(self, inputs: Tensor) -> Tensor:
        """The mean over the last states, of those that lie below."""
        states, there = inputs[..., :-1], inputs[..., -1] > 0
        for layer in self.layers:
            output = layer(states, _mask(there))
            states = output[0] if isinstance(output, tuple) else output
        return _mean(states, there)


class _HeadOnly(TextNetwork):
    """A head on the mean of the states, which is computed once."""

    def _build(self, encoder: Any) -> None:
        self.encoder = encoder

    def _below(self, rows: Tensor) -> Tensor:
        return _mean(*self._encoded(self.encoder, rows))

    def features(self, inputs: Tensor) -> Tensor:
        """The rows themselves, which are means of token states already."""
        return inputs


_KINDS: Final[dict[str, type[TextNetwork]]] = {
    "lora": _AllLayers,
    "lora-last": _LastLayers,
    "head": _HeadOnly,
}


def _mask(there: Tensor) -> Tensor:
    """(n, 1, t, t): 0 where a token may be looked at, and the least number where there is none."""
    least = torch.finfo(torch.float32).min
    row = torch.zeros(there.shape).masked_fill_(~there, least)
    return row[:, None, None, :].expand(-1, 1, there.shape[1], -1)


def _mean(states: Tensor, there: Tensor) -> Tensor:
    weights = there[..., None].to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1)
