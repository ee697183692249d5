"""The audit of a head and the noisy mean that it was centred by: two releases under one claim.

``audit_release`` takes the mean as given and looks at the weights alone. Here a run draws both: the
noisy sum of the rows, the head of the rows centred by it, and the noisy head. So each run solves a
head in each world, and few runs take long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.attacks.released_weights import noise_of, unfitted_head
from reticent.audit.neighbouring import World, refuse_others
from reticent.audit.transcript_audit import TranscriptAudit
from reticent.audit.transcripts import audit_transcripts
from reticent.protect import ReleasedHead
from reticent.protect.learners.recipe import Watched
from reticent.protect.mean import ReleasedMean, exact_sum
from reticent.protect.noisy_query import NoiseFunction
from reticent.protect.public_numbers import records_touched
from reticent.validation import InputError, float_rows

Floats = NDArray[np.float64]


def audit_centred_release(
    released: ReleasedHead,
    mean: ReleasedMean,
    one_world: World,
    other_world: World,
    **options: Any,
) -> TranscriptAudit:
    """Try to refute what a head that was centred by a noisy mean claims for both.

    Args:
        released: The head; its normaliser N is that of the mean, too.
        mean: The mean that it was centred by.
        one_world: Rows and labels.
        other_world: A neighbour under the release's relation.
        **options: As for ``reticent.audit.transcripts.audit_transcripts``: runs, beta, draw,
            progress.
    """
    if released.public.mean is None or released.public.mean != mean.numbers:
        raise InputError("mean must be the one that the head was centred by, got another")
    claim = released.guarantee
    touched = records_touched(released.public.records_each)
    refuse_others(one_world, other_world, claim.relation, touched)
    worlds = tuple(_watched(released, mean, world) for world in (one_world, other_world))
    return audit_transcripts((worlds[0], worlds[1]), claim, **options)


def _watched(released: ReleasedHead, mean: ReleasedMean, world: World) -> Watched:
    rows, labels = float_rows("world", world[0]), world[1]
    noises, records = (mean.noise(), noise_of(released)), released.public.records
    total = exact_sum(rows, mean.numbers.bound)

    def watch(answer: NoiseFunction) -> Floats:
        centre = answer(noises[0], total) / records
        head = unfitted_head(released, None).set_params(centre=centre).fit(rows, labels)
        return np.append(centre, answer(noises[1], head.coordinates_))

    return watch
