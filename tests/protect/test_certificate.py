"""A released head on disk: round trip, every wrong bit found, ε computed anew without the data."""

import json
import subprocess
import sys

import numpy as np
import pytest

from reticent.guarantee import Grade
from reticent.protect import load, release_weights, save, verify
from reticent.protect.release import with_names
from reticent.training import SoftmaxHead
from reticent.validation import InputError


@pytest.fixture(scope="module")
def released():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 5)), np.array(["no", "yes", "maybe"])[np.arange(60) % 3]
    head = SoftmaxHead(
        penalty=0.1, classes=["maybe", "no", "yes"], records=60, centre=np.full(5, 0.25)
    )
    return release_weights(head.fit(X, y), epsilon=2.0, delta=1e-6, relation="add-remove")


@pytest.fixture
def folder(released, tmp_path):
    save(released, tmp_path / "head")
    return tmp_path


def edit(folder, **changes):
    path = folder / "head.json"
    document = json.loads(path.read_text())
    for name, value in changes.items():
        part, _, leaf = name.rpartition("__")
        (document[part] if part else document)[leaf] = value
    path.write_text(json.dumps(document))


def test_round_trip(released, folder):
    again = load(folder / "head")
    assert np.array_equal(again.tensors["coordinates"], released.tensors["coordinates"])
    assert np.array_equal(again.tensors["centre"], released.tensors["centre"])
    assert (again.recipe, again.terms) == (released.recipe, released.terms)
    queries = np.random.default_rng(2).normal(size=(20, 5))
    assert again.predict(queries).tolist() == released.predict(queries).tolist()
    assert {path.name for path in folder.iterdir()} == {"head.json", "head.safetensors"}


def test_numbers_that_were_texts_are_numbers_again(tmp_path):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 5)), np.arange(60) % 3
    head = SoftmaxHead(penalty=0.1, classes=["0", "1", "2"], records=60).fit(X, y.astype(str))
    spelled = release_weights(head, epsilon=50.0, delta=1e-6, relation="add-remove")
    assert not (spelled.predict(X) == y).any()
    typed = with_names(spelled, classes=range(3))
    assert typed.guarantee is spelled.guarantee
    assert typed.guarantee.grade is Grade.PROVEN
    save(typed, tmp_path / "head")
    assert verify(tmp_path / "head").holds
    for one in (typed, load(tmp_path / "head")):
        assert ((one.predict(X) == y) == (spelled.predict(X) == y.astype(str))).all()
        assert (one.predict(X) == y).any()
    for others in ([0, 2, 1], [0, 1], ["a", "b", "c"]):
        with pytest.raises(InputError, match="classes must be those of the release"):
            with_names(spelled, classes=others)


def test_a_file_proves_nothing_but_epsilon_follows(released, folder):
    assert released.guarantee.grade is Grade.PROVEN
    found = verify(folder / "head.json")
    assert found.holds
    assert found.guarantee.grade is Grade.DECLARED
    assert 1.999 < found.epsilon <= 2.0
    assert load(folder / "head.safetensors").guarantee.grade is Grade.DECLARED


def test_no_private_number_is_in_the_certificate(folder):
    """Under add-remove the number of rows is private; N is public and the same here by choice."""
    document = json.loads((folder / "head.json").read_text())
    assert set(document) == {
        "format", "version", "recipe", "numbers", "terms", "scales", "classes", "guarantee",
        "weights_sha256", "columns", "formula",
    }  # fmt: skip
    assert set(document["numbers"]) == {
        "outputs", "penalty", "records", "bound", "intercept", "norms", "tolerance",
        "largest_weight", "shape", "mechanism", "centred", "mean_bound", "mean_share",
    }  # fmt: skip
    assert set(document["terms"]) == {
        "epsilon", "delta", "relation", "max_records_per_person", "sources",
    }  # fmt: skip
    assert "optimum_gap" not in (folder / "head.json").read_text()


def test_every_flipped_bit_of_the_weights_is_found(folder):
    path = folder / "head.safetensors"
    whole = path.read_bytes()
    for place in range(0, len(whole), 37):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert not verify(folder / "head").holds
        with pytest.raises(InputError, match="must match its certificate"):
            load(folder / "head")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"guarantee__epsilon": 1.0}, "the noise gives epsilon = 2, not 1"),
        ({"guarantee__delta": 1e-9}, "the delta is 1e-06, not 1e-09"),
        ({"guarantee__relation": "replace-one"}, "the relation is add-remove, not replace-one"),
        ({"terms__epsilon": 1.0}, "the epsilon is 1.0, not 2.0"),
        ({"terms__delta": 1e-9}, "the noise gives epsilon"),
        ({"terms__relation": "replace-one"}, "the noise gives epsilon"),
        ({"terms__sources": {"records": "inferred"}}, "the certificate is not the one"),
        ({"guarantee__unit": "one person"}, "the unit is one record, not one person"),
        ({"scales__coordinates": 0.01}, "the noise gives epsilon"),
        ({"numbers__mechanism": "laplace"}, "the certificate is not the one"),
        ({"version": "9.9"}, "the certificate is not the one"),
        ({"guarantee__stated": []}, "the certificate is not the one"),
        ({"guarantee__epsilon": 3.0}, "the certificate is not the one"),
        ({"guarantee__epsilon": 3.0}, "the epsilon is 2.0, not 3.0"),
        ({"classes": ["a", "b", "c"]}, "the certificate is not the one"),
        ({"numbers__penalty": 0.01}, "the noise gives epsilon"),
        ({"numbers__records": 30}, "the noise gives epsilon"),
        ({"numbers__bound": 3.0}, "the noise gives epsilon"),
        ({"numbers__tolerance": 0.1}, "the noise gives epsilon"),
        ({"numbers__largest_weight": 2.0}, "the noise gives epsilon"),
        ({"terms__max_records_per_person": 5}, "the noise gives epsilon"),
        (
            {"terms__max_records_per_person": 1},
            "the unit is one person with at most 1 record",
        ),
        ({"classes": ["a", "b"]}, "2 classes do not fit"),
        ({"weights_sha256": "0"}, "the weights are not those that were certified"),
    ],
)
def test_every_changed_number_is_found(folder, changes, problem):
    edit(folder, **changes)
    found = verify(folder / "head")
    assert any(problem in line for line in found.problems), found.problems


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "must be a certificate of format"),
        ({"extra": 1}, "'extra' wrong"),
        ({"numbers__mechanism": "uniform"}, "mechanism must be one of"),
        ({"scales__coordinates": "NaN"}, "scale must be a real number"),
        ({"scales__coordinates": -1.0}, "scale must be > 0"),
        ({"numbers__penalty": None}, "penalty must be a real number"),
        ({"terms__max_records_per_person": 0}, "max_records_per_person must be >= 1"),
        ({"terms__max_records_per_person": True}, "max_records_per_person must be a whole number"),
        ({"terms__max_records_per_person": 2**54}, "max_records_per_person must be <= 2"),
        ({"numbers__shape": 5}, "shape must be two whole numbers"),
        ({"numbers__shape": [1, 2, 3]}, "shape must be two whole numbers"),
        ({"numbers__shape": [10**200, 10**200]}, "shape must have at most"),
        ({"numbers__mechanism": []}, "mechanism a text"),
        ({"guarantee__gamma": "x"}, "gamma must be a real number"),
        ({"guarantee__unit": "a\nb"}, "unit must be a text of one line"),
        ({"numbers__more": 1}, "numbers must have"),
        ({"guarantee__epsilon": -1}, "epsilon must be >= 0"),
        ({"classes": 3}, "classes must be a list"),
        ({"recipe": "other"}, "recipe must be one of"),
        ({"recipe": ["weights"]}, "recipe must be one of"),
        ({"recipe": "lda"}, "numbers must have"),
        ({"scales": [1.0]}, "scales must be a JSON object"),
        ({"scales": {}}, "scales must be those of coordinates"),
        ({"terms": 1}, "terms must have"),
        ({"terms__sources": []}, "sources must be a JSON object"),
        ({"terms__sources": {"records": "guessed"}}, "source of records must be one of"),
        ({"terms__epsilon": float("nan")}, "must hold finite numbers, got NaN"),
    ],
)
def test_bad_certificates_get_one_line(folder, changes, message):
    edit(folder, **changes)
    with pytest.raises(InputError, match=message) as caught:
        verify(folder / "head")
    assert "\n" not in str(caught.value)


def test_foreign_and_missing_files(folder, released):
    with pytest.raises(InputError, match=r"got a folder: name the release in it: .*/head$"):
        verify(folder)
    (folder / "tuned.fit.safetensors").touch()
    with pytest.raises(InputError, match="must be a release, got a fit: reticent protect --fit"):
        verify(folder / "tuned")
    (folder / "encoder.safetensors").touch()
    with pytest.raises(InputError, match="must have its certificate beside it, got no encoder"):
        verify(folder / "encoder")
    (folder / "empty").mkdir()
    with pytest.raises(InputError, match="got a folder: there is none in it"):
        verify(folder / "empty")
    with pytest.raises(InputError, match="must be a readable file"):
        verify(folder / "nothing")
    (folder / "head.json").write_text("{")
    with pytest.raises(InputError, match="must be JSON"):
        verify(folder / "head")
    (folder / "head.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match="nested at most 64 levels deep"):
        verify(folder / "head")
    with pytest.raises(InputError, match="must be writable"):
        save(released, folder / "no" / "where")
    (folder / "head.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="must be JSON in UTF-8, got byte 0"):
        verify(folder / "head")


def test_wrong_queries(released):
    with pytest.raises(InputError, match="X must have 5 features, got 4"):
        released.predict(np.zeros((2, 4)))
    with pytest.raises(InputError, match="X must be finite, got NaN"):
        released.predict([[np.nan] * 5])


def test_verifying_needs_neither_torch_nor_the_data(folder):
    code = (
        "import sys; from reticent.protect import verify; "
        f"assert verify({str(folder / 'head')!r}).holds; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
