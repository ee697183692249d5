"""Steps of DPCL: clipped gradients of a coupled loss, and noise for what the paper counts."""

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from reticent.arrays import Floats, Integers
from reticent.bounds.published import dpcl as bounds
from reticent.protect import network_run
from reticent.protect.noisy_query import noisy_query, record_uniforms
from reticent.protect.published.dpcl import DPCL, noise_for
from reticent.protect.recipe import Tensors
from reticent.training import optimisers
from reticent.training.contrastive import networks
from reticent.training.contrastive.barlow_twins import OFF_DIAGONAL, correlation_loss, standardised
from reticent.training.contrastive.nt_xent import nt_xent_terms
from reticent.training.encoders.torch_extra import functional, torch
from reticent.training.gradients import Clipper

Tensor = torch.Tensor
EMBEDDING: Final = 32
_MOMENTUM: Final = 0.9
_WARM_UP: Final = 10
_LEAST_VARIANCE: Final = 1e-3
"""Of a unit, where the noise made it less."""


class DPCLRun:
    """Weights and optimiser of one training, and its steps."""

    def __init__(
        self, spec: DPCL, multiplier: float, rows: Floats, network: networks.NetworkChoice
    ) -> None:
        image = networks.image_shape(network.shape, rows.shape[1])
        self.spec, self.multiplier, self.rows = spec, multiplier, rows
        self.views = networks.views_of(network.augmentation, rows.shape[1], image)
        self.model = networks.contrastive_network(
            network.architecture, rows.shape[1], image, width=EMBEDDING, seed=network.seed
        )
        self.clipper = Clipper(self.model)
        self.optimiser = optimisers.SGD(
            self.clipper.parameters, lr=spec.learning_rate, momentum=_MOMENTUM
        )
        self.noise = spec.gradient_noise(multiplier)
        self.norms: dict[str, float] = {}
        """Of the noisy answers of the last step: that of the mean gradient, and of the coupling."""

    def step(self, places: Integers, number: int) -> None:
        """One step on the records at these places."""
        spec = self.spec
        self.norms = {}
        total = self.gradient_sum(places)
        noisy = torch.from_numpy(noisy_query(self.noise, total)) / (spec.batch * spec.clip)
        self.norms["gradient_norm"] = float(noisy.norm()) * spec.clip
        parameters = self.clipper.parameters
        parts = torch.split(noisy, [one.numel() for one in parameters])
        for one, part in zip(parameters, parts, strict=True):
            one.grad = part.view(one.shape).to(one.dtype)
        risen = min(1.0, (number + 1) / _WARM_UP)
        factor = risen * (0.5 + 0.5 * math.cos(math.pi * number / spec.steps))
        for group in self.optimiser.param_groups:
            group["lr"] = spec.learning_rate * factor
        self.optimiser.step()

    def state(self) -> dict[str, Tensor]:
        """All that the next step depends on beside the records."""
        return network_run.optimised_state(self.model, self.optimiser)

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go back to a saved state; tensors of other shapes are a ``RuntimeError``."""
        network_run.restore_optimised(state, self.model, self.optimiser)

    def gradient_sum(self, places: Integers) -> Floats:
        """Σ over all views of the gradient through that view, clipped: of a loss of all of them."""
        rows = self.rows[places]
        inputs = self.views.inputs(torch.from_numpy(rows.astype(np.float32)))
        drawn = record_uniforms(rows, np.zeros(len(rows)), 2 * self.views.draws)
        halves = np.split(drawn, 2, axis=1)
        both = torch.cat([self.views.view(inputs, torch.from_numpy(one)) for one in halves])
        with self.clipper.watch(len(both)):
            terms = self.terms(*self.model(both).chunk(2))
        clipped = self.clipper.clipped_sums(terms, clip=self.spec.clip)
        zero = torch.zeros(())
        parts = [
            clipped.sums[one].reshape(-1) if one in clipped.sums else zero.expand(one.numel())
            for one in self.clipper.parameters
        ]
        return np.asarray(torch.cat(parts).numpy(), dtype=np.float64)

    def terms(self, first: Tensor, second: Tensor) -> Tensor:
        """A number for each view, which add up to the loss of the batch."""
        one, other = (functional.normalize(views, dim=1) for views in (first, second))
        if self.spec.method == "simclr":
            noise = self._similarity_noise(torch.cat([one, other]).detach())
            return nt_xent_terms(one, other, temperature=self.spec.temperature, noise=noise)
        standard = [self._standardised(views) for views in (one, other)]
        correlation = standard[0].T @ standard[1] / len(one)
        loss = correlation_loss(correlation, off_diagonal=OFF_DIAGONAL)
        return (loss / (2 * len(one))).expand(2 * len(one))

    def _similarity_noise(self, views: Tensor) -> Tensor | None:
        if self.spec.privacy == "naive":
            return None
        noise = noise_for(bounds.similarity_sensitivity(self.spec.batch), self.multiplier)
        exact = (views @ views.T).numpy().astype(np.float64)
        noisy = self._coupling(noisy_query(noise, exact))
        return torch.from_numpy((noisy - exact).astype(np.float32))

    def _coupling(self, noisy: Floats) -> Floats:
        """A released statistic of the batch; its norm joins that of the step's others."""
        before = self.norms.get("coupling_norm", 0.0)
        self.norms["coupling_norm"] = math.hypot(before, float(np.linalg.norm(noisy)))
        return noisy

    def _standardised(self, views: Tensor) -> Tensor:
        """By mean and deviation of each unit: those of the batch, or released ones."""
        if self.spec.privacy == "naive":
            return standardised(views)
        rows = views.detach().numpy().astype(np.float64)
        size = len(rows)
        mean_noise = noise_for(bounds.mean_sensitivity(size), self.multiplier)
        centre = self._coupling(noisy_query(mean_noise, rows.mean(axis=0)))
        square_noise = noise_for(bounds.squares_sensitivity(), self.multiplier)
        squares = self._coupling(noisy_query(square_noise, np.square(rows - centre).sum(axis=0)))
        deviation = np.sqrt(np.maximum(squares / size, _LEAST_VARIANCE))
        constants = (torch.from_numpy(one.astype(np.float32)) for one in (centre, deviation))
        middle, scale = constants
        return (views - middle) / scale

    def encoder_tensors(self) -> Tensors:
        """The weights of the encoder."""
        return {
            name: np.asarray(one.detach().numpy(), dtype=np.float64)
            for name, one in self.model.encoder.named_parameters()
        }
