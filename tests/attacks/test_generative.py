"""LOGAN on an overfitted GAN, with its discriminator and without; null, order and refusals."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.attacks.generative import DiscriminatorAttack, GANSpec, LocalGANAttack, train_gan
from reticent.attacks.records import Records
from reticent.attacks.targets import Access
from reticent.audit.metrics import auc
from reticent.validation import InputError

SURE = 1 - 1e-6
INSIDE = 50
SHORT = GANSpec(width=8, latent=2, steps=3, batch=4)


@pytest.fixture(scope="module")
def records():
    """Digits in a random order; the first are members."""
    found = load_digits()
    order = np.random.default_rng(0).permutation(len(found.data))
    return Records(found.data[order] / 16, found.target[order])


@pytest.fixture(scope="module")
def overfitted(records):
    return train_gan(records.inputs[:INSIDE], GANSpec())


@pytest.fixture(scope="module")
def scored(records):
    return records, np.arange(len(records)) < INSIDE


@pytest.fixture(scope="module")
def black_box(overfitted, records):
    """Samples are all that the adversary sees of the target."""
    return LocalGANAttack(spec=GANSpec(seed=1)).scores(OnlySamples(overfitted), records)


class OnlySamples:
    def __init__(self, gan):
        self._gan = gan

    def sample(self, size, *, seed):
        return self._gan.sample(size, seed=seed)


class OnlyOdds:
    """Surer of brighter records."""

    def log_odds(self, records):
        return records.reshape(len(records), -1).sum(axis=1)


@pytest.mark.slow
class TestOverfittedGAN:
    def test_its_discriminator_betrays_its_records(self, overfitted, scored):
        records, member = scored
        found = DiscriminatorAttack().scores(overfitted, records)
        assert auc(found.values[member], found.values[~member], confidence=SURE).low > 0.8
        assert auc(-found.values[member], -found.values[~member], confidence=SURE).high < 0.2
        assert np.array_equal(found.values, overfitted.log_odds(records.inputs))

    def test_its_samples_betray_its_records(self, black_box, scored):
        _, member = scored
        values = black_box.values
        assert auc(values[member], values[~member], confidence=SURE).low > 0.5
        assert auc(-values[member], -values[~member], confidence=SURE).high < 0.5

    def test_membership_that_left_no_trace_is_not_found(self, overfitted, black_box, scored):
        """Mixed membership, and two sides of which the target saw none; 1e-6 for each interval."""
        records, member = scored
        white_box = DiscriminatorAttack().scores(overfitted, records)
        mixed = np.random.default_rng(1).permutation(member)
        unseen = np.random.default_rng(2).permutation(np.arange(INSIDE, len(records)))
        for values in (white_box.values, black_box.values):
            assert auc(values[mixed], values[~mixed], confidence=SURE).contains(0.5)
            halves = values[unseen[:800]], values[unseen[800:]]
            assert auc(*halves, confidence=SURE).contains(0.5)


def test_the_surer_the_higher():
    """Whatever answers in log odds may be attacked; its order is the order of the scores."""
    records = Records([[0.1, 0.1], [0.9, 0.8], [0.4, 0.4]], [0, 1, 0])
    found = DiscriminatorAttack().scores(OnlyOdds(), records)
    assert found.values.tolist() == pytest.approx([0.2, 1.7, 0.8])
    assert found.decides_at is None
    assert found.attack == "discriminator"
    assert str(found.threat) == (
        "white box: the discriminator of a generative model; knows: nothing else"
    )


def test_the_local_gan_is_one_of_the_samples(records):
    target = train_gan(records.inputs[:20], SHORT)
    attack = LocalGANAttack(spec=SHORT, samples=30, seed=4)
    found = attack.scores(target, records)
    by_hand = train_gan(target.sample(30, seed=4), SHORT).log_odds(records.inputs)
    assert np.array_equal(found.values, by_hand)
    assert np.array_equal(attack.local_gan(target).log_odds(records.inputs), by_hand)
    assert found.attack == "local GAN"
    assert found.threat.access is Access.GENERATOR
    assert found.threat.knows == ()
    assert found.notes == ("a local GAN from 30 samples",)
    assert found.decides_at is None


@pytest.mark.slow
def test_the_local_discriminator_is_surer_of_what_was_sampled():
    """A law by hand: a generator of dark records makes dark ones look like members."""

    class Dark:
        def sample(self, size, *, seed):
            return np.random.default_rng(seed).uniform(0, 0.2, (size, 4))

    light = np.repeat([[0.1], [0.9]], 20, axis=0) + np.zeros((40, 4))
    spec = GANSpec(width=32, latent=2, steps=600)
    found = LocalGANAttack(spec=spec).scores(Dark(), Records(light, np.zeros(40)))
    assert found.values[:20].min() > found.values[20:].max()


class TestRefused:
    def test_targets(self, records):
        with pytest.raises(InputError, match=r"must have a discriminator \(log_odds of records\)"):
            DiscriminatorAttack().scores(None, records)
        with pytest.raises(InputError, match="must have a discriminator"):
            DiscriminatorAttack().scores(OnlySamples(None), records)
        with pytest.raises(InputError, match="target must make samples"):
            LocalGANAttack(spec=SHORT).scores(OnlyOdds(), records)

    def test_answers_of_a_target(self, records):
        class Silent:
            def log_odds(self, records):
                return np.zeros(3)

            def sample(self, size, *, seed):
                return np.zeros((size - 1, 64))

        with pytest.raises(InputError, match=r"must answer 1797 records with one number each, got"):
            DiscriminatorAttack().scores(Silent(), records)
        with pytest.raises(InputError, match="as many samples as it is asked for, 1000, got shape"):
            LocalGANAttack(spec=SHORT).scores(Silent(), records)

    def test_what_an_attack_is_built_with(self):
        with pytest.raises(InputError, match="spec must be a GANSpec, got int 3"):
            LocalGANAttack(spec=3)
        with pytest.raises(InputError, match="samples must be >= 2, got 1"):
            LocalGANAttack(samples=1)
        with pytest.raises(InputError, match="seed must be a whole number"):
            LocalGANAttack(seed=None)

    def test_records_of_another_shape(self, records):
        target = train_gan(records.inputs[:20], SHORT)
        with pytest.raises(InputError, match=r"must have shape \(64,\) each, got \(8, 8\)"):
            DiscriminatorAttack().scores(target, Records(np.zeros((2, 8, 8)), [0, 1]))
