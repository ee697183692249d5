"""Several views of each image, whose gradients are averaged before the record's one clipping."""

from dataclasses import dataclass
from typing import Any

from reticent.training.contrastive.augmentations import Augmentation
from reticent.training.encoders.torch_extra import nn, torch
from reticent.training.gradients.check import Loss
from reticent.validation import InputError, count

Tensor = torch.Tensor


@dataclass(frozen=True, kw_only=True)
class Views:
    """``number`` augmented views of an image, each a function of it and of its own numbers.

    ``noise`` of an augmentation must be 0: it would take a number for each pixel.
    """

    augmentation: Augmentation
    number: int
    channels_last: bool = False
    """Whether images are height×width×channels."""

    def __post_init__(self) -> None:
        """At least one view, by numbers that can be drawn for each record."""
        count("views", self.number)
        if self.augmentation.noise:
            raise InputError(
                "noise of the augmentation must be 0 in private training, got"
                f" {self.augmentation.noise}: it has one number a pixel"
            )

    def draws(self, shape: tuple[int, ...]) -> int:
        """How many numbers in [0, 1) the views of one image of this shape take."""
        if len(shape) != 3:
            raise InputError(
                f"shape must be of three sides, that of an image, for augmentations, got {shape}"
            )
        return self.number * self.augmentation.draws(shape[2 if self.channels_last else 0])

    def loss(self, loss: Loss) -> Loss:
        """``found(model, uniforms, images, *others)``: of each record the mean loss of its views.

        Its gradient is the mean of their gradients, and is clipped once (De et al. 2022,
        "augmentation multiplicity"). All views are in one forward pass.
        """

        def found(model: nn.Module, uniforms: Tensor, images: Tensor, *others: Any) -> Tensor:
            records = len(images)
            again = (one.repeat(self.number, *[1] * (one.dim() - 1)) for one in others)
            losses = loss(model, self.shown(images, uniforms), *again)
            if losses.shape != (records * self.number,):
                return losses  # not one number for each: the check before the first step says so
            return losses.view(self.number, records).mean(0)

        return found

    def shown(self, images: Tensor, uniforms: Tensor) -> Tensor:
        """All first views, then all second ones, and so on."""
        drawn = uniforms.view(len(images), self.number, -1).transpose(0, 1).flatten(0, 1)
        again = images.repeat(self.number, 1, 1, 1)
        if not self.channels_last:
            return self.augmentation.of_uniforms(again, drawn)
        shown = self.augmentation.of_uniforms(again.permute(0, 3, 1, 2), drawn)
        return shown.permute(0, 2, 3, 1).contiguous()
