"""Events: checks, equality and the JSON round trip, for every type at once."""

import sys

import pytest

from reticent.accounting.account import account
from reticent.guarantee import (
    Composed,
    Event,
    GaussianEvent,
    LaplaceEvent,
    LogisticEvent,
    PureEvent,
    Repeated,
    SampledWithoutReplacement,
)
from reticent.guarantee.events import EVENT_TYPES
from reticent.guarantee.rounding import quotient_down
from reticent.validation import InputError, NotCoveredError

GAUSSIAN = {"type": "Gaussian", "noise_multiplier": 1.5}
EXAMPLES = {
    "Gaussian": GAUSSIAN,
    "Laplace": {"type": "Laplace", "noise_multiplier": 2.0, "norm": "l1"},
    "Logistic": {"type": "Logistic", "noise_multiplier": 2.0, "norm": "l2"},
    "Objective": {
        "type": "Objective",
        "noise_multiplier": 2.0,
        "curvature": 0.25,
        "directions": 3,
    },
    "Pure": {"type": "Pure", "epsilon": 0.5},
    "Response": {"type": "Response", "epsilon": 0.5, "classes": 10},
    "BoundedRange": {"type": "BoundedRange", "epsilon": 0.5},
    "Approximate": {"type": "Approximate", "epsilon": 0.5, "delta": 1e-6},
    "Zcdp": {"type": "Zcdp", "rho": 0.1},
    "Composed": {"type": "Composed", "events": [GAUSSIAN, {"type": "Pure", "epsilon": 1.0}]},
    "Repeated": {"type": "Repeated", "event": GAUSSIAN, "count": 10},
    "Parallel": {"type": "Parallel", "events": [GAUSSIAN]},
    "Mixture": {"type": "Mixture", "events": [GAUSSIAN]},
    "PostProcessed": {"type": "PostProcessed", "event": GAUSSIAN},
    "PoissonSampled": {"type": "PoissonSampled", "event": GAUSSIAN, "rate": 0.1},
    "SampledWithoutReplacement": {
        "type": "SampledWithoutReplacement",
        "event": GAUSSIAN,
        "size": 10,
        "population": 100,
    },
}


@pytest.mark.parametrize("name", EVENT_TYPES)
def test_every_event_survives_json(name):
    event = Event.from_dict(EXAMPLES[name])
    assert type(event) is EVENT_TYPES[name]
    assert event.to_dict() == EXAMPLES[name]
    assert hash(event) == hash(Event.from_dict(event.to_dict()))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 0, -1, "1", None, True, 1j])
@pytest.mark.parametrize("field", ["noise_multiplier", "epsilon", "rho", "rate"])
def test_bad_numbers_are_refused(field, bad):
    owners = {
        "noise_multiplier": "Gaussian",
        "epsilon": "Pure",
        "rho": "Zcdp",
        "rate": "PoissonSampled",
    }
    if field in ("epsilon", "rho") and bad == 0 and bad is not False:
        return  # an event that costs nothing is legal
    with pytest.raises(InputError, match=field):
        Event.from_dict(EXAMPLES[owners[field]] | {field: bad})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"type": "Uniform"}, "event type must be one of Gaussian, .*got 'Uniform'"),
        ({"type": "Gaussian"}, "must have the fields noise_multiplier, got none"),
        ({**GAUSSIAN, "count": 3}, "must have the fields noise_multiplier, got count"),
        ({**EXAMPLES["Logistic"], "norm": "l3"}, "norm must be l1 or l2, got 'l3'"),
        ({**EXAMPLES["Repeated"], "count": 0}, "count must be >= 1, got 0"),
        ({**EXAMPLES["Repeated"], "count": 2.5}, "count must be a whole number, got float 2.5"),
        ({**EXAMPLES["Repeated"], "event": 3}, "event must be a JSON object, got int 3"),
        ({**EXAMPLES["Composed"], "events": []}, "events must be a non-empty list"),
        (
            {**EXAMPLES["SampledWithoutReplacement"], "size": 200},
            "size must be <= population = 100",
        ),
        ([1], "event must be a JSON object"),
    ],
)
def test_bad_documents_get_one_line(values, message):
    with pytest.raises(InputError, match=message) as caught:
        Event.from_dict(values)
    assert "\n" not in str(caught.value)


def test_a_sample_within_a_sample_has_its_size():
    inner = Event.from_dict(EXAMPLES["SampledWithoutReplacement"])
    SampledWithoutReplacement(event=inner, size=100, population=1000)
    nested = Repeated(event=Composed(events=(inner, PureEvent(epsilon=1.0))), count=2)
    with pytest.raises(InputError, match="population of a sample within a sample of 50 must be 50"):
        SampledWithoutReplacement(event=nested, size=50, population=1000)


def test_integers_become_floats():
    """An integer multiplier would trip an accountant below; none ever leaves this type."""
    assert type(GaussianEvent(noise_multiplier=2).noise_multiplier) is float
    assert type(LogisticEvent(noise_multiplier=2).noise_multiplier) is float
    assert type(PureEvent(epsilon=1).epsilon) is float


def test_nodes_hold_events_only():
    with pytest.raises(InputError, match="event must be an Event"):
        Repeated(event="gaussian", count=2)
    with pytest.raises(InputError, match="event must be an Event"):
        Repeated(event=Event(), count=2)


class TestNoCostVanishes:
    """Tiny costs are accounted as larger ones: a square that underflows would print ε = 0."""

    @pytest.mark.parametrize("noise", [1e90, 1e160, 1e200, 1.7e308])
    @pytest.mark.parametrize("kind", [GaussianEvent, LaplaceEvent, LogisticEvent])
    def test_no_pure_claim_of_zero(self, kind: type[Event], noise: float) -> None:
        event = kind(noise_multiplier=noise)  # type: ignore[call-arg]
        try:
            assert account(event, relation="add-remove", delta=0.0).epsilon > 0
        except NotCoveredError:
            assert kind is GaussianEvent

    @pytest.mark.parametrize("cost", [5e-324, 1e-200, 1e-90])
    def test_pure_costs_add_up(self, cost: float) -> None:
        event = Repeated(event=PureEvent(epsilon=cost), count=3)
        found = account(event, relation="add-remove", delta=0.0)
        assert min(found.epsilons.values()) >= 3 * cost

    def test_a_quotient_beyond_all_floats_is_rounded_down(self) -> None:
        assert quotient_down(1.0, 5e-324) == sys.float_info.max
