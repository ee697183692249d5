"""Attacks by name: what is possible, what is left out and why, and what all of them show."""

import dataclasses

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from reticent.attacks.context import NETWORK_SHADOWS
from reticent.attacks.records import Records
from reticent.attacks.registry import ATTACKS
from reticent.attacks.shadow_models import ShadowPlan, shadow_head, shadows_like, train_shadows
from reticent.attacks.targets import (
    AnsweredTarget,
    FunctionTarget,
    LabelTarget,
    ModelTarget,
    RecordedTarget,
    RoundedTarget,
    TopTarget,
)
from reticent.audit.attack_plan import AttackPlan, View
from reticent.audit.attack_run import attack_model, corrected
from reticent.protect import ClassMeansHead, Release, release_weights
from reticent.training import MLPHead, SoftmaxHead
from reticent.validation import InputError

X, Y = load_digits(return_X_y=True)
X = X / 16 - 0.3
ORDER = np.random.default_rng(0).permutation(len(X))
PARTS = np.split(ORDER, [200, 400, 800, 1000])


def records(part):
    return Records(X[PARTS[part]], Y[PARTS[part]])


MEMBERS, OTHERS, SHADOW, UNSEEN = (records(part) for part in range(4))
HEAD = SoftmaxHead(penalty=1e-5, bound=2.5, classes=range(10), records=200)
SMALL = {"shadow_count": 6, "seed": 1}


@pytest.fixture(scope="module")
def head():
    """Overfit: 200 records, hardly a penalty."""
    return SoftmaxHead(**HEAD.get_params()).fit(MEMBERS.inputs, MEMBERS.labels)


@pytest.fixture(scope="module")
def released():
    strong = SoftmaxHead(**HEAD.get_params() | {"penalty": 0.1})
    fitted = strong.fit(MEMBERS.inputs, MEMBERS.labels)
    return release_weights(fitted, epsilon=4.0, delta=1e-5, relation="add-remove")


@pytest.fixture(scope="module")
def means():
    head = ClassMeansHead(
        classes=range(10), records=200, epsilon=50.0, delta=1e-5, relation="add-remove"
    )
    return head.fit(MEMBERS.inputs, MEMBERS.labels).released_


@pytest.fixture(scope="module")
def everything(head):
    told = []
    found = attack_model(
        head, MEMBERS, OTHERS, shadow=SHADOW, plan=AttackPlan(**SMALL),
        stage=lambda *progress: told.append(progress),
    )  # fmt: skip
    return found, told


NOT_FOR_A_HEAD = {"released-means", "released-weights"}


@pytest.mark.slow
def test_all_attacks_that_are_possible_are_made(everything):
    found, told = everything
    assert set(found.reports) == set(ATTACKS) - NOT_FOR_A_HEAD
    assert found.skipped == {
        "released-means": "it needs released class means",
        "released-weights": "it needs released weights of a softmax head",
    }
    assert {stage for stage, _, _ in told} == {"shadow models", "shadow models, online", "attacks"}
    assert told[-1] == ("attacks", len(ATTACKS), len(ATTACKS))
    assert [str(found.blind)] == list(found.notes)
    assert {report.members for report in found.reports.values()} == {200}


@pytest.mark.slow
def test_an_overfit_head_leaks_and_the_strongest_attack_says_most(everything):
    found, _ = everything
    assert found.leaks
    best = found.reports[found.strongest]
    assert found.verdict.startswith("leak found by ")
    assert best.auc.value == max(report.auc.value for report in found.reports.values())
    for name in ("lira-online", "rmia-online"):
        assert found.reports[name].auc.low > 0.5  # 0.70 ± 0.03
    document = found.to_dict()
    assert (document["leaks"], document["strongest"]) == (True, found.strongest)


@pytest.mark.slow
def test_intervals_hold_for_all_attacks_together(everything):
    found, _ = everything
    each = 1 - 0.05 / len(found.reports)
    assert {report.confidence for report in found.reports.values()} == {each}
    slices = found.slices.slices
    assert {part.by for part in slices} == {"class", "confidence"}
    together = 1 - (1 - each) / len(slices)
    assert all(part.auc.confidence == pytest.approx(together) for part in slices)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["head", "released"])
def test_nothing_is_found_where_there_is_nothing(request, target):
    """Neither side was seen in training: a leak would be an accident of at most 1e-6."""
    sides = UNSEEN.take(np.arange(100)), UNSEEN.take(np.arange(100, 200))
    names = tuple(name for name in ATTACKS if name not in NOT_FOR_A_HEAD)
    plan = AttackPlan(attacks=names, confidence=1 - 1e-6, **SMALL)
    found = attack_model(request.getfixturevalue(target), *sides, shadow=SHADOW, plan=plan)
    assert not found.leaks
    assert found.verdict.startswith(f"no leak found by {len(names)} attacks, all together at 99.99")
    assert "100 members and 100 others would have shown" in found.verdict


@pytest.mark.parametrize(
    "name", ["gap", "loss", "modified-entropy-per-class", "lira-offline", "rmia-offline",
             "reference", "displacement", "gradient-norm"],
)  # fmt: skip
def test_scores_do_not_depend_on_who_was_a_member(head, name):
    plan = AttackPlan(attacks=(name,), **SMALL)
    there = attack_model(head, MEMBERS, OTHERS, shadow=SHADOW, plan=plan)
    back = attack_model(head, OTHERS, MEMBERS, shadow=SHADOW, plan=plan)
    swapped = np.roll(back.scores[name].values, len(MEMBERS))
    np.testing.assert_allclose(there.scores[name].values, swapped, rtol=1e-9, atol=1e-12)
    assert there.reports[name].auc.value == pytest.approx(1 - back.reports[name].auc.value)


def test_released_weights_and_means(released, means):
    exact = AttackPlan(attacks=("released-weights",))
    found = attack_model(released, MEMBERS, OTHERS, plan=exact).reports["released-weights"]
    assert "every other record" in str(found.threat)
    plan = AttackPlan(attacks=("released-means",))
    with pytest.raises(InputError, match="released-means is not possible: it needs records of the"):
        attack_model(means, MEMBERS, OTHERS, plan=plan)
    found = attack_model(means, MEMBERS, OTHERS, population=SHADOW, plan=plan)
    assert found.reports["released-means"].auc.low > 0.5  # 20 records behind each mean


@pytest.mark.slow
def test_what_is_missing_is_said(head):
    needs_shadow = {
        "modified-entropy-per-class", "shokri", "alm", "salem", "reference", "lira-offline",
        "rmia-offline", "gradient-network", "displacement",
    }  # fmt: skip
    found = attack_model(head, MEMBERS, OTHERS, plan=AttackPlan(**SMALL))
    assert set(found.skipped) == needs_shadow | NOT_FOR_A_HEAD | {"rmia-online"}
    assert found.skipped["shokri"] == "it needs records of the adversary's own: give shadow data"
    for name in needs_shadow:
        with pytest.raises(InputError, match=f"{name} is not possible: it needs records of the ad"):
            attack_model(head, MEMBERS, OTHERS, plan=AttackPlan(attacks=(name,), **SMALL))


def test_a_function_shows_answers_alone(head):
    target = FunctionTarget(head.predict_proba, classes=range(10))
    for name in ("gradient-norm", "displacement", "released-weights"):
        plan = AttackPlan(attacks=(name,))
        with pytest.raises(InputError, match=f"{name} is not possible: it needs .*weights of a"):
            attack_model(target, MEMBERS, OTHERS, shadow=SHADOW, plan=plan)
    ours = attack_model(head, MEMBERS, OTHERS, plan=AttackPlan(attacks=("loss",)))
    theirs = attack_model(target, MEMBERS, OTHERS, plan=AttackPlan(attacks=("loss",)))
    assert theirs.reports["loss"].auc.value == pytest.approx(ours.reports["loss"].auc.value)


@pytest.mark.parametrize(
    ("view", "kind", "access"),
    [
        (View(top=2), TopTarget, "the largest probabilities only"),
        (View(decimals=2), RoundedTarget, "rounded probabilities"),
    ],
)
def test_shadows_are_seen_as_the_target_is(head, view, kind, access):
    plan = AttackPlan(attacks=("lira-offline", "loss"), view=view, **SMALL)
    found = attack_model(head, MEMBERS, OTHERS, shadow=SHADOW, plan=plan)
    assert all(access in str(report.threat) for report in found.reports.values())
    shown = kind(head, **({"shown": 2} if view.top else {"decimals": 2}))
    again = attack_model(shown, MEMBERS, OTHERS, plan=AttackPlan(attacks=("loss",)))
    np.testing.assert_array_equal(found.scores["loss"].values, again.scores["loss"].values)
    clean = train_shadows(HEAD.set_params(records=None), SHADOW, count=6, seed=1)
    seen = dataclasses.replace(clean, models=[kind(m, **_shown(view)) for m in clean.models])
    from reticent.attacks.lira import Lira

    by_hand = Lira(shadows=seen, mode="offline").scores(shown, found.records)
    np.testing.assert_allclose(found.scores["lira-offline"].values, by_hand.values, rtol=1e-9)


def _shown(view):
    return {"shown": view.top} if view.top else {"decimals": view.decimals}


def test_labels_alone(head):
    plan = AttackPlan(view=View(labels_only=True), **SMALL)
    found = attack_model(head, MEMBERS, OTHERS, shadow=SHADOW, plan=plan)
    assert set(found.reports) == {"gap", "label-noise", "label-boundary"}
    assert found.skipped["loss"] == "it needs probabilities, and labels alone are shown"
    assert found.confidences is None
    assert {part.by for part in found.slices.slices} <= {"class"}
    with pytest.raises(InputError, match="one of top, decimals and labels only"):
        View(top=1, labels_only=True)


@pytest.mark.slow
def test_labels_may_be_texts_where_classes_are_numbers(head):
    texts = [Records(part.inputs, part.labels.astype(str)) for part in (MEMBERS, OTHERS, SHADOW)]
    plan = AttackPlan(attacks=("loss", "shokri"), **SMALL)
    as_texts = attack_model(head, *texts[:2], shadow=texts[2], plan=plan)
    as_numbers = attack_model(head, MEMBERS, OTHERS, shadow=SHADOW, plan=plan)
    for name in plan.names:
        assert as_texts.reports[name].auc == as_numbers.reports[name].auc
    strange = Records(OTHERS.inputs, np.full(200, 11))
    with pytest.raises(InputError, match="others must have labels of the target's classes"):
        attack_model(head, MEMBERS, strange, plan=plan)


class TestAnswers:
    def test_answers_by_row_and_by_record(self, head):
        scored = MEMBERS.joined(OTHERS)
        answers = AnsweredTarget(head.predict_proba(scored.inputs), classes=range(10))
        plan = AttackPlan(attacks=("loss", "lira-online"), shadow_model="softmax", **SMALL)
        found = attack_model(answers, MEMBERS, OTHERS, plan=plan)
        whole = attack_model(head, MEMBERS, OTHERS, plan=AttackPlan(attacks=("loss",)))
        assert found.reports["loss"].auc.value == whole.reports["loss"].auc.value
        rows = Records(np.arange(200), MEMBERS.labels), Records(np.arange(200, 400), OTHERS.labels)
        alone = attack_model(answers, *rows, shadow=SHADOW)
        assert set(alone.reports) == {"gap", "loss", "confidence", "entropy", "modified-entropy"}
        assert "needs features of the records" in alone.skipped["lira-online"]

    def test_other_inputs_were_not_answered(self, head):
        scored = MEMBERS.joined(OTHERS)
        answers = AnsweredTarget(head.predict_proba(scored.inputs), classes=range(10))
        target = RecordedTarget(answers, scored)
        back = target.logits(scored.inputs[::-1])
        np.testing.assert_array_equal(back[::-1], target.logits(scored.inputs))
        with pytest.raises(InputError, match="queries must be records that were answered"):
            target.logits(SHADOW.inputs[:3])
        for name in ("label-noise", "rmia-offline"):
            plan = AttackPlan(attacks=(name,), shadow_model="softmax", **SMALL)
            with pytest.raises(InputError, match="answers to other inputs"):
                attack_model(answers, MEMBERS, OTHERS, shadow=SHADOW, plan=plan)

    def test_too_few_answers(self, head):
        answers = AnsweredTarget(head.predict_proba(MEMBERS.inputs), classes=range(10))
        with pytest.raises(InputError, match="one row for each of 400 records, members first"):
            attack_model(answers, MEMBERS, OTHERS)


class TestShadows:
    def test_they_are_made_as_the_target_was(self, head, released, means):
        numbers = {"classes": list(range(10))}
        same = shadow_head(head, SHADOW, kind=None, **numbers)
        assert (same.penalty, same.bound, same.records) == (1e-5, 2.5, None)
        assert shadow_head(released, SHADOW, kind=None, **numbers).penalty == 0.1
        assert shadow_head(means, SHADOW, kind=None, **numbers).released is means
        network = MLPHead(layers=3, width=7)
        assert shadow_head(network, SHADOW, kind=None, **numbers).width == 7
        assert shadow_head(LogisticRegression(C=7.0), SHADOW, kind=None, **numbers).C == 7.0
        assert isinstance(shadow_head(None, SHADOW, kind=None, **numbers), MLPHead)
        longest = np.linalg.norm(SHADOW.inputs, axis=1).max()
        assert shadow_head(head, SHADOW, kind="softmax", **numbers).bound == longest
        with pytest.raises(InputError, match="shadow model must be one of softmax, mlp, logistic"):
            shadow_head(head, SHADOW, kind="tree", **numbers)

    def test_shadows_of_a_release_are_noised_alike(self, released):
        found = shadows_like(ModelTarget(released), SHADOW, ShadowPlan(count=4))
        plain = shadow_head(released, SHADOW, kind=None, classes=list(range(10)))
        clean = train_shadows(plain, SHADOW, count=4)
        noise = np.stack([
            (noisy.model.tensors["coordinates"] - exact.model.coordinates_).ravel()
            for noisy, exact in zip(found.models, clean.models, strict=True)
        ]) / released.scales["coordinates"]  # fmt: skip
        assert all(isinstance(model.model, Release) for model in found.models)
        squares = noise.size  # a χ² of so many degrees: six standard deviations are below 1e-8
        assert abs((noise**2).sum() - squares) < 6 * np.sqrt(2 * squares)
        assert np.abs(np.corrcoef(noise) - np.eye(4)).max() < 6 / np.sqrt(noise.shape[1])
        again = shadows_like(ModelTarget(released), SHADOW, ShadowPlan(count=4))
        np.testing.assert_array_equal(
            again.models[3].model.tensors["coordinates"],
            found.models[3].model.tensors["coordinates"],
        )

    @pytest.mark.slow
    def test_networks_learn_from_few(self, head):
        plan = AttackPlan(attacks=("alm",), shadow_count=6)
        notes = attack_model(head, MEMBERS, OTHERS, shadow=SHADOW, plan=plan).reports["alm"].notes
        assert f"shadows: {NETWORK_SHADOWS}" in notes[0]


def test_records_on_both_sides_are_noted(head):
    mixed = OTHERS.joined(MEMBERS.take(np.arange(3)))
    plan = AttackPlan(attacks=("loss",))
    found = attack_model(head, MEMBERS, mixed, shadow=SHADOW.joined(OTHERS), plan=plan)
    assert found.notes[1:] == (
        "3 records are among the members and among the others",
        "200 of the scored records are shadow data too",
    )


def test_copies_are_noted(head):
    twice = MEMBERS.joined(MEMBERS.take(np.arange(4)))
    found = attack_model(head, twice, OTHERS, plan=AttackPlan(attacks=("loss",)))
    assert found.notes[1].startswith("4 records are copies of others on their side")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attacks": ("losses",)}, "attack must be one of gap, loss"),
        ({"attacks": ()}, "attacks must be all, or names that differ"),
        ({"attacks": ("loss", "loss")}, "attacks must be all, or names that differ"),
        ({"shadow_count": 0}, "shadow_count must be >= 1"),
        ({"seed": -1}, "seed must be >= 0"),
        ({"confidence": float("nan")}, r"confidence must be in \(0, 1\)"),
    ],
)
def test_bad_plans(changes, message):
    with pytest.raises(InputError, match=message):
        AttackPlan(**changes)


@pytest.mark.parametrize("part", [MEMBERS, MEMBERS.take(np.arange(5))], ids=["all", "some"])
def test_others_that_are_all_members_are_refused(head, part):
    plan = AttackPlan(attacks=("loss",))
    with pytest.raises(InputError, match="must differ from the rest, got records that are on both"):
        attack_model(head, MEMBERS, part, plan=plan)
    with pytest.raises(InputError, match="must differ from the rest, got records that are on both"):
        attack_model(head, part, MEMBERS, plan=plan)


@pytest.mark.parametrize("error", [KeyError, IndexError, RuntimeError, AttributeError, ValueError])
def test_what_a_model_raises_is_named_and_not_quoted(error):
    def function(inputs):
        raise error(f"private {inputs[0, 0]}")

    target = FunctionTarget(function, classes=range(10))
    with pytest.raises(InputError, match=f"got {error.__name__}: are they") as caught:
        attack_model(target, MEMBERS, OTHERS)
    assert "private" not in str(caught.value)


def test_bad_records(head):
    nobody = Records(np.zeros((0, 64)), np.zeros(0, dtype=int))
    with pytest.raises(InputError, match="members must be records, got none"):
        attack_model(head, nobody, OTHERS)
    with pytest.raises(InputError, match="target must be a fitted model"):
        attack_model("head", MEMBERS, OTHERS)
    few = [Records(part.inputs[:, :9], part.labels) for part in (MEMBERS, OTHERS)]
    with pytest.raises(InputError, match=r"target must answer inputs of shape \(9,\), got Value"):
        attack_model(head, *few)
    with pytest.raises(InputError, match=r"shadow must have inputs of shape \(64,\)"):
        attack_model(head, MEMBERS, OTHERS, shadow=few[0])
    plan = AttackPlan(attacks=("lira-online",), shadow_count=1)
    with pytest.raises(InputError, match="lira-online is not possible: each record must have at"):
        attack_model(head, MEMBERS, OTHERS, plan=plan)


def test_correction():
    assert corrected(0.95, 1) == 0.95
    assert corrected(0.9, 5) == pytest.approx(0.98)
    assert isinstance(View(labels_only=True)(ModelTarget(LogisticRegression().fit(X, Y > 4))),
                      LabelTarget)  # fmt: skip
