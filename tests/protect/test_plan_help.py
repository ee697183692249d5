"""What a plan costs by column, and what would help: public numbers in, sentences out."""

from dataclasses import replace

import pytest

from reticent.data import Schema
from reticent.protect.plan import CURVE, LossCurve, Situation, plan, predicted_loss, records_needed
from reticent.protect.plan_help import column_costs, help_sentence, what_would_help
from reticent.validation import InputError

POOR = Situation(
    records=400, features=107, classes=3, epsilon=0.5, delta=1e-5, relation="replace-one",
    max_records_per_person=3,
)  # fmt: skip
UNEVEN = LossCurve(constant=-1.0, slope=-1.0, rarest=0.4, half=1.0)


@pytest.mark.parametrize("share", [0.0, 0.34, 1.0, float("nan"), -0.1])
def test_the_rarest_class_has_at_most_an_equal_share(share):
    with pytest.raises(InputError, match="rarest_share must be"):
        replace(POOR, rarest_share=share)


def test_equal_classes_and_an_unknown_share_predict_the_same():
    even = replace(POOR, rarest_share=1 / 3)
    assert even.evenness == pytest.approx(1.0)
    assert predicted_loss(even).likely == pytest.approx(predicted_loss(POOR).likely)
    assert plan(even).learner == plan(POOR).learner


def test_a_rare_class_moves_the_range_and_the_records_needed():
    rare = replace(POOR, rarest_share=0.05)
    assert predicted_loss(rare, UNEVEN).likely < predicted_loss(POOR, UNEVEN).likely
    assert records_needed(rare, 0.05, UNEVEN) < records_needed(POOR, 0.05, UNEVEN)
    likely, _ = records_needed(rare, 0.05, UNEVEN)
    there = replace(rare, records=likely)
    assert predicted_loss(there, UNEVEN).likely == pytest.approx(0.05, rel=1e-2)
    assert CURVE.rarest != 0


def test_columns_cost_by_their_features_and_make_up_the_bound():
    schema = Schema.example("adult")
    own = replace(POOR, features=len(schema.names))
    costs = column_costs(schema, own)
    assert sum(one.features for one in costs) == len(schema.names)
    assert sum(one.bound_share for one in costs) == pytest.approx(1.0)
    assert costs[0].name == "native-country"
    assert costs[0].without.likely < costs[-1].without.likely < predicted_loss(own).likely
    last = replace(own, delta=0.0)
    assert {one.without for one in column_costs(schema, last)} == {None}


def test_every_change_that_is_named_lowers_the_predicted_loss():
    schema = Schema.example("adult")
    own = replace(POOR, features=len(schema.names))
    found = what_would_help(own, column_costs(schema, own))
    words = " ".join(one.what for one in found)
    for part in ("records (1,600)", "ε = 1 in place of 0.5", "add-remove", "one record of each",
                 "without native-country"):  # fmt: skip
        assert part in words
    assert "encoder" not in words  # 107 features are few
    losses = [one.loss.likely for one in found]
    assert losses == sorted(losses)
    assert losses[-1] <= 0.9 * predicted_loss(own).likely
    wide = what_would_help(replace(own, features=1_280))
    assert any("encoder or projection to 64 features" in one.what for one in wide)


def test_what_does_not_help_is_not_named():
    rich = replace(POOR, records=10**7, relation="add-remove", max_records_per_person=None)
    assert what_would_help(rich) == []
    assert help_sentence(rich) is None
    assert what_would_help(replace(POOR, delta=0.0)) == []
    assert help_sentence(POOR).startswith("What would help, by public numbers alone: ")
