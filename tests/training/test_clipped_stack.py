"""Many networks by DP-SGD at once are what each would be by itself, record by record."""

import numpy as np
import pytest
import torch

from reticent.training.clipped_stack import ClippedStack, Noise, train_noisily
from reticent.training.dense import Recipe, initial_layers

RECIPE = Recipe(
    sizes=(5, 7, 3),
    activation="tanh",
    penalty=0.1,
    optimiser="adam",
    learning_rate=0.05,
    steps=0,
    batch=None,
    seed=4,
    risk=2.0,
)
ROWS = np.random.default_rng(0).normal(size=(12, 5))
LABELS = np.arange(12) % 3


def clipped_by_autograd(layers, rows, labels, clip):
    """Σ of clipped gradients, a backward pass for each record; and how many were clipped."""
    flat = [part for layer in layers for part in layer]
    total, shortened = [torch.zeros_like(part) for part in flat], 0
    for row, label in zip(torch.tensor(rows).float(), torch.tensor(labels), strict=True):
        (first, first_bias), (last, last_bias) = layers
        logits = last @ torch.tanh(first @ row + first_bias) + last_bias
        loss = torch.nn.functional.cross_entropy(logits[None], label[None])
        parts = torch.autograd.grad(loss, flat)
        norm = torch.sqrt(sum(part.square().sum() for part in parts))
        shortened += bool(norm > clip)
        scale = min(1.0, clip / float(norm))
        total = [one + scale * part for one, part in zip(total, parts, strict=True)]
    return total, shortened


def heads(count):
    generator = torch.Generator().manual_seed(1)
    return [initial_layers(RECIPE, generator) for _ in range(count)]


@pytest.mark.parametrize("clip", [0.3, 1.5, 100.0])
def test_a_stacked_step_is_that_of_each_record_by_autograd(clip):
    each = heads(3)
    with torch.no_grad():
        stack = ClippedStack.of(each, RECIPE)
        wanted = torch.nn.functional.one_hot(torch.tensor(LABELS), 3).float().t()
        stack.take_clipped_sums(torch.tensor(ROWS).float(), wanted, clip)
    clipped = []
    for place, layers in enumerate(each):
        total, shortened = clipped_by_autograd(layers, ROWS, LABELS, clip)
        found = [stack.weights[0], stack.biases[0], stack.weights[1], stack.biases[1]]
        for one, wanted_sum in zip(found, total, strict=True):
            torch.testing.assert_close(one.grad[place].view_as(wanted_sum), wanted_sum)
        clipped.append(shortened)
    if clip == 1.5:
        assert 0 < sum(clipped) < 3 * len(ROWS)  # both sides of the clip are tried


def noise(*multipliers, seed=0):
    return Noise(multipliers=multipliers, clip=1.0, batch=4, seed=seed)


def batches(steps=6):
    rng = np.random.default_rng(3)
    return [np.flatnonzero(rng.random(12) < 1 / 3) for _ in range(steps)]


def weights(layers):
    return np.concatenate([part.ravel() for layer in layers for part in layer])


def test_a_head_does_not_depend_on_those_trained_beside_it():
    together = train_noisily(ROWS, LABELS, RECIPE, batches(), noise(0.0, 0.5, 3.0))
    for scale, layers in zip((0.0, 0.5, 3.0), together, strict=True):
        (alone,) = train_noisily(ROWS, LABELS, RECIPE, batches(), noise(scale))
        np.testing.assert_allclose(weights(layers), weights(alone), atol=1e-5)
    assert not np.allclose(weights(together[0]), weights(together[1]), atol=1e-2)


def test_noise_has_the_scale_of_its_head_and_an_empty_batch_gets_it_too():
    """One step of plain descent on no record: the weights move by clip·multiplier·normal/batch."""
    plain = Recipe(**{**vars(RECIPE), "optimiser": "sgd", "penalty": 0.0, "learning_rate": 1.0})
    none, one, ten = train_noisily(
        ROWS,
        LABELS,
        plain,
        [np.arange(0)],
        Noise(multipliers=(0, 1, 10), clip=2.0, batch=4, seed=5),
    )
    moved = weights(one) - weights(none)
    np.testing.assert_allclose(weights(ten) - weights(none), 10 * moved, rtol=1e-3, atol=1e-5)
    normal = moved / (2.0 / 4)
    assert abs(np.mean(normal**2) - 1) < 5 * np.sqrt(2 / len(normal))  # the seed is fixed
    other = train_noisily(ROWS, LABELS, plain, [np.arange(0)], noise(1, seed=6))[0]
    assert not np.allclose(weights(other), weights(one))
