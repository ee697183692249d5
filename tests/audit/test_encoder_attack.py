"""Released encoders attacked: a leak of known size is found, its absence too, shadows as made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reticent.attacks.replayed_shadow import ReplayedShadow
from reticent.audit.attack_plan import AttackPlan
from reticent.audit.encoder_attack import Sight, attack_encoder
from reticent.data import Dataset, load
from reticent.guarantee import Relation
from reticent.mechanisms import Gaussian
from reticent.protect import ReleaseRequest, release_encoder, release_table
from reticent.protect.released_encoder import rows_of
from reticent.randomness import seeded
from reticent.training.encoders.cache import one_by_one
from reticent.training.encoders.named import encoder_of
from reticent.validation import InputError

MEMBERS = 200
NAMES = ["encoder-set", "encoder-vector", "encoder-threshold"]
PLAN = AttackPlan(shadow_count=4)


def drawn(count: int, seed: int) -> Dataset:
    rows = seeded("encoder attack", seed).normal(size=(count, 12))
    return Dataset(name="rows", source="drawn", inputs=rows)


def request(recipe: str, **options) -> ReleaseRequest:
    return ReleaseRequest.of(
        epsilon=8.0, delta=1e-5, relation=Relation.ADD_REMOVE, records=MEMBERS, recipe=recipe,
        **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def sides():
    return drawn(MEMBERS, 0), drawn(MEMBERS, 1), drawn(2 * MEMBERS, 2)


@pytest.fixture(scope="module")
def images():
    data = load("digits")
    order = seeded("images").permutation(len(data))
    return [data.take(part) for part in np.split(order[: 4 * MEMBERS], [MEMBERS, 2 * MEMBERS])]


def test_all_attacks_with_shadow_records(sides):
    members, others, own = sides
    released = release_encoder(members, request("closed-form", components=6, embedding=4))
    found = attack_encoder(released, members, others, shadow=own, plan=PLAN)
    assert list(found.reports) == [*NAMES, "encoder-lira-offline"]
    assert not found.skipped
    assert found.notes[1] == "views: the views of each record, as they stand in it"
    assert found.inside.sum() == MEMBERS
    assert all(len(scores.values) == 2 * MEMBERS for scores in found.scores.values())


@pytest.mark.slow
def test_without_noise_the_closed_form_is_found_out(images, monkeypatch):
    """With its own views and hardly a ridge; with the noise of its ε nothing is found."""
    members, others, own = images
    base = "gabor-digit-views"
    rows = rows_of(one_by_one(encoder_of(base))(members.images))
    encoded = replace(members, inputs=rows, labels=None, classes=())
    released = release_encoder(encoded, request("closed-form", base=base))
    sure = AttackPlan(shadow_count=2, confidence=1 - 1e-6)
    assert not attack_encoder(released, members, others, shadow=own, plan=sure).leaks
    bare = {"ridge": 1e-2, "noise_ridge": 0.0, "pair_ridge": 1e-2, "pair_noise_ridge": 0.0}
    leaking = replace(released, recipe=replace(released.recipe, **bare))
    monkeypatch.setattr(Gaussian, "with_float_noise", lambda *_: Exact())
    target = ReplayedShadow(released=leaking)(rows, np.zeros(MEMBERS), 0)
    found = attack_encoder(target, members, others, shadow=own, plan=sure)
    assert all(report.auc.low > 0.9 for report in found.reports.values()), found.verdict


class Exact:
    """Of shadows, and of a target that is made as one."""

    def release(self, value):
        return value


def test_images_are_shown_under_the_augmentation_of_the_training(images):
    members, others, own = images
    released = release_encoder(
        members,
        request("spectral", shape="8x8x1", augmentation="digits", batch=100, epochs=1.0),
    )
    found = attack_encoder(released, members, others, shadow=own, plan=AttackPlan(shadow_count=1))
    assert list(found.reports) == NAMES
    assert "LiRA" not in "".join(found.reports)
    assert found.notes[1] == "views: augmentations of the inputs"
    sight = Sight(released, members.images.ndim, 0)
    assert sight.views.augmentation.rotate > 0


def test_an_encoder_of_rows_is_shown_masked_rows_of_images(images):
    members, others, own = images
    rows = replace(members, inputs=members.features.astype(np.float64), columns=())
    released = release_encoder(rows, request("spectral", batch=100, epochs=0.5))
    found = attack_encoder(released, members, others, shadow=own, plan=AttackPlan(shadow_count=1))
    assert found.notes[1] == "views: masks of the inputs"


def test_what_makes_no_features_is_refused(sides):
    head = release_table(
        replace(sides[0], labels=np.arange(MEMBERS) % 2, classes=("no", "yes")),
        request("class-means"),
    )
    with pytest.raises(InputError, match="encoder must be a release of an encoder"):
        attack_encoder(head, *sides[:2])


@pytest.mark.slow
def test_shadows_without_own_records_are_halves_of_the_scored(sides):
    members, others, _ = sides
    released = release_encoder(members, request("prototypes", components=4, clusters=3, rounds=2))
    found = attack_encoder(released, members, others)
    assert "encoder-lira-online" in found.reports
    assert found.notes[1] == "views: masks of the inputs"
    again = attack_encoder(released, members, others)
    for name, scores in found.scores.items():
        assert np.array_equal(scores.values, again.scores[name].values), name
