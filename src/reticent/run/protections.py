"""Every protection of the registry on one data set, at one (ε, δ), under the same attacks.

The accuracies and attacks are computed from private records without noise: what comes out is as
private as they are. Each release is one of its own; nobody may publish several of them for one ε.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from reticent.arrays import Array, Flags
from reticent.attacks import Records
from reticent.attacks.context import ProgressCallback
from reticent.audit.attack_plan import AttackPlan
from reticent.audit.attack_run import adversary, attacked
from reticent.audit.blind_check import blind_check
from reticent.data import Dataset
from reticent.guarantee import Relation, grade
from reticent.protect import Release, ReleaseRequest, Terms, registry, release_table
from reticent.protect.recipes.pate import public_text
from reticent.protect.table import WEIGHTS, HeadSpec, fit_head
from reticent.results import Attack, ByClass, Unprotected, conversions, recalls
from reticent.results.protections import Protection, Protections
from reticent.run import without_proof
from reticent.run.releases import noise_for
from reticent.run.spec import RunData, RunSpec
from reticent.run.stages import OTHER_PLACES
from reticent.validation import InputError, count

PLACES: Final = {
    WEIGHTS: "the optimum (output)",
    "noisy-gradient": "gradients",
    "network": "gradients (DP-SGD)",
    "functional": "coefficients of the loss",
    "objective": "a linear term of the loss",
    "pate": "votes of teachers",
    "input": "each record (local)",
}
"""Where the noise goes; of other recipes, sums over records."""
SUMS: Final = "sums over records"
LONGEST: Final = ("network",)
"""Left out unless named: they take many minutes."""
UNPROVEN: Final = tuple(without_proof.ROWS)
"""Left out unless named: one has no claim about records, the other's is as it was printed."""
_PENALTY: Final = 1e-5
"""Of the head without protection."""
_PUBLIC: Final = 1000
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class ProtectionsSpec:
    """Public numbers of a comparison; rows are scaled to norm 1 everywhere."""

    epsilon: float
    delta: float
    relation: Relation | str
    records: int
    draws: int = 5
    protections: tuple[str, ...] = ()
    """By name; all but the longest and what is unproven where none is named."""
    attacks: tuple[str, ...] = ("loss", "confidence")
    shadows: int = 16
    """Models that attacks train, where they need some, each as the protection was made."""
    attacked: int = 2_000
    """Members, and as many others, that the attacks tell apart."""
    pure: bool = False
    """Each at δ = 0 too, by Laplace noise; by its own where its theorem is about no other."""
    seed: int = 0
    like: Terms | None = None
    """Of the run that compares: its unit, its encoder, and where its numbers came from."""

    def __post_init__(self) -> None:
        """Known names, and numbers in range."""
        every = (*registry.classifiers(), *UNPROVEN)
        for name in self.names:
            if name not in every:
                known = ", ".join(every)
                raise InputError(f"protections must be among {known}, got {name!r}")
        if len(set(self.names)) < len(self.names):
            raise InputError("protections must be named once each, got one twice")
        count("draws", self.draws)
        count("attacked", self.attacked)
        self.terms(pure=False)
        self.attack_plan()

    @property
    def names(self) -> tuple[str, ...]:
        """The recipes that are compared."""
        return self.protections or tuple(
            name for name in registry.classifiers() if name not in LONGEST
        )

    def terms(self, *, pure: bool, relation: Relation | None = None) -> Terms:
        """The terms of one release: δ = 0 if ``pure``, the asked relation unless one is said."""
        asked: dict[str, Any] = {
            "epsilon": self.epsilon,
            "delta": 0.0 if pure else self.delta,
            "relation": relation or grade.as_relation(self.relation),
        }
        return Terms(**asked) if self.like is None else replace(self.like, **asked)

    def attack_plan(self) -> AttackPlan:
        """The same for every protection."""
        return AttackPlan(attacks=self.attacks, shadow_count=self.shadows, seed=self.seed)

    def releases(self) -> Iterator[tuple[str, bool]]:
        """Each recipe, and whether at δ = 0."""
        for name in self.names:
            if name in UNPROVEN:
                yield name, False
                continue
            if self.delta > 0:
                yield name, False
            if self.pure or not self.delta > 0:
                yield name, True


def compare_protections(
    private: Dataset, test: Dataset, spec: ProtectionsSpec, *, progress: Progress | None = None
) -> Protections:
    """Draw every protection, score it, attack it.

    Args:
        private: Features and labels with public classes.
        test: Records that no model saw. Half of them, at most 1,000, are the public records that
            PATE's teachers vote on; the others score all protections and are the attacks' others.
        spec: What is asked.
        progress: Called with the protections done and in all.
    """
    bench = Bench(private, test, spec)
    releases, rows, skipped = list(spec.releases()), [], {}
    for done, (name, pure) in enumerate(releases):
        try:
            rows.append(bench.measured(name, pure=pure))
        except InputError as error:
            skipped[f"{name}, δ = 0" if pure else name] = str(error)
        if progress is not None:
            progress(done + 1, len(releases))
    return bench.compared(rows, skipped, bench.unprotected())


def compared(data: RunData, spec: RunSpec, progress: ProgressCallback) -> Protections:
    """The section of a run: the release's ε, δ, unit and draws, and the attacks' shadows."""
    asked = ProtectionsSpec(
        epsilon=spec.epsilon,
        delta=spec.delta,
        relation=spec.relation,
        records=spec.records,
        draws=spec.draws,
        shadows=spec.shadows,
        seed=spec.seed,
        like=spec.terms(),
    )

    def told(done: int, all_of: int) -> None:
        progress(OTHER_PLACES, done, all_of)

    return compare_protections(data.private, data.test, asked, progress=told)


def _notes(spec: ProtectionsSpec) -> tuple[str, ...]:
    return (
        f"Accuracy is the mean of {spec.draws} draws with its 95 % interval over draws and "
        "records; AUC is that of the attack that found most on the first draw (0.5 is guessing).",
        "Balanced accuracy is the mean recall of the classes, each counted alike; beside it the "
        "class that is found least often, over the same draws.",
        "Accuracies and attacks are computed from private records without noise: they are as "
        "private as these. No guarantee covers more than one release of the table.",
        "A recipe that does not cover the asked relation is asked under the other one, which its "
        "row names. Constants are each recipe's own; nothing was tuned on these records.",
    )


def _with_losses(row: Protection, before: ByClass | None) -> Protection:
    if row.by_class is None or before is None:
        return row
    return row.model_copy(update={"by_class": recalls.with_losses(row.by_class, before)})


class Bench:
    """The records of a comparison, and what is done with each protection."""

    def __init__(self, private: Dataset, test: Dataset, spec: ProtectionsSpec) -> None:
        if test.classes != private.classes:
            raise InputError("test must have the classes of the private records, got others")
        order = np.random.default_rng(spec.seed).permutation(len(test))
        public = order[: min(len(test) // 2, _PUBLIC)]
        if not len(public):
            raise InputError(f"test must hold at least 2 records, got {len(test)}")
        self.spec = spec
        self.private = private
        self.public = test.take(public).features.astype(np.float64)
        self.own = Records.of(test.take(public))
        self.scored = Records.of(test.take(order[len(public) :]))
        chosen = np.random.default_rng(spec.seed).permutation(len(private))[: spec.attacked]
        self.members = Records.of(private.take(chosen))
        self.others = self.scored.take(np.arange(min(len(self.scored), spec.attacked)))

    def measured(self, name: str, *, pure: bool) -> Protection:
        """All draws of one protection, and attacks on the first."""
        if name in UNPROVEN:
            return without_proof.ROWS[name](self)
        request = self._request(name, pure=pure)
        hits, first, seconds = [], None, 0.0
        for _ in range(self.spec.draws):
            began = time.perf_counter()
            released = release_table(self.private, request)
            seconds += time.perf_counter() - began
            first = first or released
            hits.append(self.hits(released))
        assert first is not None
        return Protection(
            recipe=name,
            mechanism=request.noise_name,
            place=PLACES.get(name, SUMS),
            claim=conversions.claim_of(first.guarantee),
            accuracy=conversions.accuracy_of(hits),
            by_class=self.by_class(hits),
            draws=self.spec.draws,
            seconds=round(seconds / self.spec.draws, 3),
            attacks=self.attacks_on(first),
        )

    def compared(
        self, rows: Sequence[Protection], skipped: dict[str, str], free: Unprotected
    ) -> Protections:
        """All of them as one document."""
        private, spec = self.private, self.spec
        return Protections(
            name=private.name,
            private=len(private),
            test=len(self.scored),
            features=private.features.shape[1],
            classes=len(private.classes),
            epsilon=spec.epsilon,
            delta=spec.delta,
            relation=str(grade.as_relation(spec.relation)),
            unprotected=free.accuracy,
            unprotected_attacks=free.attacks,
            unprotected_by_class=free.by_class,
            rows=tuple(_with_losses(row, free.by_class) for row in rows),
            skipped=skipped,
            notes=(*_notes(spec), *self._blindly()),
        )

    def _blindly(self) -> tuple[str, ...]:
        """Whether the private records and the test records are of one kind, without any model."""
        both = self.members.joined(self.others)
        inside = np.arange(len(both)) < len(self.members)
        blind = blind_check(both, inside, seed=self.spec.seed)
        if blind is None:
            return ()
        return (f"not a fair test: {blind}" if blind.differs else str(blind),)

    @cached_property
    def free_head(self) -> Any:
        """A head without noise on the same rows."""
        return fit_head(
            self.private,
            HeadSpec(
                records=self.spec.records,
                bound=1.0,
                penalty=_PENALTY,
                intercept=0.1,
                norms="scale",
                inferred_classes=True,
            ),
        )

    def unprotected(self) -> Unprotected:
        """What that head is worth, and what attacks find on it."""
        hits = [self.hits(self.free_head)]
        return Unprotected(
            name="softmax head",
            accuracy=conversions.accuracy_of(hits),
            by_class=self.by_class(hits),
            attacks=self.attacks_on(self.free_head),
        )

    def _request(self, name: str, *, pure: bool) -> ReleaseRequest:
        """Under the relation that was asked, or under the other one where that is not covered."""
        asked = grade.as_relation(self.spec.relation)
        both = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
        refusal: InputError | None = None
        for relation in sorted(both, key=lambda one: one is not asked):
            request = ReleaseRequest(
                terms=self.spec.terms(pure=pure, relation=relation),
                records=self.spec.records,
                mechanism=noise_for(name, pure=pure),
                options=self._options(),
            ).by(name)
            try:
                request.planned(self.private.features.shape[1], len(self.private.classes))
            except InputError as error:
                refusal = refusal or error
            else:
                return request
        assert refusal is not None
        raise refusal

    def _options(self) -> dict[str, Any]:
        """Public numbers for those recipes that take them."""
        return {
            "bound": 1.0,
            "norms": "scale",
            "intercept": 0.1,
            "mean_bound": 1.0,
            "public": public_text(self.public),
        }

    def hits(self, model: Any) -> Flags:
        """Which of the scored records it tells rightly."""
        predicted: Array = model.predict(self.scored.inputs)
        return np.asarray(predicted == self.scored.labels)

    def by_class(self, hits: Sequence[Flags]) -> ByClass:
        """Recalls by the names of the classes."""
        names = np.asarray(self.scored.labels).astype(np.str_)
        return recalls.by_class_of(hits, names, [str(name) for name in self.private.classes])

    def attacks_on(self, model: Release | Any, *, few: int | None = None) -> tuple[Attack, ...]:
        """The attacks of the comparison on one model; on ``few`` records of a slow one.

        Shadow models see the adversary's own records, which are those that PATE has without labels.
        """
        plan = self.spec.attack_plan()
        members, others = (
            part if few is None else part.take(np.arange(min(len(part), few)))
            for part in (self.members, self.others)
        )
        known = adversary(model, members, others, shadow=self.own, plan=plan)
        inside = np.arange(len(members) + len(others)) < len(members)
        return conversions.attacks_of(attacked(known, plan, inside))
