"""What a card says of each class, and of measures that are no accuracy of classes."""

from reticent.report import numbers, wording
from reticent.report.evidence import Evidence
from reticent.report.markdown import escaped, table
from reticent.results import Recall, by_class


def recalls(evidence: Evidence) -> list[str]:
    """Balanced accuracy and the recall of each class, before and after; lost classes first."""
    run = evidence.run
    before = None if run is None else run.unprotected.by_class
    after = None if run is None else run.recommended.by_class
    if before is None or after is None:
        return []
    lost, loss = by_class.lost_classes(before, after), after.balanced_loss
    rows = [
        (escaped(one.label), f"{one.test:,}", _recall(before.of(one.label)), _recall(one),
         "–" if one.loss is None else str(one.loss))
        for one in after.recalls
    ]  # fmt: skip
    relative = "" if loss is None else f", a loss of {loss}"
    return [
        *([f"**Warning:** {escaped(lost)}"] if lost else []),
        f"**Balanced accuracy** (the mean recall of the classes) goes from"
        f" {before.balanced_accuracy} to {after.balanced_accuracy}{relative}.",
        table(["class", "test records", "recall before", "recall after", "loss"], rows),
    ]


def public_recalls(evidence: Evidence) -> list[str]:
    """Those of the released model alone, on public test records."""
    class_recalls = evidence.covered_by_class
    if class_recalls is None:
        return []
    rows = [(escaped(one.label), f"{one.test:,}", str(one.recall)) for one in class_recalls.recalls]
    return [
        f"**Balanced accuracy** (the mean recall of the classes): {class_recalls.balanced_accuracy}"
        f", {wording.ON_PUBLIC_RECORDS}.",
        table(["class", "test records", "recall"], rows),
    ]


def public_measures(evidence: Evidence) -> list[str]:
    """RMSE, MAE and R², or accuracy and F1 of each label, of the released model alone."""
    rows = [
        (escaped(one.words), numbers.figure_text(one.figure)) for one in evidence.covered_measures
    ]
    return [
        f"The released model (figures with their 95 % intervals), {wording.ON_PUBLIC_RECORDS}:",
        table(["measure", "figure"], rows),
    ]


def _recall(one: Recall | None) -> str:
    return "–" if one is None else str(one.recall)
