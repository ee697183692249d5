"""Pairs of neighbouring files through one release, each a pure function of its seed."""

import dataclasses
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reticent.audit.end_to_end.adversarial import Shape, adversarial_case
from reticent.audit.end_to_end.neighbours import neighbour
from reticent.audit.end_to_end.releases import Audited
from reticent.audit.end_to_end.replay import ONE_REFUSED, TIME_LIMIT, PairOutcome, run_pair
from reticent.audit.end_to_end.settings import made_for, random_settings
from reticent.audit.end_to_end.table import FORMATS
from reticent.guarantee import Guarantee, Relation
from reticent.guarantee.guarantee import ONE_RECORD
from reticent.randomness import seeded

UNITS: Final = ("record", "person")
RELATIONS: Final = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
_TAME: Final = 40


@dataclass(frozen=True, kw_only=True)
class Combination:
    """What is audited: a release, a file format, a neighbouring relation and a unit."""

    release: str
    format: str
    relation: Relation
    unit: str

    @property
    def name(self) -> str:
        """As it stands in a table."""
        return f"{self.release}, {self.format}, {self.relation}, one {self.unit}"


@dataclass(frozen=True, kw_only=True)
class AuditedPair:
    """One pair and what it showed; ``number`` and the combination make it again."""

    combination: Combination
    number: int
    family: str
    outcome: PairOutcome


def combinations(releases: Mapping[str, Audited]) -> list[Combination]:
    """Every release with each file format, relation and unit that it takes."""
    return [
        Combination(release=release, format=kind, relation=relation, unit=unit)
        for release in releases
        for kind in FORMATS
        for relation in RELATIONS
        for unit in UNITS
    ]


def audit_pair(
    audited: Audited, combination: Combination, number: int, *, limit: float = TIME_LIMIT
) -> AuditedPair:
    """The pair of that number: table, settings, neighbour and answers all follow from it."""
    rng = seeded(number, "end to end", combination.name)
    shape = Shape(
        width=int(rng.choice([1, 2, 3, 7, 16, 48])),
        classes=("a", "b", "c")[: int(rng.choice([2, 3]))],
        persons=combination.unit == "person",
        targets=audited.targets,
        embedded=bool(audited.embedded and combination.format == "npz" and rng.random() < 0.5),
    )
    alone = 1 if combination.relation is Relation.REPLACE_ONE else 0
    fewest = _TAME if audited.tame else max(audited.fewest, alone)
    case = adversarial_case(rng, shape, fewest=fewest, tame=audited.tame)
    settings = random_settings(rng, shape, combination.relation, len(case.table))
    settings = made_for(case.family, settings, rng)
    if audited.tame:
        settings = dataclasses.replace(settings, bound=1.0, epsilon=1.0)
    noise_share = float(rng.choice([0.0, 0.0, 0.01, 1.0]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{combination.format}"

        def beside(claim: Guarantee | None) -> Path:
            relation = combination.relation if claim is None else claim.relation
            unit = ONE_RECORD if claim is None else claim.unit
            return neighbour(case, relation, unit, rng).write(path, settings.writing)

        outcome = run_pair(
            audited.build(settings),
            case.table.write(path, settings.writing),
            beside,
            noise_share=noise_share,
            limit=limit,
        )
    if audited.tame and all(ONE_REFUSED in problem for problem in outcome.problems):
        # What else a job does may end it, which its guarantees list under stated: no release came.
        refused = outcome.problems[0] if outcome.problems else outcome.refused
        outcome = dataclasses.replace(outcome, problems=(), refused=refused)
    if audited.hostile and outcome.refused is None and outcome.holds:
        outcome = dataclasses.replace(outcome, problems=("a way around the noise is not refused",))
    return AuditedPair(combination=combination, number=number, family=case.family, outcome=outcome)
