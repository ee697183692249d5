"""What a release promises, for whom, and where each public number came from.

The grade follows from here: with a number that was read off the private records (*inferred*) no
release is more than declared, whoever asks for it and by whichever way.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from reticent.arrays import FrozenMapping
from reticent.guarantee import Relation
from reticent.guarantee.grade import as_relation
from reticent.guarantee.guarantee import ONE_RECORD
from reticent.protect.used_encoder import UsedEncoder, UsedRelease, UsedStart
from reticent.validation import InputError, count, describe, positive, probability

RECORDS: Final = "records"
TELLS_RECORDS: Final = (
    "N, which was read off the private data, tells the number of records; rounding it would not"
    " help: neighbours at an edge would get different noise"
)
ASK_FOR_RECORDS: Final = (
    "read off the data N would tell the number of records, which add-remove is to hide (rounded,"
    " too: neighbours at an edge would get different noise)"
)
NO_SEARCH: Final = (
    "no search over settings (GridSearchCV, cross-validation, early stopping) and no choice of "
    "features or learners used the private rows, in this process or another"
)
"""What cannot be seen from inside, in the words of those who do it."""

RESUMED: Final = (
    "the training was stopped and went on from its state file, which this program had written and"
    " nobody has changed since; it went on once: who goes on again from a copy makes another"
    " release, to be charged by itself"
)
PUBLIC_STEP: Final = "step '{name}' before the head was fitted on public data alone"
_USED: Final = (UsedEncoder, UsedStart)


class Source(StrEnum):
    """Where a public number came from."""

    SAID = "said"
    """By the user or a constant of the package: fixed before a private record was looked at."""
    PUBLIC_DATA = "public data"
    """Computed from records that are public."""
    SCHEMA = "schema"
    """Follows from the public facts of the schema beside it (``protect.public_facts``)."""
    INFERRED = "inferred"
    """Read off the private records: no theorem covers what it tells."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """ε, δ, the neighbouring relation (adjacency), the unit, and the sources of public numbers.

    ``max_records_per_person`` is the most rows of a person that are kept, None where no persons are
    named: with persons the guarantee is user-level (group privacy over a person's rows), at one
    row each too. ``sources`` has public numbers by name; those that it leaves out were said.
    ``encoder`` is the released encoder that made the features, where one did, and ``start`` the
    released head that a network starts from. ``resumed`` says that a training was stopped and went
    on from a state file, and ``public_steps`` names what was fitted on public data before the head;
    a release sets both by itself.

    >>> read_off = {"records": "inferred"}
    >>> terms = Terms(epsilon=1.0, delta=1e-5, relation="add-remove", sources=read_off)
    >>> terms.unit, terms.inferred
    ('one record', ('records',))
    """

    epsilon: float
    delta: float
    relation: Relation
    max_records_per_person: int | None = None
    sources: Mapping[str, Source] = field(default_factory=dict)
    encoder: UsedEncoder | None = None
    start: UsedStart | None = None
    resumed: bool = False
    public_steps: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        """A subclass could say another unit or hide a number that was inferred."""
        raise TypeError("Terms must not be subclassed")

    def __post_init__(self) -> None:
        """Numbers in range; a relation without a name is refused."""
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        object.__setattr__(self, "delta", probability("delta", self.delta))
        object.__setattr__(self, "relation", as_relation(self.relation))
        if self.relation is Relation.AS_DECLARED:
            raise InputError("relation must be add-remove or replace-one, got neither")
        object.__setattr__(
            self, "max_records_per_person", checked_each(self.max_records_per_person)
        )
        named = {_name(name): _source(name, value) for name, value in self.sources.items()}
        object.__setattr__(self, "sources", FrozenMapping(named))
        for kind in _USED:
            value = getattr(self, kind.noun)
            if value is not None and type(value) is not kind:
                raise InputError(f"{kind.noun} must be a {kind.__name__}, got {describe(value)}")
        if type(self.resumed) is not bool:
            raise InputError(f"resumed must be true or false, got {describe(self.resumed)}")
        object.__setattr__(self, "public_steps", _step_names(self.public_steps))
        if self.encoder is not None and self.start is not None:
            raise InputError("start must not be given beside a released encoder, got both")
        if self.used is not None and (problem := self.used.misfit(self.relation, self.unit)):
            raise InputError(problem)

    def __reduce__(self) -> tuple[Any, ...]:
        """As its fields: a read-only mapping has no pickle of its own."""
        values = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        return _restored, (values | {"sources": dict(self.sources)},)

    @property
    def used(self) -> UsedRelease | None:
        """The earlier release that this one builds on, where there is one."""
        return self.encoder or self.start

    @property
    def unit(self) -> str:
        """Who is protected: one record, or one person with at most k of them."""
        return unit_of(self.max_records_per_person)

    @property
    def records_touched(self) -> int:
        """The most records by which one unit changes the data."""
        return records_touched(self.max_records_per_person)

    @property
    def inferred(self) -> tuple[str, ...]:
        """The public numbers that were read off the private records."""
        return tuple(name for name, source in self.sources.items() if source is Source.INFERRED)

    @property
    def stated(self) -> tuple[str, ...]:
        """What the terms oblige to state: inferred numbers, capped rows, an earlier claim."""
        inferred = tuple(
            f"{name}: read from the private data, not declared" for name in self.inferred
        )
        records_statement = (TELLS_RECORDS,) if RECORDS in self.inferred else ()
        persons = stated_of_persons(self.max_records_per_person)
        resumed = (RESUMED,) if self.resumed else ()
        return (*inferred, *records_statement, *persons, *self._used_stated, *resumed)

    @property
    def steps_stated(self) -> tuple[str, ...]:
        """A line for each step of a pipeline before the head."""
        return tuple(PUBLIC_STEP.format(name=name) for name in self.public_steps)

    @property
    def _used_stated(self) -> tuple[str, ...]:
        if self.used is None:
            return ()
        return (self.used.stated(epsilon=self.epsilon, delta=self.delta),)

    def with_sources(self, names: Iterable[str]) -> Terms:
        """The same with the source of each of these numbers written out."""
        complete = {name: self.sources.get(name, Source.SAID) for name in names}
        return dataclasses.replace(self, sources={**complete, **self.sources})

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a certificate."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": str(self.relation),
            "max_records_per_person": self.max_records_per_person,
            "sources": {name: str(source) for name, source in self.sources.items()},
            **({} if self.used is None else {self.used.noun: self.used.to_dict()}),
            **({"resumed": True} if self.resumed else {}),
            **({"public_steps": list(self.public_steps)} if self.public_steps else {}),
        }

    @classmethod
    def from_dict(cls, values: object) -> Terms:
        """From plain values; what is missing, unknown or out of range is refused."""
        used = {kind.noun: kind for kind in _USED}
        plain = {"resumed", "public_steps"}
        later = {*used, *plain}
        names = {one.name for one in dataclasses.fields(cls)} - later
        if not isinstance(values, Mapping) or set(values) - later != names:
            raise InputError(f"terms must have {', '.join(sorted(names))}, got others")
        if not isinstance(values["sources"], Mapping):
            raise InputError(f"sources must be a JSON object, got {describe(values['sources'])}")
        given: dict[str, Any] = {name: values[name] for name in {*names, *plain} & set(values)}
        for noun in set(used) & set(values):
            given[noun] = used[noun].from_dict(values[noun])
        return cls(**given)


def inferred_sources(names: Iterable[str]) -> dict[str, Source]:
    """Sources in which these numbers were read off the data, and all others were said."""
    if isinstance(names, str):
        raise InputError(f"inferred must be a list of names, got the text {names!r}")
    return dict.fromkeys(names, Source.INFERRED)


def unit_of(max_records_per_person: int | None) -> str:
    """Who is protected: one record, or one person where persons are named, at one row each too.

    Which row of a person is kept depends on the person's other rows: without the first one the
    next stands in its place. So one row of a table is not the unit there (theory D.5).

    >>> unit_of(None), unit_of(1), unit_of(3)
    ('one record', 'one person with at most 1 record', 'one person with at most 3 records')
    """
    each = checked_each(max_records_per_person)
    if each is None:
        return ONE_RECORD
    return f"one person with at most {each} record{'' if each == 1 else 's'}"


def checked_each(value: object) -> int | None:
    """The rows that a person keeps: a whole number from 1 on, or None, no persons are named."""
    return None if value is None else countable("max_records_per_person", value)


def countable(name: str, value: object) -> int:
    """A whole number from 1 to 2⁵³: the theorems multiply by it in floats."""
    number = count(name, value)
    if number > 2**53:
        raise InputError(f"{name} must be <= 2**53, got a larger number")
    return number


def records_touched(max_records_per_person: int | None) -> int:
    """How many records one unit owns at most: what the theorems in ``bounds`` count."""
    return checked_each(max_records_per_person) or 1


def stated_of_persons(max_records_per_person: int | None) -> tuple[str, ...]:
    """What a claim about persons rests on beside the theorem; nothing where none are named."""
    if max_records_per_person is None:
        return ()
    return (
        f"no person owns more than {max_records_per_person} of the rows fitted on; which rows of a"
        " person are kept depends on that person's rows alone, and the kept rows are the records"
        " counted here",
    )


def _name(value: object) -> str:
    """Of a public number: a claim prints it, and a sentence in its place would stand there too."""
    if not isinstance(value, str) or not (value.isidentifier() and value.isascii()):
        raise InputError(f"sources must name public numbers, got {describe(value)}")
    return value


def _step_names(values: object) -> tuple[str, ...]:
    if not isinstance(values, (list, tuple)):
        raise InputError(f"public_steps must be a list of names, got {describe(values)}")
    if not values:
        return ()
    from reticent.training.public_step import is_step_name  # scikit-learn, for few releases

    if not all(map(is_step_name, values)) or len(set(values)) < len(values):
        raise InputError("public_steps must be different names of steps, got others")
    return tuple(values)


def _source(name: object, value: object) -> Source:
    try:
        return Source(str(value))
    except ValueError:
        known = ", ".join(Source)
        raise InputError(f"source of {name} must be one of {known}, got {value!r}") from None


def _restored(values: dict[str, Any]) -> Terms:
    return Terms(**values)
