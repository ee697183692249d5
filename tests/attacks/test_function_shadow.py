"""Shadows that the target's owner trains, and a line where they are another kind of model."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from reticent.attacks import Records
from reticent.attacks.function_shadow import FunctionShadow
from reticent.attacks.targets import FunctionTarget
from reticent.audit.attack_plan import AttackPlan
from reticent.audit.attack_run import attack_model
from reticent.cli.main import run
from reticent.randomness import seeded
from reticent.validation import InputError


def rows(size, name):
    """Labels that are noise in part: a forest remembers them, and a small network does not."""
    rng = seeded("forest", name)
    X = rng.normal(size=(size, 6))
    return X, ((X[:, 0] > 0) ^ (rng.random(size) < 0.3)).astype(int)


def forest(X, y, seed):
    return RandomForestClassifier(n_estimators=20, random_state=seed).fit(X, y)


MEMBERS, OTHERS = rows(150, "in"), rows(150, "out")
MODEL = forest(*MEMBERS, 0)
TARGET = FunctionTarget(MODEL.predict_proba, classes=[0, 1])


def attacked(shadow_model):
    plan = AttackPlan(attacks=("lira-online",), shadow_model=shadow_model, shadow_count=16)
    return attack_model(TARGET, Records(*MEMBERS), Records(*OTHERS), plan=plan)


@pytest.mark.slow
def test_shadows_of_the_targets_kind_find_more():
    """A function tells nothing of how it was trained: without help its shadows are networks."""
    guessed, alike = attacked(None), attacked(forest)
    assert "not trained as the target was" in " ".join(guessed.notes)
    assert "not trained as the target was" not in " ".join(alike.notes)
    found = [one.reports["lira-online"].auc.value for one in (guessed, alike)]
    assert found[1] > found[0] + 0.02
    assert found[1] > 0.85


def test_whatever_a_training_returns_answers_for_the_targets_classes():
    X, y = rows(60, "few")
    for trained in (
        forest,
        lambda X, y, seed: forest(X, y, seed).predict_proba,
        lambda X, y, seed: forest(X[y == 1], y[y == 1], seed),  # never saw a 0
    ):
        shadow = FunctionShadow(trained, ["0", "1"], random_state=3).fit(X, y.astype(str))
        assert shadow.predict_proba(X).shape == (60, 2)
        assert set(shadow.predict(X)) <= {"0", "1"}
    with pytest.raises(InputError, match="must be trained to a fitted model"):
        FunctionShadow(lambda X, y, seed: None, ["0", "1"]).fit(X, y)
    with pytest.raises(InputError, match="must know the classes of the target"):
        FunctionShadow(forest, ["a", "b"]).fit(X, y).logits(X)


@pytest.mark.slow
def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "theirs.py").write_text(
        "import numpy as np\n"
        "from sklearn.ensemble import RandomForestClassifier\n"
        "def train(X, y, seed):\n"
        "    return RandomForestClassifier(n_estimators=5, random_state=seed).fit(X, y)\n"
        "file = np.load('in.npz')\n"
        "model = train(file['x'], file['label'], 0).predict_proba\n"
    )
    np.savez("in.npz", x=MEMBERS[0], label=MEMBERS[1])
    np.savez("out.npz", x=OTHERS[0], label=OTHERS[1])
    line = (
        "attack --target theirs:model --members in.npz --nonmembers out.npz --classes 0,1"
        " --attacks lira-online --shadows 4 --jobs 1"
    )
    assert run(line.split()) == 0
    assert "note: shadow models are small networks (mlp)" in capsys.readouterr().out
    assert run([*line.split(), "--shadow-model", "theirs:train"]) == 0
    assert "shadow models are" not in capsys.readouterr().out
    assert run([*line.split(), "--shadow-model", "theirs:nothing"]) == 2
    assert run([*line.split(), "--shadow-model", "theirs:model"]) == 2
