"""SimCLR: NT-Xent on private images, by one of three ways that bound what an image does.

NT-Xent compares every image of a batch with all others: clipping the gradient of each term does not
bound what one of them does to the sum. Each way (``simclr_ways``) takes the coupling out, releases
it with noise, or clips it (docs/theory.md E.10). Public negatives are taken where nothing is said;
they should be of the kind of the private images: otherwise the encoder learns to tell the two
kinds apart, and little else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np

from reticent.arrays import Floats
from reticent.protect import recipe
from reticent.protect.recipes.contrastive import ContrastiveRecipe, Sample
from reticent.protect.recipes.pate import decoded_rows
from reticent.protect.recipes.simclr_ways import WAYS, PublicNegatives, Way
from reticent.protect.terms import Terms
from reticent.randomness import seeded
from reticent.validation import InputError, count, positive

if TYPE_CHECKING:
    from reticent.protect.contrastive_run import ContrastiveRun
    from reticent.training.contrastive.networks import ImageViews, MaskedViews, Shape
    from reticent.training.encoders.torch_extra import torch

NEGATIVES: Final = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class SimCLRRecipe(ContrastiveRecipe):
    """An encoder whose two views of an image agree, and are unlike views of other images.

    ``public`` are rows as ``pate.public_text`` writes them; without any, synthetic ones are taken.
    """

    name: ClassVar[str] = "simclr"
    options: ClassVar[tuple[str, ...]] = (
        *ContrastiveRecipe.options,
        *("way", "public", "negatives", "temperature", "coupling_share"),
    )
    noises: ClassVar[tuple[str, ...]] = ("gaussian",)

    way: str = PublicNegatives.name
    """What keeps private images apart: one of ``simclr_ways.WAYS``."""
    public: str = ""
    negatives: int = NEGATIVES
    """Public rows that each step takes, by turns."""
    temperature: float = 0.5
    coupling_share: float = 0.5
    """Of the budget of a step, for released embeddings."""

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """With the numbers of the way, and no more negatives than there are public rows."""
        way = way_named(options.get("way") or PublicNegatives.name)
        given = {name: value for name, value in options.items() if value is not None}
        for other in WAYS.values():
            for name in set(other.options) & set(given) if other is not way else ():
                raise InputError(f"{name} must be given with --way {other.name}, got {way.name}")
        given = dict(way.defaults) | given
        if way.fixed:
            given |= {"batch": min(given["batch"], numbers["records"]), "fixed_size": False}
        held = len(decoded_rows(given.get("public") or "", numbers["features"]))
        if held:
            given["negatives"] = min(count("negatives", given.get("negatives", NEGATIVES)), held)
        return super(SimCLRRecipe, cls)._planned(terms, numbers, given)

    def __post_init__(self) -> None:
        """Numbers that do not go together are refused before anything is planned."""
        super(SimCLRRecipe, self).__post_init__()
        positive("temperature", self.temperature)
        if not 0 < self.coupling_share < 1:
            raise InputError(f"coupling_share must be between 0 and 1, got {self.coupling_share}")
        held = len(decoded_rows(self.public, self.features))
        if not 1 <= self.negatives <= (held or 2**16):
            raise InputError(
                f"negatives must be between 1 and {held or 2**16}, got {self.negatives}"
            )
        if self.chosen.fixed and not 2 <= self.batch <= self.records:
            raise InputError(f"batch must be between 2 and {self.records}, got {self.batch}")
        self.chosen.refuse_numbers(self)

    @property
    def chosen(self) -> Way:
        """The object behind ``way``, which says queries, losses and what is stated."""
        return way_named(self.way)

    @property
    def is_of_places(self) -> bool:
        """Also where the way needs samples of one size."""
        return self.fixed_size or self.chosen.fixed

    @property
    def checked(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the code makes sure of."""
        return self.chosen.checked(self)

    @property
    def stated(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the user states of every contrastive recipe, and of the chosen way."""
        return (*super(SimCLRRecipe, self).stated, *self.chosen.stated(self))

    def refuse_uncovered(self, terms: Terms) -> None:
        """Samples, relations and units that no theorem covers."""
        if self.chosen.fixed:
            self.chosen.refuse_uncovered(terms)
        else:
            super(SimCLRRecipe, self).refuse_uncovered(terms)

    def steps(self, terms: Terms) -> dict[str, recipe.Step]:
        """The clipped gradient sum, and where a way releases more, that."""
        return self.chosen.steps(self, terms)

    def total(self, run: ContrastiveRun, sample: Sample, plan: recipe.Plan) -> Floats:
        """The clipped gradient sum of a sample."""
        return self.chosen.total(self, run, sample, plan)

    def outputs(self, views: ImageViews | MaskedViews) -> Callable[..., torch.Tensor]:
        """What losses read of each record."""
        return self.chosen.outputs(self, views)

    def example(self, records: int) -> tuple[torch.Tensor, ...]:
        """What a batch holds beside inputs and numbers for views."""
        return self.chosen.example(self, records)

    def check_machine(self, run: ContrastiveRun, example: tuple[torch.Tensor, ...]) -> None:
        """Run the checks of the chosen way on an example batch; raise where one fails."""
        self.chosen.check_machine(self, run, example)

    def stand_in(self) -> torch.Tensor:
        """What losses read of others."""
        return self.chosen.stand_in(self)

    def losses(self, outputs: torch.Tensor, released: torch.Tensor) -> torch.Tensor:
        """NT-Xent of each record, against what is public of others."""
        return self.chosen.losses(self, outputs, released)

    def terms(
        self, first: torch.Tensor, second: torch.Tensor, released: torch.Tensor
    ) -> torch.Tensor:
        """The same from two embeddings a record."""
        from reticent.training.encoders.torch_extra import torch

        return self.losses(torch.stack([first, second], dim=1), released)

    def public_embeddings(self, run: ContrastiveRun, step: int) -> torch.Tensor:
        """Of public rows, a new part of them at each step, by the weights as they are."""
        from reticent.protect.contrastive_run import float32_rows
        from reticent.training.encoders.torch_extra import torch

        rows = self.public_rows()
        start = step * self.negatives
        chosen = rows[(start + np.arange(self.negatives)) % len(rows)]
        with torch.no_grad():
            embeddings: torch.Tensor = run.model(run.views.inputs(float32_rows(chosen)))
        return torch.nan_to_num(embeddings, posinf=0.0, neginf=0.0)

    def public_rows(self) -> Floats:
        """The public rows; where there are none, synthetic images or random rows."""
        if self.public:
            return decoded_rows(self.public, self.features)
        return _synthetic_rows(self.negatives, self.features, self.image)


def way_named(name: str) -> Way:
    """The way of that name."""
    if name not in WAYS:
        raise InputError(f"way must be one of {', '.join(WAYS)}, got {name!r}")
    return WAYS[name]


@lru_cache(maxsize=4)
def _synthetic_rows(number: int, features: int, image: Shape | None) -> Floats:
    if image is None:
        return seeded("negatives", number, features).standard_normal((number, features))
    from reticent.training.encoders import base, filter_banks

    channels, high, wide = image
    shape = base.ImageShape(channels=channels, height=high, width=wide)
    images = filter_banks.synthetic_images(number, shape, "negatives").permute(0, 2, 3, 1)
    return np.asarray(images.reshape(number, -1).numpy(), dtype=np.float64)
