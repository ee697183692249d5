"""What pure ε and the places for noise must reach: bars on the committed results."""

import json
import math
import re
from pathlib import Path

import pytest

from tools import refresh_docs

ROOT = Path(__file__).parents[2]
FLAT = " ".join((ROOT / "docs/guide/pure.md").read_text(encoding="utf-8").split())
PAGE = (ROOT / "docs/guide/places.md").read_text(encoding="utf-8")


def tables(name):
    found = json.loads((ROOT / "results" / f"{name}.json").read_text(encoding="utf-8"))["tables"]
    return [
        [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]] for table in found
    ]


def accuracy(name, table, mechanism, epsilon):
    """Of five draws, at δ = 0."""
    (row,) = (
        row
        for row in tables(name)[table]
        if (row["mechanism"], row["ε"], row["δ"]) == (mechanism, epsilon, "0")
    )
    return float(row["accuracy"])


@pytest.mark.parametrize(
    ("name", "table", "mechanism", "epsilon", "least"),
    [
        ("pure-cifar10", 0, "matrix-lda, public layer", "1", 0.795),
        ("pure-cifar10", 1, "matrix-lda", "1", 0.822),
        ("pure-cifar10", 1, "matrix-lda, public layer", "1", 0.837),
        ("pure-cifar10", 1, "matrix-lda, public layer", "0.5", 0.825),
        ("pure-scattering", 0, "matrix-lda", "1", 0.938),
        ("pure-scattering", 0, "matrix-lda", "0.5", 0.922),
        ("pure-mnist", 0, "matrix-lda", "1", 0.860),
        ("pure-adult", 1, "matrix-lda", "1", 0.838),
    ],
)
def test_pure_epsilon_reaches_its_bar(name, table, mechanism, epsilon, least):
    assert accuracy(name, table, mechanism, epsilon) >= least


def test_the_bars_are_of_the_records_that_they_name():
    cifar10 = json.loads((ROOT / "results/pure-cifar10.json").read_text(encoding="utf-8"))
    adult = json.loads((ROOT / "results/pure-adult.json").read_text(encoding="utf-8"))
    titles = [table["title"] for table in (*cifar10["tables"], *adult["tables"])]
    wanted = ("cifar10: 10,000", "cifar10: 50,000", "adult: 32,561", "adult-log: 32,561")
    assert all(words in title for words, title in zip(wanted, titles, strict=True))
    assert {spec["draws"] for one in (cifar10, adult) for spec in one["specifications"]} == {5}


def test_the_bar_that_prepared_adult_misses_is_said_with_its_figure():
    """.838 was asked of Adult; as prepared it is missed, with logarithms of dollars it is not."""
    plain, logs = (accuracy("pure-adult", table, "matrix-lda", "1") for table in (0, 1))
    assert plain < 0.838 < logs
    said = re.search(r"at ε = 1 `matrix-lda` then has (\.\d+), without (\.\d+), below", FLAT)
    assert (f"{logs:.4f}"[1:], f"{plain:.4f}"[1:]) == said.groups()


def regrets(name):
    """Of each cell: what the choice of plan lost, and whether the range held the loss."""
    (rows,) = tables(name)
    return [float(row["regret"]) for row in rows], [row["in"] == "yes" for row in rows]


def test_plan_chooses_well_with_delta():
    lost, held = regrets("plan")
    assert sum(lost) / len(lost) <= 0.01
    assert max(lost) <= 0.03
    assert sum(held) >= 0.8 * len(held)
    uneven = {row["data"] for row in tables("plan")[0] if row["data"].endswith("-80-15-5")}
    assert len(uneven) >= 3


def test_plan_chooses_well_without_delta_and_says_where_its_worst_cell_is_too_bad():
    """The rule that ships is within 3 points; judged without its own data a cell loses 4.1."""
    lost, held = regrets("pure-plan")
    assert sum(lost) / len(lost) <= 0.01
    assert sum(held) >= 0.8 * len(held)
    assert len({row["data"] for row in tables("pure-plan")[0]}) >= 6
    assert max(lost) > 0.03
    document = json.loads((ROOT / "results/pure-plan.json").read_text(encoding="utf-8"))
    (shipped,) = (
        float(re.search(r"and (\.?\d[\d.]*) at worst", note)[1])
        for note in document["tables"][0]["notes"]
        if "which plan holds" in note
    )
    assert shipped <= 0.03
    worst, best = (math.floor(1e3 * one + 0.5 + 1e-9) / 10 for one in (max(lost), shipped))
    said = f"on average and {worst} at worst ({best} by the rule"
    assert said in FLAT


def place(name, protection):
    """The accuracy of a protection among all places on one data set."""
    (row,) = (row for row in tables(f"places-{name}")[0] if row["protection"] == protection)
    return float(row["accuracy"].split()[0])


def test_noise_in_the_loss_reaches_its_bars_on_adult():
    assert place("adult", "objective") >= 0.837
    assert place("adult", "functional") >= 0.838
    assert place("adult-log", "functional") >= 0.838


def test_the_page_of_places_is_generated_from_the_tables():
    assert refresh_docs.filled(PAGE, ROOT) == PAGE
    cells = {line.split(" | ")[0][2:]: line for line in PAGE.splitlines() if line.startswith("| ")}
    for name in ("adult", "adult-log", "mnist", "cifar10"):
        shown = f"{place(name, 'functional'):.3f}†"[1:]
        assert shown in cells[name]


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_on_images_gradients_are_the_best_place_and_noise_on_each_record_leaves_a_guess(name):
    rows = tables(f"places-{name}")[0]
    assert {row["balanced"] for row in rows} - {"–"}
    best = next(
        row for row in rows if row["grade"] == "proven" and ", δ = 0" not in row["protection"]
    )
    assert best["protection"] == "noisy-gradient"
    assert abs(place(name, "input") - 0.1) < 0.05
