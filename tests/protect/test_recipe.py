"""Laws of all recipes of the registry: shares, noise, ε, plain values, grades and sources."""

import dataclasses
import json
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from reticent.accounting import account
from reticent.guarantee import Grade
from reticent.guarantee.sensitivity import NORMS
from reticent.mechanisms.registry import MECHANISMS, for_any_vector
from reticent.protect import RECIPES, Terms, load, release_records, save, verify
from reticent.protect.noise_scales import (
    composed_epsilon,
    event_of,
    noise_plan,
    scales_of,
    with_scales,
)
from reticent.protect.recipe import Step, replay, tensors_of
from reticent.protect.recipes.class_means import ClassMeansRecipe
from reticent.protect.recipes.mean import MEAN, MeanRecipe
from reticent.protect.release import COMPOSED, PLUG_IN, claim_of, released_by
from reticent.validation import InputError

RELATIONS = ("add-remove", "replace-one")
OPTIONS = {
    "weights": {"bound": 1.0},
    "adassp-regression": {"bound": 1.0, "target_bound": 2.0},
    "functional-regression": {"bound": 1.0, "target_bound": 2.0},
    "mean": {"bound": 1.0},
}
"""Of recipes that take any; others need none."""
NAMES = (*RECIPES, "weights, centred")
OF_THREE = {
    **{("objective", "output", norm): 1.0 for norm in ("l1", "l2")},
    **{("input", step, "l2"): 3**0.5 for step in ("records", "labels")},
}
"""How a sensitivity grows for a person with three records, where not threefold: the rounding of a
search concerns whoever is in it, and lines of a table are different coordinates."""
RNG = np.random.default_rng(0)
ROWS, PLACES = RNG.normal(size=(90, 4)), np.arange(90) % 3


def terms_of(**changes):
    return Terms(**({"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"} | changes))


def planned(name, terms, *, mechanism="gaussian", kind=None):
    options = OPTIONS.get(name.split(",")[0], {})
    if name.endswith("centred"):
        options = options | {"mean_bound": 1.0}
    kind = kind or RECIPES[name.split(",")[0]]
    classes = {"classification": 3, "regression": 1, "statistic": 0, "encoding": 0}[kind.task]
    sizes = {"records": 90, "features": 4, "classes": classes}
    return kind.planned(terms, **sizes, mechanism=mechanism, **options)


def released(recipe, terms):
    labels = PLACES / 2 if recipe.task == "regression" else PLACES
    classes = ["a", "b", "c"] if recipe.task == "classification" else ()
    return release_records(recipe, terms, ROWS, labels, classes=classes)


def spent_by(plan, terms):
    return composed_epsilon(plan, relation=terms.relation, delta=terms.delta)


def is_refused(recipe, terms, scales):
    """Whether noise of these scales is not claimed."""
    try:
        claim_of(recipe, terms, with_scales(recipe, scales, terms))
    except InputError as refusal:
        return "what the noise gives" in str(refusal)
    return False


def mechanisms_of(name):
    """Those that its theorem covers."""
    return RECIPES[name.split(",")[0]].noises or for_any_vector()


WAYS = [
    pytest.param(name, mechanism, delta, id=f"{name}-{mechanism}-{delta}")
    for name in NAMES
    for mechanism in mechanisms_of(name)
    for delta in (0.0, 1e-5)
    if delta > 0 or not MECHANISMS[mechanism].needs_delta
]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("name", "mechanism", "delta"), WAYS)
class TestNoise:
    def test_shares_add_up_to_one_and_every_step_has_a_theorem(
        self, name, mechanism, delta, relation
    ):
        terms = terms_of(delta=delta, relation=relation)
        steps = planned(name, terms, mechanism=mechanism).steps(terms)
        assert math.isclose(sum(step.share for step in steps.values()), 1.0, abs_tol=1e-12)
        for step in steps.values():
            assert (step.share > 0, step.times >= 1) == (True, True)
            assert step.theorem.startswith("bounds.")

    @pytest.mark.parametrize("epsilon", [0.1, 3.0])
    def test_scales_give_epsilon_again_and_that_is_claimed(
        self, name, mechanism, delta, relation, epsilon
    ):
        terms = terms_of(epsilon=epsilon, delta=delta, relation=relation)
        recipe = planned(name, terms, mechanism=mechanism)
        plan = noise_plan(recipe, terms)
        spent = spent_by(plan, terms)
        # Shares of ρ or ε at δ > 0 leave something over: the accountants compose more sharply.
        once = [step.times for step in plan.values()] == [1]
        implicit = any(step.implicit for step in plan.values())  # calibrated by a search
        exact = (mechanism == "gaussian" or delta == 0 or once) and not implicit
        assert (1 - 1e-4 if exact else 0.01) * epsilon < spent <= epsilon
        again = with_scales(recipe, scales_of(plan), terms)
        assert again == plan
        by_event = account(
            event_of(plan, relation=terms.relation, delta=delta),
            relation=terms.relation,
            delta=delta,
        )
        assert by_event.epsilon == pytest.approx(spent, rel=1e-9)
        assert claim_of(recipe, terms, plan).epsilon == epsilon

    def test_less_noise_costs_more_and_is_not_claimed(self, name, mechanism, delta, relation):
        terms = terms_of(delta=delta, relation=relation)
        recipe = planned(name, terms, mechanism=mechanism)
        plan = noise_plan(recipe, terms)
        scales, spent = scales_of(plan), spent_by(plan, terms)
        for step in scales:
            weaker = with_scales(recipe, scales | {step: scales[step] / 2}, terms)
            assert spent_by(weaker, terms) > spent
            assert any(
                is_refused(recipe, terms, scales | {step: scales[step] / part})
                for part in (8, 1000)  # some compositions leave much over: they need the second
            )

    def test_a_person_with_more_records_needs_more_noise(self, name, mechanism, delta, relation):
        few, many = (
            terms_of(delta=delta, relation=relation, max_records_per_person=each)
            for each in (None, 3)
        )
        recipe = planned(name, few, mechanism=mechanism)
        steps = [recipe.steps(terms) for terms in (few, many)]
        for step in steps[0]:
            one, three = (
                {norm: getattr(found[step].sensitivity, norm) for norm in NORMS} for found in steps
            )
            given = [norm for norm in NORMS if one[norm] is not None]
            assert given
            assert "l2" in given or RECIPES[name.split(",")[0]].noises
            for norm in given:
                factor = OF_THREE.get((name, step, norm), 3.0)
                assert three[norm] == pytest.approx(factor * one[norm], rel=0.01)


@pytest.mark.parametrize("name", NAMES)
class TestPlainValues:
    def test_numbers_come_back_as_they_were(self, name):
        recipe = planned(name, terms_of())
        values = json.loads(json.dumps(recipe.to_dict(), allow_nan=False))
        assert type(recipe).from_dict(values) == recipe
        assert recipe.misfits(terms_of()) == []

    def test_missing_unknown_and_other_values_are_refused(self, name):
        recipe = planned(name, terms_of())
        values = recipe.to_dict()
        wrong = [None, [], values | {"more": 1}]
        wrong += [{one: values[one] for one in values if one != left} for left in values]
        wrong += [values | {one: {}} for one in values]
        wrong += [
            values | {one: math.nan} for one, value in values.items() if isinstance(value, float)
        ]
        for given in wrong:
            with pytest.raises(InputError) as caught:
                type(recipe).from_dict(given)
            assert "\n" not in str(caught.value)

    def test_a_release_has_the_shapes_that_were_promised_and_reads_back(self, name, tmp_path):
        terms = terms_of(max_records_per_person=2)
        found = released(planned(name, terms), terms)
        assert {one: tensor.shape for one, tensor in found.tensors.items()} == found.recipe.shapes()
        save(found, tmp_path / "release")
        again = load(tmp_path / "release")
        assert (again.recipe, again.terms) == (found.recipe, found.terms)
        assert verify(tmp_path / "release").epsilon <= 1.0
        assert again.event == found.event

    def test_a_replay_gives_the_tensors_of_its_answers(self, name):
        terms = terms_of()
        recipe = planned(name, terms)
        labels = PLACES / 2 if recipe.task == "regression" else PLACES
        numbers = replay(recipe, noise_plan(recipe, terms), ROWS, labels)(lambda _, value: value)
        tensors = tensors_of(recipe, numbers)
        assert {one: tensor.shape for one, tensor in tensors.items()} == recipe.shapes()
        flat = np.concatenate([tensors[one].ravel() for one in sorted(tensors)])
        assert np.array_equal(flat, numbers)


@pytest.mark.parametrize("name", NAMES)
class TestGrades:
    def test_own_recipes_with_numbers_that_were_said_are_proven(self, name):
        terms = terms_of(sources={"records": "public data"})
        assert released(planned(name, terms), terms).guarantee.grade is Grade.PROVEN

    def test_any_inferred_number_makes_it_declared(self, name):
        """Learnt once: the grade is given after learning, and looks at no tensor."""
        learnt = released(planned(name, terms_of()), terms_of())
        for number in learnt.recipe.public_numbers:
            terms = terms_of(sources={number: "inferred"})
            recipe = planned(name, terms)
            claim = released_by(
                lambda: learnt.tensors,
                recipe=recipe,
                terms=terms,
                plan=noise_plan(recipe, terms),
                classes=learnt.classes_,
            ).guarantee
            assert claim.grade is Grade.DECLARED
            assert any(line.startswith(f"{number}: read from") for line in claim.stated)

    def test_a_subclass_is_never_proven_and_nothing_of_it_is_checked(self, name):
        kind = RECIPES[name.split(",")[0]]
        terms = terms_of()
        recipe = planned(name, terms, kind=type(kind.__name__, (kind,), {}))
        claim = released(recipe, terms).guarantee
        assert claim.grade is Grade.DECLARED
        assert claim.checked == (COMPOSED,)
        assert PLUG_IN in claim.stated

    def test_sources_of_every_public_number_stand_in_the_certificate(self, name, tmp_path):
        terms = terms_of(sources={"records": "public data"})
        found = released(planned(name, terms), terms)
        save(found, tmp_path / "release")
        document = json.loads((tmp_path / "release.json").read_text(encoding="utf-8"))
        sources = document["terms"]["sources"]
        assert set(sources) == set(found.recipe.public_numbers)
        unsaid = {"outputs", "target_centre", "standardised", "fixed_head", "head_share", "start"}
        unsaid |= {"augmentation", "views"}
        assert {"records", *found.recipe.options} - unsaid <= set(sources)
        assert sources.pop("records") == "public data"
        assert set(sources.values()) <= {"said"}


@dataclass(frozen=True, kw_only=True)
class Sampled(MeanRecipe):
    """A mean of some of the rows: each is drawn with probability ``rate``, ``times`` times."""

    name: ClassVar[str] = "sampled-mean"
    rate: float = 1.0
    times: int = 1

    def steps(self, terms):
        (step,) = MeanRecipe.steps(self, terms).values()
        return {MEAN: dataclasses.replace(step, sampling_rate=self.rate, times=self.times)}


@pytest.mark.parametrize("times", [1, 20])
def test_sampled_queries_need_less_noise_and_keep_epsilon(times):
    terms, scales = terms_of(), []
    for rate in (1.0, 0.3, 0.03):
        recipe = dataclasses.replace(planned("mean", terms, kind=Sampled), rate=rate, times=times)
        plan = noise_plan(recipe, terms)
        cost = account(
            event_of(plan, relation=terms.relation, delta=1e-5),
            relation=terms.relation,
            delta=1e-5,
        )
        assert 0.99 < cost.epsilon <= 1.0
        scales.append(scales_of(plan)[MEAN])
    assert scales[0] > 1.5 * scales[1] > 3 * scales[2]


def test_sampling_of_records_that_replace_each_other_is_not_credited():
    terms = terms_of(relation="replace-one")
    recipe = dataclasses.replace(planned("mean", terms, kind=Sampled), rate=0.3)
    with pytest.raises(InputError, match="relation must be add-remove for Poisson sampling"):
        noise_plan(recipe, terms)


def test_a_registered_plug_in_releases_and_verifies_and_is_declared(tmp_path):
    class Other(ClassMeansRecipe):
        __slots__ = ()
        name = "other-means"

    RECIPES.register("other-means", Other)
    try:
        terms = terms_of()
        found = released(planned("other-means", terms), terms)
        save(found, tmp_path / "release")
        assert verify(tmp_path / "release").holds
        assert load(tmp_path / "release").recipe == found.recipe
        assert found.guarantee.grade is Grade.DECLARED
        assert PLUG_IN in found.guarantee.stated
    finally:
        RECIPES.unregister("other-means")


def test_a_plug_in_cannot_take_the_name_of_a_recipe():
    class Cheap(MeanRecipe):
        __slots__ = ()

        def steps(self, terms):
            moved = dataclasses.replace(
                MeanRecipe.steps(self, terms)[MEAN].sensitivity, l1=1e-9, l2=1e-9, grade="declared"
            )
            return {MEAN: Step(sensitivity=moved, share=1.0, theorem="bounds.means.clipped_sum")}

    terms = terms_of()
    recipe = planned("mean", terms, kind=Cheap)
    assert recipe.name == "mean"
    assert released(recipe, terms).guarantee.grade is Grade.DECLARED
    with pytest.raises(InputError, match="recipe must have a name of its own"):
        RECIPES.register("mean", Cheap)


def test_nobody_hangs_another_method_on_a_recipe():
    recipe = planned("mean", terms_of())
    with pytest.raises(AttributeError):
        object.__setattr__(recipe, "learn", lambda rows, labels, plan: {MEAN: rows.mean(0)})
    assert not hasattr(recipe, "__dict__")


def test_shares_that_do_not_add_up_and_scales_of_other_steps_are_refused():
    class Greedy(MeanRecipe):
        def steps(self, terms):
            return {
                name: dataclasses.replace(step, share=1.5)
                for name, step in MeanRecipe.steps(self, terms).items()
            }

    terms = terms_of()
    with pytest.raises(InputError, match=r"shares must add up to 1, got 1\.5"):
        noise_plan(planned("mean", terms, kind=Greedy), terms)
    with pytest.raises(InputError, match="scales must be those of mean, got others"):
        with_scales(planned("mean", terms), {"sum": 1.0}, terms)


@pytest.mark.parametrize("mechanism", ["laplace", "logistic", "l2-laplace"])
@pytest.mark.parametrize("delta", [1e-9, 1e-3])
def test_one_step_is_claimed_though_the_accountants_round_up(mechanism, delta):
    """Their figure is some 10⁻¹⁰ above the curve that one release is calibrated by."""
    for epsilon in (0.001, 0.4, 3.0, 8.0):
        terms = terms_of(epsilon=epsilon, delta=delta)
        recipe = planned("weights", terms, mechanism=mechanism)
        plan = noise_plan(recipe, terms)
        assert (1 - 1e-4) * epsilon < spent_by(plan, terms) <= epsilon
