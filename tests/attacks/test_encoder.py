"""EncoderMI and LiRA on encoders: over-trained SimCLR, its null, laws by hand, and refusals."""

from statistics import NormalDist, median

import numpy as np
import pytest
import torch

from reticent.attacks.encoder import (
    EncoderLira,
    EncoderMI,
    ShadowEncoder,
    learnt_network,
)
from reticent.attacks.encoder_views import Views
from reticent.attacks.metric import best_threshold
from reticent.attacks.records import Records
from reticent.attacks.targets import Access
from reticent.audit.metrics import auc
from reticent.data import load
from reticent.training.contrastive import Augmentation, SimCLRSpec, pretrain
from reticent.training.encoders.base import FunctionEncoder
from reticent.validation import InputError

SURE = 1 - 1e-6
INSIDE = 50
NOISE = Augmentation(noise=0.3)
VIEWS = Views(augmentation=NOISE)
CLASSIFIERS = ("vector", "set", "threshold")


@pytest.fixture(scope="module")
def images():
    found = load("digits").inputs
    return found[np.random.default_rng(0).permutation(len(found))]


@pytest.fixture(scope="module")
def parts(images):
    """The members of three encoders, others for the shadows, and others to be scored."""
    ends = [INSIDE, 2 * INSIDE, 3 * INSIDE, 450, 850]
    return [unlabelled(part) for part in np.split(images, ends)[: len(ends)]]


@pytest.fixture(scope="module")
def encoders(parts):
    return [pretrain(part.inputs, over_trained(seed)) for seed, part in enumerate(parts[:3])]


@pytest.fixture(scope="module")
def shadows(encoders, parts):
    pairs = list(zip(encoders, parts, strict=False))[1:]
    return [ShadowEncoder(encoder=e, members=inside, others=parts[3]) for e, inside in pairs]


@pytest.fixture(scope="module")
def attacks(shadows):
    """From one shadow, on other images than the target's."""
    return [EncoderMI(shadows=shadows[:1], views=VIEWS, classifier=name) for name in CLASSIFIERS]


@pytest.fixture(scope="module")
def scored(parts):
    return parts[0].joined(parts[4]), np.arange(INSIDE + len(parts[4])) < INSIDE


def unlabelled(images):
    return Records(images, np.zeros(len(images), dtype=int))


def over_trained(seed):
    """Four hundred passes over fifty digits."""
    return SimCLRSpec(
        width=32,
        epochs=400,
        batch=INSIDE,
        temperature=0.1,
        learning_rate=5e-3,
        augmentation=NOISE,
        seed=seed,
        threads=1,
    )


@pytest.mark.slow
class TestOverTrainedEncoder:
    def test_its_members_are_betrayed(self, encoders, attacks, scored):
        records, member = scored
        for attack in attacks:
            found = attack.scores(encoders[0], records)
            values = found.values
            assert auc(values[member], values[~member], confidence=SURE).low > 0.5
            assert auc(-values[member], -values[~member], confidence=SURE).high < 0.5
            assert found.decides_at == 0.0
            assert (values[member] > 0).mean() > (values[~member] > 0).mean() + 0.15

    def test_lira_betrays_them_with_two_shadows(self, encoders, shadows, scored):
        records, member = scored
        values = EncoderLira(shadows=shadows, views=VIEWS).scores(encoders[0], records).values
        assert auc(values[member], values[~member], confidence=SURE).low > 0.5

    def test_views_of_members_are_more_alike(self, encoders, scored):
        """And only to the encoder that saw them."""
        records, member = scored
        own, stranger = (VIEWS.cosines(e, records).mean(axis=1) for e in (encoders[0], encoders[2]))
        assert own[member].mean() > own[~member].mean() + own[~member].std() / 2
        assert auc(stranger[member], stranger[~member], confidence=SURE).contains(0.5)

    def test_membership_that_left_no_trace_is_not_found(self, encoders, attacks, scored):
        """The target is a third encoder, which saw none of the records; then membership is mixed.

        False alarms: at most 1e-6 for each of the six intervals.
        """
        records, member = scored
        mixed = np.random.default_rng(1).permutation(member)
        for attack in attacks:
            for target, side in ((encoders[2], member), (encoders[0], mixed)):
                values = attack.scores(target, records).values
                assert auc(values[side], values[~side], confidence=SURE).contains(0.5)


def calm(images):
    """Bright images are known: their views have one direction. Others keep the noise's."""
    rows = images.reshape(len(images), -1)
    known = rows.mean(axis=1, keepdims=True) > 0.5
    return np.where(known, rows.mean(axis=1, keepdims=True), rows)


@pytest.fixture(scope="module")
def known_order():
    """Thirty bright images and thirty dark ones."""
    light = np.repeat([0.9, 0.1], 30) + np.tile(np.arange(30) * 1e-3, 2)
    return unlabelled(np.ones((60, 4, 4, 1)) * light[:, None, None, None])


@pytest.fixture(scope="module")
def calm_shadow(known_order):
    bright, dark = known_order.take(np.arange(0, 30)), known_order.take(np.arange(30, 60))
    return ShadowEncoder(encoder=FunctionEncoder(calm), members=bright, others=dark)


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_alike_views_score_above_others(classifier, calm_shadow, known_order):
    attack = EncoderMI(shadows=[calm_shadow], views=VIEWS, classifier=classifier)
    found = attack.scores(FunctionEncoder(calm), known_order)
    assert np.array_equal(found.values, attack.scores(FunctionEncoder(calm), known_order).values)
    assert found.values[:30].min() > 0 > found.values[30:].max()
    assert found.attack == f"EncoderMI, {classifier}"
    assert found.threat.access is Access.ENCODER
    assert found.threat.knows == (
        "shadow encoders with their records",
        "augmentations of the inputs",
    )


def test_the_threshold_is_taken_off_the_mean(calm_shadow, known_order):
    views = Views(augmentation=NOISE, number=4, seed=3)
    found = EncoderMI(shadows=[calm_shadow] * 2, views=views, classifier="threshold").scores(
        flat(np.sin), known_order.take([3, 40])
    )
    means = views.cosines(calm_shadow.encoder, known_order).mean(axis=1)
    own = naive_means(views, np.sin, known_order.take([3, 40]))
    assert found.values == pytest.approx(own - best_threshold(means[:30], means[30:]), abs=1e-6)


def naive_means(views, function, records):
    """Pair by pair, from the views themselves."""
    means = []
    for of_one in views.of(records):
        rows = [np.ravel(function(view)).astype(np.float32).astype(float) for view in of_one]
        cosines = [
            np.dot(rows[i], rows[j]) / np.sqrt(np.dot(rows[i], rows[i]) * np.dot(rows[j], rows[j]))
            for i in range(len(rows))
            for j in range(i + 1, len(rows))
        ]
        means.append(sum(cosines) / len(cosines))
    return np.array(means)


def flat(function):
    return FunctionEncoder(lambda images: function(images).reshape(len(images), -1))


@pytest.mark.parametrize("mode", ["online", "offline"])
def test_lira_against_a_loop(mode, images):
    """Six encoders of known formulas; which of them saw a record is found by its image."""
    pool, views = Records(images[:8], ["seen"] * 8), Views(augmentation=NOISE, number=3)
    functions = [lambda x, shift=shift: np.tanh(x - shift) for shift in (0, 0.3, 0.5, 0.8, 1, 2)]
    inside = np.random.default_rng(0).permuted(np.tile([True] * 3 + [False] * 3, (8, 1)), axis=1).T
    shadows = [
        ShadowEncoder(encoder=flat(f), members=pool.take(rows), others=pool.take(~rows))
        for f, rows in zip(functions, inside, strict=True)
    ]
    relabelled = Records(pool.inputs, np.arange(8))
    found = EncoderLira(shadows=shadows, views=views, mode=mode).scores(flat(np.cos), relabelled)
    assert found.threat.access is Access.ENCODER
    assert found.attack == f"LiRA on an encoder, {mode}"
    assert found.notes == ("6 shadows, one σ for all records",)
    own = naive_means(views, np.cos, pool)
    others = np.array([naive_means(views, f, pool) for f in functions])
    fits = []
    for side in (inside, ~inside):
        middles = [median(others[side[:, i], i]) for i in range(8)]
        squares = sum(((others[side[:, i], i] - middles[i]) ** 2).sum() for i in range(8))
        fits.append((middles, (squares / (8 * 3 - 8)) ** 0.5))
    (inner, narrow), (outer, wide) = fits
    for i in range(8):
        above = NormalDist(outer[i], wide)
        wanted = (
            np.log(NormalDist(inner[i], narrow).pdf(own[i]) / above.pdf(own[i]))
            if mode == "online"
            else np.log(above.cdf(own[i]))
        )
        assert found.values[i] == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("classifier", ["vector", "set"])
class TestNetworks:
    def test_the_order_of_the_views_does_not_count(self, classifier):
        rng = np.random.default_rng(0)
        members, others = rng.uniform(0.5, 1, (40, 45)), rng.uniform(0.3, 0.9, (40, 45))
        found = learnt_network(members, others, classifier=classifier, seed=0)
        straight = found.log_odds(others)
        assert np.ptp(straight) > 0.1
        shuffled = found.log_odds(rng.permuted(others, axis=1))
        assert shuffled == pytest.approx(straight, abs=1e-5)

    def test_turning_membership_turns_the_answers(self, classifier):
        rng = np.random.default_rng(1)
        high, low = rng.uniform(0.5, 1, (40, 10)), rng.uniform(0, 0.5, (40, 10))
        right = learnt_network(high, low, classifier=classifier, seed=0)
        wrong = learnt_network(low, high, classifier=classifier, seed=0)
        assert right.log_odds(high).min() > 0 > right.log_odds(low).max()
        assert wrong.log_odds(high).max() < 0 < wrong.log_odds(low).min()

    def test_both_kinds_weigh_the_same(self, classifier):
        """With nine others for each member and nothing to learn, the odds stay even."""
        nothing = np.full((90, 10), 0.5)
        found = learnt_network(nothing[:10], nothing, classifier=classifier, seed=0)
        assert np.abs(found.log_odds(nothing)).max() < 0.05

    def test_torchs_generator_is_left_as_it_was(self, classifier):
        before = torch.random.get_rng_state()
        first = learnt_network(np.eye(3), -np.eye(3), classifier=classifier, seed=4)
        assert torch.equal(torch.random.get_rng_state(), before)
        torch.rand(1)
        again = learnt_network(np.eye(3), -np.eye(3), classifier=classifier, seed=4)
        assert np.array_equal(first.log_odds(np.eye(3)), again.log_odds(np.eye(3)))
        with pytest.raises(InputError, match=r"cosines must be 3, got shape \(3, 2\)"):
            first.log_odds(np.ones((3, 2)))


class TestRefused:
    def test_what_an_attack_is_built_with(self, calm_shadow):
        for attack in (EncoderMI, EncoderLira):
            for nothing in ([], None):
                with pytest.raises(InputError, match="at least one ShadowEncoder, got none"):
                    attack(shadows=nothing, views=VIEWS)
            with pytest.raises(InputError, match="must be ShadowEncoder each, got something else"):
                attack(shadows=[flat(np.sin)], views=VIEWS)
            with pytest.raises(InputError, match=r"views must be Views, .* StackedViews"):
                attack(shadows=[calm_shadow], views=10)
        with pytest.raises(InputError, match="classifier must be one of vector, set, threshold"):
            EncoderMI(shadows=[calm_shadow], views=VIEWS, classifier="V")
        with pytest.raises(InputError, match="seed must be >= 0, got -1"):
            EncoderMI(shadows=[calm_shadow], views=VIEWS, seed=-1)
        with pytest.raises(InputError, match="mode must be one of online, offline"):
            EncoderLira(shadows=[calm_shadow], views=VIEWS, mode="both")

    def test_shadows(self, known_order):
        nobody = known_order.take(np.arange(0))
        with pytest.raises(InputError, match="members and others must be Records, at least one"):
            ShadowEncoder(encoder=flat(np.sin), members=known_order, others=nobody)
        with pytest.raises(
            InputError, match=r"shadow must be an encoder \(have encode and fingerprint\)"
        ):
            ShadowEncoder(encoder="model", members=known_order, others=known_order)

    def test_targets_and_records(self, calm_shadow, known_order):
        attack = EncoderMI(shadows=[calm_shadow], views=VIEWS, classifier="threshold")
        with pytest.raises(InputError, match="target must be an encoder"):
            attack.scores(None, known_order)
        with pytest.raises(InputError, match="records must be at least one, got none"):
            attack.scores(calm_shadow.encoder, known_order.take(np.arange(0)))
        with pytest.raises(InputError, match=r"images must have shape \(n, height, width, channel"):
            attack.scores(calm_shadow.encoder, Records(np.ones((3, 4)), [0, 0, 0]))
        with pytest.raises(InputError, match="encoder must answer 600 images with one row each"):
            attack.scores(FunctionEncoder(lambda images: calm(images)[:-1]), known_order)

    def test_too_few_shadows_for_lira(self, calm_shadow, known_order):
        with pytest.raises(InputError, match="at least 2 shadows that did not see it, 60 of 60"):
            EncoderLira(shadows=[calm_shadow], views=VIEWS).scores(flat(np.sin), known_order)
        with pytest.raises(InputError, match="at least 2 shadows that saw it"):
            EncoderLira(shadows=[calm_shadow] * 2, views=VIEWS, mode="online").scores(
                flat(np.sin), known_order.take(np.arange(30, 60))
            )
