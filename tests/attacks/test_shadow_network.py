"""Shokri's and ALM's networks on a target that remembers, against loops, and beside LiRA."""

import numpy as np
import pytest

from reticent.attacks.lira import Lira
from reticent.attacks.records import Records
from reticent.attacks.shadow_models import train_shadows
from reticent.attacks.shadow_network import (
    AlmAttack,
    NetworkRecipe,
    ShokriAttack,
    balanced,
    shadow_rows,
    trained_network,
    with_label,
)
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import Access, FunctionTarget, LabelTarget
from reticent.audit import auc, leakage
from reticent.validation import InputError
from tests.attacks.overfit_digits import HEAD, INSIDE, SURE, fitted, overfit

QUICK = NetworkRecipe(passes=10)
DEEP = NetworkRecipe(hidden=(64,) * 5, learning_rate=1e-3, batch=32, passes=10)


def attacks():
    seen = overfit()
    return {
        "shokri": ShokriAttack(shadows=seen.shadows, recipe=QUICK),
        "alm": AlmAttack(shadows=seen.one_shadow, recipe=DEEP),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shokri", "alm"])
def test_a_target_that_remembers_gives_its_members_away(name):
    seen, attack = overfit(), attacks()[name]
    found = attack.scores(seen.target, seen.records)
    assert auc(*seen.split(found.values), confidence=SURE).low > 0.5
    assert auc(*seen.split(-found.values), confidence=SURE).high < 0.5
    assert leakage(*seen.split(found.values), threshold=found.decides_at, confidence=SURE).low > 0
    assert auc(*seen.shuffled(found.values), confidence=SURE).contains(0.5)


@pytest.mark.parametrize("name", ["shokri", "alm"])
def test_a_target_that_saw_none_of_the_records_tells_nothing(name):
    seen, attack = overfit(), attacks()[name]
    values = attack.scores(fitted(seen.pool), seen.records).values
    assert auc(*seen.split(values), confidence=SURE).contains(0.5)


@pytest.mark.slow
def test_lira_finds_more_than_shadow_networks():
    """Over three targets: in AUC, and in leakage where each draws its own line."""
    seen = overfit()
    around = train_shadows(HEAD, seen.records, count=24, seed=1)
    pairs = []
    for seed in range(3):
        target = fitted(seen.records.take(np.arange(INSIDE)), seed)
        pairs.append(
            [
                seen.split(attack.scores(target, seen.records).values)
                for attack in (Lira(shadows=around), attacks()["shokri"])
            ]
        )
    areas = np.mean([[auc(*side).value for side in pair] for pair in pairs], axis=0)
    leaks = np.mean([[leakage(*s, threshold=0.0).value for s in pair] for pair in pairs], axis=0)
    assert areas[0] > areas[1] + 0.03
    assert leaks[0] > leaks[1]


def test_shokris_scores_equal_one_network_after_another():
    """Halves as shadows: all rows are used, shadow after shadow."""
    seen = overfit()
    records = seen.records.take(np.arange(0, 800, 40))
    found = ShokriAttack(shadows=seen.shadows, recipe=QUICK, seed=5).scores(seen.target, records)
    for record, value in zip(range(3), found.values, strict=False):
        label = records.labels[record]
        rows, flags = [], []
        for model, inside in zip(seen.shadows.models, seen.shadows.inside, strict=True):
            answers = model.probabilities(seen.pool.inputs)
            for i in range(len(seen.pool)):
                if seen.pool.labels[i] == label:
                    rows.append(answers[i])
                    flags.append(inside[i])
        network = trained_network(np.array(rows), np.array(flags), recipe=QUICK, seed=5)
        answer = seen.target.probabilities(records.inputs[record : record + 1])
        assert value == pytest.approx(network.log_odds(answer)[0])


def test_alms_scores_equal_a_network_on_rows_written_out():
    seen = overfit()
    records = seen.records.take(np.arange(5))
    found = AlmAttack(shadows=seen.one_shadow, rows=800, recipe=QUICK).scores(seen.target, records)
    (model,), (inside,) = seen.one_shadow.models, seen.one_shadow.inside

    def written(target, pool):
        rows = []
        for answer, label in zip(target.probabilities(pool.inputs), pool.labels, strict=True):
            rows.append([*answer, *(1.0 if other == label else 0.0 for other in range(10))])
        return np.array(rows)

    network = trained_network(written(model, seen.pool), inside, recipe=QUICK, seed=0)
    assert found.values == pytest.approx(network.log_odds(written(seen.target, records)))


def test_each_shadow_gives_as_many_rows_in_as_out():
    seen = overfit()
    uneven = train_shadows(HEAD, seen.pool, share=0.1, count=2, seed=3)
    rows = shadow_rows(uneven, seed=0)
    assert rows.inside.tolist().count(True) == rows.inside.tolist().count(False) == 160
    assert rows.probabilities[:160] == pytest.approx(
        uneven.models[0].probabilities(seen.pool.inputs[_chosen(uneven, 0)])
    )
    few = shadow_rows(seen.shadows, seed=0, at_most=101)
    assert few.inside.sum() == (~few.inside).sum() == 50
    assert len(shadow_rows(seen.shadows, seed=0, at_most=10**6).inside) == 3200
    others = shadow_rows(uneven, seed=1)
    assert not np.array_equal(rows.probabilities, others.probabilities)


def _chosen(shadows, which):
    """The records of the pool whose answers stand in the rows, found by their answers."""
    answers = shadows.models[which].probabilities(shadows.pool.inputs)
    rows = {tuple(row) for row in shadow_rows(shadows, seed=0).probabilities[:160]}
    return [i for i, answer in enumerate(answers) if tuple(answer) in rows]


def test_balanced_takes_the_smaller_side_whole():
    inside = np.array([True] * 3 + [False] * 9)
    chosen = balanced(inside, np.random.default_rng(0))
    assert chosen[:3].tolist() == [0, 1, 2]
    assert len(chosen) == 6
    assert len(balanced(inside, np.random.default_rng(0), each=2)) == 4


def test_scores_say_what_was_known_and_done():
    seen = overfit()
    shokri = attacks()["shokri"].scores(seen.target, seen.records)
    assert shokri.attack == "shadow networks"
    assert shokri.threat.knows == ("shadow models", "the labels of the records")
    assert shokri.notes == ("4 shadows, 3,200 rows",)
    assert shokri.decides_at == 0.0
    hidden = attacks()["alm"].scores(LabelTarget(seen.target), seen.records)
    assert hidden.threat.access is Access.LABELS
    assert hidden.notes == ("shadows: 1, rows: 800",)
    assert AlmAttack(shadows=seen.one_shadow).rows == 2000


def test_a_class_without_both_kinds_of_rows_is_judged_by_all():
    """Class 2 is always inside: its records get the network of all classes."""
    answers = {0: [0.8, 0.1, 0.1], 1: [0.2, 0.7, 0.1], 2: [0.1, 0.1, 0.8]}
    target = FunctionTarget(lambda x: [answers[int(row[0])] for row in x], classes=[0, 1, 2])
    labels = np.repeat([0, 1, 2], [30, 30, 6])
    pool = Records(np.column_stack([labels, np.arange(66)]), labels)
    inside = (np.arange(66) % 2 == 0) | (labels == 2)
    shadows = Shadows(pool=pool, inside=inside[None], models=[target])
    found = ShokriAttack(shadows=shadows, recipe=QUICK).scores(target, pool)
    rows = shadow_rows(shadows, seed=0)
    common = trained_network(rows.probabilities, rows.inside, recipe=QUICK, seed=0)
    assert found.values[-1] == pytest.approx(common.log_odds(np.array([answers[2]]))[0])
    assert found.values[0] != pytest.approx(common.log_odds(np.array([answers[0]]))[0])
    assert found.notes[1] == "classes without rows of both kinds, judged by all: 2"


@pytest.mark.parametrize("attack", [ShokriAttack, AlmAttack])
def test_what_is_refused(attack):
    seen = overfit()
    two = FunctionTarget(lambda x: np.full((len(x), 2), 0.5), classes=[0, 1])
    with pytest.raises(InputError, match="target must have the shadows' 10 classes in the same"):
        attack(shadows=seen.shadows).scores(two, seen.records)
    everything = np.ones((1, len(seen.pool)), dtype=bool)
    known = Shadows(pool=seen.pool, inside=everything, models=seen.shadows.models[:1])
    with pytest.raises(InputError, match="shadows must each have members and non-members, got"):
        attack(shadows=known).scores(seen.target, seen.records)
    with pytest.raises(InputError, match="label of row 1 must be one of the classes"):
        attack(shadows=seen.shadows).scores(seen.target, Records(np.zeros((2, 64)), [0, 99]))
    with pytest.raises(InputError, match="seed must be >= 0, got -1"):
        attack(shadows=seen.shadows, seed=-1).scores(seen.target, seen.records)


def test_fewer_than_two_rows_are_refused():
    with pytest.raises(InputError, match="rows must be >= 2, got 1"):
        AlmAttack(shadows=overfit().shadows, rows=1)


def test_labels_are_written_behind_the_probabilities():
    found = with_label(np.array([[0.2, 0.3, 0.5]]), np.array([2]))
    assert found.tolist() == [[0.2, 0.3, 0.5, 0.0, 0.0, 1.0]]
