"""What recipes by DP-SGD share: samples, and sums of clipped per-example gradients of them."""

import math
from typing import TYPE_CHECKING, ClassVar, Final

from reticent import bounds
from reticent.guarantee import Relation, guarantee
from reticent.protect.recipe import Step
from reticent.protect.terms import Terms
from reticent.validation import InputError, count, probability

GRADIENTS: Final = "gradients"
SLOTS = guarantee.checked_by(
    "a record's gradient has the same bits in every slot of a batch, whatever the others hold",
    "training.gradients.check.check_slots",
)
PER_EXAMPLE = guarantee.checked_by(
    "what is clipped is each record's own gradient: on random records it is that of autograd on the"
    " record alone",
    "training.gradients.check.check_gradients",
)
VIEWS = guarantee.checked_by(
    "the views of a record are drawn from secret bits, for each record by itself",
    "protect.noisy_query.record_uniforms",
)
RANDOM_SLOTS = guarantee.checked_by(
    "records stand in random slots of the batches, drawn anew for each step from secret bits",
    "training.gradients.batches.secret_slots",
)
BITS: Final = (SLOTS, RANDOM_SLOTS)
"""Of exact mode."""
COINS = guarantee.checked_by(
    "each step sees each record with the public rate, by secret coins",
    "protect.noisy_query.sampled_records",
)
DRAWN = guarantee.checked_by(
    "each step sees so many of N places, drawn without replacement and in a fresh order by secret"
    " bits; a place without a record holds a row of zeros",
    "protect.noisy_query.sampled_records",
)
PLACES: Final = (
    "the number of records is public: replace-one, and each of the first N records has its place"
)
FAST: Final = (
    "fast mode: gradients, norms and sums are kept in float32, whose rounding has no useful bound: "
    "a record is taken to move the sum by no more than the clip"
)
DROPOUT: Final = (
    "fast mode: dropout draws the masks of a batch from one generator of torch, where one record"
    " more moves those of later ones: they are taken to be secret and each record's own"
)
_OPTIMISERS: Final = ("sgd", "adam")


def batch_of(batch: int | None, records: int, *, otherwise: int) -> int:
    """The batch that was said, or ``otherwise`` and at most all records where none was.

    More than all records is refused: it would be a step on all of them, at the cost of one, under
    the name of a larger one.
    """
    if batch is None:
        return min(otherwise, records)
    if records < count("batch", batch) < 2**53:  # larger ones are refused by ``check_training``
        raise InputError(
            f"batch must be at most records, of which a step sees so many on average, got {batch}"
            f" of {records}: say {records} for steps on all of them"
        )
    return batch


class SampledGradients:
    """Steps that each see a sample, and what is checked of their public numbers."""

    __slots__ = ()

    sample_name: ClassVar[str] = ""
    """Of the steps that ask their queries of one sample each time; empty where it is one query."""

    if TYPE_CHECKING:  # fields of the recipes
        records: int
        batch: int
        epochs: float
        clip: float
        exact: bool
        physical: int
        seed: int
        optimiser: str
        momentum: float
        average: float

        @property
        def size(self) -> int:
            """The number of weights that are trained."""

    @property
    def rate(self) -> float:
        """The probability with which a step sees a record."""
        return min(1.0, self.batch / self.records)

    @property
    def is_of_places(self) -> bool:
        """Whether records have public places, of which each step draws one number: replace-one."""
        return False

    @property
    def drawn(self) -> str:
        """The checked line about how records come into a sample."""
        return DRAWN if self.is_of_places else COINS

    @property
    def steps_taken(self) -> int:
        """As many as see N records so many times."""
        return max(1, math.ceil(self.epochs / self.rate))

    @property
    def unproven(self) -> tuple[str, ...]:
        """The rounding of float32, in fast mode."""
        return () if self.exact else (FAST,)

    def gradient_step(self, terms: Terms, share: float = 1.0) -> Step:
        """The clipped gradient sum of each sample, with this share of the budget."""
        self.refuse_uncovered(terms)
        return Step(
            sensitivity=bounds.clipped_gradients(
                clip=self.clip,
                size=self.size,
                records=self.records,
                relation=terms.relation,
                exact=self.exact,
                max_records_per_person=terms.records_touched,
            ),
            share=share,
            theorem="bounds.sums.clipped_gradients",
            times=self.steps_taken,
            sampling_rate=self.rate,
            sample=self.sample_name,
        )

    def refuse_uncovered(self, terms: Terms) -> None:
        """Samples that no theorem covers."""
        if terms.records_touched > 1 and self.rate < 1:
            raise InputError(
                "max_records_per_person must be 1 for samples, whose coins are one for each record,"
                f" got {terms.records_touched}: say 1, or a batch of all records"
            )
        covered = Relation.REPLACE_ONE if self.is_of_places else Relation.ADD_REMOVE
        if (self.rate < 1 or self.is_of_places) and terms.relation is not covered:
            kind = "samples of one size" if self.is_of_places else "Poisson samples"
            raise InputError(
                f"relation must be {covered} for {kind}, got {terms.relation}: say {covered}, or a"
                " batch of all records"
            )

    def check_training(self) -> None:
        """Refuse numbers of a training that do not go together."""
        for name in ("records", "batch", "physical"):
            count(name, getattr(self, name))
        for name in ("momentum", "average"):
            probability(name, getattr(self, name))
        count("seed", self.seed, at_least=0)
        if not max(self.batch, self.physical, self.seed) < 2**53:
            raise InputError("batch, physical and seed must be below 2**53, got a larger number")
        if not 0 < self.epochs * self.records / self.batch < 1e9:
            raise InputError(f"epochs must give between 1 and 10⁹ steps, got {self.epochs}")
        if self.optimiser not in _OPTIMISERS:
            raise InputError(f"optimiser must be sgd or adam, got {self.optimiser!r}")
