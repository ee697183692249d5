"""DP-SGD around an ordinary training loop: any torch module, optimiser and scheduler.

    private = PrivateTraining(
        model, optimiser, loss, epsilon=3.0, delta=1e-5, relation="add-remove",
        records=60_000, batch=512, epochs=40, clip=0.1,
    )
    for batch in private.batches(dataset):
        private.step(*batch)
    print(private.guarantee)

The loop has the records in its hands, so its guarantee is declared; ``PrivateNetwork`` owns its
loop, and its releases are proven.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from reticent import bounds
from reticent.accounting import PrivacyCost, account, calibrate_noise
from reticent.arrays import Floats, Floats32
from reticent.guarantee import Event, Guarantee, PoissonSampled, Relation, Repeated
from reticent.guarantee.grade import as_relation
from reticent.mechanisms import AdditiveMechanism
from reticent.mechanisms.additive import IDEAL_NOISE
from reticent.mechanisms.registry import MECHANISMS
from reticent.protect import training_data, training_state
from reticent.protect.noisy_query import noisy_query, noisy_query_float32
from reticent.protect.recipes.sampled_gradients import DROPOUT, batch_of
from reticent.protect.terms import RESUMED
from reticent.protect.training_progress import read_state
from reticent.randomness import secret_sample
from reticent.training.contrastive.augmentations import Augmentation
from reticent.training.encoders.torch_encoder import write_sealed
from reticent.training.encoders.torch_extra import nn, torch
from reticent.training.gradients import GradientSum, Views, random_batch
from reticent.training.gradients.batches import Batch, Held
from reticent.training.gradients.check import Loss
from reticent.validation import InputError, count, positive, probability

LRScheduler = torch.optim.lr_scheduler.LRScheduler
Tensor = torch.Tensor
FORMAT: Final = "reticent-private-training-2"
_CALIBRATED: Final = frozenset(
    ("epsilon", "delta", "relation", "records", "batch", "rate", "steps", "clip", "exact", "noise")
)
"""What the noise was found for, and the noise: none of them changes afterwards."""
_STATED: Final = (
    "the loop publishes nothing of the records but the weights that steps made",
    "the settings were chosen without looking at the private records, and what changes them on the"
    " way, such as a scheduler, reads no loss or other number of these records",
    "what the data set gives for a record depends on that record alone: it draws no random numbers"
    " from a generator that other records move on",
)
_FAST: Final = (
    "fast mode: nothing is added for the rounding of float32: a record is taken to move the sum by"
    " no more than the clip",
    DROPOUT,
    IDEAL_NOISE,
)


class PrivateTraining:
    """Poisson samples, clipped per-example gradients, noise and the count of steps.

    Args:
        model: An ordinary module; it is checked, hooked and not wrapped.
        optimiser: Of all trainable parameters of the model.
        loss: ``loss(model, *batch)``, one number for each record (``reduction="none"``).
        epsilon: The ε of all planned steps together.
        delta: Their δ.
        relation: "add-remove"; or "replace-one", with a batch of all records.
        records: The public N: about the number of records; at most 2N may be there.
        batch: How many of N a step sees on average: the public rate is batch/records.
        epochs: How many times N records are seen; with ``batch`` it gives the planned steps.
        clip: The norm to which each record's gradient is clipped.
        mechanism: "gaussian" or "logistic".
        exact: Books in float64 and batches of one shape, or float32 as fast as it goes.
        physical: How many records are computed at a time.
        example: At least three public records for the check; by default random ones.
        charge: Called once with the event of all planned steps, before the first.
        average: Decay of a moving average of the weights (``averages``); None for none.
        schedulers: Of the optimiser, whose states are saved with it; the loop still calls them.
        augmentation: Of the first tensor of a record, an image in [0, 1], channels first: each step
            averages the gradients of ``views`` of it, drawn from secret bits, and clips that mean.
        views: How many there are.

    >>> rows, labels = torch.eye(6), torch.tensor([0, 1, 0, 1, 0, 1])
    >>> model = nn.Linear(6, 2)
    >>> private = PrivateTraining(
    ...     model,
    ...     torch.optim.SGD(model.parameters(), lr=0.1),
    ...     lambda model, x, y: nn.functional.cross_entropy(model(x), y, reduction="none"),
    ...     epsilon=8.0,
    ...     delta=1e-3,
    ...     relation="add-remove",
    ...     records=6,
    ...     batch=2,
    ...     epochs=2,
    ...     clip=1.0,
    ... )
    >>> for batch in private.batches((rows, labels)):
    ...     private.step(*batch)
    >>> print(private.taken, private.guarantee)
    6 ε ≤ 8, δ ≤ 0.001 (declared; neighbours: add-remove; unit: one record)
    """

    def __init__(  # noqa: PLR0913 - one argument for each public number
        self,
        model: nn.Module,
        optimiser: torch.optim.Optimizer,
        loss: Loss,
        *,
        epsilon: float,
        delta: float,
        relation: Relation | str,
        records: int,
        batch: int,
        epochs: float,
        clip: float,
        mechanism: str = "gaussian",
        exact: bool = True,
        physical: int = 64,
        example: tuple[Tensor, ...] | None = None,
        charge: Callable[[Event], object] | None = None,
        average: float | None = None,
        schedulers: Sequence[LRScheduler] = (),
        augmentation: Augmentation | None = None,
        views: int = 1,
    ) -> None:
        self.model, self.optimiser, self.schedulers = model, optimiser, tuple(schedulers)
        self.loss, self._views, self._draws = loss, _views(augmentation, views), 0
        self.epsilon, self.delta = positive("epsilon", epsilon), probability("delta", delta)
        self.relation = as_relation(relation)
        self.records = count("records", records)
        self.batch = batch_of(batch, self.records, otherwise=self.records)
        self.rate = self.batch / self.records
        self.steps = max(1, math.ceil(positive("epochs", epochs) / self.rate))
        self.clip, self.exact, self.physical = positive("clip", clip), exact, physical
        if self.rate < 1 and self.relation is not Relation.ADD_REMOVE:
            raise InputError(
                f"relation must be add-remove for Poisson samples, got {self.relation}: say"
                " add-remove, or a batch of all records"
            )
        self._taken = 0
        self._resumed = False
        self._example, self._charge, self._charged = example, charge, charge is None
        self._gradients: GradientSum | None = None
        self._total: Floats | None = None
        """Memory of the exact sum, as private as the records; used again by each step."""
        self._pending: tuple[Any, ...] | None = None
        self._sample: Batch = ()
        """Of the pending batch, as its gradients are found."""
        _refuse_other_parameters(optimiser, self._trained())
        _refuse_plateaus(self.schedulers)
        self.noise = self._calibrated(mechanism)
        self._decay = None if average is None else probability("average", average)
        self.averages = {name: one.detach().clone() for name, one in self._trained().items()}
        """The moving average of the weights, where one was asked for."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Once set, what the noise was calibrated for stays."""
        if name in _CALIBRATED and name in self.__dict__:
            raise InputError(
                f"{name} must stay as the noise was calibrated for it, got another: make a new"
                " PrivateTraining"
            )
        super().__setattr__(name, value)

    @property
    def taken(self) -> int:
        """The number of steps taken."""
        return self._taken

    @property
    def guarantee(self) -> Guarantee:
        """Of all planned steps; it holds at every step before the last too."""
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            stated=(
                *_STATED,
                *(() if self.exact else _FAST),
                *((RESUMED,) if self._resumed else ()),
            ),
        )

    def event(self, steps: int | None = None) -> Event:
        """What the accountants see of so many steps; by default of all that are planned."""
        return self._event(self.noise, self.steps if steps is None else steps)

    def accounted(self, *, delta: float | None = None) -> PrivacyCost:
        """The ε of the steps taken so far by every method that covers them."""
        if self.taken == 0:
            raise InputError("steps must have been taken before they are accounted for, got none")
        return account(
            self.event(self.taken),
            relation=self.relation,
            delta=self.delta if delta is None else delta,
        )

    def batches(self, data: Any) -> Iterator[tuple[Tensor, ...]]:
        """Poisson samples until the plan is done: each record by a secret coin; some are empty.

        ``data`` is a tuple of tensors whose rows are records: a batch then has a tensor for each of
        them. Or it is anything with a length whose items are records, such as a torch ``Dataset``:
        then a batch is a ``Drawn``, whose records ``step`` reads as it needs them, ``physical`` at
        a time, so that neither data nor sample need fit into memory.
        """
        self._prepare(data)
        while self.taken < self.steps:
            places = secret_sample(training_data.number_of_records(data), self.rate)
            sample = training_data.sample_of(data, places)
            self._pending = sample.parts if isinstance(sample, Held) else (sample,)
            if self._draws:
                sample = training_data.with_uniforms(sample, self._draws)
            self._sample = sample
            yield self._pending

    def step(self, *batch: Any) -> None:
        """One step of the optimiser along the noisy clipped gradient of the drawn batch."""
        pending, self._pending = self._pending, None
        if (
            pending is None
            or len(pending) != len(batch)
            or any(one is not other for one, other in zip(pending, batch, strict=True))
        ):
            raise InputError(
                "batch must be the one that batches() has just drawn, got another: the noise is"
                " calibrated for its samples"
            )
        assert self._gradients is not None
        sample, self._sample = self._sample, ()
        noisy = self._noisy_sum(self._gradients, sample)
        self._gradients.set_gradients(noisy, divisor=self.rate * self.records)
        self.optimiser.step()
        self._taken += 1
        if self._decay is not None:
            with torch.no_grad():
                for name, one in self._trained().items():
                    self.averages[name].lerp_(one, 1 - self._decay)

    def _noisy_sum(self, gradients: GradientSum, batch: Batch) -> Floats | Floats32:
        """The clipped gradient sum with noise; fast mode has both in float32 where it can."""
        if gradients.in_float32:
            try:
                total = gradients.of_in_float32(batch)
                return noisy_query_float32(self.noise, total, sampling_rate=self.rate)
            except BaseException:  # the exact sum stands where the user sees gradients
                gradients.clear_gradients()
                raise
        if self._total is None:
            self._total = np.empty(gradients.size)
        exact = gradients.of(batch, out=self._total)
        return noisy_query(self.noise, exact, over=True, sampling_rate=self.rate)

    def save(self, path: Path | str) -> None:
        """Weights, optimiser, schedulers and the steps taken; as private as the records."""
        tensors = {f"model.{name}": one.clone() for name, one in self.model.state_dict().items()}
        tensors |= {f"average.{name}": one for name, one in self.averages.items()}
        states = [one.state_dict() for one in self.schedulers]
        document = {
            "plan": self._plan(),
            "taken": self.taken,
            "charged": self._charge is not None and self._charged,
            "optimiser": training_state.written(self.optimiser.state_dict(), "optimiser", tensors),
            "schedulers": training_state.written(states, "schedulers", tensors),
        }
        write_sealed(Path(path), tensors, document, format=FORMAT, private=True)

    def resume(self, path: Path | str) -> None:
        """Go on from a saved state of the same plan; what was charged is not charged again.

        Optimiser and schedulers are as they were: learning rates are those of the file. The file
        must be one that its owner alone may write; that nobody changed it, or went on from a copy
        of it besides, is stated by the guarantee from then on.
        """
        document, tensors = read_state(Path(path), format=FORMAT)
        if document.get("plan") != self._plan():
            raise InputError(f"{path} must be of the same plan, got another")
        states = training_state.read(document["schedulers"], tensors)
        if len(states) != len(self.schedulers):
            raise InputError(
                f"schedulers must be as many as in {path}, {len(states)}, got"
                f" {len(self.schedulers)}: give those of the optimiser, as when it was saved"
            )
        optimiser = training_state.read(document["optimiser"], tensors)
        try:
            self.optimiser.load_state_dict(optimiser)
        except ValueError as error:
            raise InputError(f"optimiser must be as when {path} was saved, got: {error}") from None
        for scheduler, state in zip(self.schedulers, states, strict=True):
            scheduler.load_state_dict(state)
        self.model.load_state_dict(training_state.below("model.", tensors))
        for name, one in training_state.below("average.", tensors).items():
            self.averages[name].copy_(one)
        self._taken, self._resumed = int(document["taken"]), True
        self._charged = self._charge is None or document.get("charged") is True

    def _plan(self) -> dict[str, Any]:
        return {
            "event": self.event().to_dict(),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "clip": self.clip,
            "records": self.records,
            "exact": self.exact,
            "views": "" if self._views is None else repr(self._views),
        }

    def _prepare(self, data: Any) -> None:
        """Check the model, then charge, once each; the check sees no record."""
        if self._gradients is None:
            example = self._example
            if example is None:
                records, spread = (64, 3) if self.exact else (3, 0)
                shapes = training_data.first_shapes(data)
                example = random_batch(shapes, records, spread=spread)
            if self._views is not None:
                self._draws = self._views.draws(tuple(example[0].shape[1:]))
                generator = torch.Generator().manual_seed(0)
                uniforms = torch.rand(len(example[0]), self._draws, generator=generator)
                example = (uniforms, *example)
            self._gradients = GradientSum(
                self.model,
                self.loss if self._views is None else self._views.loss(self.loss),
                clip=self.clip,
                example=example,
                physical=self.physical,
                exact=self.exact,
            )
        if not self._charged and self._charge is not None:
            self._charge(self.event())
            self._charged = True

    def _calibrated(self, mechanism: str) -> AdditiveMechanism:
        sensitivity = bounds.clipped_gradients(
            clip=self.clip,
            size=sum(one.numel() for one in self._trained().values()),
            records=self.records,
            relation=self.relation,
            exact=self.exact,
        )
        kind = MECHANISMS.named(mechanism)
        assert sensitivity.l2 is not None
        length = sensitivity.l2

        def event(multiplier: float) -> Event:
            return self._event(kind(scale=multiplier * length, sensitivity=sensitivity), self.steps)

        least = calibrate_noise(
            event, epsilon=self.epsilon, delta=self.delta, relation=self.relation
        )
        return kind(scale=least.noise_multiplier * length, sensitivity=sensitivity)

    def _event(self, noise: Any, steps: int) -> Event:
        event: Event = noise.event_l2() if hasattr(noise, "event_l2") else noise.event()
        if self.rate < 1:
            event = PoissonSampled(event=event, rate=self.rate)
        return Repeated(event=event, count=steps)

    def _trained(self) -> dict[str, nn.Parameter]:
        return {name: one for name, one in self.model.named_parameters() if one.requires_grad}


def _refuse_other_parameters(
    optimiser: torch.optim.Optimizer, trained: dict[str, nn.Parameter]
) -> None:
    if not trained:
        raise InputError("model must have parameters to train, got none that requires a gradient")
    held = {id(one) for group in optimiser.param_groups for one in group["params"]}
    for name, one in trained.items():
        if id(one) not in held:
            raise InputError(f"optimiser must hold all trainable parameters, got none for {name}")
    if len(held) > len({id(one) for one in trained.values()}):
        raise InputError("optimiser must hold the model's trainable parameters alone, got more")


def _views(augmentation: Augmentation | None, views: int) -> Views | None:
    if augmentation is None:
        if views != 1:
            raise InputError(f"views must be 1 without an augmentation, got {views}")
        return None
    return Views(augmentation=augmentation, number=views)


def _refuse_plateaus(schedulers: Sequence[LRScheduler]) -> None:
    if any(isinstance(one, torch.optim.lr_scheduler.ReduceLROnPlateau) for one in schedulers):
        raise InputError(
            "schedulers must follow the number of steps, got ReduceLROnPlateau: it reads a loss,"
            " and that of private records has no noise"
        )
