"""What left the house: a model from noisy queries alone, with its guarantee; and how it is made.

``release_records`` plans the noise from public numbers, charges the ledger, lets the recipe learn
with real noise, and mints. The grade follows from the terms: nothing changes it afterwards.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np
from numpy.typing import ArrayLike

from reticent.arrays import Array, Floats, FrozenMapping, frozen
from reticent.data.schema import Schema
from reticent.guarantee import Event, Grade, Guarantee
from reticent.guarantee.guarantee import checked_by
from reticent.mechanisms import AdditiveMechanism
from reticent.mechanisms.mechanism import FRESH_SECURE_NOISE
from reticent.notebook_html import SHOWN, block, folded, more, pairs
from reticent.protect import (
    checked_start,
    noise_scales,
    plain_values,
    public_facts,
    training_progress,
)
from reticent.protect.checked_records import checked_records
from reticent.protect.feature_names import checked_names, columns_of, feature_names, in_order
from reticent.protect.noisy_query import minted, replacements
from reticent.protect.recipe import Plan, Recipe, Tensors
from reticent.protect.registry import is_own
from reticent.protect.terms import Terms
from reticent.validation import InputError, float_rows

if TYPE_CHECKING:  # scikit-learn, which reading a release can do without
    from reticent.training.public_step import Enclosing

Charge = Callable[[Event], object]
"""Called with the event of a release before its noise is drawn; if it raises, nothing leaves."""

COMPOSED = checked_by(
    "ε is the accountants' for all of these queries together",
    "protect.noise_scales.composed_epsilon",
)
PLUG_IN = (
    "the recipe or its noise is a plug-in from outside this package: its theorem and its code are"
    " its author's"
)


@dataclass(frozen=True, kw_only=True, eq=False, slots=True, weakref_slot=True)
class Release:
    """A recipe, its terms, the scales of its noise, the tensors that came of it, the guarantee.

    Public from now on: reading, copying and rounding it is free (post-processing). Whoever builds
    one by hand, or changes a field, has a declared guarantee at most.
    """

    recipe: Recipe
    terms: Terms
    scales: Mapping[str, float]
    tensors: Mapping[str, Floats]
    guarantee: Guarantee
    classes_: Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """In the order of the scores; none where the task is not classification."""
    schema: Schema | None = None
    """Of the raw table, where the features were prepared by one: it prepares queries too."""
    columns: tuple[str, ...] = ()
    """The names of the features in their order; none where they were never named."""

    def __init_subclass__(cls) -> None:
        """A subclass could skip the checks and keep a proven guarantee."""
        raise TypeError("Release must not be subclassed")

    def __post_init__(self) -> None:
        """Tensors that stay as they are, of the recipe's shapes."""
        if type(self.guarantee) is not Guarantee or type(self.terms) is not Terms:
            raise InputError("a release must have a Guarantee and Terms themselves, got others")
        if self.guarantee.grade is Grade.PROVEN:
            declared = dataclasses.replace(self.guarantee, grade=Grade.DECLARED)
            object.__setattr__(self, "guarantee", declared)
        object.__setattr__(self, "scales", FrozenMapping(self.scales))
        tensors = {name: frozen(tensor) for name, tensor in self.tensors.items()}
        object.__setattr__(self, "tensors", FrozenMapping(tensors))
        object.__setattr__(self, "classes_", frozen(np.asarray(self.classes_)))
        object.__setattr__(self, "columns", checked_names(self.columns, self.recipe.features))
        problems = shape_misfits(self.recipe, self.tensors, len(self.classes_))
        if problems:
            raise InputError(f"tensors must be those of the recipe, got: {problems[0]}")

    def _repr_html_(self) -> str:
        """For notebooks: what was released, how a query is answered, what is promised."""
        facts = {
            "learner": f"{self.recipe.name}, {self.mechanism} noise",
            "classes": ", ".join(map(str, self.classes_[:SHOWN])) + more(self.classes_),
            "features": f"{self.features}: {', '.join(self.columns[:SHOWN])}{more(self.columns)}",
            "numbers": sum(tensor.size for tensor in self.tensors.values()),
        }
        lists = (
            folded("how a query is answered", list(self.recipe.formula)),
            folded("checked by the code", self.guarantee.checked),
            folded("stated by you", self.guarantee.stated),
        )
        return block("released model", self.guarantee, pairs(facts), *lists)

    def __reduce__(self) -> tuple[Any, ...]:
        """As its fields, for processes that work on it: what arrives is declared at most."""
        values = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        plain = {"scales": dict(self.scales), "tensors": dict(self.tensors)}
        return _restored, (values | plain,)

    @property
    def mechanism(self) -> str:
        """The noise of its steps."""
        return self.recipe.mechanism

    @property
    def features(self) -> int:
        """The number of features of a query."""
        return self.recipe.features

    @property
    def noises(self) -> dict[str, AdditiveMechanism]:
        """The noise that each step says it was released with."""
        plan = noise_scales.with_scales(self.recipe, self.scales, self.terms)
        return {name: step.noise for name, step in plan.items()}

    @property
    def event(self) -> Event:
        """The whole release as an accountant sees it."""
        plan = noise_scales.with_scales(self.recipe, self.scales, self.terms)
        return noise_scales.event_of(plan, relation=self.terms.relation, delta=self.terms.delta)

    def logits(self, X: ArrayLike) -> Floats:
        """The recipe's scores: a column per class.

        The columns of a data frame are taken by their names, where the release has names.
        """
        return self.recipe.scores(self.tensors, self._rows(X))

    def transform(self, X: ArrayLike) -> Floats:
        """The features that a released encoder makes of rows; free, because it is public."""
        return self.recipe.encoded(self.tensors, self._rows(X))

    def _rows(self, X: ArrayLike) -> Floats:
        rows = in_order(float_rows("X", X), columns_of(X), self.columns)
        if rows.shape[1] != self.features:
            raise InputError(f"X must have {self.features} features, got {rows.shape[1]}")
        return rows

    def decision_function(self, X: ArrayLike) -> Floats:
        """Logits; for two classes that exclude each other their difference."""
        logits = self.logits(X)
        return logits[:, 1] - logits[:, 0] if self.recipe.is_binary else logits

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability of each class."""
        return self.recipe.probabilities(self.logits(X))

    def predict(self, X: ArrayLike) -> Array:
        """The likeliest class of each row, or its number where the task is regression."""
        return self.recipe.decided(self.logits(X), self.classes_)


def release_records(  # noqa: PLR0913 - a recipe, its terms and records, and who is charged
    recipe: Recipe,
    terms: Terms,
    rows: Floats,
    labels: Array,
    *,
    classes: ArrayLike = (),
    charge: Charge | None = None,
    context: "Enclosing | None" = None,
    schema: Schema | None = None,
) -> Release:
    """One release by a recipe on private records.

    Args:
        recipe: What is learned, planned from public numbers.
        terms: What is promised.
        rows: The private features, finite.
        labels: The place of each record's label among the classes, or its target.
        classes: In the order of these places; empty for a regression or a statistic.
        charge: Called with the event of the whole release before a query is formed.
        context: What stands around the release, where an estimator of ours has looked already.
        schema: By which the rows were prepared from a raw table.
    """
    recipe = plain_recipe(recipe)
    if is_own(recipe):
        rows, labels = checked_records(recipe, rows, labels)
    plan = noise_scales.noise_plan(recipe, terms)
    return released_by(
        lambda: recipe.learn(rows, labels, plan),
        context=context,
        recipe=recipe,
        terms=terms,
        plan=plan,
        classes=classes,
        charge=charge,
        schema=schema,
    )


def plain_recipe(recipe: Recipe) -> Recipe:
    """The same numbers, each read once: one of another type may count as 100 and run 5,000 times.

    A plug-in's are its author's.
    """
    return type(recipe).from_dict(recipe.to_dict()) if is_own(recipe) else recipe


def released_by(  # noqa: PLR0913 - as above
    learn: Callable[[], Tensors],
    *,
    recipe: Recipe,
    terms: Terms,
    plan: Plan,
    classes: ArrayLike = (),
    charge: Charge | None = None,
    charged: Event | None = None,
    context: "Enclosing | None" = None,
    schema: Schema | None = None,
) -> Release:
    """Check, claim, charge, learn, mint: the one place where a release is made.

    ``charged`` is the event where it is not that of the whole plan (a mean was charged before).
    """
    from reticent.training.public_step import enclosing  # scikit-learn, as above

    context = enclosing() if context is None else context
    if context.problem is not None:
        raise InputError(context.problem)
    terms = public_facts.followed_by(terms.with_sources(recipe.public_numbers), schema, recipe)
    names = _class_array(classes)
    _refuse_other_numbers(recipe, terms, plan, len(names))
    checked_start.refuse_other_start(recipe, terms, names.tolist())
    if problems := public_facts.misfits(schema, recipe, list(map(str, names.tolist())), terms):
        raise InputError(f"schema must be that of the records, got: {problems[0]}")
    steps = tuple(dict.fromkeys((*terms.public_steps, *context.steps)))
    terms = dataclasses.replace(terms, public_steps=steps)
    claim = claim_of(recipe, terms, plan, schema)
    if charge is not None:
        whole = noise_scales.event_of(plan, relation=terms.relation, delta=terms.delta)
        charge(whole if charged is None else charged)
    before, resumed = replacements(), training_progress.resumptions()
    tensors = learn()
    if training_progress.resumptions() != resumed:
        terms = dataclasses.replace(terms, resumed=True)
        claim = claim_of(recipe, terms, plan, schema)
    release = Release(
        recipe=recipe,
        terms=terms,
        scales=noise_scales.scales_of(plan),
        tensors=tensors,
        guarantee=claim,
        classes_=names,
        schema=schema,
    )
    if is_own(recipe) and not terms.inferred and not recipe.unproven:
        object.__setattr__(release, "guarantee", minted(claim, since=before))
    if charge is not None:
        _CHARGED.add(release)
    return release


def with_names(
    release: Release, *, classes: ArrayLike | None = None, columns: Sequence[str] = ()
) -> Release:
    """The same release with names for people: post-processing, its guarantee is what it was.

    Args:
        release: Whose tensors stay as they are.
        classes: As their owner writes them, such as numbers where the release has the texts of
            these numbers; in its order.
        columns: The names of the features; those of an array's places are left out.
    """
    if type(release) is not Release:
        raise InputError("release must be a Release itself, got another")
    typed = release.classes_ if classes is None else _class_array(classes)
    if typed.astype(str).tolist() != release.classes_.astype(str).tolist():
        raise InputError("classes must be those of the release in their order, got others")
    values = {one.name: getattr(release, one.name) for one in dataclasses.fields(release)}
    names = feature_names(columns) or release.columns
    if len(names) != release.features:  # never a reason to lose what was charged
        names = ()
    named = Release(**values | {"classes_": typed, "columns": names})
    object.__setattr__(named, "guarantee", release.guarantee)
    if was_charged(release):
        _CHARGED.add(named)
    return named


_CHARGED: WeakSet[Release] = WeakSet()
"""Releases whose cost was handed to a ledger when they were made."""


def was_charged(release: Release) -> bool:
    """Whether the cost of this release was handed to a ledger in this process."""
    return release in _CHARGED


def _class_array(classes: ArrayLike) -> Array:
    """Classes as a release keeps them: what no file could tell apart again is refused."""
    class_array = np.asarray(classes)
    plain = plain_values.class_names(class_array.tolist())
    return frozen(np.asarray(plain) if class_array.dtype == object else class_array)


def _refuse_other_numbers(recipe: Recipe, terms: Terms, plan: Plan, classes: int) -> None:
    """Before anything is charged: numbers that the recipe does not plan, or another's noise."""
    problems = recipe.misfits(terms) if is_own(recipe) else []
    if not plain_values.is_plain(recipe) or type(recipe).from_dict(recipe.to_dict()) != recipe:
        problems.append("its numbers are not plain values")
    problems += _other_noise(recipe, terms, plan)
    expected = recipe.classes if recipe.task == "classification" else 0
    if classes != expected:
        problems.append(f"{classes} classes do not fit a recipe of {expected}")
    if problems:
        raise InputError(f"recipe must be as {recipe.name} plans it, got: {problems[0]}")


def _other_noise(recipe: Recipe, terms: Terms, plan: Plan) -> list[str]:
    kinds, steps = noise_scales.kinds_of(recipe, terms), recipe.steps(terms)
    fits = set(plan) == set(steps) and all(
        type(plan[name].noise) is kinds[name]
        and plan[name].noise.sensitivity == step.sensitivity
        and (plan[name].times, plan[name].sampling_rate, plan[name].sample)
        == (step.times, step.sampling_rate, step.sample)
        and plan[name].implicit == step.implicit
        for name, step in steps.items()
    )
    return [] if fits else ["the plan's noise is not that of its steps"]


def claim_of(recipe: Recipe, terms: Terms, plan: Plan, schema: Schema | None = None) -> Guarantee:
    """(ε, δ) with both lists of assumptions, if the plan's noise reaches it; declared.

    What a plug-in says of itself is stated: this package checks nothing but the composition.
    """
    spent = noise_scales.composed_epsilon(plan, relation=terms.relation, delta=terms.delta)
    if not spent <= terms.epsilon:
        raise InputError(f"epsilon must be >= {spent}, what the noise gives, got {terms.epsilon}")
    theorems = tuple(
        checked_by(f"{name}: {step.sensitivity.source}", step.theorem)
        for name, step in recipe.steps(terms).items()
    )
    samplers = dict.fromkeys(step.noise.sampling for step in plan.values())
    noise = (*samplers, FRESH_SECURE_NOISE)
    own = is_own(recipe)
    facts = () if schema is None else schema.stated
    foreign = () if own else (PLUG_IN, *theorems, *noise, *recipe.checked)
    return Guarantee(
        epsilon=terms.epsilon,
        delta=terms.delta,
        relation=terms.relation,
        unit=terms.unit,
        checked=(*theorems, COMPOSED, *noise, *recipe.checked) if own else (COMPOSED,),
        stated=(
            *foreign,
            *terms.stated,
            *recipe.stated,
            *recipe.unproven,
            *facts,
            *terms.steps_stated,
        ),
    )


def shape_misfits(recipe: Recipe, tensors: Mapping[str, Floats], classes: int) -> list[str]:
    """Where tensors are not those of a recipe with so many classes."""
    shapes = recipe.shapes()
    problems = [
        f"{name} does not have the shape {shape}"
        for name, shape in shapes.items()
        if name not in tensors or tensors[name].shape != shape
    ]
    problems += [f"{name} is no tensor of {recipe.name}" for name in tensors if name not in shapes]
    expected = recipe.classes if recipe.task == "classification" else 0
    if classes != expected:
        problems.append(f"{classes} classes do not fit a recipe of {expected}")
    return problems


def _restored(values: dict[str, Any]) -> Release:
    return Release(**values)
