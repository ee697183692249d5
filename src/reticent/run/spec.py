"""What a run is asked for, and the records that it is about."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from reticent.arrays import Array, Floats, Integers
from reticent.attacks.records import Records
from reticent.data import Dataset, split
from reticent.guarantee import Relation, grade
from reticent.mechanisms.registry import MECHANISMS
from reticent.protect import registry, table, used_encoder
from reticent.protect.terms import Terms, checked_each, inferred_sources, unit_of
from reticent.training import PublicStep, public_step
from reticent.training.features import Norms
from reticent.validation import InputError, count, open_probability, positive, probability

GRID = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Times the ε that is asked for."""
MECHANISMS_SHOWN = ("laplace", "gaussian", "logistic")
PURE = ("laplace", "logistic", "l2-laplace")
"""Mechanisms for weights that need no δ."""
_BLOCK = 4096


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """Every choice of a run; all of them stand before a private record is looked at.

    Args:
        epsilon: The ε of the release that is handed over.
        delta: Its δ, or 0 for pure noise alone; mechanisms without δ are always shown at δ = 0.
        relation: "add-remove" or "replace-one".
        records: The public normaliser N.
        bound: The public bound on a row's norm.
        inferred_from_data: Which of classes, bound and records were read from the private data
            after all: with any of them no release is more than declared.
        norms: "clip" longer rows to the bound, or "scale" all rows to it.
        epsilons: The grid of the figures; by default ½ to 8 times ε.
        penalty: λ of the head whose three sensitivities stand side by side.
        pairs: Of Algorithm 2 (Yang, Gohari, Topcu 2022).
        sampled: Pairs of the sensitivity sampler, where public records with labels are there.
        draws: Releases of each kind, to show their spread; each is one release by itself.
        shadows: Models that the strongest attacks train.
        max_records_per_person: The most rows of one person that are kept, one by default where
            the private records say whose they are; the person is then the unit. None where they
            do not.
        intercept: The constant feature beside each row.
        beta: The chance that any audited claim is refuted, if all are true.
        audit_runs: Releases of each audited head in either world; by default as many as finding
            noise of half the scale needs, where that is affordable.
        seed: Of everything but protecting noise.
        jobs: Processes for shadow models.
        unbounded: Measure on all records of a large table and repeat as often as of a small one
            (``run.bounded``): hours, and tens of GiB.
        encoder: The released encoder that made the features, where one did.
        compare_protections: Put every other place for noise beside the release, at its ε and δ.
    """

    epsilon: float
    delta: float
    relation: Relation | str
    records: int
    bound: float
    inferred_from_data: tuple[str, ...] = ()
    norms: Norms = "clip"
    epsilons: tuple[float, ...] = ()
    mechanisms: tuple[str, ...] = MECHANISMS_SHOWN
    """Noise of the weights in the figures; at δ = 0 without Gaussian, and none that needs δ."""
    learner: str | None = None
    """Of the release that is handed over; by default what ``plan`` says of the public numbers."""
    prototypes: bool = False
    """The labels were made as clusters of the features, which is public (``protect.plan``)."""
    penalty: float = 1e-2
    penalties: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2)
    """Of the unprotected head, which takes the best in cross-validation."""
    pairs: int = 500
    sampled: int = 40
    draws: int = 5
    shadows: int = 32
    max_records_per_person: int | None = None
    intercept: float = 0.1
    beta: float = 0.05
    audit_runs: int | None = None
    seed: int = 0
    jobs: int = 1
    unbounded: bool = False
    encoder: used_encoder.UsedEncoder | None = None
    compare_protections: bool = False

    def __post_init__(self) -> None:
        """Numbers in range; the grid holds the ε that is asked for."""
        positive("epsilon", self.epsilon)
        if not probability("delta", self.delta) < 1:
            raise InputError(f"delta must be in [0, 1) for a run, got {self.delta}")
        if self.mechanisms == MECHANISMS_SHOWN:
            object.__setattr__(self, "mechanisms", usual_mechanisms(self.delta))
        _refuse_without_delta(self.mechanisms, self.delta)
        object.__setattr__(self, "relation", grade.as_relation(self.relation))
        for name in ("records", "pairs", "sampled"):
            count(name, getattr(self, name))
        checked_each(self.max_records_per_person)
        count("draws", self.draws, at_least=2)
        count("shadows", self.shadows, at_least=10)
        count("seed", self.seed, at_least=0)
        for name in ("bound", "penalty"):
            positive(name, getattr(self, name))
        if self.learner is not None:
            _refuse_noise_with_delta(self.learner, self.delta)
        if not self.penalties:
            raise InputError("penalties must be at least one, got none")
        open_probability("beta", self.beta)
        grid = self.epsilons or tuple(times * self.epsilon for times in GRID)
        asked = {positive("epsilons", one) for one in (*grid, self.epsilon)}
        if len({f"{one:g}" for one in asked}) < len(asked):
            raise InputError("epsilons must differ in their first six digits, got two that do not")
        object.__setattr__(self, "epsilons", tuple(sorted(asked)))

    @property
    def unit(self) -> str:
        """What one record of the guarantee is."""
        return unit_of(self.max_records_per_person)

    def terms(self, *, epsilon: float | None = None, delta: float | None = None) -> Terms:
        """What a release of the run promises; the sources of its numbers decide its grade."""
        return Terms(
            epsilon=self.epsilon if epsilon is None else epsilon,
            delta=self.delta if delta is None else delta,
            relation=self.neighbours,
            max_records_per_person=self.max_records_per_person,
            sources=inferred_sources(self.inferred_from_data),
            encoder=self.encoder,
        )

    @property
    def neighbours(self) -> Relation:
        """The neighbouring relation (adjacency) that was asked for; an unknown one is refused."""
        return grade.as_relation(self.relation)


@dataclass(frozen=True, kw_only=True, eq=False)
class RunData:
    """Features by their roles; no record has two of them, but ``test`` may hold the others."""

    name: str
    kind: str
    """What the features are, in words."""
    private: Dataset
    others: Dataset
    """Not trained on: attacks tell the private records from them."""
    own: Dataset
    """The adversary's own, for shadow models and as population."""
    test: Dataset
    """For accuracies."""
    pool: Dataset | None = None
    """Public records with labels, for the sensitivity sampler."""
    public: int = 0
    """Public records behind encoder and whitening."""
    test_is_public: bool = False
    """Then the accuracy of the release on them may be published with it."""
    kept: Integers | None = None
    """Where the private records stood among all; None where they are all."""

    @classmethod
    def of(
        cls,
        private: Dataset,
        test: Dataset,
        *,
        public: Dataset | None = None,
        max_records_per_person: int | None = None,
        seed: int = 0,
    ) -> "RunData":
        """From a user's tables: two thirds of the test records are scored, a third is the enemy's.

        With public records all rows are centred and whitened by them. Where the test records say
        whose they are, attacks see as many of each person as of the private ones.
        """
        scored = _first_rows(test, table.kept_each(private, max_records_per_person))
        if len(scored) < 12:
            raise InputError(
                f"test must have at least 12 records to attack with, got {len(scored)}"
            )
        _refuse_other_columns(private, test=test, public=public)
        sizes = {"others": len(scored) - len(scored) // 3, "own": len(scored) // 3}
        parts = split(len(scored), sizes=sizes, seed=seed)
        kind = "features"
        if public is not None:
            step = PublicStep(public_step.PublicWhitening().fit(public.features))
            private, test, scored = (whitened(data, step) for data in (private, test, scored))
            kind = "features whitened by public records"
        return cls(
            name=private.name,
            kind=kind,
            private=private,
            others=scored.take(parts["others"]),
            own=scored.take(parts["own"]),
            test=test,
            public=0 if public is None else len(public),
        )

    @property
    def features(self) -> int:
        """The number of features of a row."""
        return int(self.private.features.shape[1])

    def records(self, role: str) -> Records:
        """The records of this role as attacks take them."""
        return Records.of(getattr(self, role))

    def rows(self, role: str) -> tuple[Floats, Array]:
        """Features and the names of the classes."""
        data = getattr(self, role)
        return data.features.astype(np.float64), np.asarray(data.classes)[data.labels]


def usual_mechanisms(delta: float) -> tuple[str, ...]:
    """The noise of the figures where none is said: what needs δ stands there where δ > 0."""
    return tuple(one for one in MECHANISMS_SHOWN if delta > 0 or one in PURE)


def _refuse_without_delta(mechanisms: tuple[str, ...], delta: float) -> None:
    needing = () if delta > 0 else [one for one in mechanisms if one not in PURE]
    if needing:
        raise InputError(f"mechanisms must be of {', '.join(PURE)} at delta 0, got {needing[0]}")


def _refuse_noise_with_delta(learner: str, delta: float) -> None:
    """At δ = 0 a learner whose theorems are about other noise alone; an unknown one always."""
    noises = registry.classifier_named(learner).noises
    if not delta > 0 and noises and all(MECHANISMS[name].needs_delta for name in noises):
        raise InputError(
            f"learner must take noise without delta at delta 0, got {learner}, whose noise is"
            f" {', '.join(noises)}: say a delta above 0, or another learner"
        )


def longest_row(data: Dataset) -> float:
    """The largest norm of a row; infinite where it is beyond the range, to be refused."""
    rows, longest = data.features, 0.0
    with np.errstate(over="ignore"):
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK].astype(np.float64)
            longest = max(longest, float(np.linalg.norm(block, axis=1).max()))
    return longest


def _first_rows(data: Dataset, max_records_per_person: int | None) -> Dataset:
    if data.persons is None or max_records_per_person is None:
        return data
    return data.take(table.cap_rows_per_person(data.persons, max_records_per_person))


def counted(private: Dataset, max_records_per_person: int | None) -> int:
    """Records that are left when each person keeps so many, one where none is said."""
    persons, each = private.persons, table.kept_each(private, max_records_per_person)
    return (
        len(private)
        if persons is None or each is None
        else len(table.cap_rows_per_person(persons, each))
    )


def _refuse_other_columns(private: Dataset, **more: Dataset | None) -> None:
    """The same features in the same order, as far as the tables tell."""
    width = private.features.shape[1]
    for role, data in more.items():
        if data is None:
            continue
        if data.features.shape[1] != width:
            raise InputError(
                f"{role} must have the {width} features of the private records, got"
                f" {data.features.shape[1]}"
            )
        if data.columns and private.columns and data.columns != private.columns:
            raise InputError(
                f"{role} must have the columns of the private records in their order, got others"
            )


def whitened(data: Dataset, step: PublicStep) -> Dataset:
    """By what was learnt from public records."""
    rows = np.asarray(step.transform(data.features), dtype=np.float64)
    names = tuple(f"whitened feature {place}" for place in range(rows.shape[1]))
    return dataclasses.replace(data, inputs=rows, columns=names, schema=None)
