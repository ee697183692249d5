"""Folders of transformers: read without code or pickles, or refused in one line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import torch

from reticent.training.fine_tuning.folder import folder_source
from reticent.training.networks import network, public_weights
from reticent.validation import InputError
from tests.training.fine_tuning.tiny_bert import WORDS, tokenizer, write_tiny_bert


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tiny_bert(tmp_path / "bert")


def test_the_files_are_named_by_their_hashes(folder: Path) -> None:
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert f"model.safetensors sha256:{digest}" in public_weights(f"{folder}#head")
    assert folder_source(folder).public_weights == public_weights(str(folder))


def test_code_of_the_folder_is_never_run(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "model.Model"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.py").write_text("raise SystemExit('it was run')")
    with pytest.raises(InputError, match=r"got auto_map: code of the folder is never run"):
        network(str(folder), (8,), 2, seed=0)


def test_pickles_are_refused(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"got no model\.safetensors: pytorch_model"):
        network(str(folder), (8,), 2, seed=0)


@pytest.mark.parametrize("name", ["./nowhere", "nowhere", "/dev/null#head"])
def test_a_folder_that_is_none(name: str) -> None:
    with pytest.raises(InputError, match=r"a folder of .* or timm, got .*, which is none"):
        network(name, (8,), 2, seed=0)


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("config.json", b'{"model_type": "nothing"}', "an encoder that transformers has"),
        ("config.json", b"[1]", "must be"),
        ("model.safetensors", b"nothing", "must be a safetensors file"),
        ("tokenizer.json", b"{}", "must be a tokenizer"),
    ],
)
def test_files_that_are_others(folder: Path, file: str, content: bytes, reason: str) -> None:
    (folder / file).write_bytes(content)
    with pytest.raises(InputError, match=reason) as error:
        network(str(folder), (8,), 2, seed=0)
    assert "\n" not in str(error.value)


def test_weights_that_do_not_fit(folder: Path, tmp_path: Path) -> None:
    other = write_tiny_bert(tmp_path / "other", layers=2)
    (folder / "model.safetensors").write_bytes((other / "model.safetensors").read_bytes())
    with pytest.raises(InputError, match=r"must hold all weights, got no encoder\.layer\.2"):
        network(str(folder), (8,), 2, seed=0)


def test_weights_of_another_task_and_another_family(folder: Path, tmp_path: Path) -> None:
    from transformers import BertForMaskedLM, DistilBertConfig, DistilBertModel

    source = folder_source(folder)
    masked = BertForMaskedLM(source.encoder.config)
    masked.bert.load_state_dict(source.encoder.state_dict(), strict=False)
    masked.save_pretrained(tmp_path / "masked")
    tokenizer().save(str(tmp_path / "masked" / "tokenizer.json"))
    again = folder_source(tmp_path / "masked").encoder.state_dict()
    name = "encoder.layer.2.output.dense.weight"
    assert torch.equal(again[name], source.encoder.state_dict()[name])
    shape = DistilBertConfig(vocab_size=len(WORDS), dim=16, n_layers=2, n_heads=2, hidden_dim=32)
    DistilBertModel(shape).save_pretrained(tmp_path / "distil")
    tokenizer().save(str(tmp_path / "distil" / "tokenizer.json"))
    model = network(str(tmp_path / "distil"), (8,), 2, seed=0)
    trained = [one for one, parameter in model.named_parameters() if parameter.requires_grad]
    assert len(trained) == 2 * 2 * 2 + 2
    with pytest.raises(InputError, match="lora-last must be asked of"):
        network(f"{tmp_path / 'distil'}#lora-last", (8,), 2, seed=0)
