"""Raw texts and images, encoded by the service: checked, told apart by what was sent."""

import json

import numpy as np
import pytest

from reticent.cli.main import run
from reticent.data import Dataset
from reticent.protect import ReleaseRequest, Terms, load, release_table, save, use_encoder
from reticent.protect.released_encoder import encoder_from
from reticent.service.asgi import application
from reticent.service.client import Service
from reticent.service.raw import RawInputs, RawKind
from reticent.service.serving import ServeSpec
from reticent.training.encoders.base import FunctionEncoder
from reticent.validation import InputError
from tests.service.conftest import running
from tests.service.test_answers import refused
from tests.service.test_strict import CANARY


def lengths(texts):
    """Five features of a text."""
    return np.array([[len(one), *(one.count(letter) for letter in "abcd")] for one in texts]) / 50


def sums(images):
    """Five features of an image: what the service is started with, by name."""
    flat = images.reshape(len(images), -1) / 255
    return np.stack([flat[:, start::5].mean(axis=1) for start in range(5)], axis=1)


@pytest.fixture
def texts(protected, tmp_path):
    service = protected(str(tmp_path / "l.sqlite"), mechanism="gaussian")
    service.model.raw = RawInputs(RawKind.named("texts"), FunctionEncoder(lengths), features=5)
    return service


def test_texts_are_encoded_and_told_apart_by_what_was_sent(texts, monkeypatch):
    alice, bob = texts.client("alice"), texts.client("bob")
    first = alice.ask_texts(["a text", "another"], idempotency_key="k")
    assert (first["charged"], len(first["labels"])) == (2, 2)
    # A machine that rounds features otherwise finds the same answers.
    monkeypatch.setattr(
        texts.model.raw, "_encoder", FunctionEncoder(lambda some: lengths(some) * (1 + 1e-7))
    )
    again = alice.ask_texts(["a text", "another"], idempotency_key="k")
    assert (again["replayed"], again["logits"]) == (True, first["logits"])
    assert alice.ask_texts(["another"])["logits"] == first["logits"][1:]
    assert refused(alice.ask_texts, ["a text", "others!"], idempotency_key="k") == (
        "key-reused",
        409,
    )
    assert bob.ask_texts(["a text"])["charged"] == 1
    assert alice.budget()["used"] == 2
    assert alice.ask(lengths(["a text"]))["charged"] == 1  # rows are others than texts


def test_the_noise_is_on_the_head_of_the_encoded_rows(texts, monkeypatch):
    """The rows that are drawn for are the features, whatever they are told apart by."""
    drawn = []
    inner = type(texts.served)._drawn

    def watched(self, due):
        drawn.extend(rows[place] for rows, place in due)
        return inner(self, due)

    monkeypatch.setattr(type(texts.served), "_drawn", watched)
    texts.client("alice").ask_texts(["abc", "dd"])
    assert np.array_equal(drawn, lengths(["abc", "dd"]).astype(np.float32))


@pytest.mark.parametrize(
    "document",
    [
        {"texts": []}, {"texts": "text"}, {"texts": [""]}, {"texts": [1]}, {"texts": [None]},
        {"texts": [["a"]]}, {"texts": [CANARY + "x" * 2000]}, {"texts": ["a\x00"]},
        {"texts": ["a"] * 65}, {"texts": ["a"], "inputs": [[0, 0, 0, 0, 0]]},
        {"images": [[[0]]]}, {"texts": {CANARY: 1}},
    ],
    ids=range(12),
)  # fmt: skip
def test_wrong_texts(texts, caplog, document):
    alice = texts.client("alice")
    body = json.dumps(document).encode()
    kind, status = refused(alice.call, "POST", "/v1/answers", body)
    assert (kind, status) in (("invalid-raw", 422), ("invalid-fields", 422))
    assert CANARY not in caplog.text
    assert alice.budget()["used"] == 0


def test_half_characters_and_long_bodies_are_refused(texts):
    alice = texts.client("alice")
    for body, told in (
        (b'{"texts": ["\\ud800"]}', ("invalid-json", 422)),
        (b'{"texts": ["' + b"x" * 3_000_000 + b'"]}', ("too-large", 413)),
    ):
        assert refused(alice.call, "POST", "/v1/answers", body) == told


def test_a_service_without_an_encoder_takes_rows_alone(protected, tmp_path):
    alice = protected(str(tmp_path / "l.sqlite")).client("alice")
    assert refused(alice.ask_texts, ["a"]) == ("invalid-fields", 422)


def test_an_encoder_that_refuses_repeats_nothing(texts, monkeypatch, caplog):
    def refusing(some):
        raise InputError(f"no such text: {some[0]}")

    monkeypatch.setattr(texts.model.raw, "_encoder", FunctionEncoder(refusing))
    assert refused(texts.client("alice").ask_texts, [CANARY]) == ("invalid-raw", 422)
    assert CANARY not in caplog.text


def test_released_head_on_images(tmp_path, monkeypatch):
    """From protect on features to images over HTTP: what predict says of their features."""
    monkeypatch.chdir(tmp_path)
    images = np.random.default_rng(0).integers(0, 256, size=(60, 8, 8, 1)).astype(np.uint8)
    np.savez("p.npz", features=sums(images), label=np.arange(60) % 2)
    table = ["--private", "p.npz", "--label", "label", "--classes", "0,1", "--bound", "2"]
    terms = ["--records", "60", "--penalty", "0.1", "--epsilon", "2", "--delta", "1e-5"]
    assert run(["protect", *table, *terms, "--relation", "add-remove", "--out", "head"]) == 0
    spec = {"name": "m", "released": tmp_path / "head", "encoder": f"{__name__}:sums"}
    with pytest.raises(InputError, match="must make the 5 features of the model, got 3"):
        ServeSpec(**spec | {"encoder": f"{__name__}:too_few"}, raw="8x8x1").model()
    with running(application(*ServeSpec(**spec, raw="8x8x1").model())) as url:
        anybody = Service(url)
        told = anybody.ask_images(images[:3])
        rows = sums(images[:3]).astype(np.float32).astype(float)
        assert told["logits"] == load(tmp_path / "head").logits(rows).tolist()
        for wrong in (images[:1] + 0.5, images[:1, :4], images[:1].astype(int) + 256):
            assert refused(anybody.ask_images, wrong) == ("invalid-raw", 422)
        assert refused(anybody.ask_images, images[:1] > 3) == ("invalid-raw", 422)


ENCODERS = {
    "minilm": ("texts", ["a good film", "a bad one"]),
    "efficientnet-lite0": ("32x32x3", np.arange(2 * 32 * 32 * 3).reshape(2, 32, 32, 3) % 256),
    "scattering": ("16x16x1", np.arange(2 * 16 * 16).reshape(2, 16, 16, 1) % 256),
    "released": ("16x16x1", np.arange(2 * 16 * 16).reshape(2, 16, 16, 1) % 251),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODERS)
def test_every_kind_of_encoder_is_served(name, tmp_path):
    """What the service says of raw inputs is what the head says of their features."""
    kind, inputs = ENCODERS[name]
    inputs = np.array(inputs) if kind == "texts" else inputs.astype(np.uint8)
    named = released_encoder(tmp_path) if name == "released" else name
    encoder = encoder_from(named)
    features = encoder.encode(inputs).astype(np.float64)
    rows = np.random.default_rng(0).normal(size=(60, features.shape[1]))
    data = Dataset(name="d", source="s", inputs=rows, labels=np.arange(60) % 2, classes=("a", "b"))
    terms = Terms(
        epsilon=4, delta=1e-5, relation="add-remove",
        encoder=use_encoder(encoder, "same" if name == "released" else None),
    )  # fmt: skip
    head = release_table(data, ReleaseRequest(terms=terms, records=60, recipe="class-means"))
    save(head, tmp_path / "head")
    spec = ServeSpec(name="m", released=tmp_path / "head", encoder=named, raw=kind)
    with running(application(*spec.model())) as url:
        anybody = Service(url)
        ask = anybody.ask_texts if kind == "texts" else anybody.ask_images
        told = ask(inputs.tolist())
        assert np.allclose(told["logits"], load(tmp_path / "head").logits(features), atol=1e-4)
        composed = anybody.guarantee()["guarantee"]["epsilon"]
        assert composed > 8 if name == "released" else composed == 4


def released_encoder(folder):
    """The OUT of a private pre-training, on a public encoder of images."""
    images = np.random.default_rng(1).integers(0, 256, size=(60, 16, 16, 1)).astype(np.uint8)
    np.savez(folder / "images.npz", images=images)
    words = ["pretrain", "--private", str(folder / "images.npz"), "--embedding", "images"]
    words += ["--encoder", "scattering", "--method", "prototypes", "--privacy", "proven"]
    words += ["--epsilon", "8", "--delta", "1e-5", "--relation", "add-remove", "--records", "60"]
    words += ["--components", "2", "--clusters", "2", "--out", str(folder / "encoder")]
    assert run(words) == 0
    return str(folder / "encoder")


def too_few(images):
    """An encoder of another model."""
    return sums(images)[:, :3]


@pytest.mark.parametrize("raw", ["", "text", "8x8", "8x8x2", "0x8x1", "4x4x1", "8x8x1x1"])
def test_wrong_kinds(raw):
    with pytest.raises(InputError):
        RawKind.named(raw)


@pytest.mark.parametrize("kind", ["texts", "8x8x3"])
def test_what_the_document_says_is_what_is_taken(kind):
    """The longest input that the schema allows fits into the limit of its bytes."""
    raw = RawKind.named(kind)
    schema = raw.schema(64)
    assert (schema["minItems"], schema["maxItems"]) == (1, 64)
    longest = "\U0001f600" * 2000 if raw.shape is None else np.full((8, 8, 3), 255).tolist()
    assert len(json.dumps(longest)) + 1 <= raw.most_bytes
    assert len(raw.read([longest], 64)) == 1
