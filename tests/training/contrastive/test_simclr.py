"""Pre-training: a function of images and spec, also across stops; its log; what it refuses."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn

from reticent.training.contrastive import Augmentation, SimCLRSpec, digits, pretrain, simclr
from reticent.training.encoders import torch_encoder
from reticent.training.encoders.convolutional import StandardisedLinear
from reticent.validation import InputError

IMAGES = (load_digits().images[:90, :, :, None] * 15).astype(np.uint8)
SPEC = SimCLRSpec(width=4, epochs=3, batch=32, temperature=0.3, augmentation=digits(), seed=5)


def stop_after(epoch):
    def progress(record):
        if record.epoch == epoch:
            raise KeyboardInterrupt

    return progress


@pytest.fixture(scope="module")
def whole():
    return pretrain(IMAGES, SPEC).fingerprint()


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state.safetensors"


class TestDeterminism:
    def test_equal_arguments_equal_weights(self, whole):
        before = torch.get_rng_state()
        assert pretrain(IMAGES, SPEC).fingerprint() == whole
        assert torch.equal(torch.get_rng_state(), before)

    @pytest.mark.parametrize(
        "change",
        [
            {"seed": 6},
            {"epochs": 2},
            {"batch": 31},
            {"temperature": 0.2},
            {"learning_rate": 2e-3},
            {"augmentation": replace(digits(), noise=0.0)},
        ],
    )
    def test_every_setting_counts(self, whole, change):
        assert pretrain(IMAGES, replace(SPEC, **change)).fingerprint() != whole

    def test_weights_and_views_have_streams_of_their_own(self):
        still = replace(SPEC, epochs=1, learning_rate=1e-30)
        other = replace(still, augmentation=Augmentation())
        assert pretrain(IMAGES, still).fingerprint() == pretrain(IMAGES, other).fingerprint()


class TestResuming:
    @pytest.mark.parametrize("epoch", [1, 2])
    def test_a_stop_after_an_epoch_changes_nothing(self, whole, state, tmp_path, epoch):
        log = tmp_path / "log.jsonl"
        with pytest.raises(KeyboardInterrupt):
            pretrain(IMAGES, SPEC, state=state, log=log, progress=stop_after(epoch))
        epochs = []
        resumed = pretrain(
            IMAGES, SPEC, state=state, log=log, progress=lambda record: epochs.append(record.epoch)
        )
        assert resumed.fingerprint() == whole
        assert epochs == [1, 2, 3][epoch:]
        assert logged(log) == [1, 2, 3]
        assert sorted(path.name for path in tmp_path.iterdir()) == [log.name, state.name]

    def test_a_stop_within_an_epoch_goes_back_to_the_last_finished_one(
        self, whole, state, monkeypatch
    ):
        steps, real = [], simclr._step

        def step(*arguments):
            steps.append(1)
            if len(steps) == 5:  # the second of epoch two
                raise KeyboardInterrupt
            return real(*arguments)

        monkeypatch.setattr(simclr, "_step", step)
        with pytest.raises(KeyboardInterrupt):
            pretrain(IMAGES, SPEC, state=state)
        assert pretrain(IMAGES, SPEC, state=state).fingerprint() == whole
        assert len(steps) == 5 + 6

    def test_a_finished_state_is_only_read(self, whole, state):
        pretrain(IMAGES, SPEC, state=state)
        content = state.read_bytes()
        again = pretrain(IMAGES, SPEC, state=state, progress=stop_after(3))
        assert again.fingerprint() == whole
        assert state.read_bytes() == content

    def test_the_log_has_the_epochs_of_the_state(self, state, tmp_path):
        log = tmp_path / "log.jsonl"
        with pytest.raises(KeyboardInterrupt):
            pretrain(IMAGES, SPEC, state=state, log=log, progress=stop_after(2))
        log.write_text(log.read_text().partition("\n")[0])  # stopped before the line was written
        pretrain(IMAGES, SPEC, state=state, log=log)
        assert logged(log) == [1, 2, 3]

    @pytest.mark.parametrize(
        ("change", "part"),
        [
            ({"epochs": 4}, "settings"),
            ({"seed": 1}, "settings"),
            ({"augmentation": digits().__class__()}, "settings"),
            (None, "images"),
        ],
    )
    def test_a_state_of_another_run_is_refused(self, state, change, part):
        pretrain(IMAGES, replace(SPEC, epochs=1), state=state)
        images, spec = IMAGES.copy(), replace(SPEC, **{"epochs": 1} | (change or {}))
        if part == "images":
            images[-1, 0, 0, 0] ^= 1
        content = state.read_bytes()
        with pytest.raises(InputError, match=f"a run with the same {part}, got another") as caught:
            pretrain(images, spec, state=state)
        assert "\n" not in str(caught.value)
        assert state.read_bytes() == content

    def test_a_damaged_state_is_refused(self, state):
        pretrain(IMAGES, replace(SPEC, epochs=1), state=state)
        content = bytearray(state.read_bytes())
        content[-1] ^= 1
        state.write_bytes(content)
        with pytest.raises(InputError, match="got a changed file"):
            pretrain(IMAGES, replace(SPEC, epochs=1), state=state)


def logged(log):
    return [json.loads(line)["epoch"] for line in log.read_text().splitlines()]


def test_a_line_of_the_log(tmp_path):
    records = []
    pretrain(IMAGES, SPEC, log=tmp_path / "log", progress=records.append)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [set(line) for line in lines] == 3 * [
        {
            *("epoch", "loss", "contrastive_accuracy", "gradient_norm"),
            "seconds",
            "images_per_second",
        }
    ]
    assert [line["loss"] for line in lines] == [record.loss for record in records]
    for line in lines:
        assert 0 <= line["contrastive_accuracy"] <= 1
        assert line["images_per_second"] * line["seconds"] == pytest.approx(90)


@pytest.mark.parametrize(
    ("number", "sizes"), [(90, [32, 32, 26]), (64, [32, 32]), (65, [32, 32]), (66, [32, 32, 2])]
)
def test_only_a_last_batch_of_one_is_dropped(monkeypatch, number, sizes):
    seen, real = [], simclr._step

    def step(training, images, spec):
        seen.append(len(images))
        return real(training, images, spec)

    monkeypatch.setattr(simclr, "_step", step)
    pretrain(IMAGES[:number], replace(SPEC, epochs=1))
    assert seen == sizes


def test_every_image_is_seen_once_in_an_epoch(monkeypatch):
    seen, real = [], torch_encoder.prepared

    def prepared(images):
        seen.extend(images)
        return real(images)

    monkeypatch.setattr(torch_encoder, "prepared", prepared)
    pretrain(IMAGES, replace(SPEC, epochs=1))
    found = sorted(image.tobytes() for image in seen)
    assert found == sorted(image.tobytes() for image in IMAGES)


@pytest.mark.slow
def test_it_learns_to_tell_the_images_of_a_batch_apart():
    records = []
    views = Augmentation(noise=0.02)
    spec = replace(SPEC, width=16, epochs=40, batch=30, learning_rate=3e-3, augmentation=views)
    pretrain(IMAGES, replace(spec, temperature=0.2), progress=records.append)
    assert records[0].loss == pytest.approx(math.log(59), abs=0.05)  # nothing is told apart yet
    assert records[-1].loss < 3.9  # 1.8, with a standard deviation of 0.21 over seeds


def test_resnet18_with_its_standardised_head():
    spec = replace(SPEC, architecture="resnet18", epochs=1)
    encoder = pretrain(np.repeat(IMAGES[:8], 3, axis=3), spec)
    assert encoder.encode(np.repeat(IMAGES[:8], 3, axis=3)).shape == (8, 32)
    head = simclr._initial(spec, (8, 8, 3)).projection
    layers = [part for part in head.modules() if isinstance(part, nn.Linear)]
    assert [(type(part), part.out_features) for part in layers] == [
        (StandardisedLinear, 512),
        (StandardisedLinear, 128),
    ]


def test_the_defaults_are_those_of_the_keras_example():
    spec = SimCLRSpec()
    assert (spec.epochs, spec.batch, spec.temperature, spec.learning_rate) == (20, 525, 0.1, 1e-3)
    encoder = simclr._initial(spec, (96, 96, 3)).encoder
    assert (encoder.config.filters, encoder.config.dimension) == (128, 128)
    assert not SimCLRSpec.digits().augmentation.flip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"architecture": "vit"}, "architecture must be one of conv, strided, resnet18, got 'vit'"),
        ({"width": 0}, "width must be >= 1"),
        ({"epochs": 0}, "epochs must be >= 1"),
        ({"batch": 1}, "batch must be >= 2"),
        ({"temperature": math.nan}, "temperature must be > 0"),
        ({"learning_rate": 0.0}, r"learning_rate must be in \(0, 1\]"),
        ({"learning_rate": 1e38}, r"learning_rate must be in \(0, 1\]"),
        ({"augmentation": "digits"}, "augmentation must be an Augmentation"),
        ({"seed": -1}, "seed must be >= 0"),
    ],
)
def test_wrong_settings_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        SimCLRSpec(**change)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (IMAGES[:1], "images must be at least 2, got 1"),
        (IMAGES[..., 0], "images must have shape"),
        (IMAGES[:, :7], "height must be >= 8"),
        (IMAGES.repeat(2, axis=3), "channels must be 1 or 3"),
        (IMAGES * np.nan, "images must be finite"),
    ],
)
def test_wrong_images_are_refused(images, message):
    with pytest.raises(InputError, match=message):
        pretrain(images, SPEC)


def test_a_loss_that_explodes_is_refused(tmp_path):
    spec = replace(SPEC, temperature=1e-45)
    with pytest.raises(InputError, match=r"loss must stay finite, got \w+ in epoch"):
        pretrain(IMAGES, spec, state=tmp_path / "state")


def test_a_log_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(InputError, match="must be writable"):
        pretrain(IMAGES, SPEC, log=tmp_path / "nowhere" / "log")


def test_one_thread_trains_digits_and_then_all_are_back(monkeypatch):
    seen, epoch, before = [], simclr._epoch, torch.get_num_threads()

    def watched(*arguments):
        seen.append(torch.get_num_threads())
        return epoch(*arguments)

    monkeypatch.setattr(simclr, "_epoch", watched)
    torch.set_num_threads(2)
    try:
        pretrain(IMAGES, replace(SimCLRSpec.digits(), epochs=1, width=2))
        assert (seen, torch.get_num_threads()) == ([1], 2)
    finally:
        torch.set_num_threads(before)
    with pytest.raises(InputError, match="threads must be >= 1"):
        SimCLRSpec(threads=0)
