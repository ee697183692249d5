"""Releases from public weights: what leaves, what the certificate names, what verify compares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from reticent.guarantee import Grade
from reticent.protect import PrivateNetwork, Release, Terms, load, release_records, save, verify
from reticent.protect.network_run import NetworkRun
from reticent.protect.noise_scales import noise_plan
from reticent.protect.recipe import replay, tensors_of
from reticent.protect.recipes.network import NetworkRecipe
from reticent.training.encoders.torch_encoder import read_sealed, write_sealed
from reticent.training.networks import public_weights, token_encoder
from reticent.validation import InputError
from tests.training.fine_tuning.tiny_bert import write_tiny_bert

TERMS = Terms(epsilon=8.0, delta=1e-4, relation="add-remove")
TEXTS = np.array(["who was the king ?", "where is the city ?"] * 20)
LABELS = np.array([0, 1] * 20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_bert(tmp_path_factory.mktemp("bert"), layers=2)


def recipe(folder: Path | str, **options: Any) -> NetworkRecipe:
    numbers = {"records": 40, "features": 8, "classes": 2, "batch": 10, "epochs": 1.0}
    return NetworkRecipe.planned(TERMS, architecture=str(folder), **(numbers | options))


def rows(folder: Path) -> Any:
    return token_encoder(str(folder), 8).encode(TEXTS).astype(np.float64)


def released(folder: Path, **options: Any) -> Release:
    return release_records(
        recipe(folder, **options), TERMS, rows(folder), LABELS, classes=["person", "place"]
    )


@pytest.fixture(scope="module")
def release(folder: Path) -> Release:
    return released(folder, exact=False)


def test_only_what_was_trained_leaves(release: Release) -> None:
    adapters = {name for name in release.tensors if name.endswith(("down.weight", "up.weight"))}
    assert set(release.tensors) == adapters | {"head.weight", "head.bias"}
    assert len(adapters) == 2 * 2 * 2
    assert any("public weights" in line for line in release.guarantee.stated)


def test_the_certificate_names_the_public_weights(
    release: Release, folder: Path, tmp_path: Path
) -> None:
    save(release, tmp_path / "out")
    assert public_weights(str(folder)) in (tmp_path / "out.json").read_text(encoding="utf-8")
    assert not verify(tmp_path / "out").problems
    again = load(tmp_path / "out")
    np.testing.assert_array_equal(again.logits(rows(folder)), release.logits(rows(folder)))


def test_other_public_weights_are_found(folder: Path, tmp_path: Path) -> None:
    moved = write_tiny_bert(tmp_path / "bert", layers=2)
    save(released(moved, exact=False), tmp_path / "out")
    write_tiny_bert(moved, layers=2, seed=1)
    assert any("public_weights" in problem for problem in verify(tmp_path / "out").problems)
    with pytest.raises(InputError, match=r"public_weights is not that of the files of"):
        load(tmp_path / "out")
    numbers = recipe(folder).to_dict() | {"public_weights": ""}
    with pytest.raises(InputError, match=r"public_weights is not that of the files of"):
        release_records(
            NetworkRecipe.from_dict(numbers), TERMS, rows(folder), LABELS, classes=[0, 1]
        )


@pytest.mark.slow
def test_exact_mode_is_proven(folder: Path) -> None:
    assert released(folder).guarantee.grade is Grade.PROVEN


def test_code_of_others_sees_one_record_at_a_time_in_exact_mode(folder: Path) -> None:
    assert (recipe(folder).slots, recipe(folder, exact=False).slots) == (1, 8)
    assert recipe("minilm-lora", features=8).slots == 8
    assert recipe("mlp").slots == 64
    assert recipe("mlp", physical=16).slots == 16


def test_no_records_are_a_data_set_too(folder: Path) -> None:
    found = release_records(
        recipe(folder, exact=False), TERMS, np.zeros((0, 8)), np.zeros(0, int), classes=[0, 1]
    )
    assert found.predict(np.zeros((0, 8))).shape == (0,)
    assert found.predict(rows(folder)[:3]).shape == (3,)


def test_adapters_learn_where_noise_is_left_out(folder: Path) -> None:
    """Full batches and no noise: nothing is random."""
    whole = recipe(folder, batch=40, epochs=30.0, optimiser="adam", learning_rate=0.02, exact=False)
    numbers = replay(whole, noise_plan(whole, TERMS), rows(folder), LABELS)(lambda _, value: value)
    scores = whole.scores(tensors_of(whole, numbers), rows(folder))
    np.testing.assert_array_equal(scores.argmax(axis=1), LABELS)


def test_the_estimator_takes_rows_of_tokens(folder: Path) -> None:
    model = PrivateNetwork(
        classes=["person", "place"],
        records=40,
        epsilon=8.0,
        delta=1e-4,
        relation="add-remove",
        architecture=f"{folder}#head",
        batch=10,
        epochs=1,
        exact=False,
    ).fit(rows(folder), np.array(["person", "place"])[LABELS])
    assert set(model.released_.tensors) == {"head.weight", "head.bias"}
    assert model.released_.guarantee.grade is Grade.DECLARED


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_a_stopped_optimiser_goes_on_where_it_was(optimiser: str, tmp_path: Path) -> None:
    small = recipe("mlp", optimiser=optimiser, exact=False, learning_rate=0.01)
    first, second = (NetworkRun(small, small._network()) for _ in range(2))
    gradient = np.random.default_rng(0).normal(size=(3, small.size))
    for one in gradient[:2]:
        first.step(one)
    write_sealed(tmp_path / "state", first.state(), {}, format="a state")
    second.restore(read_sealed(tmp_path / "state", format="a state")[1])
    for run in (first, second):
        run.step(gradient[2])
    for name, one in first.released().items():
        assert torch.equal(one, second.released()[name])


def test_records_of_several_lengths_keep_their_places(folder: Path) -> None:
    """Sums and scores are those of each record by itself, whatever the others' lengths."""
    mixed = recipe(folder, features=16, exact=False, clip=0.1)
    texts = np.array(["who ?", "where is the city " * 3, "king", "the king was where " * 3])
    inputs = token_encoder(str(folder), 16).encode(texts).astype(np.float64)
    labels = torch.tensor([0, 1, 1, 0])
    run, scores = NetworkRun(mixed, mixed._network()), []
    tensors = {name: np.asarray(one, np.float64) for name, one in run.released().items()}
    expected = np.zeros(mixed.size)
    for place in (0, 1, 3):
        alone = slice(place, place + 1)
        records = run.prepared(mixed._tensors(inputs[alone]), labels[alone])
        expected += run.total(records, np.array([0]))
        scores.append(mixed.scores(tensors, inputs[alone])[0])
    records = run.prepared(mixed._tensors(inputs), labels)
    assert len(records) == 2
    np.testing.assert_allclose(run.total(records, np.array([0, 1, 3])), expected, atol=1e-6)
    np.testing.assert_allclose(mixed.scores(tensors, inputs)[[0, 1, 3]], scores, atol=1e-6)
