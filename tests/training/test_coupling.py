"""Which losses let one record change the others' part of the gradient."""

import copy
import itertools

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from reticent.training.contrastive import nt_xent
from reticent.training.coupling import coupling
from reticent.validation import InputError

CHANNELS, SIDE, CLASSES, RECORDS = 4, 4, 3, 6


@pytest.fixture(autouse=True)
def fixed():
    """Layers of torch draw their weights from its global generator."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


IMAGES = drawn(RECORDS, 1, SIDE, SIDE)
LABELS = torch.arange(RECORDS) % CLASSES
BATCH = (IMAGES, LABELS)
VIEWS = (IMAGES, IMAGES + 0.1 * drawn(RECORDS, 1, SIDE, SIDE, seed=1))


def network(*middle):
    """A small convolutional classifier with something in its middle."""
    layers = [nn.Conv2d(1, CHANNELS, 3), *middle, nn.Tanh(), nn.Flatten(), nn.LazyLinear(CLASSES)]
    model = nn.Sequential(*layers)
    with torch.no_grad():
        model(IMAGES)  # the last layer takes its size from it
        for seed, weight in enumerate(model.parameters()):
            weight.copy_(drawn(*weight.shape, seed=seed) / weight[0].numel() ** 0.5)
    return model


def classify(model, images, labels, **options):
    return functional.cross_entropy(model(images), labels, **options)


def simclr(model, first, second):
    return nt_xent(model(first), model(second), temperature=0.5)


def barlow_twins(model, first, second, weight=0.01):
    """Zbontar et al. 2021: the cross-correlation of the views over the batch, drawn to 1."""
    left, right = (
        (view - view.mean(0)) / view.std(0, correction=0) for view in (model(first), model(second))
    )
    correlations = left.T @ right / len(first)
    diagonal = torch.eye(len(correlations), dtype=torch.bool)
    return (correlations[diagonal] - 1).square().sum() + weight * correlations[
        ~diagonal
    ].square().sum()


def penalised(model, images, labels):
    weights = sum(weight.square().sum() for weight in model.parameters())
    return classify(model, images, labels) + 10 * weights


def alignment(model, first, second):
    """The decoupled half of a contrastive loss: each image with its own other view."""
    return -functional.cosine_similarity(model(first), model(second)).mean()


def weighted_mean(model, images, labels):
    """PyTorch divides by the weights of the labels that are in the batch."""
    return classify(model, images, labels, weight=torch.tensor([1.0, 2.0, 5.0]).double())


def neighbours(model, images, labels):
    """Each record meets the one before it alone."""
    outputs = model(images)
    return (outputs[1:] * outputs[:-1]).sum()


def evaluated(model):
    return model.eval()


DECOUPLED = {
    "mean": (network(), classify, BATCH),
    "sum": (network(), lambda *parts: classify(*parts, reduction="sum"), BATCH),
    "group norm": (network(nn.GroupNorm(2, CHANNELS)), classify, BATCH),
    "layer norm": (network(nn.LayerNorm(SIDE - 2)), classify, BATCH),
    "instance norm": (network(nn.InstanceNorm2d(CHANNELS)), classify, BATCH),
    "batch norm in evaluation": (
        evaluated(network(nn.BatchNorm2d(CHANNELS))),
        classify,
        BATCH,
    ),
    "dropout": (network(nn.Dropout(0.5)), classify, BATCH),
    "penalty": (network(), penalised, BATCH),
    "alignment": (network(), alignment, VIEWS),
}
COUPLED = {
    "NT-Xent": (network(), simclr, VIEWS),
    "Barlow Twins": (network(), barlow_twins, VIEWS),
    "batch norm": (network(nn.BatchNorm2d(CHANNELS)), classify, BATCH),
    "batch norm and dropout": (
        network(nn.BatchNorm2d(CHANNELS), nn.Dropout(0.5)),
        classify,
        BATCH,
    ),
    "weighted mean": (network(), weighted_mean, BATCH),
    "neighbours": (network(), neighbours, BATCH),
}


@pytest.mark.parametrize("name", DECOUPLED)
def test_sums_over_records_are_decoupled(name):
    found = coupling(*DECOUPLED[name])
    assert not found.coupled
    assert found.pair is None
    assert found.largest < 1e-11  # three digits and more from the tolerance
    assert str(found).startswith("no coupling found")


@pytest.mark.parametrize("name", COUPLED)
def test_losses_over_the_whole_batch_are_coupled(name):
    found = coupling(*COUPLED[name])
    assert found.coupled
    assert 1e-3 < found.largest <= 2
    assert str(found).startswith(f"coupled: record {found.pair[0]} ")


@pytest.mark.parametrize(("name", "smallest"), [("NT-Xent", 2), ("batch norm", 2)])
def test_two_records_are_enough(name, smallest):
    model, loss, batch = COUPLED[name]
    found = coupling(model, loss, tuple(part[:smallest] for part in batch))
    assert found.coupled
    assert found.pair in {(0, 1), (1, 0)}


def test_the_share_is_that_of_its_definition():
    """One weight w and L = w·(Σx)²/2: ∇L = (Σx)²/2, a square whose mixed difference is known."""
    rows = torch.tensor([[1.0], [10.0]])
    layer = nn.Linear(1, 1, bias=False)
    found = coupling(layer, lambda model, x: model(torch.ones(1, 1).to(x)) * x.sum() ** 2 / 2, rows)
    # Either record becomes the other: sums 11, 20 and 2, 11. D = (121 − 400 − 4 + 121)/2.
    assert found.largest == pytest.approx(162 / 279)
    assert found.by_record == pytest.approx({0: 162 / 279, 1: 162 / 279})


def test_the_pair_that_meets_is_named():
    def meeting(model, rows):
        outputs = model(rows)
        return outputs.sum() + (outputs[1] * outputs[4]).sum()

    rows = drawn(6, 3)
    rows[[1, 4]] *= 10  # so that they change the gradient less, once their partner is replaced
    found = coupling(nn.Linear(3, 2), meeting, rows)
    assert sorted(found.pair) == [1, 4]
    assert {record for record, share in found.by_record.items() if share > found.tolerance} == {
        1,
        4,
    }


def test_a_weak_coupling_is_seen_and_rounding_is_not():
    def slightly(strength):
        def loss(model, rows):
            outputs = model(rows)
            return outputs.square().mean() + strength * outputs.mean().square()

        return coupling(nn.Linear(3, 2), loss, drawn(6, 3)).coupled

    assert [slightly(10.0**power) for power in (0, -3, -6, -18)] == [True, True, True, False]


def test_parts_that_cast_down_have_their_own_tolerance():
    """Some normalisations compute in float32 whatever they are given."""

    class Narrow(nn.Linear):
        def forward(self, rows):
            return functional.linear(rows.float(), self.weight.float()).to(rows.dtype)

    rows = drawn(50, 5)
    loss = lambda model, rows: model(rows).sin().mean()  # noqa: E731 - as a user writes it
    found = coupling(Narrow(5, 5), loss, rows)
    assert (found.precision, found.coupled) == ("float32", False)
    assert found.largest > 1e-10  # beyond what float64 would leave
    wide = coupling(nn.Linear(5, 5), loss, rows)
    assert (wide.precision, wide.coupled) == ("float64", False)
    assert wide.largest < 1e-12
    assert wide.tolerance < 1e-4 * found.tolerance


def test_a_large_batch_with_a_large_penalty_is_decoupled():
    rows = drawn(300, 3)
    penalty = lambda model, rows: model(rows).mean() + 1e6 * model.weight.square().sum()  # noqa: E731
    found = coupling(nn.Linear(3, 1), penalty, rows, records=5)
    assert not found.coupled
    assert len(found.by_record) == 5


def test_the_model_and_the_generators_stay_as_they_are():
    model = network(nn.BatchNorm2d(CHANNELS), nn.Dropout(0.5))
    model[1].eval()
    classify(model, *BATCH).backward()
    before = copy.deepcopy(model.state_dict())
    gradients = [weight.grad.clone() for weight in model.parameters()]
    model[1].train()
    state = torch.get_rng_state()
    coupling(model, classify, BATCH)
    assert torch.equal(torch.get_rng_state(), state)
    after = model.state_dict()
    assert all(torch.equal(after[name], before[name]) for name in before)
    assert all(
        torch.equal(weight.grad, gradient)
        for weight, gradient in zip(model.parameters(), gradients, strict=True)
    )
    assert model.training
    assert model[1].training
    assert model[0].weight.dtype == torch.float32


def test_equal_seeds_give_equal_results():
    model = network(nn.BatchNorm2d(CHANNELS), nn.Dropout(0.5))
    first, second, other = (coupling(model, classify, BATCH, seed=seed) for seed in (1, 1, 2))
    assert first == second != other


def test_it_measures_where_gradients_are_switched_off():
    with torch.inference_mode():
        batch = (IMAGES.clone(), LABELS.clone())
        assert coupling(network(nn.BatchNorm2d(CHANNELS)), classify, batch).coupled


class Counting(nn.Linear):
    """Each pass changes a buffer, and the next one depends on it."""

    def __init__(self):
        super().__init__(3, 1)
        self.register_buffer("calls", torch.zeros(()), persistent=False)

    def forward(self, rows):
        self.calls += 1
        return self.calls * super().forward(rows)


class CountingLoss(Counting):
    def forward(self, model, rows):
        self.calls += 1
        return self.calls * model(rows).mean()


@pytest.mark.parametrize(
    ("model", "loss"),
    [(Counting(), lambda model, rows: model(rows).mean()), (nn.Linear(3, 1), CountingLoss())],
)
def test_every_gradient_starts_from_the_same_state(model, loss):
    assert not coupling(model, loss, drawn(4, 3)).coupled
    assert all(getattr(part, "calls", 0) == 0 for part in (model, loss))


def counting(model, rows, calls=itertools.count()):  # noqa: B008 - a state on purpose
    return next(calls) * model(rows).sum()


def mean(model, rows):
    return model(rows).mean()


OTHER = nn.Linear(3, 1)


@pytest.mark.parametrize(
    ("model", "loss", "batch", "message"),
    [
        (OTHER, mean, torch.ones(0, 3), "batch must have at least 2 records, got 0"),
        (OTHER, mean, torch.ones(1, 3), "batch must have at least 2 records, got 1"),
        (OTHER, mean, torch.ones(4, 3), "records must differ, got 4 equal ones"),
        (OTHER, mean, (), "batch must be a tensor .*, got none"),
        (OTHER, mean, np.eye(3), "batch must be a tensor .*, got ndarray"),
        (OTHER, mean, torch.tensor(1.0), "batch must be a tensor .*, got Tensor"),
        (OTHER, mean, (drawn(3, 3), drawn(2)), r"one number of records .* got \[2, 3\]"),
        (OTHER, lambda model, rows: model(rows), drawn(4, 3), r"a sum or a mean.*shape \(4, 1\)"),
        (OTHER, lambda model, rows: 1.0, drawn(4, 3), "tensor of one number, got float 1.0"),
        (OTHER, lambda model, rows: rows.sum(), drawn(4, 3), "must depend on the parameters"),
        (OTHER, lambda model, rows: OTHER(rows).sum(), drawn(4, 3), "float64 copy"),
        (OTHER, mean, drawn(4, 3) * torch.nan, "finite value and gradient, got NaN"),
        (OTHER, counting, drawn(4, 3), "same gradient twice"),
        (OTHER, mean, drawn(4, 5), "loss must run on a float64 copy .* shapes"),
        (nn.ReLU(), mean, drawn(4, 3), "parameter that requires a gradient, got none"),
        (print, mean, drawn(4, 3), "model must be a torch module"),
    ],
)
def test_one_line_for_bad_input(model, loss, batch, message):
    with pytest.raises(InputError, match=message) as caught:
        coupling(model, loss, batch)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("option", [{"records": 0}, {"seed": -1}, {"seed": 0.5}])
def test_numbers_are_checked(option):
    with pytest.raises(InputError, match=next(iter(option))):
        coupling(OTHER, mean, drawn(4, 3), **option)
