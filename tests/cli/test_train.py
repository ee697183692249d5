"""train: a network on a user's own file, stopped at any moment and gone on with."""

import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.cli.main import BAD_INPUT, run
from reticent.ledger import Ledger
from reticent.protect import load, verify
from tests.training.fine_tuning.tiny_bert import write_questions, write_tiny_bert
from tools.training_kills import kill_many

CLASSES = ",".join(map(str, range(10)))
KILLS = 20


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    path = tmp_path_factory.mktemp("digits") / "digits.npz"
    X, y = load_digits(return_X_y=True)
    np.savez(path, features=(X / 16).astype(np.float32), label=y.astype(str))
    return path


def training(digits, out, more=""):
    return (
        f"train --private {digits} --label label --embedding features --classes {CLASSES}"
        f" --epsilon 4 --delta 1e-5 --relation add-remove --records 1797 --out {out} {more}"
    ).split()


def test_a_network_is_trained_verified_and_asked(digits, tmp_path, capsys):
    out = tmp_path / "net"
    assert run(training(digits, out, "--epochs 6 --batch 300")) == 0
    text = capsys.readouterr().out
    assert text.startswith("ε ≤ 4, δ ≤ 1e-5 (proven; neighbours: add-remove; unit: one record)")
    assert verify(out).problems == ()
    queries = f"predict {out} --queries {digits} --label label --embedding features"
    assert run(queries.split()) == 0
    assert [one.name for one in tmp_path.iterdir() if "training" in one.name] == []


def test_fast_mode_is_declared(digits, tmp_path, capsys):
    assert run(training(digits, tmp_path / "net", "--epochs 1 --fast")) == 0
    assert "(declared;" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--model nowhere:nothing", "network 'nowhere:nothing' must be importable"),
        ("--shape 1x28x28", "shape must hold 64 numbers"),
        ("--model conv", "shape must be channels×height×width"),
        ("--epochs nan", "epochs must give"),
        ("--batch 0", "batch must be"),
        ("--momentum 1.5", "momentum must be in [0, 1), got 1.5"),
        ("--model minilm-head", "--text must name the column of texts for minilm-head"),
        ("--mechanism nothing", "must be one of"),
        ("--resume", "--resume must be said of a training that was stopped"),
        ("--data-set digits", "--data-set must be said with --ledger"),
    ],
)
def test_bad_input_is_one_line(digits, tmp_path, capsys, more, message):
    assert run(training(digits, tmp_path / "net", more)) == BAD_INPUT
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_killed_at_any_step_it_goes_on_and_is_charged_once():
    """kill -9 at random steps: the planned steps in their order, and one charge."""
    found = kill_many(KILLS)
    assert found.kills == KILLS
    assert found.counted == found.released == found.planned
    assert found.charged == 1
    assert found.stated
    assert found.lost <= KILLS * found.planned // 50


def test_a_stopped_training_must_be_gone_on_with_by_its_name(digits, tmp_path, capsys):
    (tmp_path / ".net.training").write_bytes(b"")
    assert run(training(digits, tmp_path / "net")) == BAD_INPUT
    assert "is a training that was stopped: go on with --resume" in capsys.readouterr().err


TEXTS = "--label kind --text question --classes person,place --shape 16 --records 60 --batch 20"


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("questions")
    write_tiny_bert(folder / "bert", layers=2)
    return write_questions(folder / "questions.csv")


def fine_tuning(questions, out, more=""):
    return (
        f"train --private {questions} {TEXTS} --model {questions.parent / 'bert'} --epsilon 8"
        f" --delta 1e-4 --relation add-remove --epochs 1 --optimiser adam --out {out} {more}"
    ).split()


def test_an_encoder_is_fine_tuned_on_a_column_of_texts(questions, tmp_path, capsys):
    out = tmp_path / "net"
    assert run(fine_tuning(questions, out, "--fast")) == 0
    assert "(declared; neighbours: add-remove" in capsys.readouterr().out
    assert verify(out).problems == ()
    assert run(f"predict {out} --queries {questions} --label kind --text question".split()) == 0
    assert "on 60 rows" in capsys.readouterr().out


def test_a_share_of_the_budget_learns_a_head_to_start_from(questions, tmp_path, capsys):
    out = tmp_path / "net"
    assert run(fine_tuning(questions, out, "--fast --head-share 0.5")) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("ε ≤ 8, δ ≤ 0.0001 (declared;")
    assert "head gradients" in text
    assert verify(out).problems == ()
    with Ledger.open(tmp_path / "ledger.db", create=True) as ledger:
        ledger.set_budget("q", epsilon=8.0, delta=1e-4, relation="add-remove")
    charged = f"--fast --head-share 0.5 --ledger {tmp_path / 'ledger.db'} --data-set q"
    assert run(fine_tuning(questions, tmp_path / "charged", charged)) == 0
    assert run(fine_tuning(questions, tmp_path / "again", charged)) != 0  # one budget, one release


def test_a_start_from_a_released_head_prints_both_guarantees(questions, tmp_path, capsys):
    from reticent.protect import NoisyGradientHead, save

    head = NoisyGradientHead(
        classes=["person", "place"], records=60, epsilon=2.0, delta=1e-4, relation="add-remove"
    ).fit(np.random.default_rng(0).normal(size=(60, 16)), ["person", "place"] * 30)
    save(head.released_, tmp_path / "head")
    start = f"--fast --start {tmp_path / 'head'}"
    assert run(fine_tuning(questions, tmp_path / "no", start)) == BAD_INPUT
    assert "--start-people must be said: same" in " ".join(capsys.readouterr().err.split())
    assert run(fine_tuning(questions, tmp_path / "net", f"{start} --start-people same")) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "start, of same people: ε ≤ 2, δ ≤ 0.0001 (declared" in text
    both = re.search(r"both together: ε ≤ ([\d.]+), δ ≤ 0.0002", text)
    assert both is not None
    assert 2 < float(both[1]) < 10  # by the accountants at the sum of both δ, less than the sum
    assert run(["verify", str(tmp_path / "net")]) == 0
    assert both[0] in " ".join(capsys.readouterr().out.split())
    other = f"{start} --start-people same --classes place,person"
    assert run(fine_tuning(questions, tmp_path / "other", other)) == BAD_INPUT
    assert "its classes are not those of the network" in " ".join(capsys.readouterr().err.split())


FRESH = """
import sys
from reticent.cli.main import run
sys.exit(max(run(command.split()) for command in sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_fresh_process_verifies_and_reads_texts(questions, tmp_path, capsys):
    out = tmp_path / "net"
    assert run(fine_tuning(questions, out)) == 0
    assert "(proven; neighbours: add-remove" in capsys.readouterr().out
    commands = (f"verify {out}", f"predict {out} --queries {questions} --text question")
    subprocess.run([sys.executable, "-c", FRESH, *commands], check=True)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--model ./nowhere", "a folder of transformers or timm, got 'nowhere', which is none"),
        ("--model mlp", "texts must be given to an encoder of texts, got the model 'mlp'"),
        ("--text nothing", "text must be a column of questions.csv, got 'nothing'"),
        ("--shape 4x4", "--shape must be a number of tokens"),
        ("--shape 65", "shape must be a number of tokens up to 64"),
        ("--encoder minilm", "--encoder must not be given beside --text"),
        ("--optimiser lion", "optimiser must be sgd or adam, got 'lion'"),
    ],
)
def test_texts_that_no_network_reads(questions, tmp_path, capsys, more, message):
    assert run(fine_tuning(questions, tmp_path / "net", more)) == BAD_INPUT
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.fixture(scope="module")
def colours(tmp_path_factory):
    """Images of 20 × 20 pixels; the class is whether red or green is lighter."""
    path = tmp_path_factory.mktemp("colours") / "images.npz"
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    images = rng.integers(0, 60, size=(40, 20, 20, 3), dtype=np.uint8)
    images[np.arange(40), :, :, labels] += 150
    np.savez(path, images=images, grey=images.mean(3, keepdims=True), label=labels.astype(str))
    return path


def colour_training(colours, out, more):
    return (
        f"train --private {colours} --label label --classes 0,1 --model conv --epsilon 50"
        f" --delta 1e-3 --relation add-remove --records 40 --batch 40 --epochs 1 --out {out}"
        f" --fast {more}"
    ).split()


def test_colour_images_are_read_as_the_table_holds_them(colours, tmp_path, capsys):
    assert run(colour_training(colours, tmp_path / "net", "--embedding images")) == 0
    assert load(tmp_path / "net").recipe.record_shape == (20, 20, 3)
    said = colour_training(colours, tmp_path / "said", "--embedding images --shape 20x20x3")
    assert run(said) == 0
    queries = f"predict {tmp_path / 'net'} --queries {colours} --label label --embedding images"
    assert run(queries.split()) == 0
    capsys.readouterr()


def test_the_other_layout_of_colour_images_is_refused(colours, tmp_path, capsys):
    wrong = colour_training(colours, tmp_path / "net", "--embedding images --shape 3x20x20")
    assert run(wrong) == BAD_INPUT
    error = capsys.readouterr().err
    assert "shape must be 20x20x3, as the table holds it, got '3x20x20'" in error
    assert [line for line in error.splitlines() if "warning" not in line] == [
        error.splitlines()[-1]
    ]
    assert list(tmp_path.iterdir()) == []


def test_one_channel_has_no_place_to_be_wrong_in(colours, tmp_path, capsys):
    grey = colour_training(colours, tmp_path / "net", "--embedding grey --shape 1x20x20")
    assert run(grey) == 0
    capsys.readouterr()


KILLED_BEFORE_ITS_FIRST_STATE = """
import os, signal, sys
from reticent.cli.main import run
from reticent.protect.training_progress import TrainingProgress
TrainingProgress._save = lambda self, planned: os.kill(os.getpid(), signal.SIGKILL)
run(sys.argv[1:])
"""


@pytest.mark.slow
def test_killed_between_charge_and_first_state_it_is_charged_once(digits, tmp_path, capsys):
    book, out = tmp_path / "ledger.db", tmp_path / "net"
    with Ledger.open(book, create=True) as ledger:
        ledger.set_budget("digits", epsilon=100.0, delta=1e-2, relation="add-remove")
    command = training(digits, out, f"--epochs 1 --ledger {book} --data-set digits")

    def charges():
        with Ledger.open(book) as ledger:
            return len(ledger.entries("digits"))

    killed = subprocess.run(
        [sys.executable, "-c", KILLED_BEFORE_ITS_FIRST_STATE, *command], check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert charges() == 1
    assert (tmp_path / ".net.charge").stat().st_mode & 0o777 == 0o600
    assert run(command) == 0
    assert "charged before" in capsys.readouterr().err
    assert charges() == 1
    assert not (tmp_path / ".net.charge").exists()
    assert run([*command, "--replace"]) == 0  # another training has its own charge
    assert charges() == 2
    capsys.readouterr()
