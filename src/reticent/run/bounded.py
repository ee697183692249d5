"""What a run measures where the table is large: samples and counts that keep it bounded.

The release that is handed over, and every release and head beside it, is made from all private
records. What is *measured* on them (attacks, audits, cross-validation) grows with records ×
features × classes, and some of it with the square of the records: beyond a fixed size it is done on
a random sample, or left out. All of it follows from public sizes and the seed, and every choice is
said in one sentence: on the screen, and in the document.
"""

from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np

from reticent.arrays import Integers
from reticent.data import Dataset
from reticent.randomness import seeded
from reticent.run.spec import GRID, RunData, RunSpec, usual_mechanisms

MEASURED: Final = 2**26
"""Records × features × classes that attacks score, and that audits and cross-validation work on:
13,000 records of 512 features in ten classes."""
FEWEST: Final = 2000
"""Records on each side that attacks score at least: an AUC of ½ is then known to ± 0.02."""
REPEATED: Final = 2**28
"""The same size up to which releases are drawn and attacked as often as was asked for, and heads
are solved without records of many pairs."""
EXACT: Final = 2**38
"""Records × the same size, for heads that are solved without each record: minutes."""
DRAWS, SHADOWS = 2, 16
"""Of a run beyond ``REPEATED``."""
_FEWEST_CLASSES: Final = 10
"""Few classes count as ten: there the rows themselves are the size."""
_ALL: Final = "--unbounded does all of it"


@dataclass(frozen=True, kw_only=True, eq=False)
class Bounded:
    """The specification as it is carried out, the records that are measured on, and what to say."""

    spec: RunSpec
    measured: RunData
    exact: bool = True
    """Whether heads are solved without each private record: the exact attack and the exposure."""
    published: bool = True
    """Whether Algorithm 2 is run: two such heads for each pair."""
    notes: tuple[str, ...] = ()


def bounded(data: RunData, spec: RunSpec) -> Bounded:
    """What of a run of this size is done; all of it where it is small, or is asked for."""
    size = size_of(data)
    if spec.unbounded or (size <= MEASURED and len(data.private) * size <= EXACT):
        return Bounded(spec=spec, measured=data)
    measured, sampled = _sampled(data, spec)
    fewer, repeated = _fewer(spec) if size > REPEATED else (spec, ())
    published = size <= REPEATED
    left_out = ["the exact attack on released weights and who is most exposed"]
    left_out += [] if published else ["the published sensitivity of Algorithm 2"]
    heads = f"Left out, being heads solved without each of many records: {', '.join(left_out)}."
    large = (
        f"A large table ({len(data.private):,} records, {data.features} features,"
        f" {len(data.private.classes)} classes): a part of it is measured, and {_ALL}."
    )
    return Bounded(
        spec=fewer,
        measured=measured,
        exact=False,
        published=published,
        notes=(large, *sampled, *repeated, heads),
    )


def size_of(data: RunData) -> int:
    """Records × features × classes: the work of one look at all of them."""
    return len(data.private) * _width(data)


def _width(data: RunData) -> int:
    return data.features * max(len(data.private.classes), _FEWEST_CLASSES)


def _sampled(data: RunData, spec: RunSpec) -> tuple[RunData, tuple[str, ...]]:
    """At most so many records of each role, drawn from the seed, and a sentence about them."""
    most = max(MEASURED // _width(data) // 2, FEWEST)
    private = _some(data.private, most, spec.seed, "private")
    others = _some(data.others, most, spec.seed, "others")
    own = _some(data.own, most, spec.seed, "own")
    if len(private) == len(data.private) and len(others) == len(data.others):
        return data, ()
    stood = private if data.kept is None else data.kept[private]
    measured = replace(
        data,
        private=data.private.take(private),
        others=data.others.take(others),
        own=data.own.take(own),
        test=data.others.take(others),
        kept=stood,
    )
    return measured, (
        f"Attacks score {len(private):,} of the private records and {len(others):,} others, and"
        " shadow models see halves of these; the penalty of the unprotected head is chosen, and"
        " neighbours are compared in audits, on the same private records.",
    )


def _some(data: Dataset, most: int, seed: int, role: str) -> Integers:
    """The places of a random part, in their order; where persons are named, all rows of some."""
    if len(data) <= most:
        return np.arange(len(data))
    rng = seeded("records that are measured", seed, role)
    if data.persons is None:
        return np.sort(rng.permutation(len(data))[:most])
    names, person = np.unique(data.persons, return_inverse=True)
    order = rng.permutation(len(names))
    rows = np.bincount(person, minlength=len(names))[order]
    kept = np.zeros(len(names), dtype=bool)
    kept[order[np.cumsum(rows) <= most]] = True
    return np.flatnonzero(kept[person])


def _fewer(spec: RunSpec) -> tuple[RunSpec, tuple[str, ...]]:
    """Fewer repetitions, where nothing else than the usual was asked for."""
    usual = {field.name: field.default for field in fields(spec)}
    changed: dict[str, object] = {}
    if spec.draws == usual["draws"]:
        changed["draws"] = DRAWS
    if spec.shadows == usual["shadows"]:
        changed["shadows"] = SHADOWS
    if spec.epsilons == tuple(sorted(times * spec.epsilon for times in GRID)):
        changed["epsilons"] = (spec.epsilon,)
    mechanism = "gaussian" if spec.delta > 0 else "logistic"
    if spec.mechanisms == usual_mechanisms(spec.delta):
        changed["mechanisms"] = (mechanism,)
    if not changed:
        return spec, ()
    words = {
        "draws": f"{DRAWS} draws of each release",
        "shadows": f"{SHADOWS} shadow models",
        "epsilons": f"ε = {spec.epsilon:g} alone",
        "mechanisms": f"{mechanism} noise alone",
    }
    reduced = ", ".join(words[name] for name in changed)
    return replace(spec, **changed), (f"Fewer repetitions: {reduced}.",)  # type: ignore[arg-type]
