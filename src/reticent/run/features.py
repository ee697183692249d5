"""What features are worth: the head without protection, its leak, and the recommended release."""

import dataclasses

from reticent.attacks.context import ProgressCallback
from reticent.results import Features, Results
from reticent.results.conversions import accuracy_of, interval_of
from reticent.run.attacking import Adversaries
from reticent.run.heads import unprotected_head
from reticent.run.releases import correct_predictions, drawn, recommended_kind
from reticent.run.spec import RunData, RunSpec


def feature_row(data: RunData, spec: RunSpec, tell: ProgressCallback) -> Features:
    """The same job in short, so that two kinds of features stand side by side."""
    head = unprotected_head(data, spec)
    few = dataclasses.replace(spec, shadows=max(spec.shadows // 2, 10))
    found, strengths = Adversaries(data=data, spec=few, tell=tell).on_unprotected(
        head, ("lira-online", "rmia-online")
    )
    (release,) = drawn([recommended_kind(data, spec)], data, spec, head, lambda *_: None)
    return Features(
        name=data.kind,
        width=data.features,
        unprotected=accuracy_of([correct_predictions(head, *data.rows("test"))]),
        released=release.accuracy,
        loss=interval_of(release.loss),
        strongest=interval_of(found.reports[next(iter(strengths))].auc),
    )


def row_of(results: Results) -> Features:
    """The same of a job that is done."""
    return Features(
        name=results.facts.feature_kind,
        width=results.facts.features,
        unprotected=results.unprotected.accuracy,
        released=results.recommended.accuracy,
        loss=results.recommended.loss,
        strongest=results.conclusion.before,
    )
