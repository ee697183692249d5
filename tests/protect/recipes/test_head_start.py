"""Networks that start from a head on frozen features: within one budget, or from a release."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reticent.accounting.account import account
from reticent.audit.transcripts import audit_learner
from reticent.guarantee import Composed, Grade
from reticent.mechanisms.profiles import gaussian
from reticent.protect import (
    ClassMeansHead,
    NoisyGradientHead,
    PrivateNetwork,
    Release,
    Terms,
    composed_guarantee,
    load,
    release_records,
    save,
    use_start,
    verify,
)
from reticent.protect.certificate import document_of, event_in
from reticent.protect.noise_scales import composed_epsilon, noise_plan, with_scales
from reticent.protect.recipe import replay, tensors_of
from reticent.protect.recipes.head_start import HEAD_OFFSETS, HEAD_WEIGHTS
from reticent.protect.recipes.network import NetworkRecipe
from reticent.protect.recipes.noisy_gradient import GradientRecipe
from reticent.protect.released_encoder import fingerprint_of
from reticent.protect.sealed_pair import write_pair
from reticent.protect.training_progress import follow_training
from reticent.protect.used_encoder import UsedStart
from reticent.training.features import scale_rows
from reticent.training.fine_tuning.partly import frozen_features
from reticent.training.networks import token_encoder
from reticent.validation import InputError
from tests.training.fine_tuning.tiny_bert import write_tiny_bert

TERMS = Terms(epsilon=8.0, delta=1e-4, relation="add-remove")
TEXTS = np.array(["who was the king ?", "where is the city ?", "who is the king"] * 14)[:40]
LABELS = np.array([0, 1, 0] * 14)[:40]
CLASSES = np.array(["person", "place"])
NUMBERS = {"records": 40, "features": 8, "classes": 2, "batch": 10, "epochs": 1.0}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"{write_tiny_bert(tmp_path_factory.mktemp('bert'), layers=2)}#lora-last"


def rows(model: str) -> Any:
    return token_encoder(model, 8).encode(TEXTS).astype(np.float64)


def recipe(model: str, terms: Terms = TERMS, **options: Any) -> NetworkRecipe:
    asked = {"architecture": model, "exact": False, **NUMBERS, **options}
    return NetworkRecipe.planned(terms, **asked)


def released(model: str, terms: Terms = TERMS, **options: Any) -> Release:
    asked = recipe(model, terms, **options)
    return release_records(asked, terms, rows(model), LABELS, classes=CLASSES)


def features(model: str) -> Any:
    one = recipe(model)
    return frozen_features(one._network(), one._tensors(rows(model)))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def head(model: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A released head on the frozen features."""
    found = NoisyGradientHead(classes=CLASSES, records=40, epsilon=4.0, delta=1e-4,
                              relation="add-remove")  # fmt: skip
    found.fit(features(model), CLASSES[LABELS])
    out = tmp_path_factory.mktemp("head") / "head"
    save(found.released_, out)
    return out


def starting(head: Path, people: str = "same") -> Terms:
    return dataclasses.replace(TERMS, start=use_start(head, people))


class TestHeadShare:
    def test_before_the_first_step_it_answers_as_its_head_does(self, model: str) -> None:
        """At learning rate 0 what is released is the start: same answers to the same queries."""
        network = recipe(model, head_share=0.5, learning_rate=0.0)
        plan = noise_plan(network, TERMS)
        found = replay(network, plan, rows(model), LABELS)(_seeded())
        learner = GradientRecipe.planned(
            dataclasses.replace(TERMS, epsilon=4.0), records=40, features=16, classes=2
        )
        own = {name: plan[f"head {name}"] for name in learner.steps(TERMS)}
        alone = replay(learner, own, features(model), LABELS)(_seeded())
        np.testing.assert_allclose(
            network.scores(tensors_of(network, found), rows(model)),
            learner.scores(tensors_of(learner, alone), features(model)),
            atol=1e-4 * np.abs(alone).max(),
        )

    def test_one_epsilon_is_that_of_all_queries_together(self, model: str, tmp_path: Path) -> None:
        found = released(model, head_share=0.5)
        assert set(found.scales) == {
            *("head count", "head mean", "head gradients", "gradients"),
            *({"head second moment"} & set(found.scales)),
        }
        save(found, tmp_path / "net")
        checked = verify(tmp_path / "net")
        assert checked.holds
        assert 7.9 < checked.epsilon <= 8.0
        np.testing.assert_array_equal(
            load(tmp_path / "net").logits(rows(model)), found.logits(rows(model))
        )
        fewer = {name: one for name, one in found.scales.items() if name != "head gradients"}
        with pytest.raises(InputError, match="scales must be those of"):
            with_scales(found.recipe, fewer, TERMS)
        smaller = dict(found.scales) | {"head gradients": found.scales["head gradients"] / 2}
        plan = with_scales(found.recipe, smaller, TERMS)
        assert composed_epsilon(plan, relation=TERMS.relation, delta=TERMS.delta) > 9.0

    @pytest.mark.parametrize("share", [0.2, 0.8])
    @pytest.mark.parametrize("batch", [100, 2_000])
    def test_the_share_is_one_of_the_squared_shift(
        self, model: str, share: float, batch: int
    ) -> None:
        """Of μ² that (ε, δ) buys, for small samples of many steps and for all records at once."""
        terms = Terms(epsilon=2.0, delta=1e-5, relation="add-remove")
        large = recipe(
            model, terms, records=2_000, batch=batch, epochs=100 * batch / 2_000, head_share=share
        )
        plan = noise_plan(large, terms)
        spent = sum(
            step.times * step.noise.gdp() ** 2
            for name, step in plan.items()
            if name.startswith("head ")
        )
        assert spent == pytest.approx(share * gaussian.shift(2.0, 1e-5) ** 2, rel=0.2)

    @pytest.mark.slow
    def test_exact_mode_is_proven_and_not_refuted(self, model: str) -> None:
        learner = PrivateNetwork(
            classes=CLASSES, epsilon=8.0, delta=1e-4, relation="add-remove", records=40,
            architecture=model, batch=10, epochs=1.0, head_share=0.5,
        )  # fmt: skip
        few, labels = rows(model)[:8], CLASSES[LABELS[:8]]
        learner.fit(few, labels)
        assert learner.guarantee_.grade is Grade.PROVEN
        assert any("unit_rows" in line for line in learner.guarantee_.checked)
        learner.exact = False  # the same queries, without the check of bits before each run
        audit = audit_learner(learner, (few, labels), (few[1:], labels[1:]), runs=10)
        assert audit.verdict == "not refuted"

    def test_a_stopped_training_does_not_learn_its_head_again(
        self, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def stop(taken: int, planned: int) -> None:
            if taken == planned - 1:
                raise _StoppedError

        learnt = []
        learn = GradientRecipe.learn
        monkeypatch.setattr(
            GradientRecipe, "learn", lambda *given: learnt.append(1) or learn(*given)
        )
        state = tmp_path / "state"
        with pytest.raises(_StoppedError), follow_training(progress=stop, checkpoint=state):
            released(model, head_share=0.5)
        with follow_training(checkpoint=state):
            released(model, head_share=0.5)
        assert learnt == [1]

    @pytest.mark.parametrize(
        ("options", "reason"),
        [
            ({"head_share": 1.0}, r"head_share must be in \[0, 1\), got 1.0"),
            ({"head_share": float("nan")}, r"head_share must be in \[0, 1\), got nan"),
            ({"head_share": 0.5, "architecture": "mlp"}, "head_share must not be given to mlp"),
            ({"start": "somewhere"}, "start must be named in the terms and in the recipe"),
        ],
    )
    def test_what_does_not_go_together(
        self, model: str, options: dict[str, Any], reason: str
    ) -> None:
        with pytest.raises(InputError, match=reason):
            recipe(model, **options)

    def test_earlier_certificates_have_no_start(self, model: str) -> None:
        values = recipe(model).to_dict()
        assert not {"head_share", "start", "start_sha256"} & set(values)
        assert NetworkRecipe.from_dict(values) == recipe(model)


class TestStart:
    def test_before_the_first_step_it_answers_as_the_released_head_does(
        self, model: str, head: Path
    ) -> None:
        found = released(model, starting(head), start=str(head), learning_rate=0.0)
        own = load(head)
        np.testing.assert_array_equal(
            found.tensors[HEAD_WEIGHTS], own.tensors["weights"].astype(np.float32)
        )
        np.testing.assert_array_equal(found.predict(rows(model)), own.predict(features(model)))
        unit = scale_rows(features(model), 1.0)
        np.testing.assert_allclose(
            found.logits(rows(model)),
            unit @ found.tensors[HEAD_WEIGHTS].T + found.tensors[HEAD_OFFSETS],
            atol=1e-3,
        )

    def test_both_together_are_certified_by_the_accountants(
        self, model: str, head: Path, tmp_path: Path
    ) -> None:
        found = released(model, starting(head), start=str(head))
        save(found, tmp_path / "net")
        assert verify(tmp_path / "net").holds
        again = load(tmp_path / "net")
        both = composed_guarantee(again)
        assert both is not None
        assert again.terms.start is not None
        assert (both.delta, both.grade) == (pytest.approx(2e-4), Grade.DECLARED)
        events = Composed(events=(event_in(again.terms.start.document), again.event))
        sharp = account(events, relation=TERMS.relation, delta=both.delta).epsilon
        assert 8.0 < sharp <= both.epsilon < 12.0  # less than the sum of both
        assert any("starts from a released head" in line for line in found.guarantee.stated)
        other = composed_guarantee(released(model, starting(head, "other"), start=str(head)))
        assert other is not None
        assert other.epsilon == 8.0

    def test_the_estimator_says_both(self, model: str, head: Path) -> None:
        asked: dict[str, Any] = {
            "classes": CLASSES, "epsilon": 8.0, "delta": 1e-4, "relation": "add-remove",
            "records": 40, "architecture": model, "batch": 10, "epochs": 1.0, "exact": False,
        }  # fmt: skip
        network = PrivateNetwork(**asked, start=str(head), start_people="same")
        network.fit(rows(model), CLASSES[LABELS])
        both = network.composed_guarantee_
        assert both is not None
        assert both.epsilon > 8.0
        with pytest.raises(InputError, match="start_people must be said: same"):
            PrivateNetwork(**asked, start=str(head)).fit(rows(model), CLASSES[LABELS])

    def test_a_network_that_hides_its_start_is_refused(self, model: str, head: Path) -> None:
        asked = recipe(model, starting(head), start=str(head))
        with pytest.raises(InputError, match="start_sha256 is not that of the start in the terms"):
            release_records(asked, TERMS, rows(model), LABELS, classes=CLASSES)
        with pytest.raises(InputError, match="noisy-gradient starts from no head"):
            release_records(
                GradientRecipe.planned(TERMS, records=40, features=16, classes=2),
                starting(head), features(model), LABELS, classes=CLASSES,
            )  # fmt: skip

    def test_other_tensors_than_planned_with_are_refused(
        self, model: str, head: Path, tmp_path: Path
    ) -> None:
        own, copy = load(head), tmp_path / "head"
        save(own, copy)
        terms = starting(copy)
        moved = {name: 2 * one for name, one in own.tensors.items()}
        save(dataclasses.replace(own, tensors=moved), copy)
        with pytest.raises(InputError, match="start must stay what it was"):
            released(model, terms, start=str(copy))

    def test_another_certificate_than_that_of_the_start_is_refused_before_it_is_charged(
        self, model: str, head: Path
    ) -> None:
        """One that names a smaller ε, with the noise for it, would be stated and composed."""
        own = load(head)
        cheap = NoisyGradientHead(classes=CLASSES, records=40, epsilon=0.1, delta=1e-4,
                                  relation="add-remove")  # fmt: skip
        released_cheap = cheap.fit(features(model), CLASSES[LABELS]).released_
        start = UsedStart.of(
            "same", fingerprint_of(own), document_of(released_cheap), released_cheap.guarantee
        )
        terms, charged = dataclasses.replace(TERMS, start=start), []
        with pytest.raises(InputError, match="start must have the certificate of"):
            release_records(
                recipe(model, terms, start=str(head)), terms, rows(model), LABELS,
                classes=CLASSES, charge=charged.append,
            )  # fmt: skip
        assert not charged

    def test_heads_of_another_kind_width_or_order_are_refused(
        self, model: str, head: Path, tmp_path: Path
    ) -> None:
        swapped = dataclasses.replace(load(head), classes_=CLASSES[::-1])
        narrow = ClassMeansHead(classes=CLASSES, records=40, epsilon=4.0, delta=1e-4,
                                relation="add-remove")  # fmt: skip
        narrow.fit(features(model)[:, :8], CLASSES[LABELS])
        network = released(model)
        for found, reason in (
            (swapped, "its classes are not those of the network, in their order"),
            (narrow.released_, "8 features, and the head of the network reads 16"),
            (network, "network is no affine layer on rows of norm 1"),
        ):
            save(found, tmp_path / "other")
            with pytest.raises(InputError, match=reason):
                released(model, starting(tmp_path / "other"), start=str(tmp_path / "other"))

    def test_a_start_on_a_start_is_refused(self, model: str, head: Path, tmp_path: Path) -> None:
        save(released(model, starting(head), start=str(head)), tmp_path / "net")
        with pytest.raises(InputError, match="start must be made of records alone"):
            use_start(tmp_path / "net", "same")

    @pytest.mark.parametrize(
        ("change", "found"),
        [
            (lambda one: one["start"]["certificate"]["scales"].update(gradients=1e-3), "epsilon"),
            (lambda one: one["start"]["certificate"]["guarantee"].update(epsilon=0.1), "epsilon"),
            (lambda one: one["start"]["certificate"].update(classes=["place", "person"]), "order"),
            (lambda one: one["start"].update(fingerprint="0" * 64), "start_sha256"),
            (lambda one: one["start"].update(people="other"), "lines under stated lack"),
            (lambda one: one.pop("start"), "start_sha256"),
        ],
    )
    def test_an_edited_start_is_found(
        self, model: str, head: Path, tmp_path: Path, change: Any, found: str
    ) -> None:
        """By somebody who seals the files anew."""
        made = released(model, starting(head), start=str(head))
        document = json.loads(json.dumps(document_of(made)))
        write_pair(tmp_path / "n", document, dict(made.tensors))
        assert verify(tmp_path / "n").holds
        change(document["terms"])
        write_pair(tmp_path / "n", document, dict(made.tensors))
        problems = verify(tmp_path / "n").problems
        assert any(found in problem for problem in problems), problems
        with pytest.raises(InputError):
            load(tmp_path / "n")


class _StoppedError(Exception):
    """In the place of a kill."""


def _seeded() -> Any:
    random = np.random.default_rng(0)
    return lambda noise, value: value + 1e-3 * noise.scale * random.normal(size=np.shape(value))
