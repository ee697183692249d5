"""Shadows on disk: found again, never mixed up, never silently used when damaged."""

import stat
from functools import partial

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from reticent.attacks import shadow_store
from reticent.attacks.records import Records
from reticent.attacks.shadow_store import fingerprint
from reticent.attacks.shadow_training import memberships, train_shadows
from reticent.parallel import map_tasks
from reticent.training import MLPHead, SoftmaxHead
from reticent.validation import InputError

HEADS = {
    "softmax": SoftmaxHead(bound=5.0, penalty=0.01),
    "weighted": SoftmaxHead(bound=5.0, class_weight={1: 2.0, 2: 0.5}, centre=np.full(64, 0.2)),
    "linear": MLPHead(steps=5),
    "dense": MLPHead(layers=3, width=6, steps=5),
}


@pytest.fixture(scope="module")
def pool():
    X, y = load_digits(return_X_y=True)
    return Records(X[:150] / 16, y[:150])


@pytest.fixture
def untrainable(monkeypatch):
    """After it is called, training anything fails."""

    def forbid():
        def fail(*_, **__):
            raise AssertionError("trained again")

        monkeypatch.setattr("reticent.attacks.shadow_training._Plan.fit_all", fail)

    return forbid


def only_file(folder):
    (path,) = (folder / "shadows").iterdir()
    return path


@pytest.mark.parametrize("name", HEADS)
def test_the_second_call_reads_the_same_models(pool, name, tmp_path, untrainable):
    first = train_shadows(HEADS[name], pool, count=4, seed=2, store=tmp_path)
    untrainable()
    seen = []
    again = train_shadows(HEADS[name], pool, count=4, seed=2, store=tmp_path, on_done=seen.append)
    assert seen == [4]
    assert np.array_equal(first.inside, again.inside)
    assert np.array_equal(first.logits(pool.inputs), again.logits(pool.inputs))
    for one, other in zip(first.models, again.models, strict=True):
        assert repr(one.model.get_params()) == repr(other.model.get_params())
        assert repr(vars(one.model)) == repr(vars(other.model))


def test_the_folder_and_the_file_are_the_owners(pool, tmp_path):
    train_shadows(HEADS["softmax"], pool, count=2, store=tmp_path)
    path = only_file(tmp_path)  # and nothing half-written beside it
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_without_a_store_or_for_other_estimators_nothing_is_written(pool, tmp_path, monkeypatch):
    monkeypatch.setenv("RETICENT_CACHE", str(tmp_path))
    train_shadows(HEADS["softmax"], pool, count=2)
    train_shadows(LogisticRegression(max_iter=300), pool, count=2, store=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_whatever_the_models_depend_on_is_in_the_fingerprint(pool, monkeypatch):
    inside = memberships(150, 4)
    head = SoftmaxHead(class_weight={1: 2.0}, centre=np.zeros(64))

    def told(head=head, pool=pool, inside=inside, seed=0):
        return fingerprint(head, pool, inside, seed=seed)

    moved = pool.inputs.copy()
    moved[3, 4] += 1e-12
    found = {
        told(),
        told(seed=1),
        told(inside=~inside),
        told(inside=inside[:2]),
        told(pool=Records(moved, pool.labels)),
        told(pool=Records(pool.inputs, pool.labels[::-1])),
        told(head=SoftmaxHead(class_weight={1: 2.0}, centre=np.ones(64))),
        told(head=SoftmaxHead(class_weight={1: 3.0}, centre=np.zeros(64))),
        told(head=SoftmaxHead(class_weight={1: 2.0}, centre=np.zeros(64), penalty=0.5)),
        told(head=MLPHead()),
        told(head=MLPHead(seed=1)),
    }
    assert len(found) == 11
    assert told() == told(head=SoftmaxHead(class_weight={1: 2.0}, centre=np.zeros(64)))
    before = told()
    monkeypatch.setattr(shadow_store, "VERSION", shadow_store.VERSION + 1)
    newer = told()
    monkeypatch.setattr(shadow_store, "INSTALLED", "9.9")
    assert len({before, newer, told()}) == 3


class TestDamage:
    @pytest.fixture
    def kept(self, pool, tmp_path):
        train_shadows(HEADS["softmax"], pool, count=2, store=tmp_path)
        return only_file(tmp_path)

    @staticmethod
    def refused(pool, kept):
        with pytest.raises(InputError, match="got a damaged or foreign file") as caught:
            train_shadows(HEADS["softmax"], pool, count=2, store=kept.parent.parent)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("place", [3, 40, -1])
    def test_a_changed_byte(self, pool, kept, place):
        content = bytearray(kept.read_bytes())
        content[place] ^= 1
        kept.write_bytes(bytes(content))
        self.refused(pool, kept)

    @pytest.mark.parametrize("length", [0, 5, 200, -8])
    def test_a_cut_file(self, pool, kept, length):
        kept.write_bytes(kept.read_bytes()[:length])
        self.refused(pool, kept)

    def test_a_file_of_other_shadows_under_this_name(self, pool, kept, tmp_path):
        train_shadows(HEADS["softmax"], pool, count=2, seed=7, store=tmp_path / "other")
        kept.write_bytes(only_file(tmp_path / "other").read_bytes())
        self.refused(pool, kept)

    def test_tensors_of_somebody_else(self, pool, kept):
        tensors = load_file(kept)
        tensors["coordinates"] = tensors["coordinates"] + 1.0
        save_file(tensors, kept, metadata={"fingerprint": kept.stem})
        self.refused(pool, kept)

    def test_a_deleted_file_is_trained_anew(self, pool, kept):
        kept.unlink()
        train_shadows(HEADS["softmax"], pool, count=2, store=kept.parent.parent)
        assert kept.exists()


def _logits(pool, folder, _):
    return train_shadows(HEADS["softmax"], pool, count=4, store=folder).logits(pool.inputs)


@pytest.mark.slow  # starts processes
def test_two_processes_share_a_store(pool, tmp_path):
    found = map_tasks(partial(_logits, pool, tmp_path), range(4), jobs=2)
    assert all(np.array_equal(found[0], other) for other in found)
    assert only_file(tmp_path).suffix == ".safetensors"


def test_a_store_that_cannot_be_used(pool, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="must be yours and writable"):
        train_shadows(HEADS["softmax"], pool, count=2, store=tmp_path / "file")
