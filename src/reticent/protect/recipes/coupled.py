"""Encoders by DP-SGD on contrastive losses that couple a batch through one k×k matrix.

Each step releases that matrix, a sum over the embeddings of a sample, with noise, and then the sum
of clipped gradients of losses that read the noisy matrix in its place: each of these is a function
of one image and of what was released (docs/theory.md E.6). Both are queries of one Poisson sample,
composed before sampling amplifies them.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from reticent.arrays import Floats
from reticent.guarantee import Sensitivity
from reticent.protect.recipe import Plan, Step
from reticent.protect.recipes.contrastive import SAMPLE, ContrastiveRecipe, Sample
from reticent.protect.recipes.sampled_gradients import GRADIENTS
from reticent.protect.terms import Terms
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect.contrastive_run import ContrastiveRun
    from reticent.training.encoders.torch_extra import torch


@dataclass(frozen=True, kw_only=True, slots=True)
class CoupledRecipe(ContrastiveRecipe):
    """An encoder learnt from private images, or other rows, without labels.

    A subclass says what couples a batch: the matrix, how far one record moves it, and the losses
    that read a noisy one.
    """

    options: ClassVar[tuple[str, ...]] = (*ContrastiveRecipe.options, "coupling_share")
    coupling: ClassVar[str]
    """The name of the query that releases the matrix."""
    coupling_theorem: ClassVar[str]

    coupling_share: float = 1 / 17
    """Of the budget of a step: σ of the matrix is 4 times that of the gradients. The noise of the
    matrix grows with k, the entries of an embedding."""

    def __post_init__(self) -> None:
        """Numbers that do not go together are refused before anything is planned."""
        super(CoupledRecipe, self).__post_init__()
        if self.mechanism != "gaussian" and self.rate < 1:
            raise InputError(
                "mechanism must be gaussian for samples, where the two releases of a step are one"
                f" Gaussian release, got {self.mechanism}: say gaussian, or a batch of all records"
            )
        if not 0 < self.coupling_share < 1:
            raise InputError(f"coupling_share must be between 0 and 1, got {self.coupling_share}")

    def steps(self, terms: Terms) -> dict[str, Step]:
        """Two kinds of queries of one sample: the matrix, and the clipped gradient sum."""
        gradients = self.gradient_step(terms, 1 - self.coupling_share)
        public: dict[str, Any] = {
            "records": self.records,
            "relation": terms.relation,
            "max_records_per_person": terms.records_touched,
        }
        coupling = Step(
            sensitivity=self._coupling_bound(public),
            share=self.coupling_share,
            theorem=self.coupling_theorem,
            times=self.steps_taken,
            sampling_rate=self.rate,
            sample=SAMPLE,
        )
        return {self.coupling: coupling, GRADIENTS: gradients}

    def total(self, run: "ContrastiveRun", sample: Sample, plan: Plan) -> Floats:
        """The clipped gradient sum of a sample, at the noisy matrix of the same forward pass."""
        from reticent.protect.contrastive_run import unit_embeddings
        from reticent.training.encoders.torch_extra import torch

        def released(outputs: Floats) -> "torch.Tensor":
            exact = self.coupling_sum(unit_embeddings(outputs))
            noisy = plan[self.coupling].release(exact) / (self.rate * self.records)
            return torch.from_numpy(self.matrix(noisy).astype(np.float32))

        return run.gradients.of_step(sample.batch(run.draws), released)

    @abstractmethod
    def _coupling_bound(self, public: Mapping[str, Any]) -> Sensitivity:
        """How far one record moves ``coupling_sum``, from public numbers."""

    @abstractmethod
    def coupling_sum(self, views: Floats) -> Floats:
        """The matrix of unit embeddings (2n, k), a record's two rows one after the other; flat."""

    @abstractmethod
    def matrix(self, answer: Floats) -> Floats:
        """The k×k matrix that losses read, from the noisy sum divided by the public batch."""
