"""What the guide of ``train`` says that networks reach is what the results hold."""

import json
from pathlib import Path

ROOT = Path(__file__).parent.parent
ALLOWED = 0.005
EARLIER = {"3": 0.9868, "1": 0.9827}
"""Of the linear head when the aim was set; its results are not kept."""


def accuracies(study):
    """By ε, of the one table of a study."""
    (table,) = json.loads((ROOT / "results" / f"{study}.json").read_text())["tables"]
    place, epsilon = table["columns"].index("accuracy"), table["columns"].index("ε")
    return {row[epsilon]: float(row[place]) for row in table["rows"]}


def short(value):
    return f"{value:.4f}".removeprefix("0")


def page(path):
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())


def test_a_network_on_wavelets_meets_the_aim_by_a_hair_and_misses_it_against_the_head_of_now():
    network, head = accuracies("private-networks-mnist-scattering"), accuracies("scattering-mnist")
    spare = {one: network[one] - (EARLIER[one] - ALLOWED) for one in ("3", "1")}
    missed = {one: head[one] - ALLOWED - network[one] for one in ("3", "1")}
    assert min(spare.values()) > 0
    assert min(missed.values()) > 0
    text = page("docs/guide/train.md")
    for line in (
        f"right for {short(network['3'])} of the test images at ε = 3 and {short(network['1'])} at"
        f" ε = 1, the head of `scattering-head` for {short(head['3'])} and {short(head['1'])}",
        f"({short(EARLIER['3'])} and {short(EARLIER['1'])}) that is met, at ε = 1 by"
        f" {short(spare['1'])}",
        f"it is missed, by {short(missed['3'])} at ε = 3 and {short(missed['1'])} at ε = 1",
    ):
        assert line in text


def test_what_adapters_on_sst2_gain_is_what_was_measured():
    (table,) = json.loads((ROOT / "results" / "warm-start-sst2.json").read_text())["tables"]
    rows = [row for row in table["rows"] if row[:2] == ["proven", "adapters from that head"]]
    assert [(row[2], row[6]) for row in rows] == [("1", "-.004"), ("3", "-.004"), ("8", ".003")]
    assert all(float(row[7]) < 0 < float(row[8]) for row in rows)
    text = page("results/README.md")
    assert ".004 below the head alone at ε = 1 and 3 and .003 above it at 8" in text
