"""ALM's sentences about its figures, judged on the cells of committed tables by grade.

Two losses are alike where their intervals meet, one is larger where its interval is above the
other's, and a loss is below a bound where its whole interval is: these rules are those of the
studies, fixed before their runs. That an attack falls only where it found something before was
added after them, and is stricter.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from reticent.studies.index import entry

GUESSING: Final = 0.5
CLOSE: Final = 0.02
"""“Approximately 50 %”."""
PUBLISHED: Final = "published"
_NONE: Final = "none"


class Point(NamedTuple):
    """Accuracy of the attack and utility loss of one row."""

    attack: entry.Figure
    loss: entry.Figure


class Curves:
    """The rows of one grade of such a table, by mechanism and ε."""

    def __init__(self, document: entry.Document, grade: str) -> None:
        rows = entry.rows_of(document)
        self.at = {
            (row["mechanism"], entry.number(row["ε"])): Point(*map(entry.Figure.of, _cells(row)))
            for row in rows
            if row["grade"] == grade
        }
        self.before = next(
            entry.Figure.of(row["attack"]) for row in rows if row["mechanism"] == _NONE
        )

    def epsilons(self, mechanism: str) -> list[float]:
        """Where the mechanism has a row."""
        return sorted(epsilon for name, epsilon in self.at if name == mechanism)


def _cells(row: Mapping[str, str]) -> tuple[str, str]:
    return row["attack"], row["loss"]


Rule = Callable[[Curves, float], bool]
"""Whether a sentence holds at one ε."""


def where(epsilons: Iterable[float], holds: Callable[[float], bool]) -> entry.Held:
    """Whether it holds at every ε, and where it does and does not.

    >>> str(where([0.5, 1.0], lambda epsilon: epsilon < 1))
    'does not hold: at ε = 0.5, not at ε = 1'
    """
    asked = list(epsilons)
    sides = {word: [one for one in asked if holds(one) == (not word)] for word in ("", "not ")}
    words = [
        f"{word}at ε = {', '.join(f'{one:g}' for one in ones)}"
        for word, ones in sides.items()
        if ones
    ]
    return entry.Held(bool(asked) and not sides["not "], ", ".join(words))


def sentence(
    file: str, rule: Rule, *, mechanism: str = "logistic", below: float = 1e9
) -> entry.Reader:
    """A sentence about the published curves at each ε below a bound."""

    @entry.read_from(file)
    def read(document: entry.Document) -> entry.Ours:
        curves = Curves(document, PUBLISHED)
        epsilons = [one for one in curves.epsilons(mechanism) if one < below]
        return where(epsilons, lambda epsilon: rule(curves, epsilon))

    return read


def alike(curves: Curves, epsilon: float) -> bool:
    """The losses of logistic and Laplace noise: their intervals meet."""
    one, other = (curves.at[name, epsilon].loss for name in ("logistic", "laplace"))
    return one.low <= other.high and other.low <= one.high


def gaussian_above(curves: Curves, epsilon: float) -> bool:
    """The classical Gaussian's loss is above both others."""
    others = [curves.at[name, epsilon].loss.high for name in ("logistic", "laplace")]
    return curves.at["classical gaussian", epsilon].loss.low > max(others)


def laplace_highest(curves: Curves, epsilon: float) -> bool:
    """The attack is surest under Laplace noise."""
    others = [curves.at[name, epsilon].attack.high for name in ("logistic", "classical gaussian")]
    return curves.at["laplace", epsilon].attack.low > max(others)


def below_a_tenth(curves: Curves, epsilon: float) -> bool:
    """The loss under logistic noise."""
    return curves.at["logistic", epsilon].loss.high < 0.1


def falls(before: entry.Figure, after: entry.Figure) -> bool:
    """To approximately .5, from clearly above it."""
    return before.low > GUESSING + CLOSE and abs(after.value - GUESSING) <= CLOSE


def fall(file: str) -> entry.Reader:
    """The attack under logistic noise at each ε, beside the attack without noise."""

    @entry.read_from(file)
    def read(document: entry.Document) -> entry.Ours:
        curves = Curves(document, PUBLISHED)
        asked = curves.epsilons("logistic")
        after = [curves.at["logistic", epsilon].attack for epsilon in asked]
        furthest = max(after, key=lambda one: abs(one.value - GUESSING))
        return entry.Held(
            all(falls(curves.before, one) for one in after),
            f"{curves.before} without noise, {furthest} with noise at the furthest from .5",
        )

    return read


def by_grade(file: str, grade: str, mechanism: str) -> entry.Reader:
    """For one grade and mechanism: the attack is about .5, and the loss below .1 at ε < 1."""

    @entry.read_from(file)
    def read(document: entry.Document) -> entry.Ours:
        curves = Curves(document, grade)
        asked = curves.epsilons(mechanism)
        if not asked:
            return None
        points = {epsilon: curves.at[mechanism, epsilon] for epsilon in asked}
        near = all(abs(one.attack.value - GUESSING) <= CLOSE for one in points.values())
        small = where(
            [one for one in asked if one < 1], lambda epsilon: points[epsilon].loss.high < 0.1
        )
        said = f"attack {'' if near else 'not '}about .5 ({curves.before} without noise)"
        return entry.Held(near and small.holds, f"{said}; loss below .1 {small.why}")

    return read


def smallest_loss(file: str, most: float) -> entry.Reader:
    """Whether logistic noise with a published sensitivity loses less, at any ε of Fig. 1."""

    @entry.read_from(file)
    def read(document: entry.Document) -> entry.Ours:
        curves = Curves(document, PUBLISHED)
        asked = curves.epsilons("logistic")
        losses = {epsilon: curves.at["logistic", epsilon].loss for epsilon in asked}
        best = min(losses, key=lambda epsilon: losses[epsilon].value)
        return entry.Held(losses[best].value < most, f"least {losses[best]}, at ε = {best:g}")

    return read


@entry.read_from("alm-layers")
def layers(document: entry.Document) -> entry.Ours:
    """The loss can grow with protected layers: of each path somewhere, and it falls nowhere.

    A path leads through (layers, noisy layers) of one ε. It grows where its end is above its start
    and no step down is beyond the intervals, and falls where its end is below its start.
    """
    at = {
        (int(entry.number(row["layers"])), int(entry.number(row["noisy"])), row["ε"]): tuple(
            entry.number(row[name]) for name in ("low", "high")
        )
        for row in entry.rows_of(document)
    }
    deepest, epsilons = max(depth for depth, _, _ in at), list(dict.fromkeys(one for *_, one in at))
    paths = [[(depth, noisy) for noisy in range(1, depth + 1)] for depth in range(2, deepest + 1)]
    paths.append([(depth, depth) for depth in range(1, deepest + 1)])
    ways = [
        [_way([at[*place, epsilon] for place in path]) for epsilon in epsilons] for path in paths
    ]
    grown, fallen = (sum(way.count(sign) for way in ways) for sign in (1, -1))
    words = f"grows at {grown} of {len(paths) * len(epsilons)} places, falls at {fallen}"
    return entry.Held(all(1 in way for way in ways) and not fallen, words)


def _way(losses: list[tuple[float, ...]]) -> int:
    """1 up, −1 down, 0 where neither is beyond the intervals."""
    (first_low, first_high), (last_low, last_high) = losses[0], losses[-1]
    steady = all(one[0] <= other[1] for one, other in pairwise(losses))
    return int(steady and last_low > first_high) - int(last_high < first_low)
