"""Views of private images in the training of a network: drawn from secret bits, one clipped mean.

Each step averages the gradients of some augmented views of a record and clips that mean, so a
record moves the sum as far as without them, and the number of views is public (docs/theory.md E.5;
De et al. 2022, "augmentation multiplicity").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect.recipes.network import NetworkRecipe
    from reticent.training.gradients import Views

VIEWS: Final = 4
"""Where an augmentation is named and no number."""
AUGMENTED: Final = (
    "augmentation and number of views were chosen without looking at the private data"
)


def check_views(recipe: NetworkRecipe) -> None:
    """Refuse an augmentation that is not known, or of what is no image; and views without one."""
    if not recipe.augmentation:
        if recipe.views:
            raise InputError(
                f"views must be 0 without an augmentation, got {recipe.views}: name one"
            )
        return
    if recipe.public_weights:
        raise InputError(
            f"augmentation must not be given to {recipe.architecture}, got {recipe.augmentation!r}:"
            " what its public weights make of a record is computed once"
        )
    views_of(recipe)


def views_of(recipe: NetworkRecipe) -> Views:
    """How the views of a record of the recipe's shape are drawn."""
    from reticent.training.contrastive.networks import AUGMENTATIONS
    from reticent.training.encoders.base import channels_last
    from reticent.training.gradients import Views

    if recipe.augmentation not in AUGMENTATIONS:
        raise InputError(
            f"augmentation must be one of {', '.join(AUGMENTATIONS)}, got {recipe.augmentation!r}"
        )
    shape = recipe.record_shape
    found = Views(
        augmentation=AUGMENTATIONS[recipe.augmentation](),
        number=recipe.views,
        channels_last=len(shape) == 3 and channels_last(shape),
    )
    found.draws(shape)  # refuses what is no image
    return found
