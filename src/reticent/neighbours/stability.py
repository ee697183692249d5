"""On-average-remove-one stability, measured: what leaving a record out does to its own loss.

Lu et al., Definition 3: the mean over records of l(W without i, x_i) − l(W, x_i). Heads without a
record are solved (SoftmaxHead) or trained (MLPHead), one for each record.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special
from sklearn.base import clone

from reticent.arrays import ArrayLike, Floats, Integers
from reticent.neighbours.leave_one_out import LeaveOneOut, objective_of
from reticent.training.mlp_head import MLPHead, trainer
from reticent.training.softmax_head import SoftmaxHead
from reticent.validation import InputError, count, non_negative


@dataclass(frozen=True, kw_only=True)
class RemovedOnes:
    """Each record's own logits, by the head with all records and by the head without it."""

    full: Floats
    """Records × classes."""
    without: Floats
    labels: Integers
    norms: Floats
    """Of each record as the last layer sees it."""
    distances: Floats
    """How far the weights of both heads are apart, in L2."""

    @property
    def rises(self) -> Floats:
        """l(W without i, x_i) − l(W, x_i) of each record."""
        return losses(self.without, self.labels) - losses(self.full, self.labels)

    def under_gaussian_noise(
        self, std: float, *, draws: int, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """The mean rise over noise on the last layer's weights, and the rise as Eq. 29 takes it.

        The first has noise on both heads, as Definition 3 says for a released model; the same draw
        serves both, which changes no mean. The second, as Corollary 3's proof takes it, has noise
        on the full head alone. One row for each draw, one column for each record.

        Args:
            std: Of the noise on each weight.
            draws: How many draws.
            rng: Of the draws. They are measured and never released.
        """
        scale = non_negative("std", std) * self.norms[:, None]
        clean = losses(self.without, self.labels)
        both, one = [], []
        for _ in range(count("draws", draws)):
            noise = scale * rng.standard_normal(self.full.shape)
            noisy = losses(self.full + noise, self.labels)
            both.append(losses(self.without + noise, self.labels) - noisy)
            one.append(clean - noisy)
        return np.array(both), np.array(one)


def losses(logits: Floats, labels: Integers) -> Floats:
    """The cross-entropy of each row."""
    own = logits[np.arange(len(logits)), labels]
    return np.asarray(special.logsumexp(logits, axis=1) - own)


def removed_from_head(head: SoftmaxHead, X: ArrayLike, y: ArrayLike) -> RemovedOnes:
    """All leave-one-out heads of the *averaged* loss, (1/(n−1))·Σ_{j≠i} + (λ/2)‖W‖², exactly.

    That objective is n/(n−1) times one with the normaliser n and the penalty λ(n−1)/n, whose
    leave-one-out heads are those of the head with that penalty.

    Args:
        head: Its ``records`` and ``penalty`` are those of the full fit; ``records`` must be None or
            the number of rows.
        X: Rows.
        y: Their labels.
    """
    full = clone(head).fit(X, y)
    own = objective_of(full, X, y)
    size = len(own.rows)
    if own.records != size or size < 2:
        raise InputError(
            f"records must be the number of rows, at least 2, got {own.records} and {size} rows"
        )
    shrunk = clone(head).set_params(penalty=head.penalty * (size - 1) / size).fit(X, y)
    solver = LeaveOneOut(shrunk, X, y)
    at_full = LeaveOneOut(full, X, y).coordinates
    start = own.basis @ solver.coordinates
    changes = solver.without(np.arange(size)).weights
    neighbours = start + changes
    apart = (neighbours - own.basis @ at_full).reshape(size, -1)
    return RemovedOnes(
        full=own.rows @ (own.basis @ at_full).T,
        without=np.einsum("icd,id->ic", neighbours, own.rows),
        labels=np.asarray(own.labels),
        norms=np.linalg.norm(own.rows, axis=1),
        distances=np.linalg.norm(apart, axis=1),
    )


def removed_from_network(head: MLPHead, X: ArrayLike, y: ArrayLike) -> RemovedOnes:
    """All networks without one record, trained with the same seed and order of records."""
    full: MLPHead = clone(head).fit(X, y)
    rows, labels = clone(head).mapped_records(X, y)
    layers = trainer("dense").train_without(
        rows, labels, full.recipe(rows.shape[1]), np.arange(len(rows))
    )
    others = [full.with_weights(weights) for weights in layers]
    inputs: Any = np.asarray(X)
    return RemovedOnes(
        full=full.logits(inputs),
        without=np.concatenate([other.logits(inputs[[i]]) for i, other in enumerate(others)]),
        labels=labels,
        norms=np.linalg.norm(_last_inputs(full, rows), axis=1),
        distances=np.array(
            [np.linalg.norm(other.flat_weights() - full.flat_weights()) for other in others]
        ),
    )


def _last_inputs(head: MLPHead, rows: Floats) -> Floats:
    """What the last layer sees, with the 1 of its bias."""
    outputs = rows
    for weight, bias in head.weights_[:-1]:
        outputs = outputs @ weight.T + bias
        outputs = np.tanh(outputs) if head.activation == "tanh" else np.maximum(outputs, 0.0)
    return np.hstack([outputs, np.ones((len(rows), 1))])
