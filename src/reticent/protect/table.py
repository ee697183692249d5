"""From a table of private features to a release: cap each person's rows, plan, charge, learn."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from reticent.arrays import Array, Floats, Integers, is_file_backed
from reticent.data import Dataset
from reticent.guarantee import Relation
from reticent.guarantee.grade import as_relation
from reticent.protect import noise_scales, public_facts
from reticent.protect.recipe import Recipe
from reticent.protect.recipes.weights import WeightsRecipe
from reticent.protect.registry import CLASSIFICATION, MULTILABEL, RECIPES, REGRESSION, learner_named
from reticent.protect.release import Charge, Release, plain_recipe, released_by, with_names
from reticent.protect.terms import Terms, checked_each
from reticent.training import SoftmaxHead
from reticent.training.features import Norms, doubles
from reticent.validation import InputError, count

WEIGHTS = WeightsRecipe.name


@dataclass(frozen=True, kw_only=True)
class ReleaseRequest:
    """What is asked of a release; every number is public, and ``terms`` say where it came from.

    ``options`` are the further numbers that the recipe takes (``Recipe.options``); one that it has
    no use for is refused.
    """

    terms: Terms
    records: int
    recipe: str = WEIGHTS
    mechanism: str = "gaussian"
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        *,
        epsilon: float,
        delta: float,
        relation: Relation | str,
        records: int,
        recipe: str = WEIGHTS,
        mechanism: str = "gaussian",
        **options: Any,
    ) -> ReleaseRequest:
        """With the terms said one by one: all numbers are public."""
        terms = Terms(epsilon=epsilon, delta=delta, relation=as_relation(relation))
        return cls(
            terms=terms, records=records, recipe=recipe, mechanism=mechanism, options=options
        )

    @property
    def noise_name(self) -> str:
        """The mechanism that the recipe takes where this one is asked for."""
        return RECIPES.named(self.recipe).noise_for(self.mechanism)

    def with_options(self, **options: Any) -> ReleaseRequest:
        """The same with further options, or others in place of them."""
        return dataclasses.replace(self, options={**self.options, **options})

    def by(self, recipe: str) -> ReleaseRequest:
        """The same by another recipe; options that it does not take are left out."""
        taken = RECIPES.named(recipe).options
        options = {name: value for name, value in self.options.items() if name in taken}
        return dataclasses.replace(self, recipe=recipe, options=options)

    @property
    def budget(self) -> dict[str, Any]:
        """What ``release_weights`` and ``release_mean`` are told."""
        return {
            "epsilon": self.terms.epsilon,
            "delta": self.terms.delta,
            "relation": self.terms.relation,
            "mechanism": self.mechanism,
            "max_records_per_person": self.terms.max_records_per_person,
            "inferred": self.terms.inferred,
            "encoder": self.terms.encoder,
        }

    def for_rows_of(self, data: Dataset) -> ReleaseRequest:
        """The same with the person as the unit, where the data say whose their rows are."""
        each = kept_each(data, self.terms.max_records_per_person)
        return dataclasses.replace(
            self, terms=dataclasses.replace(self.terms, max_records_per_person=each)
        )

    def for_labels_of(self, data: Dataset) -> ReleaseRequest:
        """The same with what the labels of the table ask for.

        Several labels make a sigmoid head; the range of a number follows from the schema.
        """
        if data.task == MULTILABEL:
            return self.with_options(outputs="sigmoid")
        target = None if data.schema is None else data.schema.target
        if data.task != REGRESSION or target is None or "target_bound" in self.options:
            return self
        return self.with_options(**public_facts.target_options(target.low, target.high))

    def planned(self, features: int, classes: int) -> Recipe:
        """The recipe with its constants, from public numbers alone."""
        kind = RECIPES.named(self.recipe)
        given = {name: value for name, value in self.options.items() if value is not None}
        if idle := sorted(set(given) - set(kind.options)):
            raise InputError(
                f"{idle[0]} must not be given to {self.recipe}, which has no use for it"
            )
        return kind.planned(
            self.terms,
            records=self.records,
            features=features,
            classes=classes,
            mechanism=self.mechanism,
            **given,
        )


@dataclass(frozen=True, kw_only=True)
class HeadSpec:
    """A softmax head on private features; every number is public.

    ``inferred_classes`` says that the classes were read off the labels: what is fitted then can be
    released as declared at most.
    """

    records: int
    bound: float
    penalty: float
    intercept: float = 1.0
    norms: Norms = "clip"
    max_records_per_person: int | None = None
    inferred_classes: bool = False

    @classmethod
    def of(cls, recipe: Recipe, terms: Terms) -> HeadSpec:
        """The head whose optimum the recipe ``weights`` noises."""
        head = recipe.unfitted(range(recipe.classes), None)
        assert head is not None
        return cls(
            records=recipe.records,
            bound=head.bound,
            penalty=head.penalty,
            intercept=head.intercept,
            norms=head.norms,
            max_records_per_person=terms.max_records_per_person,
            inferred_classes="classes" in terms.inferred,
        )

    def unfitted(self, classes: tuple[str, ...]) -> SoftmaxHead:
        """The head before its fit."""
        return SoftmaxHead(
            classes=classes,
            records=self.records,
            bound=self.bound,
            penalty=self.penalty,
            intercept=self.intercept,
            norms=self.norms,
        )


def release_table(
    data: Dataset,
    request: ReleaseRequest,
    *,
    charge: Charge | None = None,
    start: Floats | None = None,
) -> Release:
    """A model on the features and labels of a table, released once.

    With persons in the data each keeps its first ``max_records_per_person`` rows (one, where none
    is said), and the person is the unit. ``charge`` is called with the event of the whole plan,
    which is known from public numbers, before anything is computed from the records. ``start``
    are the coordinates of an earlier fit, for the recipe ``weights``.
    """
    request = request.for_rows_of(data)
    terms = request.terms
    _refuse_inferred_classes(data, "classes" in terms.inferred)
    learner_named(request.recipe, data.task)
    request = request.for_labels_of(data)
    looked_at = _block_rows if RECIPES.is_own(request.recipe) else kept_rows
    rows, labels = looked_at(data, terms.max_records_per_person)
    recipe = plain_recipe(request.planned(rows.shape[1], len(data.classes)))
    recipe.refuse_other_layout(data.inputs.shape[1:])
    plan = noise_scales.noise_plan(recipe, terms)
    options: dict[str, Any] = {}
    if start is not None:
        options["start"] = _checked_start(recipe, start)
    released = released_by(
        lambda: recipe.learn(rows, labels, plan, **options),
        recipe=recipe,
        terms=terms,
        plan=plan,
        classes=np.asarray(data.classes),
        charge=charge,
        schema=data.schema,
    )
    return with_names(released, columns=data.columns)


def fit_head(data: Dataset, spec: HeadSpec, *, start: Floats | None = None) -> SoftmaxHead:
    """A softmax head at its certified optimum, unprotected."""
    _refuse_inferred_classes(data, spec.inferred_classes)
    features, places = _block_rows(data, spec.max_records_per_person)
    labels = class_names(data, places)
    return spec.unfitted(data.classes).fit(features, labels, start=start)


def kept_each(data: Dataset, max_records_per_person: int | None) -> int | None:
    """The most rows that a person keeps, one where none is said; None where no persons are named.

    Every claim about a table takes its unit from here: rows that are capped by person protect the
    person, at one row each too.
    """
    each = checked_each(max_records_per_person)
    return 1 if each is None and data.persons is not None else each


def private_rows(data: Dataset, max_records_per_person: int | None) -> tuple[Floats, Array]:
    """Features and labels of the rows that count, with each person's rows capped."""
    rows, places = kept_rows(data, max_records_per_person)
    return rows, class_names(data, places)


def class_names(data: Dataset, places: Array) -> Array:
    """The class of each record by its name, from its place among the classes."""
    if data.task != CLASSIFICATION:
        raise InputError(f"data must have one class for each record, got labels for {data.task}")
    names: Array = np.asarray(data.classes)[places]
    return names


def kept_rows(data: Dataset, max_records_per_person: int | None) -> tuple[Floats, Array]:
    """Features in float64 and labels as the data set has them, of the rows that count.

    Where all rows do, and are float64, they are the data's own: not copied, and not to be changed.
    """
    labels = _labels(data)
    if data.persons is None:
        return data.features.astype(np.float64, copy=False), labels.copy()
    rows = rows_kept(data, max_records_per_person)
    if len(rows) == len(data):
        return data.features.astype(np.float64, copy=False), labels.copy()
    return data.features[rows].astype(np.float64, copy=False), labels[rows]


def _block_rows(data: Dataset, max_records_per_person: int | None) -> tuple[Floats, Array]:
    """``kept_rows``, block by block where all of them are in a file: no copy of it is made."""
    if not is_file_backed(data.inputs) or data.inputs.ndim != 2:
        return kept_rows(data, max_records_per_person)
    if len(rows_kept(data, max_records_per_person)) < len(data):
        return kept_rows(data, max_records_per_person)
    return cast("Floats", doubles(data.features)), _labels(data).copy()


def rows_kept(data: Dataset, max_records_per_person: int | None) -> Integers:
    """The places of the rows that count.

    Persons without a cap are refused: whoever claims something of the rows must know the unit.
    """
    if data.persons is None:
        return np.arange(len(data))
    if max_records_per_person is None:
        raise InputError(
            "max_records_per_person must be said where the data name persons, got None"
        )
    return cap_rows_per_person(data.persons, max_records_per_person)


def cap_rows_per_person(persons: NDArray[np.generic], max_records_per_person: int) -> Integers:
    """The first rows of each person: which ones depends on that person's rows alone."""
    most = count("max_records_per_person", max_records_per_person)
    order = np.argsort(persons, kind="stable")
    ordered = persons[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    place = np.arange(len(persons)) - np.repeat(starts, np.diff(np.append(starts, len(persons))))
    return np.sort(order[place < most])


def _labels(data: Dataset) -> Array:
    if data.labels is None:
        raise InputError("data must have labels, got none")
    return data.labels


def _refuse_inferred_classes(data: Dataset, inferred: bool) -> None:
    """Classes that were read off the labels are said to be so, or refused."""
    if not data.public_classes and not inferred:
        raise InputError("classes must be declared for a proven release, got them from the labels")


def _checked_start(recipe: Recipe, start: Floats) -> Floats:
    """Before anything is charged: a fit on another width is found out too late otherwise."""
    shape = recipe.shapes().get("coordinates")
    if shape is None:
        raise InputError(f"a fit to start from must not be given to {recipe.name}")
    if start.shape != shape:
        raise InputError(f"fit must have coordinates of shape {shape}, got {start.shape}")
    return start
