"""Ways to a proven guarantee without its noise, and false certificates: each is refused."""

import dataclasses
import json

import numpy as np
import pytest
from safetensors.numpy import load_file
from sklearn.base import BaseEstimator

from reticent.guarantee import Grade, Guarantee, Sensitivity
from reticent.mechanisms import Gaussian
from reticent.protect import (
    RECIPES,
    ClassMeansHead,
    Release,
    Terms,
    calibrated_answers,
    load,
    numbers_of,
    private_answers,
    release_mean,
    release_records,
    release_weights,
    save,
    verify,
)
from reticent.protect.answers import Answered
from reticent.protect.recipes.class_means import ClassMeansRecipe
from reticent.protect.sealed_pair import write_pair
from reticent.training import SoftmaxHead
from reticent.validation import InputError

RNG = np.random.default_rng(9)
X, Y = RNG.normal(size=(60, 4)), np.arange(60) % 3
BUDGET = {"epsilon": 1.0, "delta": 1e-6, "relation": "add-remove"}
TERMS = Terms(**BUDGET)


def planned(name="class-means", **options):
    return RECIPES[name].planned(TERMS, records=60, features=4, classes=3, **options)


def released(recipe=None, terms=TERMS, classes=range(3), **more):
    return release_records(recipe or planned(), terms, X, Y, classes=classes, **more)


def test_class_weights_of_another_fit_are_refused():
    """The largest weight scales the noise; the recipe itself fits without weights."""
    few = {0: 0.01, 1: 0.01, 2: 0.01}
    head = SoftmaxHead(classes=range(3), records=60, penalty=0.05, class_weight=few).fit(X, Y)
    weighted = release_weights(head, **BUDGET)
    with pytest.raises(InputError, match="class weights must be those of a fitted head"):
        released(weighted.recipe)
    with pytest.raises(InputError, match="class weights must be those of a fitted head"):
        released(dataclasses.replace(planned("weights", bound=1.0), largest_weight=1e-6))


@pytest.mark.parametrize(
    "change", [{"sums": 2.7e-60}, {"sums": 0.3}, {"counts": 1.0}, {"mean_share": 0.9}]
)
def test_constants_that_the_recipe_does_not_plan_are_refused(change):
    with pytest.raises(InputError, match="recipe must be as class-means plans it"):
        released(dataclasses.replace(planned(), **change))


def test_tiny_weights_keep_their_bound():
    """Their squares vanish in floats; the bound must not."""
    from reticent import bounds

    moved = bounds.class_statistics(
        moment=0.0, sums=2.7e-162, counts=3.4e-163, features=4, records=9, relation="replace-one"
    )
    assert moved.l2 >= 2 * 2.7e-162


class Standardising(BaseEstimator):
    """Looks at all private rows before it releases."""

    def fit(self, rows, labels):
        rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        self.released_ = release_records(planned(), TERMS, rows, labels, classes=range(3))
        return self


def test_an_estimator_around_a_release_is_refused():
    with pytest.raises(InputError, match="got a fit inside Standardising"):
        Standardising().fit(X, Y)


@pytest.mark.parametrize("kind", [Terms, Release, Answered])
def test_what_carries_a_claim_is_not_subclassed(kind):
    with pytest.raises(TypeError, match="must not be subclassed"):
        type("Sub", (kind,), {})


class Duck:
    """Says declared once, and proven from then on."""

    def __init__(self):
        self.asked = 0

    @property
    def grade(self):
        self.asked += 1
        return Grade.DECLARED if self.asked == 1 else Grade.PROVEN


def test_another_guarantee_is_refused():
    mean = release_mean(X, bound=2.0, records=60, **BUDGET)
    with pytest.raises(InputError, match="a release must have a Guarantee and Terms themselves"):
        dataclasses.replace(mean, guarantee=Duck())


class Steal:
    """``MappingProxyType`` would hand its dict to this comparison."""

    def __eq__(self, other):
        other["mean"] = 1e9
        return True

    def __hash__(self):
        return 0


@pytest.mark.parametrize("of", ["scales", "tensors"])
def test_a_foreign_comparison_changes_nothing(of):
    mean = release_mean(X, bound=2.0, records=60, **BUDGET)
    before = dict(getattr(mean, of))
    with pytest.raises(TypeError):
        assert getattr(mean, of) == Steal()
    assert dict(getattr(mean, of)) == before
    with pytest.raises(TypeError):
        assert Terms(**BUDGET, sources={"records": "inferred"}).sources == Steal()


def test_noise_of_another_plan_is_refused():
    from reticent.protect.noise_scales import noise_plan
    from reticent.protect.release import released_by

    recipe = planned()
    plan = dict(noise_plan(recipe, TERMS))
    step = plan["statistics"]
    other = Sensitivity(l2=step.noise.sensitivity.l2 / 9, relation="add-remove")
    plan["statistics"] = dataclasses.replace(
        step, noise=Gaussian(scale=step.noise.scale, sensitivity=other)
    )
    with pytest.raises(InputError, match="the plan's noise is not that of its steps"):
        released_by(dict, recipe=recipe, terms=TERMS, plan=plan, classes=range(3))


def test_nothing_is_charged_for_what_cannot_be_released():
    charged = []
    with pytest.raises(InputError, match="2 classes do not fit a recipe of 3"):
        released(classes=range(2), charge=charged.append)
    assert charged == []


def test_the_ledger_hears_of_a_mean_that_it_was_not_charged_for():
    seen = []
    for charge in (None, seen.append):
        mean = release_mean(X, bound=2.0, records=60, share=0.1, charge=charge, **BUDGET)
        head = SoftmaxHead(
            classes=range(3), records=60, penalty=0.1, centre=mean.tensors["mean"]
        ).fit(X, Y)
        release_weights(head, mean=mean, charge=seen.append, **BUDGET)
    whole, alone, rest = seen
    assert whole.events == (alone, rest)


def test_noise_that_hangs_on_a_plan_is_left_behind():
    head = SoftmaxHead(classes=range(3), records=60, penalty=0.1).fit(X, Y)
    plan = calibrated_answers(numbers_of(head), queries=2, mechanism="gaussian", **BUDGET)
    due = plan.noise
    plan.__dict__["noise"] = dataclasses.replace(due, scale=due.scale / 100)
    assert private_answers(head, plan).plan.noise == due


def test_one_text_is_no_list_of_names():
    with pytest.raises(InputError, match="inferred must be a list of names"):
        ClassMeansHead(classes=range(3), records=60, inferred="bound", **BUDGET).fit(X, Y)


def test_numbers_of_numpy_are_kept_as_plain_ones(tmp_path):
    terms = Terms(**BUDGET, max_records_per_person=np.int64(2))
    recipe = RECIPES["weights"].planned(
        terms, records=60, features=4, classes=3, bound=1.0, mean_bound=np.float32(1)
    )
    save(released(recipe, terms), tmp_path / "plain")
    assert verify(tmp_path / "plain").holds


# --- certificates -------------------------------------------------------------------------------


def forged(path, change, tensors=None):
    """The file with some claims changed, and sealed again."""
    document = json.loads(path.with_suffix(".json").read_text())
    document.pop("weights_sha256")
    for place, value in change.items():
        *way, last = place.split(".")
        inner = document
        for step in way:
            inner = inner[step]
        inner[last] = value
    own = load_file(path.with_suffix(".safetensors"))
    write_pair(path, document, own | (tensors or {}))


@pytest.fixture
def file(tmp_path):
    save(released(), tmp_path / "file")
    return tmp_path / "file"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"terms.sources": {}}, "the source of records is not said"),
        ({"guarantee.checked": ["audited by a notary"]}, "the lines under checked are not those"),
        ({"guarantee.stated": []}, "the lines under stated lack"),
        ({"guarantee.epsilon": 0.5}, "the epsilon is 1.0, not 0.5"),
        ({"numbers.sums": 4.0}, "sums is 4.0, and class-means has 1.0"),
        ({"scales.statistics": 1e-3}, "the noise gives epsilon"),
    ],
)
def test_a_certificate_that_says_something_else_does_not_hold(file, change, says):
    assert verify(file).holds
    forged(file, change)
    found = verify(file)
    assert not found.holds
    assert any(says in problem for problem in found.problems), found.problems
    with pytest.raises(InputError):
        load(file)


@pytest.mark.parametrize(
    "change",
    [
        {"numbers.records": 10**400},
        {"numbers.sums": 1e200},
        {"numbers.classes": 10**30},
        {"terms.max_records_per_person": 10**300},
    ],
)
def test_a_number_beyond_all_ranges_is_one_line(file, change):
    forged(file, change)
    with pytest.raises(InputError, match=r"must (be|hold)"):
        verify(file)


def test_a_scale_beyond_all_ranges_does_not_hold_or_holds_with_its_epsilon(file):
    forged(file, {"scales.statistics": 1e300})
    found = verify(file)
    assert found.holds is (found.epsilon <= 1.0 and not found.problems)


def test_a_tensor_that_is_no_tensor_of_the_release_does_not_hold(file):
    forged(file, {}, tensors={"raw": X.astype(np.float32)})
    assert any("the tensor raw is not finite" in one for one in verify(file).problems)


def test_a_field_that_stands_twice_is_refused(file):
    path = file.with_suffix(".json")
    path.write_text(
        path.read_text().replace('"epsilon": 1.0', '"epsilon": 0.01, "epsilon": 1.0', 1)
    )
    with pytest.raises(InputError, match="must name each field once"):
        verify(file)


def test_a_mean_of_nobody_does_not_hold(tmp_path):
    save(release_mean(X, bound=2.0, records=60, **BUDGET), tmp_path / "mean")
    forged(tmp_path / "mean", {"numbers.records": 0})
    assert "records must be at least 1" in verify(tmp_path / "mean").problems


def test_files_of_the_real_thing_hold(tmp_path):
    """The forger's own tools do no harm: an unchanged document sealed again holds."""
    save(released(), tmp_path / "same")
    forged(tmp_path / "same", {})
    assert verify(tmp_path / "same").holds
    assert isinstance(load(tmp_path / "same").guarantee, Guarantee)
    assert isinstance(planned(), ClassMeansRecipe)
