"""J and its gradient in 80 digits, at the very floats of the records, of U and of V."""

from __future__ import annotations

import mpmath

from reticent.training.sigmoid_head import SigmoidObjective
from reticent.training.softmax import SoftmaxObjective


def exact(objective, v, direction=None, t=0, penalty=None):
    """J(V − tD) in 80 digits."""
    with mpmath.workdps(80):
        at = mpmath.matrix(v.tolist())
        if direction is not None:
            at -= t * mpmath.matrix(direction.tolist())
        total = sum(
            (exact_loss(objective, record, at) for record in range(len(objective.rows))),
            start=mpmath.mpf(0),
        )
        pull = mpmath.mpf(objective.penalty if penalty is None else penalty) / 2
        return total / objective.records + pull * sum(entry**2 for entry in at)


def exact_loss(objective, record, v):
    outputs = v * mpmath.matrix(objective.rows[record].tolist())
    if isinstance(objective, SoftmaxObjective):
        logits = list(mpmath.matrix(objective.basis.tolist()) * outputs)
        label = int(objective.labels[record])
        total = mpmath.log(sum(mpmath.exp(each - logits[label]) for each in logits))
        return mpmath.mpf(float(objective.weights[label])) * total
    signs = 1 - 2 * objective.targets[record]
    return sum(
        mpmath.log1p(mpmath.exp(float(sign) * output))
        for sign, output in zip(signs, outputs, strict=True)
    )


def exact_gradient(objective, v):
    """‖∇J(V)‖ in 80 digits."""
    with mpmath.workdps(80):
        total = objective.penalty * mpmath.matrix(v.tolist())
        for record, row in enumerate(objective.rows):
            h = mpmath.matrix(row.tolist())
            total += exact_residual(objective, record, v, h) * h.T / objective.records
        return mpmath.norm(list(total))


def exact_residual(objective, record, v, h):
    outputs = mpmath.matrix(v.tolist()) * h
    if isinstance(objective, SigmoidObjective):
        targets = objective.targets[record].tolist()
        return mpmath.matrix([1 / (1 + mpmath.exp(-z)) for z in outputs]) - mpmath.matrix(targets)
    basis, label = mpmath.matrix(objective.basis.tolist()), int(objective.labels[record])
    odds = [mpmath.exp(z) for z in basis * outputs]
    residual = mpmath.matrix([each / sum(odds) for each in odds])
    residual[label] -= 1
    return float(objective.weights[label]) * basis.T * residual
