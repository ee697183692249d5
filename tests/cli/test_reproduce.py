"""``reticent reproduce`` with items that train: options, files, and a light start."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from reticent.cli.main import BAD_INPUT, run
from reticent.studies import alm_layers, dpcl_figures
from reticent.studies.quick import quick_papers

PAPERS = ("alm", "lu", "slides", "dpcl")
TINY = replace(
    alm_layers.SPECS["digits"], depths=(1, 2), width=4, steps=3, pairs=2, draws=2, epsilons=(5.0,)
)


@pytest.fixture
def command(capsys, monkeypatch):
    monkeypatch.delenv("RETICENT_DATA", raising=False)

    def call(*arguments):
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(alm_layers, "SPECS", {"digits": TINY})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("alm mnist", "--data must name the folder with mnist, got none"),
        ("alm fig1 --on cifar10", "--data must name the folder with cifar10, got none"),
        (
            "alm fig1 --on imagenet",
            "--on must be one of digits, cifar10, cifar10-simclr, cifar100, stl10, got",
        ),
        ("alm layers --jobs 0", "jobs must be >= 1, got 0"),
        ("alm noise --on digits", "--on goes with an item that trains"),
        ("alm --out x.json", "--out goes with an item that trains"),
        ("alm noise --figures drawn", "--figures goes with an item that trains"),
        ("alm layers --figures drawn", "--figures goes with dpcl figures, got alm layers"),
        (
            "alm fig9",
            "item of alm must be one of noise, sampler, fig1, fig2, grades, mnist, table1, layers,"
            " attack, got 'fig9'",
        ),
    ],
)
def test_bad_input_is_one_line(command, line, said):
    code, out, err = command("reproduce", *line.split())
    assert (code, out) == (BAD_INPUT, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_folder_without_the_files_is_said(command, tmp_path):
    code, _, err = command("reproduce", "alm", "mnist", "--data", tmp_path)
    assert code == BAD_INPUT
    assert "mnist/train-images-idx3-ubyte" in err


def test_without_an_item_only_exact_ones_are_run(command):
    code, out, _ = command("reproduce", "alm", "--json")
    assert code == 0
    assert len(json.loads(out)["items"]) == 2


def test_the_list_says_what_is_trained_on_what(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    out = command("reproduce")[1]
    assert "digits, cifar10" in out
    assert out.index("Every item of the papers") < out.index("What can be reproduced")
    assert "cannot be: data missing" in out
    assert "The stated limitation" in " ".join(out.split())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("alm --quick --out kept.json", "--quick must stand without --out, got kept.json"),
        ("alm noise --quick", "--quick must stand without an item, got noise"),
        ("beyond --quick", "paper must be one of alm, lu, slides, dpcl with --quick, got 'beyond'"),
    ],
)
def test_quick_runs_items_of_its_own_and_keeps_nothing(command, line, said):
    code, _, err = command("reproduce", *line.split())
    assert code == BAD_INPUT
    assert said in " ".join(err.split())


def test_every_paper_has_a_quick_item():
    assert quick_papers() == PAPERS


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_quick_ends_with_a_verdict(command, paper):
    code, out, _ = command("reproduce", paper, "--quick", "--json")
    rows = json.loads(out)["quick"]
    assert code == 0
    assert [row["paper"] for row in rows] == [paper, paper]
    assert (rows[0]["kind"], rows[0]["verdict"]) == ("exact", "reproduced")
    assert all(row["item"].startswith("quick: ") for row in rows)
    assert {row["verdict"] for row in rows} <= {"reproduced", "not reproduced"}
    assert [row["file"] for row in rows] == ["–", "–"]


@pytest.mark.slow
def test_the_result_is_written_whole_and_without_paths(command, tiny, tmp_path):
    target = tmp_path / "layers.json"
    code, out, _ = command("reproduce", "alm", "layers", "--out", target, "--data", tmp_path)
    assert code == 0
    assert "graded published" in " ".join(out.split())
    assert [path.name for path in tmp_path.iterdir()] == ["layers.json"]
    text = target.read_text(encoding="utf-8")
    kept = json.loads(text)
    assert str(tmp_path) not in text
    assert kept["command"] == "reticent reproduce alm layers --on digits"
    assert kept["specifications"][0]["seed"] == TINY.seed
    assert len(kept["tables"][0]["rows"]) == 3


@pytest.mark.slow
def test_a_stopped_study_goes_on_where_it_stopped(command, tiny, tmp_path, monkeypatch):
    target, depths = tmp_path / "layers.json", []
    real = alm_layers._cell

    def stopping(spec, data, depth, run):
        depths.append(depth)
        if len(depths) == 2:
            raise KeyboardInterrupt
        return real(spec, data, depth, run)

    monkeypatch.setattr(alm_layers, "_cell", stopping)
    assert command("reproduce", "alm", "layers", "--out", target)[0] == 130
    assert [path.name for path in tmp_path.iterdir()] == ["layers.json.part"]
    assert command("reproduce", "alm", "layers", "--out", target)[0] == 0
    assert depths == [1, 2, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["layers.json"]


@pytest.mark.slow
def test_json_is_one_document(command, tiny):
    code, out, err = command("reproduce", "alm", "layers", "--json")
    assert (code, err) == (0, "")
    (table,) = json.loads(out)["items"]
    assert table["columns"][:3] == ["layers", "noisy", "weights"]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["reproduce"], ["reproduce", "alm", "noise"]])
def test_lists_and_exact_items_start_without_torch_and_scikit_learn(arguments):
    program = (
        "import sys; from reticent.cli.main import run; "
        f"code = run({arguments!r}); "
        "assert not {'torch', 'sklearn', 'numba'} & set(sys.modules); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.slow
def test_figures_of_an_item_are_drawn_of_its_tables(command, monkeypatch, tmp_path):
    digits = dpcl_figures.SPECS["digits"]
    short = replace(
        digits,
        training=replace(digits.training, steps=2, marks=(0, 2), batch=16),
        records=60,
        public=20,
        labelled=60,
        queries=40,
        losses=("SimCLR",),
        ways=("none", "published"),
        seeds=1,
    )
    monkeypatch.setattr(dpcl_figures, "SPECS", {"digits": short})
    out, figures = tmp_path / "kept.json", tmp_path / "deep" / "figures"
    code, said, _ = command(
        *("reproduce", "dpcl", "figures", "--on", "digits"), "--out", out, "--figures", figures
    )
    assert code == 0
    assert said.count("written: ") == 2
    names = [f"dpcl-digits-fig-{number}.svg" for number in (1, 2, 3)]
    assert sorted(path.name for path in figures.iterdir()) == names
    drawn = dpcl_figures.drawn(json.loads(out.read_text(encoding="utf-8")))
    assert {name: (figures / name).read_text(encoding="utf-8") for name in names} == drawn
