"""What a private contrastive step costs over the plain step of the same loss."""

import ctypes
import gc
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from benchmarks.harness import Cell, Result
from benchmarks.process_tree import status
from reticent.guarantee import Relation, Sensitivity
from reticent.mechanisms import Gaussian
from reticent.protect.contrastive_run import ContrastiveRun, unit_embeddings
from reticent.protect.recipes.spectral import SpectralRecipe, positive_part
from reticent.protect.recipes.statistics import flat, second_moment, symmetric
from reticent.protect.terms import Terms
from reticent.training.contrastive.spectral import spectral

NAME = "contrastive_steps"
TITLE = "A private step on the spectral contrastive loss over a plain one"
ROUNDS, QUICK = 7, 3
TERMS = Terms(epsilon=3.0, delta=1e-5, relation=Relation.ADD_REMOVE)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A network, the shape of its images, and how many of them a step sees."""

    name: str
    architecture: str
    shape: str
    batch: int
    physical: int
    exact: bool = False

    def recipe(self) -> SpectralRecipe:
        """As ``pretrain`` plans it."""
        high, wide, channels = map(int, self.shape.split("x"))
        return SpectralRecipe.planned(
            TERMS,
            records=50_000,
            features=high * wide * channels,
            architecture=self.architecture,
            shape=self.shape,
            batch=self.batch,
            physical=self.physical,
            exact=self.exact,
        )


CASES = (
    Case(name="three strided", architecture="strided", shape="32x32x3", batch=128, physical=32),
    Case(
        name="three strided, exact",
        architecture="strided",
        shape="32x32x3",
        batch=128,
        physical=64,
        exact=True,
    ),
    Case(name="ResNet-18-GN", architecture="resnet18", shape="32x32x3", batch=32, physical=32),
)


def run(quick: bool) -> Result:
    """Processor time of one step on one thread, both methods in every round."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rows = [measured(case, rounds=QUICK if quick else ROUNDS) for case in CASES]
    finally:
        torch.set_num_threads(threads)
    return Result(
        columns=["network", "batch", "plain, ms", "private ÷ plain", "memory ÷ plain"],
        rows=rows,
        note=(
            "Random images of 32×32 pixels, two views of each; processor time on one thread, noise "
            "of both releases and the step of SGD included, the drawing of the sample left out; "
            "medians of ratios within a round. Memory: the peak of two steps in a process of their "
            "own, network and optimiser included, checks before the first step left out."
        ),
    )


def measured(case: Case, *, rounds: int) -> list[Cell]:
    """One row."""
    steps = plain_step(case), private_step(case)
    spent: list[list[float]] = [[], []]
    for number in range(rounds + 1):
        for times, step in zip(spent, steps, strict=True):
            gc.collect()
            start = time.process_time()
            step()
            if number:  # the first round warms up
                times.append(time.process_time() - start)
    ratios = [one / other for one, other in zip(spent[1], spent[0], strict=True)]
    plain, private = (peak_bytes(build, case) for build in (plain_step, private_step))
    return [
        case.name,
        case.batch,
        1e3 * statistics.median(spent[0]),
        statistics.median(ratios),
        private / plain,
    ]


def peak_bytes(build: Callable[[Case], Callable[[], None]], case: Case) -> int:
    """The most that two steps hold beyond what was there before their network was built."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        trim()
        before = status("VmRSS")
        step = build(case)
        trim()
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
        step()
        step()
        os.write(writing, str(status("VmHWM") - before).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        found = answer.read()
    os.waitpid(child, 0)
    return int(found)


def trim() -> None:
    """Give pages back that are free: they would not be counted when they are used again."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def images(run: ContrastiveRun, case: Case) -> tuple[torch.Tensor, torch.Tensor]:
    """Random ones, and the numbers that their views are made by."""
    generator = torch.Generator().manual_seed(1)
    high, wide, channels = map(int, case.shape.split("x"))
    rows = torch.rand(case.batch, high * wide * channels, generator=generator)
    uniforms = torch.rand(case.batch, 2 * run.views.draws, generator=generator)
    return run.views.inputs(rows), uniforms


def plain_step(case: Case) -> Callable[[], None]:
    """SGD on the coupled loss, without privacy."""
    run = ContrastiveRun(case.recipe())
    batch = images(run, case)
    run.gradients.clipper.remove()

    def take() -> None:
        run.optimiser.zero_grad()
        outputs = run.gradients.outputs(run.model, *batch)
        torch.autograd.backward(spectral(outputs[:, 0], outputs[:, 1]))
        run.optimiser.step()

    return take


def private_step(case: Case) -> Callable[[], None]:
    """Moment and clipped gradients from one forward pass, each with its noise."""
    recipe = case.recipe()
    run = ContrastiveRun(recipe)
    batch = images(run, case)
    noise = Gaussian(scale=1.0, sensitivity=Sensitivity(l2=1.0))

    def released(outputs: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> torch.Tensor:
        half = flat(0.5 * second_moment(unit_embeddings(outputs)))
        noisy = symmetric(noise.release(half)) / case.batch
        return torch.from_numpy(positive_part(noisy).astype(np.float32))

    def take() -> None:
        total = run.gradients.of_step(batch, released)
        run.step(noise.release_over(total) / case.batch)

    return take
