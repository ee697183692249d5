"""A head on a released encoder: card and pages show both guarantees, and no certificate as text."""

import numpy as np
import pytest

from reticent.protect import (
    ReleasedEncoder,
    Terms,
    composed_guarantee,
    release_records,
    save,
    use_encoder,
)
from reticent.protect.registry import RECIPES
from reticent.report.card import card
from reticent.report.evidence import of_certificate, of_results
from reticent.results.conversions import used_of
from tests.report.documents import SAMPLE, with_release

ROWS = np.random.default_rng(0).normal(size=(60, 5))
LABELS = (ROWS[:, 0] > 0).astype(np.int64)
BUDGET = {"delta": 1e-5, "relation": "add-remove"}
UNPROTECTED = "records that an encoder was pre-trained on are not protected"


@pytest.fixture(scope="module")
def encoder():
    terms = Terms(epsilon=4.0, **BUDGET)
    numbers = {"records": 60, "features": 5, "components": 2, "clusters": 2, "rounds": 1}
    recipe = RECIPES["prototypes"].planned(terms, **numbers)
    return release_records(recipe, terms, ROWS, np.zeros(60))


def head_on(encoder, people, epsilon=1.0):
    terms = Terms(epsilon=epsilon, encoder=use_encoder(encoder, people), **BUDGET)
    features = ReleasedEncoder(encoder).encode(ROWS).astype(np.float64)
    numbers = {"records": 60, "features": features.shape[1], "classes": 2}
    recipe = RECIPES["class-means"].planned(terms, **numbers)
    return release_records(recipe, terms, features, LABELS, classes=("no", "yes"))


@pytest.mark.parametrize(("people", "both"), [("same", "ε ≤ 4."), ("other", "ε ≤ 4,")])
@pytest.mark.parametrize("public", [False, True])
def test_the_card_says_both_guarantees_and_what_they_promise_together(
    encoder, people, both, public, tmp_path
):
    save(head_on(encoder, people), tmp_path / "head")
    text = card(of_certificate(tmp_path / "head"), public=public)
    below = text.split(f"**The released encoder below it (prototypes, of {people} people):** ")[1]
    assert below.startswith("ε ≤ 4, δ ≤ 1e-5 (declared;")
    assert text.split("**Both together:** ")[1].startswith(both)
    assert UNPROTECTED not in text
    assert "Its records are protected by its own guarantee" in text


def test_public_numbers_name_the_encoder_and_hold_no_certificate(encoder, tmp_path):
    save(head_on(encoder, "same"), tmp_path / "head")
    text = card(of_certificate(tmp_path / "head"))
    line = next(one for one in text.splitlines() if "**Public numbers:**" in one)
    fingerprint = use_encoder(encoder, "same").fingerprint[:12]
    assert f"encoder prototypes {fingerprint}, of same people" in line
    assert "certificate" not in line
    assert "fingerprint" not in line
    assert "records 60" in line


def test_other_cards_say_whose_records_nothing_protects(encoder, tmp_path):
    save(encoder, tmp_path / "encoder")
    own = card(of_certificate(tmp_path / "encoder"))
    assert UNPROTECTED not in own
    assert "records behind a public encoder below this one" in own
    assert UNPROTECTED in card(of_results(SAMPLE()))
    assert "Both together" not in own


def test_what_is_told_of_both_is_the_composed_guarantee(encoder):
    head = head_on(encoder, "same")
    used, both = used_of(head), composed_guarantee(head)
    assert (used.noun, used.recipe, used.people) == ("encoder", "prototypes", "same")
    assert used.claim.epsilon == 4.0
    assert (used.both.epsilon, used.both.delta) == (both.epsilon, both.delta)
    assert used_of(encoder) is None


@pytest.mark.parametrize("public", [False, True])
def test_the_page_shows_all_three(encoder, public, tmp_path):
    from reticent.report import rendering

    head = head_on(encoder, "same")
    if public:
        save(head, tmp_path / "head")
        from reticent.report.publication import publishable

        page = rendering.rendered_public(publishable(of_certificate(tmp_path / "head")), {})
    else:
        page = rendering.rendered(with_release(SAMPLE(), used=used_of(head)), {})
        assert "id='together'" not in rendering.rendered(SAMPLE(), {}).replace('"', "'")
    shown = page.split('<dl class="answers" id="together">')[1].split("</dl>")[0]
    assert "The released encoder below it (prototypes, of same people)</dt><dd>ε ≤ 4," in shown
    both = used_of(head).both.text.split(" (")[0]
    assert f"Both together</dt><dd>{both} ({'declared' if public else 'proven'};" in shown
    assert shown.index("This release") < shown.index("Both together")
