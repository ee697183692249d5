"""A folder of transformers with a BERT of some thousand random weights, and questions to sort."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "who",
    "where",
    "is",
    "was",
    "the",
    "king",
    "city",
    "?",
)


def tokenizer() -> Tokenizer:
    """Words of a small vocabulary, between [CLS] and [SEP]."""
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made


def write_tiny_bert(folder: Path, *, layers: int = 3, seed: int = 0) -> Path:
    """As ``save_pretrained`` leaves it."""
    from transformers import BertConfig, BertModel  # takes seconds

    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        BertModel(config).save_pretrained(folder)
    tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def write_questions(path: Path, records: int = 60) -> Path:
    """Who and where, of several lengths."""
    lines = ["question,kind"]
    for place in range(records):
        word, kind = (("who", "person"), ("where", "place"))[place % 2]
        rest = " ".join(["was the king"] * (1 + place % 5))
        lines.append(f"{word} {rest} ?,{kind}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
