"""Where the lecture puts the noise, carried out: what each place promises, on built records.

A release is verified by its own public numbers, and the same one with half of its ε is refused:
that is what the noise of a place must do. The formulas beside it are checked by hand.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from reticent.studies.index.entry import Held, Ours

EPSILON: Final = 3.0
_FALSE: Final = 1e-9
"""The chance that a certificate of smoothing is false, and with it this check."""


def kept_promise(learner: str, **options: Any) -> bool:
    """A release of this learner is verified, and one that claims half of its ε is not."""
    from reticent.guarantee import Grade, Relation
    from reticent.protect import RECIPES, Terms, release_records
    from reticent.protect.certificate import verify_release

    rng, labels = np.random.default_rng(0), np.arange(300) % 2
    rows = rng.normal(size=(300, 4)) + np.outer(2 * labels - 1, [2, 1, 0, 0])
    terms = Terms(epsilon=EPSILON, delta=1e-5, relation=Relation.ADD_REMOVE)
    recipe = RECIPES[learner].planned(terms, records=300, features=4, classes=2, **options)
    released = release_records(recipe, terms, rows, labels, classes=range(2))
    claim = replace(released.guarantee, epsilon=EPSILON / 2, grade=Grade.DECLARED)
    half = replace(released, guarantee=claim)
    refused = any("the noise gives" in one for one in verify_release(half).problems)
    return verify_release(released).holds and refused


_PROMISE: Final = f"a release at ε = {EPSILON:g} is verified, and refused at half of it"


def inputs() -> Ours:
    """Noise on the records themselves, before anything is learnt."""
    return Held(kept_promise("input"), _PROMISE)


def gradients() -> Ours:
    """Algorithm 5.1, line 5: the sum of g/max(1, ‖g‖/C) of a network, by hand."""
    from reticent.training.encoders.torch_extra import functional, nn, torch
    from reticent.training.gradients import Clipper

    clip, randomness = 0.5, torch.Generator().manual_seed(0)
    rows = torch.randn(20, 6, generator=randomness)
    labels = torch.arange(20) % 3
    model = nn.Linear(6, 3)
    with torch.no_grad():
        model.weight.copy_(torch.randn(3, 6, generator=randomness))
    clipper = Clipper(model)
    try:
        with clipper.watch(20):
            losses = functional.cross_entropy(model(rows), labels, reduction="none")
        sums = clipper.clipped_sums(losses, clip=clip).sums
    finally:
        clipper.remove()
    parameters = list(model.parameters())
    wanted = [torch.zeros_like(one) for one in parameters]
    for row, label in zip(rows, labels, strict=True):
        loss = functional.cross_entropy(model(row[None]), label[None])
        parts = torch.autograd.grad(loss, parameters)
        norm = math.sqrt(sum(float(part.square().sum()) for part in parts))
        wanted = [
            one + part / max(1.0, norm / clip) for one, part in zip(wanted, parts, strict=True)
        ]
    apart = max(
        float((sums[name] - one).abs().max()) for name, one in zip(parameters, wanted, strict=True)
    )
    same = apart <= 1e-5 and kept_promise("network", batch=100, epochs=2.0)
    return Held(same, f"clipped sums by hand; {_PROMISE}")


def loss() -> Ours:
    """Algorithm 5.2: no record's coefficients (s·x/2, x xᵀ/8) are longer than √d/2 + d/8 in L1."""
    from reticent.bounds.published import functional

    features, rng = 9, np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(2_000, features)), np.ones(features)])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    lengths = np.abs(rows).sum(axis=1) / 2 + np.abs(rows).sum(axis=1) ** 2 / 8
    bound, published = functional.logistic(features), functional.logistic_published(features)
    tight = lengths.max() <= bound * (1 + 1e-9) and math.isclose(lengths[-1], bound, rel_tol=1e-9)
    held = bool(tight) and 2 * bound <= published and kept_promise("functional")
    return Held(held, f"L1 {bound:g} reached at d = {features}, {published:g} printed; {_PROMISE}")


class _Sign:
    """1 where the first feature is above 0."""

    def predict(self, X: Any) -> Any:
        return (np.asarray(X)[:, 0] > 0).astype(int)


def smoothing() -> Ours:
    """A half-space at distance 1: the certified radius is below it, and above half of it."""
    from reticent.protect.smoothing import SmoothedClassifier

    smooth = SmoothedClassifier(model=_Sign(), sigma=0.5, draws=2_000, alpha=_FALSE)
    (found,) = smooth.certify([[1.0, 0.0]])
    held = found.label == 1 and 0.5 < found.radius <= 1.0
    return Held(bool(held), "certified within (.5, 1] at a distance of 1 from the boundary")


PLACES: Final[Mapping[str, Callable[[], Ours]]] = {
    "input-space DP": inputs,
    "randomised smoothing": smoothing,
    "Algorithm 5.1 DP-SGD": gradients,
    "Algorithm 5.2 functional mechanism": loss,
}
"""Items of the lecture, by their names in the checklist."""
