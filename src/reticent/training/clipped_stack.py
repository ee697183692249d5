"""Many dense networks by DP-SGD at once, which differ in the scale of their noise alone.

All start from the same weights and see the same batches, so that one product serves all first
layers. The gradient of a record by a dense layer is the outer product of what the layer saw (and 1,
for the bias) and of the gradient by what it gave: its norm is the product of their norms, and no
gradient of a record is ever formed ("ghost norms"; Goodfellow 2015, Li et al. 2022). All networks
add the same standard normal numbers, each times its own scale.

To measure with, not to release: noise is in float32 and of the caller's seed, so no guarantee
follows. What is released is trained by ``reticent train``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from reticent.arrays import Floats, Integers
from reticent.training import dense


class ClippedStack(dense.SharedStack):
    """Heads that see the same inputs, batch × features; each record's gradient is clipped."""

    def take_clipped_sums(self, inputs: Any, wanted: Any, clip: float) -> None:
        """Put Σ of the records' cross-entropy gradients, each at most ``clip`` long, in place.

        The norm is that over all layers and biases. ``wanted`` are labels, one-hot, classes ×
        batch.
        """
        outputs = self._outputs(inputs)
        wrong = torch.softmax(outputs[-1], dim=1).sub_(wanted)
        by_layer = [wrong]
        for layer in range(len(self.weights) - 1, 0, -1):
            wrong = self._through(self.weights[layer].transpose(1, 2) @ wrong, outputs[layer - 1])
            by_layer.insert(0, wrong)
        seen = [inputs.t()[None], *outputs[:-1]]
        squares = sum(
            own.square().sum(dim=1) * (below.square().sum(dim=1) + 1)
            for own, below in zip(by_layer, seen, strict=True)
        )
        kept = (clip / torch.sqrt(squares)).clamp_(max=1.0)[:, None]  # 1 where the gradient is 0
        for layer, own in enumerate(by_layer):
            below = inputs if layer == 0 else seen[layer].transpose(1, 2)
            self._take_gradient(layer, own.mul_(kept), below)


@dataclass(frozen=True, kw_only=True)
class Noise:
    """What DP-SGD adds at each step, and how it divides the sum."""

    multipliers: Sequence[float]
    """Of each head: the deviation of the noise over the clip; 0 for clipping alone."""
    clip: float
    batch: float
    """What the noisy sum is divided by, whatever the size of a batch: public."""
    seed: int


def train_noisily(
    rows: Floats, labels: Integers, recipe: dense.Recipe, batches: Iterable[Integers], noise: Noise
) -> list[dense.Layers]:
    """The layers (W, b) of one head for each multiplier, after one step for each batch of places.

    Steps, initial weights and penalty are those of the recipe, whose batches, number of steps and
    risk are not read: the risk-averting loss of a single record is its cross-entropy.
    """
    inputs = torch.tensor(rows, dtype=torch.float32)
    wanted = torch.nn.functional.one_hot(torch.tensor(labels), recipe.sizes[-1]).float()
    first = dense.initial_layers(recipe, torch.Generator().manual_seed(recipe.seed))
    generator = torch.Generator().manual_seed(noise.seed)
    scales = torch.tensor(noise.multipliers, dtype=torch.float32)[:, None, None] * noise.clip
    with torch.no_grad():
        stack = ClippedStack.of([first] * len(noise.multipliers), recipe)
        parameters = stack.parameters
        optimiser = dense.optimiser_of(parameters, recipe)
        for places in batches:
            chosen = torch.from_numpy(places)
            stack.take_clipped_sums(inputs[chosen], wanted[chosen].t(), noise.clip)
            for one in parameters:
                normal = torch.randn(one.shape[1:], generator=generator)
                one.grad.addcmul_(scales, normal[None]).div_(noise.batch)
            optimiser.step()
        return stack.layers()
