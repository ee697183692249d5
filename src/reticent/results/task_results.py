"""The document of a run that predicts a number, or several labels of a record at once.

It is that of a run on classes (``results.document``) with other figures of loss: RMSE, MAE and R²
in the label's units, or accuracy and F1 of each label. Measures and attacks are computed from
private records without noise: only the claim of a release is covered by a guarantee.
"""

import json
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, model_validator

from reticent.files import write_atomic
from reticent.read_limit import bounded_bytes
from reticent.results.attack import Attack, Interval
from reticent.results.audit import Audit, Claim, UsedClaim
from reticent.results.document import Provenance, Results, read_results
from reticent.results.reading import read_value
from reticent.results.value import Value
from reticent.strict_json import MOST_BYTES
from reticent.validation import InputError

TASK_VERSION: Final = "reticent-task-results/1"
OF_ALL: Final = ", mean of all labels"
MEASURES: Final = ("RMSE", "MAE", "R²", "accuracy", "F1", f"accuracy{OF_ALL}", f"F1{OF_ALL}")
"""The names that measures have."""


class TaskFacts(Value):
    """The data of the run, in numbers."""

    task: Literal["regression", "multilabel"]
    name: str
    labels: tuple[str, ...] = Field(min_length=1)
    """The column that is predicted, or all of them."""
    unit: str = ""
    """Of the label, where it is a number with one."""
    low: float | None = None
    high: float | None = None
    """The ends of its public range."""
    private: int
    others: int
    test: int
    test_is_public: bool = False
    features: int
    relation: str
    unit_of_privacy: str

    @property
    def classes(self) -> tuple[str, ...]:
        """None that exclude each other: no recall of a class is gated."""
        return ()


class Measure(Value):
    """One figure of loss or of merit on the test records, of one label or of all."""

    name: str
    """Such as "RMSE" or "F1"."""
    label: str = ""
    """Of which label; empty where it is of all."""
    unit: str = ""
    lower_is_better: bool
    figure: Interval

    @property
    def words(self) -> str:
        """The name with label and unit."""
        unit = f" ({self.unit})" if self.unit else ""
        return f"{self.name}{unit}" + (f" of {self.label}" if self.label else "")


class TaskModel(Value):
    """The model without protection: its measures on test records, and the attacks on it."""

    name: str
    measures: tuple[Measure, ...] = Field(min_length=1)
    attacks: tuple[Attack, ...]


class TaskRelease(Value):
    """One protected model: its claim, what it costs, what was tried on it."""

    name: str
    learner: str
    mechanism: str
    claim: Claim
    used: UsedClaim | None = None
    """The released encoder that made its features, where one did, and both together."""
    scales: dict[str, float]
    draws: int
    """Of the noise, over which ``measures`` and ``change`` are means."""
    measures: tuple[Measure, ...] = Field(min_length=1)
    kept_measures: tuple[Measure, ...] = ()
    """Of the draw that is handed over, alone."""
    change: Interval
    """Of the first measure, relative to the model without protection: larger is worse."""
    attacks: tuple[Attack, ...] = ()
    audit: Audit | None = None
    file: str | None = None

    @property
    def loss(self) -> Interval:
        """What a gate on the loss looks at."""
        return self.change


class TaskConclusion(Value):
    """The verdict, in words and in the figures that it rests on."""

    headline: str
    forbids: bool
    """Whether not to publish: the release contradicts its guarantee."""
    sentences: tuple[str, ...]
    attack: str
    """Chosen on shadow targets: on no record that is scored."""
    before: Interval
    after: Interval
    allowed: float = Field(ge=0.5, le=1)
    recommended: str


class TaskResults(Value):
    """Everything that such a run found, as one document."""

    version: Literal["reticent-task-results/1"] = TASK_VERSION
    title: str
    facts: TaskFacts
    made: Provenance
    conclusion: TaskConclusion
    unprotected: TaskModel
    releases: tuple[TaskRelease, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _of_one_piece(self) -> "TaskResults":
        names = [release.name for release in self.releases]
        if len(set(names)) < len(names):
            raise ValueError("releases must have names that differ")
        if self.conclusion.recommended not in names:
            raise ValueError("conclusion must recommend one of the releases")
        shown = [one.words for one in self.unprotected.measures]
        if any([one.words for one in row.measures] != shown for row in self.releases):
            raise ValueError("releases must have the measures of the model without protection")
        return self

    @property
    def recommended(self) -> TaskRelease:
        """The release that is handed over."""
        return next(one for one in self.releases if one.name == self.conclusion.recommended)

    @property
    def covered_measures(self) -> tuple[Measure, ...]:
        """Measures that may be published: those of the kept draw on public records, or none.

        As for the accuracy of a run on classes: they follow from what was released.
        """
        release = self.recommended
        if not self.facts.test_is_public:
            return ()
        return release.measures if release.draws == 1 else release.kept_measures

    def refuted(self, *, grades: tuple[str, ...]) -> tuple[str, ...]:
        """The names of releases of these grades whose claim fell."""
        return tuple(
            one.name
            for one in self.releases
            if one.claim.grade in grades and one.audit and one.audit.verdict == "refuted"
        )


def write_task_results(results: TaskResults, path: Path) -> None:
    """Whole or not at all, readable by its owner alone."""
    write_atomic(path, f"{results.model_dump_json(indent=1)}\n".encode(), private=True)


def read_task_results(path: Path) -> TaskResults:
    """The document in a file, each grade declared at most; one line says what is wrong with it."""
    results = read_value(TaskResults, path, f"a {TASK_VERSION} document")
    if "version" not in results.model_fields_set:
        raise InputError(f"{path} must be a {TASK_VERSION} document, got one that names no version")
    return results


def read_any_results(path: Path) -> Results | TaskResults:
    """The document of a run, by the version that it names."""
    return read_task_results(path) if _names_task_version(path) else read_results(path)


def _names_task_version(path: Path) -> bool:
    """By a loose look: what follows reads the file strictly."""
    try:
        document = json.loads(bounded_bytes(Path(path), most=MOST_BYTES))
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("version") == TASK_VERSION
