"""How far one image can move what contrastive training releases of a batch (docs/theory.md E.6).

An image has two views with embeddings z¹ and z², ‖z‖ ≤ 1, and adds A = (z¹z¹ᵀ + z²z²ᵀ)/2 to the
second moment of the batch: positive semidefinite, of trace at most 1 and so of Frobenius norm at
most 1. Add-remove: Δ_F = 1, reached where both views agree. Replace-one: ⟨A, A′⟩ ≥ 0, hence
‖A − A′‖² ≤ ‖A‖² + ‖A′‖² ≤ 2, reached by two images with orthogonal embeddings. A person with m
images adds a positive semidefinite matrix of trace m at most: m times that.
"""

import math

from reticent.bounds import statistics, sums
from reticent.guarantee import Relation, Sensitivity, grade, minting
from reticent.guarantee.rounding import up
from reticent.validation import InputError, count, positive

LEAST_TEMPERATURE = 0.01
"""Below, e^{2/τ} leaves the range of floats; useful are 1 and more."""


def embedding_moment(
    *, width: int, records: int, relation: Relation | str, max_records_per_person: int = 1
) -> Sensitivity:
    """Of Σ (z¹z¹ᵀ + z²z²ᵀ)/2 over the images of a batch, in an orthonormal basis.

    Entries of z are whole multiples of 2⁻²⁰, so sums of products are exact within blocks of 2¹²
    views; the totals over the blocks of at most 4N views, of norm at most 4N before they are
    halved, round 4N/2¹² + 4 times in each of two neighbours.

    >>> round(embedding_moment(width=32, records=60_000, relation="add-remove").l2, 6)
    1.0
    >>> round(embedding_moment(width=32, records=60_000, relation="replace-one").l2, 6)
    1.414214
    """
    return _of_pairs(
        "second moment of unit embeddings of two views",
        {Relation.ADD_REMOVE: 1.0, Relation.REPLACE_ONE: math.sqrt(2.0)},
        entries=count("width", width) * (width + 1) // 2,
        records=records,
        relation=grade.as_relation(relation),
        max_records_per_person=max_records_per_person,
    )


def embedding_correlation(
    *, width: int, records: int, relation: Relation | str, max_records_per_person: int = 1
) -> Sensitivity:
    """Of Σ z¹z²ᵀ over the images of a batch, all k² entries; rounding as for the moment.

    ‖z¹z²ᵀ‖_F = ‖z¹‖·‖z²‖ ≤ 1, and two of them are at most 2 apart: z and −z in one view do that.

    >>> round(embedding_correlation(width=32, records=60_000, relation="replace-one").l2, 6)
    2.0
    """
    return _of_pairs(
        "cross-correlation of unit embeddings of two views",
        {Relation.ADD_REMOVE: 1.0, Relation.REPLACE_ONE: 2.0},
        entries=count("width", width) ** 2,
        records=records,
        relation=grade.as_relation(relation),
        max_records_per_person=max_records_per_person,
    )


def released_embeddings(*, width: int, max_records_per_person: int = 1) -> Sensitivity:
    """Of the embeddings of both views of every image of a batch, one after another (E.10).

    Replace-one, batches of one public size: two rows of norm at most 1 change, by at most 2 each.
    Entries are whole multiples of 2⁻²⁰ and nothing is added up, so nothing rounds. Of an image that
    is added the number of rows tells, whatever the noise: there is no bound for add-remove.

    >>> round(released_embeddings(width=8).l2 ** 2, 6)
    8.0
    """
    each = count("max_records_per_person", max_records_per_person)
    rows = 2 * each
    l2 = up(2 * math.sqrt(rows))
    return minting.proven(
        Sensitivity(
            l1=up(math.sqrt(rows * count("width", width)) * l2),
            l2=l2,
            relation=Relation.REPLACE_ONE,
            source=f"unit embeddings of two views, theory E.10: records each {each}",
        )
    )


def clipped_similarities(
    *, clip: float, temperature: float, images: int, relation: Relation | str, views: int = 1
) -> Sensitivity:
    """Of the summed gradient of InfoNCE whose gradient of each similarity is clipped (E.10).

    Similarities are in [−1, 1], and the gradient of each is clipped to norm ``clip`` before they
    are put together by the softmax. With one view each image is told among ``images`` others'
    positives; with two it is NT-Xent on 2·``images`` views, under replace-one alone. Declared:
    the rounding of a computed sum comes on top (``clipped_similarity_sum``).

    >>> at = {"clip": 1.0, "images": 128, "relation": "replace-one", "views": 2}
    >>> [round(clipped_similarities(temperature=t, **at).l2, 1) for t in (0.5, 1.0, 2.0)]
    [322.3, 36.0, 9.3]
    """
    relation = grade.as_relation(relation)
    clip, tau = positive("clip", clip), positive("temperature", temperature)
    if count("images", images, at_least=2) and count("views", views) > 2:
        raise InputError(f"views must be 1 or 2, got {views}")
    if relation is Relation.AS_DECLARED or (views == 2 and relation is Relation.ADD_REMOVE):
        raise InputError("relation must be replace-one, or add-remove with one view, got another")
    if not tau >= LEAST_TEMPERATURE:
        raise InputError(
            f"temperature must be at least {LEAST_TEMPERATURE}, got {tau}: the bound grows as"
            " exp(2/temperature)"
        )
    changed, rows = views, views * images
    odds = math.exp(2 / tau)
    others = (rows - changed) * changed * odds / (changed * odds + rows - changed - (views - 1))
    own = changed * (1 - 1 / (1 + (rows - views) * odds))
    worlds = 1 if relation is Relation.ADD_REMOVE else 2
    return Sensitivity(
        l2=up((1 + 2.0**-40) * 2 * clip / tau * (others + worlds * own)),
        relation=relation,
        source=f"similarities' gradients clipped to {clip}, temperature {tau}, {images} images"
        f" of {views} views, theory E.10, in exact arithmetic",
    )


def clipped_similarity_sum(
    *, clip: float, temperature: float, images: int, size: int
) -> Sensitivity:
    """Of NT-Xent's summed gradient over ``images`` of two views, as ``pair_sum`` computes it.

    ``clipped_similarities`` under replace-one, and the rounding of weights and sums in float64 on
    top (E.10): similarities are exact on their grid, a softmax of M candidates is off by less than
    (M + 40 + 4/τ)·2⁻⁵³ of itself, and the terms of a row weigh 2B/τ at most.

    >>> round(clipped_similarity_sum(clip=1.0, temperature=1.0, images=128, size=1000).l2, 1)
    36.0
    """
    shift = clipped_similarities(
        clip=clip, temperature=temperature, images=images, relation=Relation.REPLACE_ONE, views=2
    ).l2
    assert shift is not None
    views = 2 * images
    steps = 4 * (views**2 + 4 * views + 64 + 16 / temperature) * 2.0**-53
    l2 = up(shift + 4 * views * clip / temperature * steps / (1 - steps))
    return minting.proven(
        Sensitivity(
            l1=up(math.sqrt(count("size", size)) * l2),
            l2=l2,
            relation=Relation.REPLACE_ONE,
            source=f"similarities' gradients clipped to {clip}, temperature {temperature}, {images}"
            " images of two views, theory E.10",
        )
    )


def _of_pairs(
    what: str,
    by: dict[Relation, float],
    *,
    entries: int,
    records: int,
    relation: Relation,
    max_records_per_person: int,
) -> Sensitivity:
    if relation not in by:
        raise InputError("relation must be add-remove or replace-one, got neither")
    most = sums.ROOM * count("records", records)
    each = count("max_records_per_person", max_records_per_person)
    rounding = 2 * most * (2 * most / statistics.EXACT_BLOCK + 4) * 2.0**-53
    l2 = up(each * by[relation] + rounding)
    return minting.proven(
        Sensitivity(
            l1=up(math.sqrt(entries) * l2),
            l2=l2,
            relation=relation,
            source=f"{what}, theory E.6: N = {records}, records each {each}",
        )
    )
