"""How the loops of the noise engine are compiled."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Machine code that releases the interpreter's lock and keeps IEEE 754 to the letter.

    No fast-math: the error bounds count each operation. Division by zero gives infinity, which
    the kernels use as "no finite bound".
    """
    dispatcher: Callable[P, R] = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    return dispatcher
