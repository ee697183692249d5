"""Views that attacks on encoders show: drawn anew from a record, or standing in it."""

import numpy as np
import pytest

from reticent.attacks import encoder_views as module
from reticent.attacks.encoder import EncoderMI, ShadowEncoder
from reticent.attacks.encoder_views import StackedViews, Views, pairwise_cosines
from reticent.attacks.records import Records
from reticent.data import load
from reticent.training.contrastive import Augmentation, digits
from reticent.training.encoders.base import FunctionEncoder
from reticent.validation import InputError

NOISE = Augmentation(noise=0.3)
VIEWS = Views(augmentation=NOISE)


@pytest.fixture(scope="module")
def images():
    found = load("digits").inputs
    return found[np.random.default_rng(0).permutation(len(found))]


def plain(images):
    return Records(images, np.zeros(len(images), dtype=int))


def flat(function):
    return FunctionEncoder(lambda images: function(images).reshape(len(images), -1))


def test_cosines_pair_by_pair():
    features = np.random.default_rng(0).normal(size=(3, 4, 5))
    features[2, 1] = 0
    found = pairwise_cosines(features)
    assert found.shape == (3, 6)
    for record in range(3):
        pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
        for place, (i, j) in enumerate(pairs):
            first, second = features[record, i], features[record, j]
            size = np.linalg.norm(first) * np.linalg.norm(second)
            wanted = 0.0 if size == 0 else first @ second / size
            assert found[record, place] == pytest.approx(wanted, abs=1e-12)


def test_ten_views_have_forty_five_pairs(images):
    assert VIEWS.cosines(flat(np.sin), plain(images[:2])).shape == (2, 45)


def test_views_are_a_function_of_the_record(images, monkeypatch):
    views, records = Views(augmentation=digits(), number=3), plain(images[:7])
    all_of_them = views.of(records)
    assert all_of_them.shape == (7, 3, 8, 8, 1)
    assert np.array_equal(views.of(Records(images[[5, 2]], ["a", "b"])), all_of_them[[5, 2]])
    assert len({view.tobytes() for view in all_of_them.reshape(21, -1)}) == 21
    moved = Views(augmentation=digits(), number=3, seed=1).of(records)
    assert not np.isclose(moved, all_of_them).all(axis=(2, 3, 4)).any()
    in_one = views.cosines(flat(np.sin), records)
    monkeypatch.setattr(module, "_CHUNK", 3)
    assert np.array_equal(views.cosines(flat(np.sin), records), in_one)


def test_views_are_those_of_the_augmentation(images):
    nothing = Views(augmentation=Augmentation(), number=2).of(plain(images[:3]))
    assert np.array_equal(nothing, np.stack([images[:3]] * 2, axis=1))
    as_bytes = Views(augmentation=Augmentation(), number=2).of(
        plain(np.full((1, 8, 8, 1), 51, dtype=np.uint8))
    )
    assert as_bytes == pytest.approx(0.2, abs=1e-6)
    noisy = Views(augmentation=NOISE, number=500).of(plain(images[:1]))[0]
    errors = (noisy - images[0]).mean(axis=0) * np.sqrt(500) / 0.3
    assert np.abs(errors).max() < 6  # 64 standard normals: one above it has probability 1.3e-7
    each = VIEWS.of(plain(images[:20])) - images[:20, None]
    assert len(np.unique(each[:, :, 0, 0, 0].round(5))) > 150  # every record has its own noise
    assert (noisy - images[0]).std() == pytest.approx(0.3, abs=0.01)  # 8 σ of 32,000 numbers


def test_what_views_are_refused():
    with pytest.raises(InputError, match="augmentation must be one, got NoneType None"):
        Views(augmentation=None)
    with pytest.raises(InputError, match="number must be >= 2, got 1"):
        Views(augmentation=NOISE, number=1)
    with pytest.raises(InputError, match="seed must be a whole number"):
        Views(augmentation=NOISE, seed=0.5)


def test_stacked_views_are_compared_within_their_record():
    """By hand: each row goes through the encoder alone, and pairs are those of one record."""
    rows = np.random.default_rng(1).normal(size=(4, 6))
    shown = []

    def encode(views):
        shown.append(views.shape)
        return views * [1.0, 2.0]

    found = StackedViews(number=3).cosines(FunctionEncoder(encode), plain(rows))
    assert shown == [(12, 2)]
    wanted = pairwise_cosines((rows.reshape(4, 3, 2) * [1.0, 2.0]).astype(np.float32))
    assert found == pytest.approx(wanted, abs=1e-6)
    assert found.shape == (4, 3)


def test_what_an_adversary_with_stacked_views_knows():
    """An encoder that turns the second view of its members into the first is found out."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(80, 4))
    inside = {row.tobytes() for row in rows[:40].reshape(-1, 2)}

    def encode(views):
        return np.stack([[1, 0] if view.tobytes() in inside else view for view in views])

    encoder = FunctionEncoder(encode)
    shadow = ShadowEncoder(encoder=encoder, members=plain(rows[:20]), others=plain(rows[40:60]))
    attack = EncoderMI(shadows=[shadow], views=StackedViews(number=2), classifier="threshold")
    assert attack.threat.knows[1] == "the views of each record, as they stand in it"
    assert attack.scores(encoder, plain(rows[20:40])).values.min() >= 0
    assert (attack.scores(encoder, plain(rows[60:])).values < 0).mean() > 0.5


def test_what_stacked_views_are_refused():
    with pytest.raises(InputError, match="number must be >= 2, got 1"):
        StackedViews(number=1)
    views = StackedViews(number=2)
    with pytest.raises(InputError, match=r"must be rows of 2 views of one length, got \(3, 5\)"):
        views.cosines(flat(np.sin), plain(np.ones((3, 5))))
    with pytest.raises(InputError, match="records must be at least one, got none"):
        views.cosines(flat(np.sin), plain(np.ones((0, 4))))
    with pytest.raises(InputError, match="encoder must answer 6 images with one row each"):
        views.cosines(FunctionEncoder(lambda rows: rows[1:]), plain(np.ones((3, 4))))
