"""What a private step costs: ours, fast and exact, and Opacus', over the plain step of SGD."""

import gc
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from opacus.grad_sample import GradSampleModule, GradSampleModuleExpandedWeights
from opacus.grad_sample.grad_sample_module_fast_gradient_clipping import (
    GradSampleModuleFastGradientClipping,
)
from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
from torch import nn
from torch.nn import functional

from benchmarks.harness import Cell, Result
from benchmarks.private_step_networks import CASES, Case
from reticent.protect import PrivateTraining

NAME = "private_steps"
TITLE = "A step of DP-SGD over a plain step of SGD"

Tensor = torch.Tensor
RATE, CLIP, SIGMA = 1e-4, 1.0, 1.0
SECONDS, FEWEST, MOST = 30.0, 7, 201
"""Of all methods together for a network; and limits on the number of rounds."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of a method, and what is done before it and not counted."""

    take: Callable[[], object]
    before: Callable[[], object] = lambda: None


def run(quick: bool) -> Result:
    """Processor time of one step on one thread, all methods in every round."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rows = [measured(case, quick=quick) for case in CASES]
    finally:
        torch.set_num_threads(threads)
    return Result(
        columns=[
            "network",
            "batch",
            "plain, ms",
            "fast ÷ plain",
            "exact ÷ plain",
            "Opacus ÷ plain",
            "Opacus ÷ fast",
            "Opacus' best mode",
        ],
        rows=rows,
        note=(
            "Random records; processor time on one thread, noise and the step of SGD included, the "
            "drawing of the sample left out; medians of ratios within a round. Of Opacus' modes "
            "(hooks, ghost clipping, functorch, ExpandedWeights) those that take the network were "
            "tried, and the fastest one counts. Our noise is from secure bits, in float32 in fast "
            "mode and exact in exact mode; Opacus' is that of torch."
        ),
    )


def measured(case: Case, *, quick: bool) -> list[Cell]:
    """One row."""
    records = case.records()
    steps = {"plain": plain(case, records)}
    steps |= {mode: ours(case, records, exact=mode == "exact") for mode in ("fast", "exact")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Opacus, on hooks
        best = fastest(case, records)
        steps[best] = MODES[best](case, records)
    once = sum(spent[0] for spent in rounds(steps, 1).values())
    times = rounds(steps, 3 if quick else min(MOST, max(FEWEST, int(SECONDS / once))))
    return [
        case.name,
        case.batch,
        1e3 * statistics.median(times["plain"]),
        ratio(times["fast"], times["plain"]),
        ratio(times["exact"], times["plain"]),
        ratio(times[best], times["plain"]),
        ratio(times[best], times["fast"]),
        best,
    ]


def rounds(steps: dict[str, Step], count: int) -> dict[str, list[float]]:
    """Processor seconds of each step in each round."""
    spent: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(count):
        for name, step in steps.items():
            step.before()
            start = time.process_time()
            step.take()
            spent[name].append(time.process_time() - start)
    return spent


def ratio(ours: list[float], theirs: list[float]) -> float:
    """The median over the rounds."""
    return statistics.median(one / other for one, other in zip(ours, theirs, strict=True))


def network(case: Case) -> tuple[nn.Module, torch.optim.SGD]:
    """The same first weights for every method."""
    torch.manual_seed(0)
    model = case.build().train()
    trained = [one for one in model.parameters() if one.requires_grad]
    return model, torch.optim.SGD(trained, lr=RATE)


def plain(case: Case, records: tuple[Tensor, Tensor]) -> Step:
    """SGD without privacy."""
    (model, optimiser), (inputs, labels) = network(case), records

    def take() -> None:
        optimiser.zero_grad()
        torch.autograd.backward(functional.cross_entropy(model(inputs), labels))
        optimiser.step()

    return Step(take=take)


def ours(case: Case, records: tuple[Tensor, Tensor], *, exact: bool) -> Step:
    """As a user writes it; the drawing of the sample is not part of the step."""
    model, optimiser = network(case)
    private = PrivateTraining(
        model,
        optimiser,
        lambda model, *batch: functional.cross_entropy(model(batch[0]), batch[1], reduction="none"),
        epsilon=8.0,
        delta=1e-5,
        relation="add-remove",
        records=case.batch,
        batch=case.batch,
        epochs=1000,
        clip=CLIP,
        exact=exact,
        physical=case.exact_at_a_time if exact else case.at_a_time,
    )
    drawn = private.batches(records)
    batch: list[tuple[Tensor, ...]] = []

    def draw() -> None:
        batch[:] = [next(drawn)]

    return Step(take=lambda: private.step(*batch[0]), before=draw)


def fastest(case: Case, records: tuple[Tensor, Tensor]) -> str:
    """The mode of Opacus whose step on this network takes least; one is held at a time."""
    seconds = {}
    for name, mode in MODES.items():
        try:
            step = mode(case, records)
            step.take()
        except (RuntimeError, ValueError, NotImplementedError, TypeError, AttributeError) as error:
            reason = str(error).partition("\n")[0]
            print(f"{case.name}: Opacus' {name} refuses: {reason[:90]}", file=sys.stderr)
        else:
            seconds[name] = rounds({name: step}, 1)[name][0]
        gc.collect()  # a wrapped module and its hooks hold each other
    return min(seconds, key=lambda name: seconds[name])


def stored_gradients(
    wrapper: Callable[..., nn.Module], case: Case, records: tuple[Tensor, Tensor], **options: bool
) -> Step:
    """A gradient for each record and parameter, then clipped and added up."""
    (model, optimiser), (inputs, labels) = network(case), records
    wrapped = wrapper(model, loss_reduction="mean", **options)
    private = DPOptimizer(optimiser, **settings(case))

    def take() -> None:
        private.zero_grad()
        torch.autograd.backward(functional.cross_entropy(wrapped(inputs), labels))
        private.step()

    return Step(take=take)


def ghost_clipping(case: Case, records: tuple[Tensor, Tensor]) -> Step:
    """Norms without gradients, and a second backward pass (Li et al. 2022)."""
    (model, optimiser), (inputs, labels) = network(case), records
    wrapped = GradSampleModuleFastGradientClipping(
        model, loss_reduction="mean", max_grad_norm=CLIP, use_ghost_clipping=True
    )
    private = DPOptimizerFastGradientClipping(optimiser, **settings(case))
    criterion = DPLossFastGradientClipping(
        wrapped, private, nn.CrossEntropyLoss(reduction="mean"), loss_reduction="mean"
    )

    def take() -> None:
        private.zero_grad()
        criterion(wrapped(inputs), labels).backward()
        private.step()

    return Step(take=take)


def settings(case: Case) -> dict[str, Any]:
    """Of an optimiser of Opacus."""
    return {
        "noise_multiplier": SIGMA,
        "max_grad_norm": CLIP,
        "expected_batch_size": case.batch,
        "loss_reduction": "mean",
    }


MODES: dict[str, Callable[[Case, tuple[Tensor, Tensor]], Step]] = {
    "hooks": partial(stored_gradients, GradSampleModule),
    "functorch": partial(stored_gradients, GradSampleModule, force_functorch=True),
    "ExpandedWeights": partial(stored_gradients, GradSampleModuleExpandedWeights),
    "ghost": ghost_clipping,
}
