"""SGD, Adam and AdamW of torch, without torch's compiler.

The methods of torch's optimisers import ``torch._dynamo`` when they are first called, to keep that
compiler out of themselves. Nothing here is compiled, and the import takes as long as that of torch
itself. So these classes call what is below: the same functions, the same numbers, bit for bit.
Where another version of torch has no such layer, its own methods are called.
"""

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch.optim import Optimizer


def _step_of(kind: type[Optimizer]) -> Callable[..., Any]:
    steps: Callable[..., Any] = inspect.unwrap(kind.step)

    def step(self: Optimizer, closure: Callable[[], float] | None = None) -> Any:
        with torch.no_grad():
            return steps(self, closure)

    return step


class _WithoutCompiler:
    add_param_group: Any = inspect.unwrap(Optimizer.add_param_group)
    load_state_dict: Any = inspect.unwrap(Optimizer.load_state_dict)
    state_dict: Any = inspect.unwrap(Optimizer.state_dict)
    zero_grad: Any = inspect.unwrap(Optimizer.zero_grad)


class SGD(_WithoutCompiler, torch.optim.SGD):
    """Stochastic gradient descent with momentum, as torch has it."""

    step: Any = _step_of(torch.optim.SGD)


class Adam(_WithoutCompiler, torch.optim.Adam):
    """Adam (Kingma and Ba 2015), as torch has it."""

    step: Any = _step_of(torch.optim.Adam)


class AdamW(_WithoutCompiler, torch.optim.AdamW):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019), as torch has it."""

    step: Any = _step_of(torch.optim.AdamW)
