"""Private tables behind an encoder: a record that is gone moves no other, to the last bit."""

from dataclasses import replace

import numpy as np
import pytest

from reticent.cli.pretrain_options import PretrainOptions
from reticent.cli.pretrain_private import _read
from reticent.cli.private_table import read_private
from reticent.data import Dataset
from reticent.protect import ReleasedEncoder, ReleaseRequest, release_encoder
from reticent.service.serving import PrivateTable

COUPLED = """
import numpy as np

def centred(images):
    flat = np.asarray(images, dtype=np.float64).reshape(len(images), -1)
    return flat - flat.mean(axis=0) + np.arange(flat.shape[1])
"""
IMAGES = np.random.default_rng(0).integers(0, 256, size=(20, 8, 8), dtype=np.uint8)


@pytest.fixture
def coupled(tmp_path, monkeypatch):
    """An encoder whose answer depends on its batch, as the rounding of networks does."""
    (tmp_path / "coupled_encoder.py").write_text(COUPLED)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "coupled_encoder:centred"


def written(folder, images):
    path = folder / f"{len(images)}.npz"
    np.savez(path, images=images)
    return path


def test_features_of_a_private_table_are_made_record_by_record(coupled, tmp_path):
    whole, less = (
        read_private(written(tmp_path, images), embedding="images", encoder=coupled)
        for images in (IMAGES, IMAGES[1:])
    )
    assert np.array_equal(whole.inputs[1:], less.inputs)
    nobody = read_private(written(tmp_path, IMAGES[:0]), embedding="images", encoder=coupled)
    assert nobody.inputs.shape == (0, 64)


def test_rows_of_pretraining_are_made_record_by_record(coupled, tmp_path):
    said = PretrainOptions(out=tmp_path / "encoder", embedding="images", encoder=coupled)
    whole, less = (
        _read(replace(said, private=written(tmp_path, images)))[1]
        for images in (IMAGES, IMAGES[1:])
    )
    assert np.array_equal(whole.inputs[1:], less.inputs)


def test_records_of_a_service_are_encoded_one_by_one(coupled, tmp_path):
    found = []
    for images in (IMAGES, IMAGES[1:]):
        path = tmp_path / f"labelled-{len(images)}.npz"
        np.savez(path, images=images, kind=np.arange(len(images)) % 2)
        table = PrivateTable(path=path, label="kind", embedding="images", encoder=coupled)
        found.append(table.read(("0", "1")).inputs)
    assert np.array_equal(found[0][1:], found[1])


def test_what_lies_below_a_released_encoder_sees_one_record_at_a_time():
    rows = np.random.default_rng(1).normal(size=(30, 5))
    request = ReleaseRequest.of(
        epsilon=4.0,
        delta=1e-5,
        relation="add-remove",
        records=30,
        recipe="prototypes",
        components=2,
        clusters=2,
    )
    released = release_encoder(Dataset(name="rows", source="here", inputs=rows), request)
    encoder = ReleasedEncoder(released)

    class Below:
        def encode(self, inputs):
            return (inputs - inputs.mean(axis=0) + np.arange(5)).astype(np.float32)

        def fingerprint(self):
            return "below"

    encoder.__dict__["below"] = Below()
    assert np.array_equal(encoder.encode(rows)[1:], encoder.encode(rows[1:]))
    assert encoder.encode(rows[:0]).shape == (0, encoder.encode(rows).shape[1])


def test_a_torch_encoder_runs_one_image_in_a_batch_of_one(tmp_path):
    torch = pytest.importorskip("torch")
    from reticent.training.encoders.cache import cached_features
    from reticent.training.encoders.torch_encoder import TorchEncoder

    sizes = []

    class Counting(torch.nn.Flatten):
        def forward(self, batch):
            sizes.append(len(batch))
            return super().forward(batch)

    encoder = TorchEncoder(Counting(), name="counting")
    data = Dataset(name="images", source="here", inputs=IMAGES[..., None])
    found = cached_features(data, encoder, folder=False, record_by_record=True)
    assert set(sizes) == {1}
    assert np.array_equal(found.inputs, encoder.encode(data.inputs))
