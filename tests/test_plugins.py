"""A recipe, a mechanism, an attack and a study from outside the package: the examples of
CONTRIBUTING.md, installed as a package with entry points, through the real commands."""

import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.attacks.registry import ATTACKS
from reticent.audit.end_to_end.pairs import audit_pair, combinations
from reticent.mechanisms.registry import MECHANISMS
from reticent.protect import RECIPES
from reticent.protect.registry import classifiers
from reticent.run.every_release import every_release
from reticent.studies import STUDIES
from tools import console

ROOT = Path(__file__).resolve().parent.parent
CLASSES = "0,1,2"
ENTRY_POINTS = """
[reticent.recipes]
largest-class = plugged:LargestClass
[reticent.mechanisms]
careful-laplace = plugged:CarefulLaplace
[reticent.attacks]
second-guess = plugged:SECOND_GUESS
[reticent.studies]
mine counts = plugged:counts
"""


def examples():
    """The Python blocks of the page, with registrations left to entry points."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = page[page.index("## How to add a recipe") : page.index("## Examples in README")]
    blocks = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    code = "\n".join(block for block in blocks if ">>>" not in block)
    code = re.sub(r"^ATTACKS\.register\(\n    \"second-guess\", (.*)\n\)$", r"SECOND_GUESS = \1",
                  code, flags=re.MULTILINE)  # fmt: skip
    return re.sub(r"^\w+\.register\(.*\)$", "", code, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder on the path that holds the plug-in as pip would install it, and a small table."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "plugged.py").write_text(examples(), encoding="utf-8")
    about = folder / "plugged-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    X, y = load_digits(n_class=3, return_X_y=True)
    rows = np.column_stack([X[:240, 20:28] / 16, y[:240]])
    header = ",".join([*(f"x{i}" for i in range(8)), "digit"])
    for name, part in (("in.csv", rows[:120]), ("out.csv", rows[120:])):
        lines = [",".join([*(f"{v:g}" for v in row[:-1]), str(int(row[-1]))]) for row in part]
        (folder / name).write_text("\n".join([header, *lines]) + "\n")
    return folder


def reticent(folder, arguments):
    """The command in another process, where the plug-in is installed."""
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    texts = [folder / "printed.txt", folder / "errors.txt"]
    for text in texts:
        text.unlink(missing_ok=True)
    code = console.forked(
        arguments.split(), folder, output=texts[0], errors=texts[1], PYTHONPATH=path, COLUMNS="200"
    )
    return code, *(text.read_text(encoding="utf-8") for text in texts)


def helped(folder, command):
    """The help of a command without the breaks of its lines."""
    return "".join(reticent(folder, f"{command} --help")[1].split())


PROTECT = (
    f"protect --private in.csv --label digit --classes {CLASSES} --records 120 --epsilon 2"
    " --relation add-remove"
)


@pytest.mark.slow
def test_a_recipe_is_in_the_help_released_verified_audited_and_on_the_card(installed):
    assert "largest-class" in helped(installed, "protect")
    code, text, errors = reticent(
        installed, f"{PROTECT} --delta 1e-5 --learner largest-class --out released"
    )
    assert (code, "declared" in text, "plug-in" in text) == (0, True, True), errors
    code, text, _ = reticent(installed, "verify released")
    assert (code, text.startswith("holds: ε ≤ 2")) == (0, True)
    code, text, errors = reticent(
        installed, "audit released --private in.csv --label digit --runs 20 --json"
    )
    assert (code, json.loads(text)["audit"]["verdict"]) == (0, "not refuted"), errors
    code, text, errors = reticent(installed, "card --released released")
    assert (code, "largest-class" in text) == (0, True), errors


@pytest.mark.slow
def test_a_mechanism_is_in_the_help_calibrated_released_verified_and_on_the_card(installed):
    assert "careful-laplace" in helped(installed, "protect")
    code, text, errors = reticent(installed, "calibrate --epsilon 1 --delta 0 --l1 1 --l2 1 --json")
    rows = {row["mechanism"]: row["scale"] for row in json.loads(text)["mechanisms"]}
    assert code == 0, errors
    assert rows["careful-laplace"] == pytest.approx(1.1 * rows["laplace"])
    code, text, errors = reticent(
        installed,
        f"{PROTECT} --pure --learner class-means --mechanism careful-laplace --out noisy",
    )
    assert (code, "declared" in text) == (0, True), errors
    assert reticent(installed, "verify noisy")[0] == 0
    code, text, errors = reticent(
        installed, "audit noisy --private in.csv --label digit --runs 20 --json"
    )
    assert (code, json.loads(text)["audit"]["verdict"]) == (0, "not refuted"), errors
    assert "careful-laplace" in reticent(installed, "card --released noisy")[1]


@pytest.mark.slow
def test_an_attack_is_in_the_help_measured_and_on_the_card(installed):
    assert "second-guess" in helped(installed, "attack")
    code, _, errors = reticent(
        installed, f"{PROTECT} --delta 1e-5 --learner class-means --out attacked"
    )
    assert code == 0, errors
    code, text, errors = reticent(
        installed,
        "attack --target attacked --members in.csv --nonmembers out.csv --label digit"
        " --attacks second-guess --json",
    )
    assert code == 0, errors
    (found,) = json.loads(text)["attacks"]
    assert (found["name"], found["black_box"]) == ("second-guess", True)
    (installed / "attack.json").write_text(text)
    code, text, errors = reticent(installed, "card --released attacked --attack attack.json")
    assert (code, "second-guess" in text) == (0, True), errors


@pytest.mark.slow
def test_a_recipe_and_an_attack_are_on_the_page_of_a_run(installed):
    code, _, errors = reticent(
        installed,
        f"run --private in.csv --test out.csv --label digit --classes {CLASSES} --records 120"
        " --bound 4 --epsilon 2 --delta 1e-5 --relation add-remove --learner largest-class"
        " --epsilons 2 --draws 2 --shadows 10 --out whole",
    )
    assert code == 0, errors
    page = (installed / "whole" / "report.html").read_text(encoding="utf-8")
    rows = "".join(re.findall(r"<tr.*?</tr>", page, flags=re.DOTALL))
    assert "largest-class" in rows
    assert "second-guess" in rows
    assert "a plug-in" in page


@pytest.mark.slow
def test_a_study_is_listed_and_run(installed):
    assert "counts" in reticent(installed, "reproduce")[1]
    code, text, errors = reticent(installed, "reproduce mine counts --json")
    assert (code, json.loads(text)["items"][0]["rows"]) == (0, [[str(len(RECIPES) + 1)]]), errors


@pytest.fixture
def registered(tmp_path, monkeypatch):
    """The same things registered in this process, without entry points."""
    (tmp_path / "plugged.py").write_text(examples(), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    import plugged

    added = (
        (RECIPES, "largest-class", plugged.LargestClass),
        (MECHANISMS, "careful-laplace", plugged.CarefulLaplace),
        (ATTACKS, "second-guess", plugged.SECOND_GUESS),
        (STUDIES, "mine counts", plugged.counts),
    )
    for registry, name, thing in added:
        registry.register(name, thing)
    yield plugged
    for registry, name, _ in added:
        registry.unregister(name)
    sys.modules.pop("plugged")


@pytest.mark.slow
def test_the_end_to_end_neighbour_test_goes_through_a_recipe_of_the_registry(registered):
    releases = every_release()
    assert "largest-class" in classifiers()
    mine = {name: releases[name] for name in ("largest-class", "protect largest-class (command)")}
    pairs = [one for one in combinations(mine) if one.format == "csv"]
    assert pairs
    for number, one in enumerate(pairs):
        assert audit_pair(mine[one.release], one, number).outcome.holds


@pytest.mark.slow
def test_a_recipe_that_passes_by_its_noise_is_found_by_it(registered):
    class Leaking(registered.LargestClass):
        name = "leaking"

        def learn(self, rows, labels, plan):
            tensors = super().learn(rows, labels, plan)
            return tensors | {"weights": tensors["weights"] + len(rows)}

    RECIPES.register("leaking", Leaking)
    try:
        mine = {"leaking": every_release()["leaking"]}
        pairs = [one for one in combinations(mine) if one.format == "csv"]
        assert not all(
            audit_pair(mine["leaking"], one, number).outcome.holds
            for number, one in enumerate(pairs)
        )
    finally:
        RECIPES.unregister("leaking")


def test_a_name_that_is_taken_is_refused(registered):
    with pytest.raises(ValueError, match="recipe must have a name of its own, got 'weights' again"):
        RECIPES.register("weights", registered.LargestClass)
