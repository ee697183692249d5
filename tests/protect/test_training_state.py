"""States of optimisers and schedulers through a file: JSON and tensors, to the last bit."""

import json
import math
from collections import Counter

import pytest
import torch

from reticent.protect.training_state import read, written
from reticent.validation import InputError


def through_a_file(value):
    tensors = {}
    document = json.loads(json.dumps(written(value, "state", tensors), allow_nan=False))
    return read(document, tensors)


@pytest.mark.parametrize(
    "value",
    [
        {"betas": (0.9, 0.999), "lr": 0.1 + 0.2, "foreach": None, "nesterov": True},
        {0: {"step": 3}, 1: {}},
        [[], (), {}, ((1,), [2])],
        {"best": math.inf, "worst": -math.inf},
        {"tensor": "name", "float": "inf", "dict": [], "counter": (), "tuple": {}},
        "text",
    ],
)
def test_plain_values_come_back(value):
    assert through_a_file(value) == value


def test_no_number_comes_back_as_none():
    assert math.isnan(through_a_file([math.nan])[0])


def test_counts_keep_their_kind():
    found = through_a_file({"milestones": Counter({3: 1, 5: 2})})["milestones"]
    assert type(found) is Counter
    assert sorted(found.elements()) == [3, 5, 5]


def test_tensors_are_put_aside_and_come_back():
    value = {"state": {0: {"exp_avg": torch.tensor([1.0, 2.0])}}}
    tensors = {}
    document = written(value, "optimiser", tensors)
    assert list(tensors) == ["optimiser.state.0.exp_avg"]
    value["state"][0]["exp_avg"].zero_()  # the next step writes over it
    found = read(document, tensors)["state"][0]["exp_avg"]
    assert torch.equal(found, torch.tensor([1.0, 2.0]))


@pytest.mark.parametrize("value", [lambda: 0, object(), {1, 2}])
def test_what_is_neither_a_value_nor_a_tensor_is_refused_by_its_name(value):
    with pytest.raises(InputError, match=r"schedulers\.0\.rule must be of plain values"):
        written([{"rule": value}], "schedulers", {})
