"""Answers: proven, noised as claimed, bounded like the training rows, and not to be forged."""

import copy
import dataclasses
import math
import pickle

import numpy as np
import pytest
from scipy import special, stats
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from reticent.guarantee import Grade, composed
from reticent.mechanisms.profiles import gaussian
from reticent.protect import release_mean
from reticent.protect.answers import PrivateAnswers, calibrated_answers, numbers_of, private_answers
from reticent.training import PublicStep, SigmoidHead, SoftmaxHead
from reticent.training.softmax import zero_sum_basis
from reticent.validation import InputError
from tests.protect.answers.asked_head import fitted, planned, records
from tests.protect.answers.test_plan import SPACED

ADDITIVE = [pair for pair in SPACED if pair[1] != "label"]


def opened(classes=3, **asked):
    return private_answers(fitted(classes), planned(classes, **asked))


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("mechanism", "space"), SPACED)
def test_each_answer_and_the_whole_are_proven(mechanism, space, relation):
    answers = opened(mechanism=mechanism, space=space, relation=relation, queries=4)
    answered = answers.ask(records()[0][:3])
    for claim in (answered.guarantee, answers.each, answers.guarantee):
        assert (claim.grade, str(claim.relation)) == (Grade.PROVEN, relation)
        assert any("bit by bit" in line for line in claim.checked)
        assert any("no step before the head" in line for line in claim.stated)
    assert answered.guarantee is answers.each
    assert (answers.guarantee.epsilon, answers.guarantee.delta) == (1.0, 1e-5)
    assert answers.each.epsilon < 1.0
    assert any("4 answers at most" in line for line in answers.guarantee.checked)
    assert any("after seeing earlier answers" in line for line in answers.guarantee.checked)
    assert answered.labels.shape == (3,)
    assert set(answered.labels.tolist()) <= {0, 1, 2}
    columns = {"coordinates": (3, 2), "logits": (3, 3), "label": (3,)}[space]
    assert answered.released.shape == columns
    assert answers.left == 1


def test_the_whole_is_no_more_than_its_parts_composed():
    answers = opened(mechanism="l2-laplace", delta=0.0, queries=5)
    total = composed([answers.each] * 5)
    assert total.epsilon == pytest.approx(answers.guarantee.epsilon, rel=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace", "logistic"])
@pytest.mark.parametrize("space", ["coordinates", "logits"])
def test_the_noise_on_every_number_is_that_of_the_plan(classes, mechanism, space):
    """KS of 20,000 answers; false alarm 1e-7. Noise of 1.3 times the scale is rejected."""
    plan = planned(classes, mechanism=mechanism, space=space, queries=20_000)
    query = records(classes)[0][:1]
    released = private_answers(fitted(classes), plan).ask(np.repeat(query, 20_000, axis=0)).released
    exact = fitted(classes).logits(query)[0]
    if space == "coordinates":
        exact = zero_sum_basis(classes).T @ exact
    law = {"gaussian": "norm"}.get(mechanism, mechanism)
    for column, value in zip(released.T, exact, strict=True):
        noise = (column - value) / plan.scale
        assert stats.kstest(noise, law).pvalue > 1e-7
        assert stats.kstest(noise * 1.3, law).pvalue < 1e-7
    if len(exact) > 1:  # independent: the correlation is within 6 of its standard deviations
        assert abs(np.corrcoef(released.T)[0, 1]) < 6 / math.sqrt(20_000)


@pytest.mark.parametrize(("space", "size"), [("coordinates", 3), ("logits", 4)])
def test_l2_laplace_noise_is_one_vector_for_each_query(space, size):
    """Its norm is Gamma(C − 1, B·k/ε) on the coordinates; false alarm 1e-7."""
    plan = planned(4, mechanism="l2-laplace", space=space, delta=0.0, queries=6_000)
    query = records(4)[0][:1]
    released = private_answers(fitted(4), plan).ask(np.repeat(query, 6_000, axis=0)).released
    exact = fitted(4).logits(query)[0]
    exact = zero_sum_basis(4).T @ exact if space == "coordinates" else exact
    norms = np.linalg.norm(released - exact, axis=1)
    assert plan.scale == pytest.approx(6_000 * plan.sensitivity.l2, rel=1e-9)
    assert stats.kstest(norms / plan.scale, "gamma", args=(size,)).pvalue > 1e-7
    assert stats.kstest(norms / plan.scale, "gamma", args=(size + 1,)).pvalue < 1e-7


@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip"])
def test_labels_have_the_probabilities_of_the_theorem(mechanism):
    """χ² of 20,000 labels; false alarm 1e-7. The probabilities of other logits are rejected."""
    plan = planned(mechanism=mechanism, delta=0.0, epsilon=40_000.0, queries=20_000)
    query = records()[0][:1]
    labels = private_answers(fitted(), plan).ask(np.repeat(query, 20_000, axis=0)).labels
    counts = np.bincount(labels, minlength=3)
    logits = fitted().logits(query)[0]
    spread = math.sqrt(2) * plan.public.answers(plan.relation).logits().l2 / 2.0  # √2·B/ε, ε = 2
    expected = np.exp(plan.noise.log_probabilities(logits))
    if mechanism == "exponential":
        assert expected == pytest.approx(special.softmax(logits / spread), rel=1e-6)
    assert stats.chisquare(counts, expected * 20_000).pvalue > 1e-7
    assert stats.chisquare(counts, np.roll(expected, 1) * 20_000).pvalue < 1e-7


def test_one_gaussian_query_has_the_noise_that_one_release_of_weights_puts_on_a_logit():
    """The design fact: σ_W·R = σ, up to what floats add."""
    from reticent.protect import release_weights

    weights = release_weights(fitted(), epsilon=1.0, delta=1e-5, relation="add-remove")
    one = planned(mechanism="gaussian", queries=1)
    assert one.logit_noise == pytest.approx(
        weights.scales["coordinates"] * fitted().radius, rel=1e-9
    )
    assert one.logit_noise >= weights.scales["coordinates"] * fitted().radius


@pytest.mark.parametrize(("mechanism", "space"), SPACED)
def test_queries_are_clipped_as_training_rows_are(mechanism, space):
    """A query far outside is answered as the one at the bound, so the bound on answers holds."""
    answers = opened(mechanism=mechanism, space=space)
    inside = np.full((1, 5), 1.0)
    assert answers._values(1e9 * inside) == pytest.approx(answers._values(inside), rel=1e-12)
    wild = np.random.default_rng(1).normal(size=(500, 5)) * 1e6
    sizes = np.linalg.norm(answers._values(wild), axis=1)
    longest = np.linalg.norm(fitted().coordinates_, 2) * fitted().radius
    assert sizes.max() <= longest * (1 + 1e-12)


@pytest.mark.parametrize(("mechanism", "space"), SPACED)
def test_with_much_budget_the_answers_are_those_of_the_head(mechanism, space):
    """A difference of logits that is 40 standard deviations is wrong once in 10¹⁰ answers."""
    delta = 1e-5 if mechanism == "gaussian" else 0.0
    answers = opened(mechanism=mechanism, space=space, epsilon=2e4, delta=delta, queries=60)
    X, _ = records()
    answered = answers.ask(X)
    margins = np.sort(fitted().logits(X), axis=1)
    clear = margins[:, -1] - margins[:, -2] > 40 * answers.plan.logit_noise
    assert clear.sum() > 40
    assert np.array_equal(answered.labels[clear], fitted().predict(X)[clear])
    if space == "label":
        assert answered.logits is None
    else:
        spread = 40 * answers.plan.logit_noise
        assert np.abs(answered.logits - fitted().logits(X)).max() < spread


def test_what_leaves_cannot_be_forged():
    answers = opened()
    answered = answers.ask(records()[0][:1])
    assert dataclasses.replace(answered, labels=np.array([9])).guarantee.grade is Grade.DECLARED
    by_hand = PrivateAnswers(
        coordinates=np.zeros((2, 6)), classes=np.arange(3), centre=None, plan=answers.plan,
        claims=(answers.each, answers.guarantee),
    )  # fmt: skip
    assert by_hand.guarantee.grade is Grade.DECLARED
    assert by_hand.ask(records()[0][:1]).guarantee.grade is Grade.DECLARED
    with pytest.raises(ValueError, match="read-only"):
        answers._coordinates[0, 0] = 0.0


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_no_copy_can_be_made_to_answer_once_more(duplicate):
    with pytest.raises(TypeError, match="must not be copied or pickled"):
        duplicate(opened())


def test_its_text_shows_no_weight():
    assert repr(opened()).startswith("PrivateAnswers(gaussian, 5 left, ε ≤ 1, δ ≤ 1e-5 (proven;")


class TestRefusals:
    def refused(self, head, plan, message, **more):
        with pytest.raises(InputError, match=message) as caught:
            private_answers(head, plan, **more)
        assert "\n" not in str(caught.value)

    def own(self, **changes):
        X, y = records()
        given = {"penalty": 0.2, "classes": range(3), "records": 60}
        return SoftmaxHead(**(given | changes)).fit(X, y)

    def test_too_little_noise(self):
        plan = dataclasses.replace(planned(), scale=planned().scale / 2)
        self.refused(fitted(), plan, "epsilon must be >=")

    def test_too_many_queries(self):
        self.refused(fitted(), dataclasses.replace(planned(), queries=6), "epsilon must be >=")

    def test_too_little_noise_for_the_filter(self):
        plan = planned(filter="zcdp")
        fewer = dataclasses.replace(plan, scale=plan.scale * 0.999)
        self.refused(fitted(), fewer, "scale must let 5 charges fit the filter zcdp")

    @pytest.mark.parametrize("change", [{"penalty": 0.1}, {"bound": 2.0}, {"records": 61}])
    def test_the_plan_of_another_head(self, change):
        self.refused(self.own(**change), planned(), "plan must be made from the numbers of this")

    def test_changed_weights(self):
        head = self.own()
        head.coordinates_[0, 0] = np.nextafter(head.coordinates_[0, 0], 1.0)
        self.refused(head, planned(), "head must be as fit left it")

    def test_classes_read_off_the_labels(self):
        head = self.own(classes=None)
        self.refused(head, planned(), "classes must be given")

    def test_a_sigmoid_head(self):
        X, _ = records()
        head = SigmoidHead(penalty=0.2, classes=range(3), records=60)
        head.fit(X, (X[:, :3] > 0.5).astype(int))
        with pytest.raises(InputError, match="head must be a SoftmaxHead itself"):
            numbers_of(head)
        self.refused(head, planned(), "plan must be made from the numbers of this")

    def test_a_step_fitted_on_private_rows(self):
        X, y = records()
        model = make_pipeline(StandardScaler(), self.own()).fit(X, y)
        self.refused(model, planned(), "must be a PublicStep")
        public = PublicStep(StandardScaler().fit(np.random.default_rng(0).normal(size=(9, 5))))
        model = make_pipeline(public, self.own()).fit(X, y)
        stated = private_answers(model, planned()).guarantee.stated
        assert any("step 'publicstep' before the head" in line for line in stated)

    @pytest.mark.parametrize(
        ("X", "message"),
        [
            (np.ones((1, 4)), "X must have 5 features"),
            (np.ones(5), "X must have rows and columns"),
            (np.full((1, 5), np.nan), "X must be finite"),
            (np.zeros((0, 5)), "X must hold at least one query"),
        ],
    )
    def test_bad_queries_cost_nothing(self, X, message):
        answers = opened()
        with pytest.raises(InputError, match=message):
            answers.ask(X)
        assert answers.left == 5

    def test_another_thing_than_a_plan(self):
        self.refused(fitted(), "gaussian", "plan must be an AnswerPlan")


class TestMean:
    def centred(self):
        X, y = records()
        mean = release_mean(
            X, bound=1.5, records=60, epsilon=1.0, delta=1e-5, relation="add-remove", share=0.2
        )
        head = SoftmaxHead(penalty=0.2, classes=range(3), records=60, centre=mean.tensors["mean"])
        return mean, head.fit(X, y)

    def plan(self, head, mean, before):
        return calibrated_answers(
            numbers_of(head, mean=mean), epsilon=1.0, delta=1e-5, relation="add-remove",
            queries=4, before=before,
        )  # fmt: skip

    def test_the_mean_takes_its_share(self):
        mean, head = self.centred()
        plan = self.plan(head, mean, mean.event)
        answers = private_answers(head, plan, mean=mean)
        assert answers.guarantee.grade is Grade.PROVEN
        assert any("covers the noisy mean" in line for line in answers.guarantee.checked)
        left = gaussian.shift(1.0, 1e-5) * math.sqrt(0.8)
        assert plan.scale == pytest.approx(2 * plan.sensitivity.l2 / left, rel=1e-3)

    @pytest.mark.parametrize("mechanism", ["gaussian", "logistic", "exponential"])
    def test_one_answer_costs_the_mean_too(self, mechanism):
        mean, head = self.centred()
        before = mean.event
        plan = calibrated_answers(
            numbers_of(head, mean=mean), epsilon=1.0, delta=1e-5, relation="add-remove",
            queries=400, before=before, mechanism=mechanism,
        )  # fmt: skip
        answers = private_answers(head, plan, mean=mean)
        each = answers.ask(np.ones((1, 5))).guarantee
        assert each == answers.each
        assert each.grade is Grade.PROVEN
        assert any("also that of one answer" in line for line in each.checked)
        assert each.epsilon >= mean.noises["mean"].epsilon(delta=1e-5)
        assert each.epsilon < answers.guarantee.epsilon
        if mechanism == "gaussian":  # exactly: μ² of the mean and of the answer add up
            mu = math.hypot(mean.noises["mean"].gdp(), plan.noise.gdp())
            assert each.epsilon == pytest.approx(gaussian.epsilon(mu, 1e-5), rel=1e-9)
            assert plan.noise.epsilon(delta=1e-5) < 0.2 * each.epsilon  # what was printed once

    def test_without_a_mean_one_answer_costs_itself(self):
        answers = opened()
        assert answers.each.epsilon == pytest.approx(answers.plan.noise.epsilon(delta=1e-5))

    def test_a_mean_that_was_not_counted_is_refused(self):
        mean, head = self.centred()
        with pytest.raises(InputError, match="plan must count the mean"):
            private_answers(head, self.plan(head, mean, None), mean=mean)

    def test_another_mean_is_refused(self):
        mean, head = self.centred()
        other, _ = self.centred()
        plan = self.plan(head, mean, mean.event)
        with pytest.raises(InputError, match="centre of the head must be the values of the mean"):
            private_answers(head, plan, mean=other)
