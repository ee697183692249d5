"""What Table 5's leakage depends on: a small run, and the sentence from made figures."""

import dataclasses

import pytest

from reticent.attacks.shadow_network import NetworkRecipe
from reticent.studies import STUDIES
from reticent.studies.lu import leakage
from reticent.studies.lu.tables import TABLE_5
from reticent.studies.lu.victims import LuVictim
from reticent.studies.trained import Run

TINY = leakage.Varied(on="digits", members=60, shadows=2, passes=6, network=NetworkRecipe(passes=3))


def made(training, test, **found):
    """Two seeds with these figures; leakage is .8 where nothing else is said."""
    figures = dict.fromkeys(leakage.ATTACKS, 0.8) | {
        leakage.ATTACKS[int(name[1:])]: value for name, value in found.items()
    }
    return [{"training": training, "test": test, **figures}] * 2


def test_rows_vary_one_thing_each():
    base, *others = leakage.SPECS["location"].data
    assert base.own == LuVictim()
    assert (base.members, base.passes, base.shadows) == (1_200, 100, 10)
    assert len({one.name for one in (base, *others)}) == len(others) + 1
    for one in others:
        plain = dataclasses.replace(one, name=base.name)
        changed = [
            *(f.name for f in dataclasses.fields(LuVictim)
              if getattr(plain.own, f.name) != getattr(base.own, f.name)),
            *(["passes"] if plain.passes != base.passes else []),
        ]  # fmt: skip
        assert len(changed) == 1, one.name
    assert STUDIES["lu leakage"].on == tuple(leakage.SPECS)


def test_victims_are_varied():
    own = dataclasses.replace(TINY, own=LuVictim(penalty=0.5, activation="relu", batch=20))
    victim = own.victim(2.0)
    assert (victim.penalty, victim.activation, victim.batch) == (0.5, "relu", 20)
    assert (victim.alpha, victim.passes) == (2.0, 6)


def test_a_small_run_has_a_row_for_each_variant():
    strong = dataclasses.replace(TINY, name="strong", own=LuVictim(penalty=30.0))
    spec = leakage.Leakage(data=(TINY, strong), seeds=2)
    (table,) = leakage.study(spec, Run()).tables
    assert [row[0] for row in table.rows] == ["Table 4", "strong"]
    assert len(table.columns) == 1 + 3 + 2
    training, strong_training = (float(row[1].split()[0]) for row in table.rows)
    assert strong_training < training  # the penalty reached the network
    assert not any("printed" in note for note in table.notes)


def test_printed_rows_come_first_on_location():
    spec = dataclasses.replace(leakage.SPECS["location"], seeds=2)
    table = leakage._table(spec, {"Table 4": made(1.0, 0.61), "weak": made(0.9, 0.65, _1=0.33)})
    assert table.rows[0][:4] == ("printed, averaged loss", "1.0000", ".6068", ".3932")
    assert table.rows[1][1:5] == (".9916", ".6484", ".3432", ".3600")


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"a": made(1.0, 0.61)}, "together: nowhere; the leakage alone: nowhere."),
        ({"a": made(1.0, 0.4, _1=0.4)}, f"nowhere; the leakage alone: a ({leakage.ATTACKS[1]})."),
        ({"a": made(0.99, 0.65, _1=0.33)}, f"together: a ({leakage.ATTACKS[1]}); the leakage"),
        ({"a": made(0.99, 0.71, _1=0.33)}, "together: nowhere; the leakage alone: a"),
    ],
)
def test_what_is_said_of_made_figures(cells, words):
    sentence = leakage.compared_with(cells, TABLE_5["Location"])
    assert words in sentence, sentence
