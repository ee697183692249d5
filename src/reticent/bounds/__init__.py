"""Theorems that turn public numbers into proven sensitivities."""

from reticent.bounds.answers import SoftmaxAnswers
from reticent.bounds.contrastive import (
    clipped_similarities,
    clipped_similarity_sum,
    embedding_correlation,
    embedding_moment,
    released_embeddings,
)
from reticent.bounds.heads import sigmoid_head, softmax_head
from reticent.bounds.means import clipped_sum
from reticent.bounds.moments import second_moment, view_moments
from reticent.bounds.objective import (
    approximate_minimum,
    determinant_ratio,
    perturbed_gradient,
    touched_records,
)
from reticent.bounds.statistics import class_statistics, target_statistics
from reticent.bounds.structured import class_counts, joint_moment, separate_class_sums
from reticent.bounds.sums import clipped_gradients, rounded_sum
from reticent.bounds.votes import (
    label_lines,
    largest_vote,
    record_lines,
    row_lines,
    teacher_votes,
)

__all__ = [
    "SoftmaxAnswers",
    "approximate_minimum",
    "class_counts",
    "class_statistics",
    "clipped_gradients",
    "clipped_similarities",
    "clipped_similarity_sum",
    "clipped_sum",
    "determinant_ratio",
    "embedding_correlation",
    "embedding_moment",
    "joint_moment",
    "label_lines",
    "largest_vote",
    "perturbed_gradient",
    "record_lines",
    "released_embeddings",
    "rounded_sum",
    "row_lines",
    "second_moment",
    "separate_class_sums",
    "sigmoid_head",
    "softmax_head",
    "target_statistics",
    "teacher_votes",
    "touched_records",
    "view_moments",
]
