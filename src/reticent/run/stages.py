"""The stages of a run in their order: ``run_job`` runs them, progress and times read them."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Seconds of a stage: once, for each repetition, and of either for a million numbers."""

    once: float
    once_a_million: float
    each: float
    each_a_million: float

    def seconds(self, times: float, size: float) -> float:
        """So many repetitions on records × features × classes = ``size``."""
        millions = size / 1e6
        return self.first(size) + times * (self.each + self.each_a_million * millions)

    def first(self, size: float) -> float:
        """What is done once, by one process, whatever is repeated."""
        return self.once + self.once_a_million * size / 1e6


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One part of a run, done before the next begins."""

    part: str
    """Of ``job.Job``: what it computes, once."""
    told: tuple[str, ...] = ()
    """What may be told while it runs, in this order."""
    repeats: str = ""
    """Of ``duration.Work``: how often it repeats what costs time."""
    cost: Cost | None = None
    """None where its time is small, or counted with that of the attacks on shadow models."""
    tasks: str = ""
    """Of ``duration.Work``: how many tasks processes share; empty where one process does it."""


HANDED_OVER: Final = "the release that is handed over"
OTHER_PLACES: Final = "other places for noise"
STAGES: Final = (
    # First: where the budget does not allow it, nobody waits for the rest.
    Stage(part="kept", told=(HANDED_OVER,)),
    Stage(part="head", told=("penalty of the unprotected head", "unprotected head")),
    Stage(
        part="unprotected",
        told=("shadow models, online", "shadow models", "attacks"),
        repeats="shadows",
        cost=Cost(once=0.909, once_a_million=3.9, each=0.0154, each_a_million=0.0345),
    ),
    Stage(part="estimates", told=("sensitivities",)),
    Stage(
        part="releases",
        told=("releases",),
        repeats="draws",
        cost=Cost(once=0.822, once_a_million=4.16, each=0.00995, each_a_million=0.00917),
    ),
    Stage(
        part="attacked",
        told=("attacks on releases",),
        repeats="attacks",
        cost=Cost(once=4.37, once_a_million=0.9, each=0.00887, each_a_million=0.024),
        tasks="releases",
    ),
    Stage(
        part="audited",
        told=("audits",),
        repeats="audits",
        cost=Cost(once=0.0, once_a_million=0.0, each=0.333, each_a_million=0.294),
        tasks="audits",
    ),
    Stage(part="exposure"),
    Stage(part="protections", told=(OTHER_PLACES,)),
)
"""Costs are fitted by ``benchmarks.bench_run_time`` to its own results, in one process."""
PLACED: Final = {
    what: f"stage {place} of {len(STAGES)}, {what}"
    for place, stage in enumerate(STAGES, start=1)
    for what in stage.told
}
"""What is told, with its place in the run."""
