"""The document of one run: who was attacked, what leaked, what a release costs and promises.

Accuracies and attacks are computed from private records without noise: the document is as private
as they are. Only what stands in ``ReleaseRow.claim`` is covered by a guarantee.
"""

from pathlib import Path
from typing import Final, Literal

from pydantic import Field, model_validator

from reticent.files import write_atomic
from reticent.guarantee import Grade
from reticent.notebook_html import block, folded, pairs, table
from reticent.results.attack import Attack, Interval
from reticent.results.audit import Audit, Claim, UsedClaim
from reticent.results.by_class import ByClass
from reticent.results.protections import Protections
from reticent.results.reading import read_value
from reticent.results.value import Value
from reticent.validation import InputError

VERSION: Final = "reticent-results/1"
"""The format of a run's document, which each names."""


class DataSummary(Value):
    """The data of the run, in numbers."""

    name: str
    private: int
    """Records that the head was tuned on."""
    others: int
    """Records of the same kind that it was not: the attacks tell the two apart."""
    test: int
    """Records that accuracies are measured on."""
    test_is_public: bool = False
    public: int = 0
    """Records that the encoder and the whitening were made on."""
    features: int
    feature_kind: str
    """Such as "SimCLR features" or "columns of the table"."""
    classes: tuple[str, ...]
    relation: str
    unit: str


class Provenance(Value):
    """How to make the same document again, and what will differ."""

    command: str
    created: str
    """UTC, ISO 8601."""
    seconds: float
    seed: int
    versions: dict[str, str]
    random: tuple[str, ...]
    """What a second run with this seed draws anew."""
    settings: dict[str, str] = Field(default_factory=dict)
    """Every choice of the run, whether the command shows it or not."""


class Unprotected(Value):
    """The head as it would be published without protection."""

    name: str
    accuracy: Interval
    by_class: ByClass | None = None
    """The recall of each class on the test records, and their mean."""
    attacks: tuple[Attack, ...]


class ReleaseRow(Value):
    """One protected model: its claim, what it costs, what was tried on it."""

    name: str
    learner: str
    """"weights" for noise on the optimum, else a learner with the noise inside."""
    mechanism: str
    claim: Claim
    used: UsedClaim | None = None
    """The released encoder that made its features, where one did, and both together."""
    scales: dict[str, float]
    accuracy: Interval
    loss: Interval
    """1 − accuracy/accuracy of the best head without protection."""
    draws: int
    """Of the noise, over which ``accuracy`` and ``loss`` are means."""
    kept_accuracy: Interval | None = None
    """Of the draw that is handed over, alone: on public test records it may be published."""
    by_class: ByClass | None = None
    """The recall of each class over all draws, and what of it is lost."""
    kept_by_class: ByClass | None = None
    """Of the draw that is handed over, alone: on public test records it may be published."""
    attacks: tuple[Attack, ...]
    """On the first draw."""
    audit: Audit | None = None
    file: str | None = None
    """Where its weights and certificate stand, beside this document; None where not kept."""

    @property
    def graded_name(self) -> str:
        """The name with the grade, once."""
        grade = f"({self.claim.grade})"
        return self.name if grade in self.name else f"{self.name} {grade}"


class SensitivityRow(Value):
    """How far one record moves the weights, by one of the ways to say so."""

    grade: Grade
    l1: float | None
    l2: float | None
    relation: str
    source: str
    gamma: float | None = None
    verdict: str
    """What may be promised with it."""


class Features(Value):
    """The same job on one kind of features."""

    name: str
    width: int
    unprotected: Interval
    """Accuracy without protection."""
    released: Interval
    """Accuracy of the recommended kind of release."""
    loss: Interval
    strongest: Interval
    """AUC of the strongest black-box attack before protection."""


class Exposed(Value):
    """One record, by its row in the private file."""

    row: int
    label: str
    power: float
    """The chance that the exact attack finds it at the stated share of false alarms."""


class Exposure(Value):
    """Who is most exposed by a release."""

    release: str
    fpr: float
    allowed: float
    """By the guarantee, for any record and any attack."""
    powers: tuple[float, ...]
    """Of all private records, sorted."""
    most: tuple[Exposed, ...]
    warning: str


class Outlier(Value):
    """A data set with one outlier, on which the published sensitivity is refuted."""

    title: str
    claim: Claim
    audit: Audit
    text: tuple[str, ...]


class Conclusion(Value):
    """The verdict, in words and in the figures that it rests on."""

    headline: str
    forbids: bool
    """Whether not to publish: the release contradicts its guarantee."""
    sentences: tuple[str, ...]
    enough: bool
    """Whether there were enough records for the attacks to show a leak worth naming."""
    records_needed: int | None = None
    """On each side, for an interval of half-width 0.03; named where there are not enough."""
    attack: str
    """The black-box attack that was strongest on shadow targets: chosen on no scored record."""
    before: Interval
    after: Interval
    allowed: float = Field(ge=0.5, le=1)
    """The largest AUC that the guarantee of the recommended release leaves to any attack."""
    recommended: str
    """The name of the recommended release."""
    would_help: str | None = None
    """What would lower its loss, by public numbers alone; where it loses more than a tenth."""


class Results(Value):
    """Everything that a run found, as one document."""

    version: Literal["reticent-results/1"] = VERSION
    title: str
    facts: DataSummary
    made: Provenance
    conclusion: Conclusion
    unprotected: Unprotected
    releases: tuple[ReleaseRow, ...] = Field(min_length=1)
    sensitivities: tuple[SensitivityRow, ...] = ()
    features: tuple[Features, ...] = ()
    """Plain ones first: the others are compared with them."""
    exposure: Exposure | None = None
    outlier: Outlier | None = None
    protections: Protections | None = None
    """Every place for noise beside each other, where the run was asked to compare them."""

    @model_validator(mode="after")
    def _of_one_piece(self) -> "Results":
        names = [release.name for release in self.releases]
        if len(set(names)) < len(names):
            raise ValueError("releases must have names that differ")
        if self.conclusion.recommended not in names:
            raise ValueError("conclusion must recommend one of the releases")
        return self

    def _repr_html_(self) -> str:
        """For notebooks: the verdict, and the releases at the ε that was asked for."""
        asked = self.recommended.claim.epsilon
        chosen = self.conclusion.attack
        rows = []
        for one in self.releases:
            if one.claim.epsilon != asked:
                continue
            mark = " ← recommended" if one is self.recommended else ""
            auc = next((attack.auc for attack in one.attacks if attack.name == chosen), "–")
            audit = "–" if one.audit is None else one.audit.verdict
            rows.append((one.name + mark, one.claim.delta, one.accuracy, auc, audit))
        columns = ("release", "δ", "accuracy", f"{chosen} AUC", "audit")
        return block(
            f"{self.title}; internal, as private as the records",
            self.conclusion.headline,
            table(columns, rows),
            folded("in words", self.conclusion.sentences),
            pairs({"figures": "reticent.plot.figures", "page": "reticent.plot.page"}),
        )

    def refuted(self, *, grades: tuple[str, ...]) -> tuple[str, ...]:
        """The names of releases of these grades whose claim fell."""
        return tuple(
            one.name
            for one in self.releases
            if one.claim.grade in grades and one.audit and one.audit.verdict == "refuted"
        )

    @property
    def recommended(self) -> ReleaseRow:
        """The release that is handed over."""
        return next(one for one in self.releases if one.name == self.conclusion.recommended)

    @property
    def covered_accuracy(self) -> Interval | None:
        """The accuracy that may be published, where there is one.

        On public records the released model's accuracy follows from what was released. A mean over
        several draws of the noise does not: each draw but the kept one is a release nobody paid
        for.
        """
        if not self.facts.test_is_public:
            return None
        release = self.recommended
        return release.accuracy if release.draws == 1 else release.kept_accuracy

    @property
    def covered_by_class(self) -> ByClass | None:
        """Recalls that may be published: those of the kept draw on public records, or none.

        What the unprotected model reaches is no part of the release: no loss stands among them.
        """
        if not self.facts.test_is_public:
            return None
        release = self.recommended
        by_class = release.by_class if release.draws == 1 else release.kept_by_class
        if by_class is None:
            return None
        own = [one.model_copy(update={"loss": None}) for one in by_class.recalls]
        return by_class.model_copy(update={"balanced_loss": None, "recalls": tuple(own)})


def write_results(results: Results, path: Path) -> None:
    """Whole or not at all, readable by its owner alone."""
    write_atomic(path, f"{results.model_dump_json(indent=1)}\n".encode(), private=True)


def read_results(path: Path) -> Results:
    """The document in a file, each grade declared at most; one line says what is wrong with it."""
    results = read_value(Results, path, f"a {VERSION} document")
    if "version" not in results.model_fields_set:
        raise InputError(f"{path} must be a {VERSION} document, got one that names no version")
    return results
