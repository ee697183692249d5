"""``reticent predict`` by a release that tells numbers, or several labels at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from reticent.cli import output, release_output
from reticent.cli.table_form import TableForm
from reticent.cli.task_run import shown
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.arrays import Array, Floats
    from reticent.protect import Release
    from reticent.results.task_results import Measure


def other_task(head: Release) -> str | None:
    """What a release tells where that is no class: numbers, or several labels."""
    if head.recipe.task != "classification":
        return str(head.recipe.task)
    return "multilabel" if head.recipe.to_dict().get("outputs") == "sigmoid" else None


def stated_labels(head: Release, form: TableForm, label: str | None) -> dict[str, Any]:
    """The columns that the answers are compared with, where they were said; a schema knows them."""
    if form.schema is not None or label is None:
        return {}
    task = other_task(head)
    if task == "statistic":
        raise InputError("--label must not be given for a statistic: it predicts nothing")
    if task == "multilabel" and form.labels != head.classes_.astype(str).tolist():
        raise InputError(
            f"--label must be the labels of the release, {','.join(map(str, head.classes_))}, got"
            f" {label!r}"
        )
    return {"target": (0.0, 1.0)} if task == "regression" else {}


@dataclass(frozen=True, kw_only=True, eq=False)
class TaskPredictions:
    """What a release says of rows, and how good that is where the labels are known."""

    head: Release
    task: str
    answers: Array
    chances: Floats | None
    measures: tuple[Measure, ...] = ()

    @classmethod
    def of(cls, head: Release, task: str, rows: Floats, truth: Array | None) -> Self:
        """The answers, measured where the table holds the labels."""
        answers = head.predict(rows)
        chances = head.predict_proba(rows) if task == "multilabel" else None
        measures: tuple[Measure, ...] = ()
        if truth is not None and len(truth):
            from reticent.run.tasks.measures import Measured, kinds_of

            names = tuple(map(str, head.classes_)) or ("label",)
            target = None if head.schema is None else head.schema.target
            unit = "" if target is None else target.unit
            kinds = kinds_of(names, numbers=task == "regression", unit=unit)
            measures = Measured(kinds=kinds, truth=truth).of([answers])
        return cls(head=head, task=task, answers=answers, chances=chances, measures=measures)

    @property
    def columns(self) -> tuple[str, ...]:
        """Of a file of answers."""
        if self.chances is None:
            return ("row", "predicted")
        names = list(map(str, self.head.classes_))
        return ("row", *names, *(f"probability of {name}" for name in names))

    @property
    def rows(self) -> Iterator[list[Any]]:
        """The cells of each record: a number, or its labels and then their probabilities."""
        if self.chances is None:
            return ([value] for value in self.answers.tolist())
        pairs = zip(self.answers.tolist(), self.chances.tolist(), strict=True)
        return ([*labels, *chances] for labels, chances in pairs)

    def show(self, *, written: bool, json: bool) -> None:
        """Numbers line by line, or how often each label is said; then what was measured."""
        if json:
            measures = {one.words: one.figure.value for one in self.measures}
            more = {"measures": measures} if measures else {}
            answers = {"predictions": self.answers.tolist(), **more}
            claims = {
                "guarantee": self.head.guarantee.to_dict(),
                **release_output.composed_document(self.head),
            }
            output.print_json(answers | claims)
            return
        if self.chances is None:
            for value in [] if written else self.answers.tolist():
                output.print_line(f"{value:.6g}")
        else:
            counts = [str(int(many)) for many in self.answers.sum(axis=0)]
            names = map(str, self.head.classes_)
            rows = list(zip(names, counts, strict=True))
            output.print_table(f"Of {len(self.answers)} rows", ("label", "said of"), rows)
        if self.measures:
            output.print_table(
                f"On {len(self.answers)} rows",
                ("measure", "value, 95 %"),
                [(one.words, shown(one.figure)) for one in self.measures],
            )
        output.print_line(f"model: {self.head.guarantee}")
        release_output.print_composed(self.head)
