"""SimCLR with public negatives: each private image is told from public ones, and from no other.

NT-Xent compares every image of a batch with all others: no clipping bounds what one of them does to
the sum. Against public images there is nothing to couple: a loss is a function of one record, of
public images and of released weights, so this is DP-SGD (docs/theory.md E.10). Public images
should be of the kind of the private ones: otherwise the encoder learns to tell the two kinds
apart, and little else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np

from reticent.arrays import Floats
from reticent.protect.recipe import Plan, Step
from reticent.protect.recipes.contrastive import STATED, VIEWS, ContrastiveRecipe, Sample
from reticent.protect.recipes.linear import NOISY_SUMS, OWN_CLASS
from reticent.protect.recipes.network import COINS, GRADIENTS, PER_EXAMPLE, SLOTS
from reticent.protect.recipes.pate import decoded_rows
from reticent.protect.terms import Terms
from reticent.randomness import seeded
from reticent.validation import InputError, count, positive

if TYPE_CHECKING:
    from reticent.protect.contrastive_run import ContrastiveRun
    from reticent.training.contrastive.networks import Shape
    from reticent.training.encoders.torch_extra import torch

NEGATIVES: Final = 128
_PUBLIC: Final = (
    "the images that are told from private ones are public: no private record was looked at to"
    " choose them"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SimCLRRecipe(ContrastiveRecipe):
    """An encoder whose two views of an image agree, and are unlike views of public images.

    ``public`` are rows as ``pate.public_text`` writes them; without any, synthetic ones are taken.
    """

    name: ClassVar[str] = "simclr"
    options: ClassVar[tuple[str, ...]] = (
        *ContrastiveRecipe.options,
        *("public", "negatives", "temperature"),
    )
    noises: ClassVar[tuple[str, ...]] = ("gaussian",)

    public: str = ""
    negatives: int = NEGATIVES
    """Public rows that each step takes, by turns."""
    temperature: float = 0.5

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """With no more negatives than there are public rows."""
        held = len(decoded_rows(options.get("public") or "", numbers["features"]))
        if held:
            wanted = count("negatives", options.get("negatives", NEGATIVES))
            options = options | {"negatives": min(wanted, held)}
        return super(SimCLRRecipe, cls)._planned(terms, numbers, options)

    def __post_init__(self) -> None:
        """Numbers that do not go together are refused before anything is planned."""
        super(SimCLRRecipe, self).__post_init__()
        positive("temperature", self.temperature)
        held = len(decoded_rows(self.public, self.features))
        if not 1 <= self.negatives <= (held or 2**16):
            raise InputError(
                f"negatives must be between 1 and {held or 2**16}, got {self.negatives}"
            )

    @property
    def checked(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the code makes sure of; of bits in exact mode alone."""
        bits = (SLOTS,) if self.exact else ()
        return (PER_EXAMPLE, *bits, VIEWS, COINS, NOISY_SUMS, OWN_CLASS)

    @property
    def stated(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the user states."""
        return (*STATED, _PUBLIC) if self.public else STATED

    def steps(self, terms: Terms) -> dict[str, Step]:
        """One kind of query: the clipped gradient sum."""
        return {GRADIENTS: self.gradient_step(terms, 1.0)}

    def total(self, run: ContrastiveRun, sample: Sample, plan: Plan) -> Floats:
        """The clipped gradient sum of a sample, at public embeddings of the same weights."""
        del plan
        run.gradients.released = self._public_embeddings(run, sample.step)
        return run.gradients.of(sample.batch(run.views.draws))

    def stand_in(self) -> torch.Tensor:
        """Random embeddings, as many as a step has: slots are checked for products of this size."""
        from reticent.training.encoders.torch_extra import torch

        rng = seeded("stand-in", self.negatives, self.embedding)
        drawn = rng.standard_normal((self.negatives, self.embedding), np.float32)
        return torch.from_numpy(drawn)

    def terms(
        self, first: torch.Tensor, second: torch.Tensor, released: torch.Tensor
    ) -> torch.Tensor:
        """NT-Xent of each record against public embeddings."""
        from reticent.training.contrastive.public_negatives import public_negative_terms

        return public_negative_terms(first, second, released, temperature=self.temperature)

    def _public_embeddings(self, run: ContrastiveRun, step: int) -> torch.Tensor:
        """Of public rows, a new part of them at each step, by the weights as they are."""
        from reticent.protect.contrastive_run import float32_rows
        from reticent.training.encoders.torch_extra import torch

        rows = self.public_rows()
        start = step * self.negatives
        chosen = rows[(start + np.arange(self.negatives)) % len(rows)]
        with torch.no_grad():
            found: torch.Tensor = run.model(run.views.inputs(float32_rows(chosen)))
        return torch.nan_to_num(found, posinf=0.0, neginf=0.0)

    def public_rows(self) -> Floats:
        """The public rows; where there are none, synthetic images or random rows."""
        if self.public:
            return decoded_rows(self.public, self.features)
        return _synthetic_rows(self.negatives, self.features, self.image)


@lru_cache(maxsize=4)
def _synthetic_rows(number: int, features: int, image: Shape | None) -> Floats:
    if image is None:
        return seeded("negatives", number, features).standard_normal((number, features))
    from reticent.training.encoders.base import ImageShape
    from reticent.training.encoders.filter_banks import synthetic_images

    channels, high, wide = image
    shape = ImageShape(channels=channels, height=high, width=wide)
    images = synthetic_images(number, shape, "negatives").permute(0, 2, 3, 1)
    return np.asarray(images.reshape(number, -1).numpy(), dtype=np.float64)
