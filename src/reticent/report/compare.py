"""Two runs side by side, and whether their figures may be compared at all."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from reticent.guarantee.rounding import upper_text
from reticent.report.markdown import plain
from reticent.report.numbers import NOTHING, measured_of
from reticent.results import Attack, ByClass, Claim, Interval, ReleaseRow, Results, by_class


@dataclass(frozen=True, kw_only=True)
class Row:
    """One fact or figure of both runs; the difference is the second less the first."""

    name: str
    one: str
    other: str
    difference: str = ""
    change: float | None = None
    """The difference as a number, where there is one."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All rows, and why figures of the two runs do not compare."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    """Of each run, the classes that its release loses."""

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file."""
        return {
            "rows": [dict(vars(row)) for row in self.rows],
            "comparable": not self.notes,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }


def compared(one: Results, other: Results) -> Comparison:
    """Facts, recommended release, claim, accuracy, loss, attacks and audits."""
    rows = (*_facts(one, other), *_promised(one, other), *_figures(one, other))
    lost = {
        name: by_class.lost_classes(run.unprotected.by_class, run.recommended.by_class)
        for name, run in (("first", one), ("second", other))
    }
    return Comparison(
        rows=rows,
        notes=tuple(_notes(one, other)),
        warnings=tuple(f"{name} run: {plain(text)}" for name, text in lost.items() if text),
    )


def _facts(one: Results, other: Results) -> Iterator[Row]:
    yield Row(name="title", one=plain(one.title), other=plain(other.title))
    yield Row(name="data", one=plain(one.facts.name), other=plain(other.facts.name))
    for name in ("private", "others", "test", "features"):
        first, second = getattr(one.facts, name), getattr(other.facts, name)
        yield _numbers(_FACTS[name], first, second, f"{second - first:+,}")
    yield _numbers("classes", len(one.facts.classes), len(other.facts.classes))
    yield Row(name="made", one=plain(one.made.created), other=plain(other.made.created))


_FACTS = {
    "private": "private records",
    "others": "other records",
    "test": "test records",
    "features": "features",
}


def _promised(one: Results, other: Results) -> Iterator[Row]:
    first, second = one.recommended, other.recommended
    yield Row(name="recommended release", one=_named(first), other=_named(second))
    comparable = _terms(first.claim) == _terms(second.claim)
    change = second.claim.epsilon - first.claim.epsilon if comparable else None
    yield Row(
        name="claim",
        one=plain(first.claim.text),
        other=plain(second.claim.text),
        difference="not comparable" if change is None else _signed(change),
        change=change,
    )


def _figures(one: Results, other: Results) -> Iterator[Row]:
    first, second = one.recommended, other.recommended
    yield _measured(
        "accuracy without protection", one.unprotected.accuracy, other.unprotected.accuracy
    )
    yield _measured("accuracy of the release", first.accuracy, second.accuracy)
    yield _measured("utility loss", first.loss, second.loss)
    yield from _recalls(one, other)
    verdicts = one.conclusion, other.conclusion
    yield Row(name="chosen attack", one=plain(verdicts[0].attack), other=plain(verdicts[1].attack))
    yield _measured("its AUC before", verdicts[0].before, verdicts[1].before)
    yield _measured("its AUC after", verdicts[0].after, verdicts[1].after)
    yield _strongest("strongest before", one.unprotected.attacks, other.unprotected.attacks)
    yield _strongest("strongest after", first.attacks, second.attacks)
    yield Row(name="audit of the release", one=_audit(first), other=_audit(second))
    yield Row(name="audits of all releases", one=_audits(one), other=_audits(other))


def _recalls(one: Results, other: Results) -> Iterator[Row]:
    """Each class counted alike, and the class that is found least often."""
    for name, of in (("without protection", "unprotected"), ("of the release", "recommended")):
        first, second = (getattr(run, of).by_class for run in (one, other))
        yield _maybe(
            f"balanced accuracy {name}",
            first and ("", first.balanced_accuracy),
            second and ("", second.balanced_accuracy),
        )
        yield _maybe(f"lowest recall {name}", _lowest(first), _lowest(second))


def _lowest(recalls: ByClass | None) -> tuple[str, Interval] | None:
    return None if recalls is None else (f"class {recalls.lowest.label}:", recalls.lowest.recall)


def _notes(one: Results, other: Results) -> Iterator[str]:
    """Differences under which a difference of figures means little."""
    facts = one.facts, other.facts
    data = [name for name in _OF_DATA if getattr(facts[0], name) != getattr(facts[1], name)]
    if data:
        yield f"the data differ ({', '.join(data)}): figures are not comparable"
    for name in ("relation", "unit"):
        first, second = (plain(getattr(run.recommended.claim, name)) for run in (one, other))
        if first != second:
            yield f"the {name} differs ({first}, {second}): claims are not comparable"
    if one.recommended.claim.delta != other.recommended.claim.delta:
        yield "δ differs: claims are not comparable by ε alone"
    if one.recommended.claim.grade != other.recommended.claim.grade:
        yield "the grade differs: claims are not comparable by ε alone"
    if one.conclusion.attack != other.conclusion.attack:
        yield "the chosen attack differs: its AUC is that of another adversary"
    if one.made.seed != other.made.seed:
        yield "the seed differs: splits and shadow models are others"
    yield from _other_versions(one.made.versions, other.made.versions)
    settings = _differing(one.made.settings, other.made.settings)
    if settings:
        yield f"settings differ ({', '.join(settings)})"


_OF_DATA = (
    "name", "private", "others", "test", "public", "features", "feature_kind", "classes",
)  # fmt: skip


def _other_versions(one: dict[str, str], other: dict[str, str]) -> Iterator[str]:
    names = _differing(one, other)
    if names:
        shown = ", ".join(
            f"{name} {plain(one.get(name, NOTHING))} and {plain(other.get(name, NOTHING))}"
            for name in names
        )
        yield f"versions differ ({shown}): the same run may give other figures"


def _differing(one: dict[str, str], other: dict[str, str]) -> list[str]:
    """Names that have not the same value in both."""
    return [plain(name) for name in sorted(one | other) if one.get(name) != other.get(name)]


def _terms(claim: Claim) -> tuple[object, ...]:
    """What must be equal for two ε to be compared."""
    return claim.delta, claim.relation, claim.unit, claim.grade, claim.gamma


def _named(release: ReleaseRow) -> str:
    """A name may hold an ε; the grade stands beside it."""
    return plain(release.graded_name)


def _numbers(name: str, one: int, other: int, difference: str = "") -> Row:
    shown = difference if one != other else ""
    change = float(other - one)
    return Row(name=name, one=f"{one:,}", other=f"{other:,}", difference=shown, change=change)


def _measured(name: str, one: Interval, other: Interval) -> Row:
    """Whether the intervals meet is said, since a difference alone says little."""
    change = other.value - one.value
    apart = one.high < other.low or other.high < one.low
    return Row(
        name=name,
        one=str(one),
        other=str(other),
        difference=f"{change:+.3f}{'' if apart else ' (intervals meet)'}",
        change=change,
    )


def _strongest(name: str, one: Iterable[Attack], other: Iterable[Attack]) -> Row:
    """By AUC; the largest of several is above what any of them would show alone."""
    best = [max(attacks, key=lambda attack: attack.auc.value, default=None)
            for attacks in (one, other)]  # fmt: skip
    return _maybe(name, *(None if a is None else (a.name, a.auc) for a in best))


def _maybe(name: str, one: tuple[str, Interval] | None, other: tuple[str, Interval] | None) -> Row:
    """A figure with whose it is, which one of the runs may not have."""
    cells = [
        NOTHING if cell is None else f"{plain(cell[0])} {cell[1]}".strip() for cell in (one, other)
    ]
    row = Row(name=name, one=cells[0], other=cells[1])
    if one is None or other is None:
        return row
    measured = _measured(name, one[1], other[1])
    return replace(row, difference=measured.difference, change=measured.change)


def _audit(release: ReleaseRow) -> str:
    audit = release.audit
    return "not audited" if audit is None else f"{audit.verdict}, {measured_of(audit)}"


def _audits(results: Results) -> str:
    """Of claims that rest on a theorem; estimates of papers are there to be refuted."""
    audits = [
        release.audit
        for release in results.releases
        if release.audit is not None and release.claim.grade in ("proven", "declared")
    ]
    refuted = sum(audit.verdict == "refuted" for audit in audits)
    return f"{refuted} of {len(audits)} refuted"


def _signed(change: float) -> str:
    """Rounded up in size: two claims are not nearer than they look."""
    sign = "+" if change >= 0 else "−"
    return f"{sign}{upper_text(abs(change))}"
