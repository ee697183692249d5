"""Gradients of records in closed form against autograd, and −‖∇ℓ‖ as an attack."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from reticent.attacks.gradients import GradientNormAttack, softmax_residuals, white_box_view
from reticent.attacks.records import Records
from reticent.attacks.targets import Access, LabelTarget, ModelTarget, TorchTarget
from reticent.audit.metrics import auc
from reticent.protect import release_weights
from reticent.training import MLPHead, SoftmaxHead
from reticent.validation import InputError

SURE = 1 - 1e-6


@pytest.fixture(scope="module")
def digits():
    """A tenth of the labels is drawn: members among them are learnt by heart."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    drawn = np.where(rng.random(len(X)) < 0.1, rng.integers(0, 10, len(X)), y[order])
    return Records(X[order] / 16, drawn)


@pytest.fixture(scope="module")
def overfit(digits):
    members = digits.take(np.arange(300))
    head = MLPHead(layers=2, width=64, penalty=0, steps=300, classes=range(10))
    return head.fit(members.inputs, members.labels)


def as_module(head):
    """The same layers in torch, in float64."""
    parts = []
    for weight, bias in head.weights_:
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0]).double()
        layer.weight.data, layer.bias.data = torch.tensor(weight), torch.tensor(bias)
        parts += [layer, torch.nn.Tanh() if head.activation == "tanh" else torch.nn.ReLU()]
    return torch.nn.Sequential(*parts[:-1])


def autograd(module, row, label):
    """Gradients of one record, by torch."""
    module.zero_grad()
    loss = torch.nn.functional.cross_entropy(module(torch.tensor(row)[None]), torch.tensor([label]))
    loss.backward()
    layers = [part for part in module if isinstance(part, torch.nn.Linear)]
    return loss.item(), [
        torch.cat([part.weight.grad, part.bias.grad[:, None]], dim=1).numpy().copy()
        for part in layers
    ]


@pytest.mark.parametrize(("layers", "activation"), [(1, "relu"), (2, "tanh"), (3, "relu")])
def test_dense_gradients_are_those_of_autograd(digits, layers, activation):
    part = digits.take(np.arange(40))
    head = MLPHead(layers=layers, width=7, activation=activation, steps=30, classes=range(10))
    head.fit(part.inputs, part.labels)
    view, module = white_box_view(ModelTarget(head), part, last=layers), as_module(head)
    for row in (0, 11, 39):
        loss, gradients = autograd(module, part.inputs[row], part.labels[row])
        assert view.losses[row] == pytest.approx(loss)
        for seen, true in zip(view.layers, gradients, strict=True):
            assert seen.gradients[row] == pytest.approx(true, abs=1e-10)
        norms = [np.linalg.norm(true) for true in gradients]
        assert view.norms[row] == pytest.approx(norms)
        assert view.gradient_norms[row] == pytest.approx(np.linalg.norm(norms))
        assert view.layers[-1].outputs[row] == pytest.approx(head.logits(part.inputs)[row])
    assert len(white_box_view(head, part).layers) == 1


@pytest.mark.parametrize("norms", ["clip", "scale"])
def test_the_gradient_of_a_softmax_head_is_that_of_autograd(digits, norms):
    """‖p − e_y‖‖h‖, and h has its constant feature."""
    part = digits.take(np.arange(50))
    settings = {"classes": range(10), "bound": 2.0, "norms": norms, "centre": np.full(64, 0.1)}
    head = SoftmaxHead(**settings).fit(part.inputs, part.labels)
    view = white_box_view(head, part)
    for row in (0, 20):
        h = torch.tensor(head._map(part.inputs[row : row + 1]))
        weights = torch.tensor(head.weights_, requires_grad=True)
        loss = torch.nn.functional.cross_entropy(
            h @ weights.T, torch.tensor(part.labels[row : row + 1])
        )
        loss.backward()
        assert view.layers[0].gradients[row] == pytest.approx(weights.grad.numpy(), abs=1e-10)
        p = torch.softmax(h @ weights.T, dim=1).detach().numpy()[0]
        p[part.labels[row]] -= 1
        closed = np.linalg.norm(p) * np.linalg.norm(h.numpy())
        assert view.gradient_norms[row] == pytest.approx(closed)
        assert view.losses[row] == pytest.approx(loss.item())


def test_a_released_head_is_seen_like_a_fitted_one(digits):
    part = digits.take(np.arange(50))
    head = SoftmaxHead(classes=list(range(10)), records=50, bound=2.0)
    head.fit(part.inputs, part.labels)
    released = release_weights(head, epsilon=1e13, delta=1e-5, relation="add-remove")
    seen = white_box_view(released, part).gradient_norms
    assert seen == pytest.approx(white_box_view(head, part).gradient_norms, rel=1e-2)


def test_a_torch_module_is_seen_record_by_record(digits, overfit):
    """More records than one part holds, in float32; modes and hooks are put back."""
    part = digits.take(np.arange(100))
    module = as_module(overfit).float()
    module.insert(1, torch.nn.Dropout(0.5))
    module[1].eval()
    module[0].train()
    target = TorchTarget(module, classes=range(10))
    found, expected = white_box_view(target, part, last=2), white_box_view(overfit, part, last=2)
    assert found.losses == pytest.approx(expected.losses, rel=1e-3, abs=1e-5)
    assert found.norms == pytest.approx(expected.norms, rel=1e-3, abs=1e-5)
    for seen, true in zip(found.layers, expected.layers, strict=True):
        np.testing.assert_allclose(seen.outputs, true.outputs, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(seen.gradients, true.gradients, rtol=1e-2, atol=1e-4)
    assert module.training
    assert not module[1].training
    assert not module[0]._forward_hooks


def test_convolutions_and_norms_are_layers_too():
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, 3, 2),
        torch.nn.BatchNorm2d(3),
        torch.nn.Flatten(),
        torch.nn.Linear(27, 2),
    )
    images = np.random.default_rng(0).normal(size=(5, 1, 4, 4))
    view = white_box_view(
        TorchTarget(module, classes=[0, 1]), Records(images, [0, 1, 0, 1, 1]), last=3
    )
    assert [layer.gradients.shape for layer in view.layers] == [(5, 3, 5), (5, 3, 2), (5, 2, 28)]
    assert [layer.outputs.shape for layer in view.layers] == [(5, 27), (5, 27), (5, 2)]
    module.eval()
    loss = torch.nn.functional.cross_entropy(
        module(torch.tensor(images[:1]).float()), torch.tensor([0])
    )
    loss.backward()
    whole = np.sqrt(sum(float((weights.grad**2).sum()) for weights in module.parameters()))
    assert view.gradient_norms[0] == pytest.approx(whole, rel=1e-4)


class Twice(torch.nn.Module):
    """One layer, used twice and shared with another, and a scale that is one number."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.tied = torch.nn.Linear(3, 3, bias=False)
        self.tied.weight = self.layer.weight
        self.scale = torch.nn.Parameter(torch.tensor(0.5), requires_grad=False)

    def forward(self, x):
        return self.scale * self.layer(self.tied(torch.tanh(self.layer(x))))


def test_a_shared_layer_shows_what_it_gave_last():
    module = Twice()
    target = TorchTarget(module, classes=range(3), batch=2)
    rows = np.random.default_rng(0).normal(size=(5, 3))
    view = white_box_view(target, Records(rows, [0, 1, 2, 0, 1]), last=2)
    assert [layer.gradients.shape for layer in view.layers] == [(5, 1, 1), (5, 3, 4)]
    assert view.layers[1].outputs / 2 == pytest.approx(target.logits(rows), rel=1e-6)
    assert all(weights.grad is None for weights in module.parameters())


def test_members_have_smaller_gradients(digits, overfit):
    scores = GradientNormAttack().scores(overfit, digits.take(np.arange(600)))
    assert scores.threat.access is Access.WEIGHTS
    assert scores.threat.knows == ()
    inside, outside = scores.values[:300], scores.values[300:]
    assert auc(inside, outside, confidence=SURE).low > 0.5
    assert auc(-inside, -outside, confidence=SURE).high < 0.5
    drawn = np.random.default_rng(1).permutation(scores.values)
    assert auc(drawn[:300], drawn[300:], confidence=SURE).contains(0.5)
    view = white_box_view(overfit, digits.take(np.arange(600)))
    assert np.array_equal(scores.values, -view.gradient_norms)


def test_a_certain_answer_still_has_a_gradient():
    """1 − p_y would be 0 in floats: two certain records would tie."""
    logits = np.array([[0.0, 50.0], [0.0, 60.0]])
    residuals = softmax_residuals(logits, np.array([1, 1]))
    assert -residuals[:, 1] == pytest.approx(np.exp([-50.0, -60.0]), abs=0)


def test_what_is_refused(digits, overfit):
    part, attack = digits.take(np.arange(20)), GradientNormAttack()
    with pytest.raises(InputError, match="whose weights are seen, got LabelTarget"):
        attack.scores(LabelTarget(overfit), part)
    with pytest.raises(InputError, match="whose weights are seen, got LogisticRegression"):
        attack.scores(LogisticRegression().fit(part.inputs, part.labels), part)
    with pytest.raises(InputError, match="inputs must have the target's 64 features, got 3"):
        attack.scores(overfit, Records(part.inputs[:, :3], part.labels))
    with pytest.raises(InputError, match="records must be at least one"):
        attack.scores(overfit, part.take(np.arange(0)))
    with pytest.raises(InputError, match="must be one of the classes"):
        attack.scores(overfit, Records(part.inputs, part.labels + 10))
    with pytest.raises(InputError, match="last must be >= 1, got 0"):
        white_box_view(overfit, part, last=0)
    bare = TorchTarget(torch.nn.Flatten(), classes=range(64))
    with pytest.raises(InputError, match="module must have parameters"):
        attack.scores(bare, part)
    narrow = TorchTarget(torch.nn.Linear(64, 3), classes=range(10))
    with pytest.raises(InputError, match="target must answer"):
        attack.scores(narrow, part)
    words = Records(np.array([["a"], ["b"]]), [0, 1])
    with pytest.raises(InputError, match="inputs of a torch module must be numbers"):
        attack.scores(narrow, words)
