"""A user's function, drawn again and again on two inputs."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from reticent.arrays import Progress
from reticent.validation import InputError, describe

Mechanism = Callable[[Any], Any]
Many = Callable[[Any, int], Any]

MOST_NUMBERS: Final = 200_000_000
_TELLS: Final = 100
"""How often progress is told."""


def checked_function(mechanism: Mechanism | None, many: Many | None) -> Mechanism | None:
    """The function, where it or ``many`` is one; a line says what else was given."""
    for name, part in (("mechanism", mechanism), ("many", many)):
        if part is not None and not callable(part):
            raise InputError(f"{name} must be a function, got {describe(part)}")
    if mechanism is None and many is None:
        raise InputError("mechanism must be a function unless many is given, got None")
    return mechanism


def drawn(
    mechanism: Mechanism | None,
    many: Many | None,
    inputs: tuple[object, object],
    runs: int,
    progress: Progress | None,
) -> tuple[Sequence[Any], Sequence[Any]]:
    """So many outputs on each of both inputs."""
    report_progress = progress or (lambda _done, _all: None)
    if many is not None:
        stacks = []
        for done, data in enumerate(inputs, start=1):
            # In one call, so that a generator that is seeded in it does not repeat itself.
            stacks.append(_stack(many(data, runs), runs))
            report_progress(done * runs, 2 * runs)
        return stacks[0], stacks[1]
    assert mechanism is not None
    outputs: tuple[list[Any], list[Any]] = ([], [])
    step = max(runs // _TELLS, 1)
    for run in range(1, runs + 1):  # in turns: whatever drifts, drifts on both inputs
        for side, data in zip(outputs, inputs, strict=True):
            side.append(mechanism(data))
        if run == 1:
            _bounded(np.size(outputs[0][0]), runs)
        if run % step == 0 or run == runs:
            report_progress(2 * run, 2 * runs)
    return outputs


def _stack(outputs: Any, runs: int) -> Sequence[Any]:
    if not hasattr(outputs, "__len__") or not hasattr(outputs, "__getitem__"):
        raise InputError(f"many must return a sequence of outputs, got {type(outputs).__name__}")
    if len(outputs) != runs:
        raise InputError(f"many must return the {runs:,} outputs asked for, got {len(outputs):,}")
    _bounded(np.size(outputs[0]), runs)
    stack: Sequence[Any] = outputs
    return stack


def _bounded(size: int, runs: int) -> None:
    if 2 * runs * size > MOST_NUMBERS:
        raise InputError(
            f"runs must be at most {MOST_NUMBERS // (2 * size):,} for outputs of {size:,} numbers,"
            f" got {runs:,}"
        )
