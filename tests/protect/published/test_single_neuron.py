"""Algorithm 1 as it is published: the choice, the noise, and what is left without noise."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from reticent.bounds.published import lu
from reticent.guarantee import Grade
from reticent.protect.published.single_neuron import SingleNeuron
from reticent.studies.lu.verdicts import CLOSE
from reticent.validation import InputError

LOGITS = np.array([0.9, -0.2, 0.4])
RARE = 1e-6


def noised(answers, logits):
    """Which neuron carries noise: the one whose ratio to both others is off."""
    left = np.log(answers) - logits
    off = np.abs(left[:, :, None] - left[:, None, :]) > CLOSE
    return off.sum(axis=2).argmax(axis=1), left


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_one_logit_is_noised_by_the_papers_law(noise):
    mechanism = SingleNeuron(classes=3, budget=2.0, neuron=0.3, noise=noise)
    answers = mechanism.release(np.tile(LOGITS, (4_000, 1)))
    assert np.allclose(answers.sum(axis=1), 1)
    chosen, left = noised(answers, LOGITS)
    rows = np.arange(len(answers))
    added = left[rows, chosen] - left[rows, (chosen + 1) % 3]
    law = {"laplace": stats.laplace, "gaussian": stats.norm}[noise]
    assert stats.kstest(added, law(scale=0.3 / mechanism.step_budget).cdf).pvalue > RARE
    others = left[rows, (chosen + 1) % 3] - left[rows, (chosen + 2) % 3]
    assert np.abs(others).max() < CLOSE


def test_the_neuron_is_chosen_by_its_probability():
    mechanism = SingleNeuron(classes=3, budget=60.0, neuron=0.3)
    chosen, _ = noised(mechanism.release(np.tile(LOGITS, (4_000, 1))), LOGITS)
    weights = special.softmax(LOGITS) * mechanism.step_budget / (2 * lu.probability_change(0.3))
    expected = special.softmax(weights)
    assert expected.max() > 0.6
    for neuron, share in enumerate(expected):
        found = stats.binomtest(int((chosen == neuron).sum()), 4_000, share)
        assert found.pvalue > RARE / 3


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_the_expected_loss_is_the_mean_over_releases(noise):
    mechanism = SingleNeuron(classes=3, budget=2.0, neuron=0.3, noise=noise)
    drawn = mechanism.release(np.tile(LOGITS, (20_000, 1)))
    for label in range(3):
        (expected,) = mechanism.expected_loss(LOGITS, [label])
        losses = -np.log(drawn[:, label])
        error = losses.std() / math.sqrt(len(losses))
        assert abs(losses.mean() - expected) < 6 * error
        assert abs(-math.log(special.softmax(LOGITS)[label]) - expected) > 0.01


@pytest.mark.parametrize("scores", ["algorithm", "proof"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_the_expected_loss_is_an_integral_over_choice_and_noise(noise, scores):
    mechanism = SingleNeuron(classes=3, budget=20.0, neuron=0.3, noise=noise, scores=scores)
    law = {"laplace": stats.laplace, "gaussian": stats.norm}[noise](
        scale=0.3 / mechanism.step_budget
    )
    change = lu.probability_change(0.3) if scores == "algorithm" else math.exp(0.8221188)
    chances = special.softmax(special.softmax(LOGITS) * mechanism.step_budget / (2 * change))

    def excess(neuron):
        def at(noise):
            moved = LOGITS + noise * np.eye(3)[neuron]
            return (special.logsumexp(moved) - special.logsumexp(LOGITS)) * law.pdf(noise)

        return integrate.quad(at, -6, 0)[0] + integrate.quad(at, 0, 6)[0]

    expected = sum(chances[neuron] * excess(neuron) for neuron in range(3))
    for label in range(3):
        clean = -math.log(special.softmax(LOGITS)[label])
        (found,) = mechanism.expected_loss(LOGITS, [label])
        assert found - clean == pytest.approx(expected, rel=1e-2)


def test_the_proofs_choice_is_closer_to_uniform():
    """Δq = exp(Δp), as in the proof of Theorem 6."""
    mechanism = SingleNeuron(classes=3, budget=60.0, neuron=0.3, scores="proof")
    assert mechanism.score_change == pytest.approx(math.exp(lu.probability_change(0.3)))
    chosen, _ = noised(mechanism.release(np.tile(LOGITS, (4_000, 1))), LOGITS)
    weights = special.softmax(LOGITS) * mechanism.step_budget / (2 * mechanism.score_change)
    for neuron, share in enumerate(special.softmax(weights)):
        found = stats.binomtest(int((chosen == neuron).sum()), 4_000, share)
        assert found.pvalue > RARE / 3
    with pytest.raises(InputError, match="scores must be algorithm or proof"):
        SingleNeuron(classes=3, budget=1.0, neuron=0.3, scores="other")


def test_two_classes_give_points_of_a_public_grid_alone():
    """Not the logit beside the noise: its place on the grid would tell it."""
    mechanism = SingleNeuron(classes=2, budget=1.0, neuron=0.01)
    steps = []
    for logits in ([0.1, 0.7], [1 / 3, 0.2]):
        answers = mechanism.release(np.tile(logits, (200, 1)))
        differences = np.log(answers[:, 0]) - np.log(answers[:, 1])
        steps.append(differences * 2**20)
    assert np.abs(np.concatenate(steps) - np.rint(np.concatenate(steps))).max() < 1e-6


def test_the_claim_is_published():
    laplace = SingleNeuron(classes=5, budget=1.0, neuron=0.1)
    assert (laplace.step_budget, laplace.guarantee(delta=0.0).epsilon) == (1 / 11, 1.0)
    gaussian = SingleNeuron(classes=5, budget=0.5, neuron=0.1, noise="gaussian")
    claim = gaussian.guarantee(delta=1e-5)
    assert gaussian.step_budget == pytest.approx(0.5 / math.sqrt(21))
    assert claim.grade is Grade.PUBLISHED
    assert 1.9 < claim.epsilon < 2.1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"classes": 1}, "classes must be >= 2"),
        ({"budget": math.nan}, "budget must be > 0"),
        ({"neuron": 0.0}, "neuron must be > 0"),
        ({"noise": "cauchy"}, "noise must be laplace or gaussian"),
    ],
)
def test_bad_input_gets_one_line(wrong, message):
    with pytest.raises(InputError, match=message):
        SingleNeuron(**{"classes": 3, "budget": 1.0, "neuron": 0.1} | wrong)


def test_logits_of_another_number_of_classes_are_refused():
    with pytest.raises(InputError, match="logits must have 3 columns"):
        SingleNeuron(classes=3, budget=1.0, neuron=0.1).release([0.1, 0.2])
