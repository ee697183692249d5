"""The white-box attack network: from known records, from shadows, its null and its refusals."""

import numpy as np
import pytest
import torch

from reticent.attacks.gradient_network import Features, GradientAttack, trained
from reticent.attacks.gradients import white_box_view
from reticent.attacks.shadow_models import train_shadows
from reticent.attacks.targets import Access
from reticent.audit.metrics import auc
from reticent.training import MLPHead, SoftmaxHead
from reticent.validation import InputError

SURE = 1 - 1e-6
INSIDE = 500
HEAD = MLPHead(layers=2, width=64, penalty=0, steps=300, classes=range(10))


@pytest.fixture(scope="module")
def target(digits):
    return fitted(digits.take(np.arange(INSIDE)))


def fitted(records, seed=7):
    return MLPHead(**HEAD.get_params() | {"seed": seed}).fit(records.inputs, records.labels)


@pytest.fixture(scope="module")
def known(digits):
    """Half of the members and as many others; the rest of both is scored."""
    rows = np.arange(2 * INSIDE)
    half = rows % 2 == 0
    return digits.take(rows[half & (rows < INSIDE)]), digits.take(rows[half & (rows >= INSIDE)])


@pytest.fixture(scope="module")
def scored(digits):
    rows = np.arange(1, 2 * INSIDE, 2)
    return digits.take(rows), rows < INSIDE


def test_known_members_and_others_betray_the_rest(target, known, scored):
    records, member = scored
    attack = GradientAttack(members=known[0], others=known[1])
    found = attack.scores(target, records)
    assert auc(found.values[member], found.values[~member], confidence=SURE).low > 0.5
    assert auc(-found.values[member], -found.values[~member], confidence=SURE).high < 0.5
    assert found.threat.access is Access.WEIGHTS
    assert found.threat.knows == ("some members and others",)
    assert found.decides_at == 0.0
    assert found.notes == ()
    assert np.array_equal(found.values, attack.scores(target, records).values)
    again = attack.scores(target, records.joined(known[0]))
    assert again.notes == (f"{INSIDE // 2} of the records were known to the adversary",)


@pytest.mark.slow
def test_shadows_betray_the_target(digits, target, scored):
    shadows = train_shadows(HEAD, digits.take(np.arange(1000, 1797)), count=4)
    records, member = scored
    found = GradientAttack(shadows=shadows).scores(target, records)
    assert auc(found.values[member], found.values[~member], confidence=SURE).low > 0.5
    assert found.threat.knows == ("shadow models of the target's shape",)
    with pytest.raises(InputError, match="target must have the shape"):
        GradientAttack(shadows=shadows, steps=1).scores(
            SoftmaxHead(classes=range(10)).fit(records.inputs, records.labels), records
        )


def test_membership_that_left_no_trace_is_not_found(digits, known, scored):
    """The target saw none of these records: what the adversary takes for membership is chance."""
    stranger = fitted(digits.take(np.arange(2 * INSIDE, 1797)))
    records, member = scored
    found = GradientAttack(members=known[0], others=known[1]).scores(stranger, records)
    assert auc(found.values[member], found.values[~member], confidence=SURE).contains(0.5)
    mixed = known[0].joined(known[1]).take(np.random.default_rng(0).permutation(INSIDE))
    half = np.arange(INSIDE) < INSIDE // 2
    shuffled = GradientAttack(members=mixed.take(half), others=mixed.take(~half))
    found = shuffled.scores(stranger, records)
    assert auc(found.values[member], found.values[~member], confidence=SURE).contains(0.5)


def test_rows_that_differ_in_one_number_are_told_apart(target, scored):
    """A law by hand: members have the smaller loss; and turning membership turns the answers."""
    seen = Features.of(white_box_view(target, scored[0]))
    small = seen.sizes[:, 0] < np.median(seen.sizes[:, 0])
    right = trained(seen, small, steps=60, seed=0).log_odds(seen)
    turned = trained(seen, ~small, steps=60, seed=0).log_odds(seen)
    assert auc(right[small], right[~small]).value > 0.95
    assert auc(turned[small], turned[~small]).value < 0.05


def test_features_are_directions_and_logarithms(target, scored):
    view = white_box_view(target, scored[0], last=2)
    seen = Features.of(view)
    for place in (0, 1):
        for row in (0, 9):
            gradient = view.layers[place].gradients[row]
            direction = gradient / np.linalg.norm(gradient)
            assert seen.gradients[place][row] == pytest.approx(direction, abs=1e-6)
    assert seen.sizes[4, 0] == pytest.approx(np.log(view.losses[4]), rel=1e-5)
    assert seen.sizes[4, 1:] == pytest.approx(np.log(view.norms[4]), rel=1e-5)
    assert seen.labels[4].argmax() == scored[0].labels[4]
    assert seen.labels.sum() == len(seen)


def test_both_kinds_weigh_the_same(target, scored):
    """With nine others for each member and nothing to learn, the odds stay even."""
    seen = Features.of(white_box_view(target, scored[0]))
    nothing = Features(
        gradients=tuple(np.zeros_like(part) for part in seen.gradients),
        outputs=tuple(np.zeros_like(part) for part in seen.outputs),
        sizes=np.zeros_like(seen.sizes),
        labels=np.zeros_like(seen.labels),
    )
    odds = trained(nothing, np.arange(len(seen)) % 10 == 0, steps=100, seed=0).log_odds(nothing)
    assert np.abs(odds).max() < 0.05


def test_torchs_generator_is_left_as_it_was(target, known, scored):
    before = torch.random.get_rng_state()
    GradientAttack(members=known[0], others=known[1], steps=1).scores(target, scored[0])
    assert torch.equal(torch.random.get_rng_state(), before)


def test_what_is_refused(digits, target, known):
    with pytest.raises(InputError, match="shadows, or members and others, must be given"):
        GradientAttack()
    with pytest.raises(InputError, match="shadows, or members and others, must be given"):
        GradientAttack(members=known[0])
    small = train_shadows(SoftmaxHead(classes=range(10)), digits.take(np.arange(40)), count=2)
    with pytest.raises(InputError, match="shadows, or members and others, must be given"):
        GradientAttack(shadows=small, members=known[0], others=known[1])
    with pytest.raises(InputError, match="must be of both kinds, members and others"):
        GradientAttack(members=known[0], others=known[1].take(np.arange(0))).scores(
            target, known[0]
        )
    with pytest.raises(InputError, match="steps must be >= 1, got 0"):
        GradientAttack(shadows=small, steps=0)
    parts = [Features.of(white_box_view(m, known[0])) for m in (target, small.models[0])]
    with pytest.raises(InputError, match="got models of several shapes"):
        Features.joined(parts)
