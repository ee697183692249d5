"""The DP-SGD victims of Lu et al.: the noise that each accountant asks for, and their training.

Rényi DP is amplified by sampling, so its victims see Poisson samples. The other three have a
smaller bound for passes: each record goes to one batch of a pass, chosen for it alone, so a pass is
one release of the Gaussian mechanism for it, whatever else is in the batch (parallel composition;
the paper splits ε "into each epoch"). Both promises are for adding or removing one record.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from reticent.accounting.comparison import calibrate_noise_by
from reticent.arrays import Floats, Integers
from reticent.guarantee import Event, GaussianEvent, PoissonSampled, Relation, Repeated
from reticent.randomness import seeded
from reticent.studies.lu.victims import Fitted
from reticent.training.mlp_head import trainer

ACCOUNTANTS: Final[Mapping[str, str]] = {
    "rdp": "RDP",
    "zcdp": "zCDP",
    "advanced": "advanced",
    "basic": "naive",
}
"""Names of accountants in this package, and as papers write them."""
SAMPLED: Final = "rdp"
"""The one whose victims see Poisson samples."""
CLIPPED: Final = "clipped"
"""A victim with clipped gradients and no noise."""
_RELATION: Final = Relation.ADD_REMOVE


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How often each record is seen: public numbers, which accountants need."""

    records: int
    batch: int
    passes: int

    @property
    def batches(self) -> int:
        """How many batches one pass over the records takes, the last one counted whole."""
        return -(-self.records // self.batch)

    @property
    def delta(self) -> float:
        """δ = 1/(10n) of n records, as in Table 4."""
        return 1 / (10 * self.records)

    def event(self, accountant: str, multiplier: float) -> Event:
        """All steps; ``multiplier`` is the deviation of the noise over the clip."""
        step = GaussianEvent(noise_multiplier=multiplier)
        if accountant != SAMPLED:
            return Repeated(event=step, count=self.passes)
        sampled = PoissonSampled(event=step, rate=1 / self.batches)
        return Repeated(event=sampled, count=self.passes * self.batches)

    def noise(self, accountant: str, epsilon: float) -> float:
        """The least multiplier that the accountant allows."""
        return calibrate_noise_by(
            accountant,
            lambda multiplier: self.event(accountant, multiplier),
            epsilon=epsilon,
            delta=self.delta,
            relation=_RELATION,
        )

    def multipliers(self, epsilons: Sequence[float]) -> dict[str, list[float]]:
        """Of each accountant, one for each ε."""
        return {name: [self.noise(name, epsilon) for epsilon in epsilons] for name in ACCOUNTANTS}

    def samples(self, seed: int) -> Iterator[Integers]:
        """Poisson samples: at each step each record by a coin of its own."""
        rng = seeded("Poisson samples of DP-SGD", seed)
        for _ in range(self.passes * self.batches):
            yield np.flatnonzero(rng.random(self.records) < 1 / self.batches)

    def divided(self, seed: int) -> Iterator[Integers]:
        """Passes: in each of them every record is in one batch, chosen for it alone."""
        rng = seeded("passes of DP-SGD", seed)
        for _ in range(self.passes):
            place = rng.integers(self.batches, size=self.records)
            yield from (np.flatnonzero(place == batch) for batch in range(self.batches))


def answers(
    trial: Fitted, plan: Plan, noise: Mapping[str, Sequence[float]], *, clip: float, seed: int
) -> Iterator[tuple[str, Floats]]:
    """Of each accountant and multiplier, in order, probabilities for all scored records.

    All victims have the first weights of the victim without privacy. Those of one accountant see
    the same samples and the same standard normal numbers; the three that see passes share theirs.
    """
    head = trial.victim
    inside = trial.scored.take(trial.member)
    rows, labels = head.mapped_records(inside.inputs, inside.labels)
    passes = {name: own for name, own in noise.items() if name != SAMPLED} | {CLIPPED: [0.0]}
    sampled = {name: own for name, own in noise.items() if name == SAMPLED}
    stacks = trainer("clipped_stack")
    for batches, stack in ((plan.samples(seed), sampled), (plan.divided(seed), passes)):
        names = [name for name, own in stack.items() for _ in own]
        settings = stacks.Noise(
            multipliers=[one for own in stack.values() for one in own],
            clip=clip,
            batch=plan.records / plan.batches,
            seed=int(seeded("noise of DP-SGD", seed, *stack).integers(2**62)),
        )
        trained = stacks.train_noisily(rows, labels, head.recipe(rows.shape[1]), batches, settings)
        for name, layers in zip(names, trained, strict=True):
            yield name, head.with_weights(layers).predict_proba(trial.scored.inputs)
