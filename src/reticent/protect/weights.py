"""A head's weights, released once with noise (the query handler of the ALM paper, made sound)."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from reticent.data.cells import SCHEMA_STATED
from reticent.guarantee import Guarantee, Relation
from reticent.guarantee.checks import checked_by
from reticent.guarantee.grade import as_relation
from reticent.guarantee.rounding import up
from reticent.mechanisms import AdditiveMechanism
from reticent.protect.budget import calibrated, event_of, mechanism_of, together
from reticent.protect.certified_head import (
    NO_SEARCH,
    certified_fit,
    head_of,
    refuse_other_mean,
    refuse_unproven,
)
from reticent.protect.mean import MEAN_CHECKED, Charge, ReleasedMean
from reticent.protect.noisy_query import minted, noisy_query
from reticent.protect.public_numbers import PublicNumbers, checked_each, stated_of_persons
from reticent.protect.released_head import ReleasedHead
from reticent.training import SigmoidHead, SoftmaxHead
from reticent.validation import InputError, positive, probability

Floats = NDArray[np.float64]

CERTIFIED = (
    checked_by(
        "features are brought within the public bound in float64, each row by itself in one order "
        "of summation",
        "training.features.public_map",
    ),
    checked_by(
        "the optimum is certified: the gradient at the released floats is at most the public "
        "tolerance",
        "training.optimum.certified_minimum",
    ),
)
CHECKED = (
    *CERTIFIED,
    checked_by(
        "the floats that were certified are the floats that were noised, bit by bit",
        "training.linear_head.LinearHead.certified",
    ),
    checked_by(
        "the head is the package's own class with its own methods, fitted by itself or behind "
        "public steps, with public classes and class weights",
        "protect.certified_head.refuse_unproven",
    ),
)
ZERO_SUM = checked_by(
    "only the coordinates in a fixed basis of the zero-sum space are noised and released",
    "training.softmax.zero_sum_basis",
)
TOGETHER = checked_by("ε covers the noisy mean and the weights together", "protect.budget.together")
STATED = (
    "one record is one row of features and its label; the map from raw data to features is fixed "
    "and looks at one record at a time",
    "encoder, scaling, centre, classes and their weights, bound, penalty, normaliser, tolerance, "
    "mechanism and ε were chosen without looking at the private data, but for a noisy mean where "
    "one is named, and no step before the head was fitted on it",
    NO_SEARCH,
    SCHEMA_STATED,
    "the data set has at most 2N records, N the public normaliser",
    "nothing else computed from the private data is published: no loss, accuracy or timing, nor"
    " that a job on them failed",
    "exp of the mathematical library is accurate to 16 units in the last place",
)


def release_weights(  # noqa: PLR0913 - one argument for each public choice
    head: SoftmaxHead | SigmoidHead | Pipeline,
    *,
    epsilon: float,
    delta: float,
    relation: Relation | str,
    mechanism: str = "gaussian",
    records_each: int | None = None,
    mean: ReleasedMean | None = None,
    charge: Charge | None = None,
) -> ReleasedHead:
    """Noise on a certified head's coordinates, (ε, δ)-DP, graded proven.

    With ``mean`` the head was centred by that released mean, and (ε, δ) covers both. What would
    make the claim unproven is refused in one line. ``charge`` is called with the event before the
    noise is drawn. Each call is a new release and composes with all others on the same data.
    """
    relation, records_each = as_relation(relation), checked_each(records_each)
    epsilon, delta = positive("epsilon", epsilon), probability("delta", delta)
    final, steps = head_of(head)
    refuse_unproven(final, relation, records_each)
    fit, steps = certified_fit(final, steps)
    refuse_other_mean(final, mean, relation, mechanism, records_each)
    numbers = None if mean is None else mean.numbers
    public = PublicNumbers.of(fit.numbers, records_each=records_each, mean=numbers)
    noises = release_noises(
        public,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        mechanism=mechanism,
        before=None if mean is None else mean.noise(),
    )
    noise = noises[-1]
    claim = _claim(public, noises, epsilon, delta, steps)
    if charge is not None:
        charge(event_of(noise, delta=delta))
    coordinates = np.frombuffer(fit.coordinates).reshape(fit.numbers.shape)
    released = ReleasedHead(
        coordinates=noisy_query(noise, coordinates),
        classes_=np.asarray(fit.classes),
        centre=None if final.centre is None else np.array(final.centre, dtype=np.float64),
        guarantee=claim,
        mechanism=noise.name,
        scale=noise.scale,
        public=public,
    )
    object.__setattr__(released, "guarantee", minted(claim))
    return released


def release_noises(
    public: PublicNumbers,
    *,
    epsilon: float,
    delta: float,
    relation: Relation,
    mechanism: str,
    before: AdditiveMechanism | None,
) -> list[AdditiveMechanism]:
    """The noises of a release in order, the mean's first, from public numbers alone."""
    noise = calibrated(
        mechanism_of(mechanism),
        public.sensitivity(relation),
        epsilon=epsilon,
        delta=delta,
        before=before,
    )
    return [noise] if before is None else [before, noise]


def theorem_line(public: PublicNumbers, source: str) -> str:
    """Where the sensitivity comes from, as a guarantee says it."""
    return checked_by(
        f"the sensitivity is a theorem about public numbers: {source}",
        f"bounds.heads.{public.outputs}_head",
    )


def _claim(
    public: PublicNumbers,
    noises: list[AdditiveMechanism],
    epsilon: float,
    delta: float,
    steps: tuple[str, ...],
) -> Guarantee:
    """(ε, δ), if the noises reach it."""
    noise = noises[-1]
    reached = up(together(noises, delta=delta))
    if not reached <= epsilon:
        raise InputError(f"epsilon must be >= {reached}, what the noise gives, got {epsilon}")
    alone = noise.guarantee(delta=delta, unit=public.unit)
    theorem = theorem_line(public, noise.sensitivity.source)
    steps = (*stated_of_persons(public.records_each), *steps)
    checked = (theorem, *alone.checked, *CHECKED)
    if public.outputs == "softmax":
        checked = (*checked, ZERO_SUM)
    if public.mean is not None:
        checked = (*checked, *MEAN_CHECKED, TOGETHER)
    return dataclasses.replace(alone, epsilon=epsilon, checked=checked, stated=(*STATED, *steps))
