"""A head's weights, released once with noise (the query handler of the ALM paper, made sound)."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from reticent.guarantee import Guarantee, Relation
from reticent.guarantee.grade import as_relation
from reticent.guarantee.minting import proven
from reticent.guarantee.rounding import up
from reticent.mechanisms import AdditiveMechanism
from reticent.protect.budget import calibrated, event_of, mechanism_of, together
from reticent.protect.certified_head import head_of, refuse_other_mean, refuse_unproven
from reticent.protect.mean import MEAN_CHECKED, Charge, ReleasedMean
from reticent.protect.public_numbers import PublicNumbers
from reticent.protect.released_head import ReleasedHead
from reticent.training import SigmoidHead, SoftmaxHead
from reticent.training.linear_head import LinearHead
from reticent.validation import InputError, count, positive, probability

Floats = NDArray[np.float64]

CHECKED = (
    "features are brought within the public bound in float64, row by row",
    "the optimum is certified: the gradient at the released floats is at most the public tolerance",
    "the floats that were certified are the floats that were noised, bit by bit",
)
ZERO_SUM = "only the coordinates in a fixed basis of the zero-sum space are noised and released"
STATED = (
    "one record is one row of features and its label; the map from raw data to features is fixed "
    "and looks at one record at a time",
    "encoder, scaling, centre, classes and their weights, bound, penalty, normaliser, tolerance, "
    "mechanism and ε were chosen without looking at the private data, but for a noisy mean where "
    "one is named, and no step before the head was fitted on it",
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
    records_each: int = 1,
    mean: ReleasedMean | None = None,
    charge: Charge | None = None,
) -> ReleasedHead:
    """Noise on a certified head's coordinates, (ε, δ)-DP, graded proven.

    With ``mean`` the head was centred by that released mean, and (ε, δ) covers both. What would
    make the claim unproven is refused in one line. ``charge`` is called with the event before the
    noise is drawn. Each call is a new release and composes with all others on the same data.
    """
    relation, records_each = as_relation(relation), count("records_each", records_each)
    epsilon, delta = positive("epsilon", epsilon), probability("delta", delta)
    final, steps = head_of(head)
    refuse_unproven(final, relation, records_each)
    fit = LinearHead.certified(final)  # not what an attribute of that name says
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
        coordinates=noise.release(coordinates),
        classes_=np.asarray(fit.classes),
        centre=None if final.centre is None else np.array(final.centre, dtype=np.float64),
        guarantee=claim,
        mechanism=noise.name,
        scale=noise.scale,
        public=public,
    )
    object.__setattr__(released, "guarantee", proven(claim))
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
    theorem = f"the sensitivity is a theorem about public numbers: {noise.sensitivity.source}"
    if public.records_each > 1:
        steps = (f"no person owns more than {public.records_each} of the rows fitted on", *steps)
    checked = (theorem, *alone.checked, *CHECKED)
    if public.outputs == "softmax":
        checked = (*checked, ZERO_SUM)
    if public.mean is not None:
        checked = (*checked, *MEAN_CHECKED, "ε covers the noisy mean and the weights together")
    return dataclasses.replace(alone, epsilon=epsilon, checked=checked, stated=(*STATED, *steps))
