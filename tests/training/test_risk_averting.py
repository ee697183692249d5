"""The risk-averting loss: values, gradients, and the same weights however heads are trained."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy import optimize, special

from reticent.training import MLPHead, dense
from reticent.training.dense import fit_parts, risk_averting, tilted, train_without
from reticent.validation import InputError

RISKS = [0.5, 1.0, 10.0]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 41)
    return rng.standard_normal((41, 4)) + np.eye(3, 4)[labels], labels


def recipe(**settings):
    usual = {
        "sizes": (4, 6, 3),
        "activation": "tanh",
        "penalty": 1e-3,
        "optimiser": "adam",
        "learning_rate": 0.02,
        "steps": 40,
        "batch": 10,
        "seed": 5,
        "risk": 2.0,
    }
    return dense.Recipe(**usual | settings)


@pytest.mark.parametrize("risk", RISKS)
def test_the_value_is_eq_22(risk):
    losses = np.random.default_rng(1).exponential(size=20)
    expected = math.log(np.mean(np.exp(risk * losses))) / risk
    assert float(risk_averting(torch.tensor(losses), risk)) == pytest.approx(expected)


def test_it_lies_between_the_mean_and_the_largest_loss():
    losses = torch.tensor([0.1, 0.5, 4.0], dtype=torch.float64)
    found = [float(risk_averting(losses, risk)) for risk in (1e-7, 0.1, 1.0, 10.0, 1e4)]
    assert found == sorted(found)
    assert found[0] == pytest.approx(float(losses.mean()), abs=1e-5)
    assert found[-1] == pytest.approx(4.0, abs=1e-3)


@pytest.mark.parametrize("risk", [*RISKS, 1e3])
def test_the_gradient_is_that_of_tilted_records_and_never_overflows(risk):
    losses = torch.tensor([0.0, 3.0, 900.0, 899.9], dtype=torch.float64, requires_grad=True)
    risk_averting(losses, risk).backward()
    shares = tilted(torch.full((1, 4), 0.25, dtype=torch.float64), losses.detach()[None], risk)
    assert torch.isfinite(shares).all()
    assert shares[0].numpy() == pytest.approx(losses.grad.numpy(), abs=1e-12)


def test_records_without_a_share_count_nothing():
    shares = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])
    found = tilted(shares, torch.tensor([[1.0, 1.0, 50.0], [1.0, 2.0, 3.0]]), 1.0)
    assert found.tolist() == [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]


@pytest.mark.slow
def test_a_linear_head_ends_at_the_minimiser_of_eq_23(data):
    rows, labels = data
    risk, penalty = 3.0, 0.05
    head = MLPHead(layers=1, penalty=penalty, risk=risk, steps=1_500, learning_rate=0.03)
    head.fit(rows, labels)

    def objective(flat):
        weights, biases = flat[:12].reshape(3, 4), flat[12:]
        logits = rows @ weights.T + biases
        losses = special.logsumexp(logits, axis=1) - logits[np.arange(41), labels]
        mean = (special.logsumexp(risk * losses) - math.log(41)) / risk
        return mean + penalty / 2 * flat @ flat

    best = optimize.minimize(objective, np.zeros(15), tol=1e-12)
    assert objective(head.flat_weights()) <= best.fun + 1e-6
    assert head.flat_weights() == pytest.approx(best.x, abs=2e-3)
    averaged = MLPHead(layers=1, penalty=penalty, steps=1_500, learning_rate=0.03).fit(rows, labels)
    assert np.abs(averaged.flat_weights() - best.x).max() > 0.05


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("batch", [10, None])
def test_many_heads_on_parts_are_those_of_fit(data, risk, batch):
    rng = np.random.default_rng(2)
    inside = rng.random((3, 41)) < 0.6
    head = MLPHead(
        layers=2, width=6, activation="tanh", steps=40, batch=batch, risk=risk, classes=[0, 1, 2]
    )
    for model, rows, seed in zip(
        fit_parts(head, *data, inside, [1, 2, 3]), inside, [1, 2, 3], strict=True
    ):
        alone = MLPHead(**{**head.get_params(), "seed": seed}).fit(data[0][rows], data[1][rows])
        assert model.risk == risk
        for part, expected in zip(model.weights_, alone.weights_, strict=True):
            assert part[0] == pytest.approx(expected[0], abs=1e-5)
            assert part[1] == pytest.approx(expected[1], abs=1e-5)


def one_by_one(rows, labels, plan, removed):
    """A loop of autograd over one head; the removed record is taken out of its batch."""
    generator = torch.Generator().manual_seed(plan.seed)
    inputs, targets = torch.tensor(rows, dtype=torch.float32), torch.tensor(labels)
    layers = dense.initial_layers(plan, generator)
    optimiser = dense.optimiser_of(list(itertools.chain(*layers)), plan)
    batches = dense._batches(len(rows), plan, generator)
    for chosen in itertools.islice(batches, plan.steps):
        kept = chosen[chosen != removed]
        optimiser.zero_grad()
        logits = dense._logits(inputs[kept], layers, plan)
        dense._loss(logits, targets[kept], plan.risk).backward()
        optimiser.step()
    return [(w.detach().numpy(), b.detach().numpy()) for w, b in layers]


@pytest.mark.parametrize("risk", RISKS)
def test_heads_without_a_record_are_those_of_a_loop(data, risk):
    """41 records in batches of 10: the removed one is alone in a batch now and then."""
    plan, removed = recipe(risk=risk), np.array([0, 17, 40])
    for head, gone in zip(train_without(*data, plan, removed), removed, strict=True):
        for part, expected in zip(head, one_by_one(*data, plan, gone), strict=True):
            assert part[0] == pytest.approx(expected[0], abs=1e-5)
            assert part[1] == pytest.approx(expected[1], abs=1e-5)


def test_without_records_only_the_penalty_acts():
    head = MLPHead(layers=1, classes=[0, 1], penalty=0.1, steps=50, risk=1.0)
    head.fit(np.empty((0, 3)), [])
    assert np.isfinite(head.flat_weights()).all()


@pytest.mark.parametrize("risk", [0.0, -1.0, math.nan, math.inf])
def test_a_risk_that_is_none_is_refused(data, risk):
    with pytest.raises(InputError, match="risk must be > 0"):
        MLPHead(risk=risk).fit(*data)
