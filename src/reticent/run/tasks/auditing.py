"""The audit of such a release: all its noisy queries, on the hardest pair of data sets known."""

import numpy as np

from reticent.arrays import Array, Floats
from reticent.audit.transcripts import audit_release_queries
from reticent.guarantee import Relation
from reticent.protect import Release, registry
from reticent.results import Audit, conversions
from reticent.run.auditing import pair_in_words, transcripts_for
from reticent.run.spec import RunSpec


def audit_task(released: Release, features: int, spec: RunSpec) -> Audit:
    """Try to refute its claim: a person's records at the ends of every bound, and nobody's."""
    with_it, without = hardest_pair(released, features)
    size = sum(tensor.size for tensor in released.tensors.values())
    runs = transcripts_for(released.guarantee, size, spec.beta)
    if spec.audit_runs is not None:
        runs = spec.audit_runs
    audit = audit_release_queries(released, without, with_it, runs=runs, beta=spec.beta)
    return conversions.audit_of(audit, pair=pair_in_words(released.terms.max_records_per_person))


def hardest_pair(
    released: Release, features: int
) -> tuple[tuple[Floats, Array], tuple[Floats, Array]]:
    """Rows as long as the bound with the label at an end of its range, or with every label true.

    Under replace-one the neighbour has the opposite rows, and the other end or no label.
    """
    numbers, each = released.recipe.to_dict(), released.terms.records_touched
    owned = np.repeat(float(numbers["bound"]) * np.eye(1, features), each, axis=0)
    if released.recipe.task == registry.REGRESSION:
        centre = float(numbers.get("target_centre", 0.0))
        ends = (centre + numbers["target_bound"], centre - numbers["target_bound"])
        labels = [np.full(each, end, dtype=np.float64) for end in ends]
    else:
        shape = (each, len(released.classes_))
        labels = [np.full(shape, value, dtype=np.int64) for value in (1, 0)]
    many = each if released.terms.relation is Relation.REPLACE_ONE else 0
    return (owned, labels[0]), (-owned[:many], labels[1][:many])
