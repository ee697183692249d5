"""pretrain: from images to an encoder file, with a log, across stops, and what it refuses."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.cli import pretrain as command_module
from reticent.cli.main import BAD_INPUT, INTERRUPTED, run
from reticent.training.contrastive import simclr
from reticent.training.encoders.torch_encoder import load_encoder

IMAGES = (load_digits().images[:40] * 15).astype(np.uint8)
SMALL = "--augmentation digits --width 3 --epochs 2 --batch 20"


@pytest.fixture
def command(capsys):
    def call(line):
        code = run(line.split())
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def file(tmp_path):
    np.savez(tmp_path / "public.npz", pictures=IMAGES, labels=np.arange(40))
    return tmp_path / "public.npz"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_first_line_says_that_it_is_not_private(command, file, tmp_path):
    code, out, err = command(f"pretrain --public {file} --out {tmp_path}/encoder {SMALL}")
    assert code == 0
    assert out.splitlines()[0] == command_module.NOTICE
    assert "NOT private" in command_module.NOTICE
    assert "40 images, 2 epochs" in out
    assert err == ""  # no bar where there is no terminal
    assert names(tmp_path) == ["encoder.log.jsonl", "encoder.safetensors", "public.npz"]
    encoder = load_encoder(tmp_path / "encoder")
    assert encoder.fingerprint() in out.replace("\n", "")
    assert encoder.encode(IMAGES[:, :, :, None]).shape == (40, 128)


def test_json_is_one_document(command, tmp_path):
    code, out, _ = command(
        f"pretrain --public digits --limit 30 --out {tmp_path}/e.safetensors {SMALL}"
        " --seed 7 --json"
    )
    assert code == 0
    found = json.loads(out)
    assert next(iter(found)) == "notice"
    assert found["images"] == 30
    assert found["encoder"] == f"{tmp_path}/e.safetensors"
    assert found["log"] == f"{tmp_path}/e.log.jsonl"
    assert (found["spec"]["epochs"], found["spec"]["width"], found["spec"]["seed"]) == (2, 3, 7)
    assert found["spec"]["temperature"] == 0.2  # the preset for digits
    assert found["fingerprint"] == load_encoder(found["encoder"]).fingerprint()


def test_natural_images_have_the_defaults_of_the_keras_example():
    spec = command_module._spec("natural", "conv", 0, {"epochs": None, "width": None})
    assert (spec.epochs, spec.batch, spec.temperature) == (20, 525, 0.1)
    deep = command_module._spec("digits", "resnet18", 0, {"width": None})
    assert (deep.architecture, deep.width, deep.epochs) == ("resnet18", None, 50)


@pytest.fixture
def interrupted(monkeypatch):
    """The third step, in the second epoch, is interrupted once."""
    steps, real = [], simclr._step

    def step(*arguments):
        steps.append(1)
        if len(steps) == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(simclr, "_step", step)
    return steps


def test_the_same_command_goes_on_after_a_stop(command, file, tmp_path, interrupted):
    line = f"pretrain --public {file} --out {tmp_path}/stopped {SMALL}"
    code, _, err = command(line)
    assert code == INTERRUPTED
    assert "stopped: the same command goes on from the last epoch" in err
    assert "stopped.state.safetensors" in names(tmp_path)
    assert "stopped.safetensors" not in names(tmp_path)
    assert command(line)[0] == 0
    assert len(interrupted) == 3 + 2  # the first epoch was not done again
    assert "stopped.state.safetensors" not in names(tmp_path)
    assert command(f"pretrain --public {file} --out {tmp_path}/whole {SMALL}")[0] == 0
    whole, resumed = (tmp_path / f"{name}.safetensors" for name in ("whole", "stopped"))
    assert whole.read_bytes() == resumed.read_bytes()


def test_other_settings_after_a_stop_are_refused_unless_restarted(
    command, file, tmp_path, interrupted
):
    line = f"pretrain --public {file} --out {tmp_path}/e {SMALL}"
    assert command(line)[0] == INTERRUPTED
    code, _, err = command(f"{line} --seed 3")
    assert code == BAD_INPUT
    assert "a run with the same settings, got another" in err
    assert command(f"{line} --seed 3 --restart")[0] == 0
    assert len((tmp_path / "e.log.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--public nothing", "name must be one of digits, mnist5k"),
        ("--public photos.csv", "--public must be a .npz file with an array of images"),
        ("--public nothing.npz", "nothing.npz must be a file that can be read"),
        ("--public digits --augmentation letters", "--augmentation must be natural or digits"),
        (
            "--public digits --architecture vit",
            "architecture must be one of conv, strided, resnet18",
        ),
        ("--public digits --epochs 0", "epochs must be >= 1"),
        ("--public digits --limit 0", "limit must be >= 1"),
        ("--public digits --limit 1", "images must be at least 2, got 1"),
        ("--public digits --temperature nan", "temperature must be > 0"),
    ],
)
def test_bad_input_is_one_line(command, tmp_path, line, message):
    code, _, err = command(f"pretrain --out {tmp_path}/e {line}")
    assert code == BAD_INPUT
    assert message in err
    assert err.count("\n") == 1
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "arrays",
    [{"x": np.zeros((5, 64))}, {"a": np.zeros((5, 8, 8)), "b": np.zeros((5, 8, 8, 1))}],
)
def test_a_file_must_hold_one_array_of_images(command, tmp_path, arrays):
    np.savez(tmp_path / "odd.npz", **arrays)
    code, _, err = command(f"pretrain --out {tmp_path}/e --public {tmp_path}/odd.npz")
    assert code == BAD_INPUT
    assert "odd.npz must hold one array of images" in err
