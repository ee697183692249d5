"""Findings 1, 2 and 4 of Lu et al. on every data set that DP-SGD was run on, from those files.

``lu findings`` judges them seed by seed on three data sets. The victims beside DP-SGD are of the
same kind, and of them the committed files hold means with intervals: two differ beyond chance where
their intervals are apart. All rules are those of ``lu findings`` otherwise.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from reticent.results.table import limits_of
from reticent.studies.index import entry

_LEAST_SETS: Final = 5
_SURE: Final = 0.01
"""Of Spearman's test over data sets, of which there are ten and not thirty."""
_NOISES: Final = ("laplace", "gaussian")
Losses = Mapping[str, list[entry.Figure]]


class Baseline(NamedTuple):
    """A victim without privacy: Table 5's columns."""

    training: entry.Figure
    test: entry.Figure
    leakage: entry.Figure

    @property
    def gap(self) -> float:
        """By how much training accuracy is above test accuracy."""
        return self.training.value - self.test.value


def baseline(document: entry.Document) -> Baseline | None:
    """The victims that DP-SGD is compared with: their figures stand beside the losses."""
    figures = entry.table_of(document, 1).figures
    if not figures:
        return None
    own = (limits_of(figures[name]) for name in Baseline._fields)
    return Baseline(*(entry.Figure(**one._asdict(), places=3) for one in own))


def losses(document: entry.Document) -> tuple[list[float], Losses]:
    """ε, and the loss of Algorithm 1 at each."""
    rows = entry.rows_of(document, 1)
    own = {
        noise: [entry.Figure.of(row[f"Algorithm 1, {noise}"]) for row in rows] for noise in _NOISES
    }
    return [entry.number(row["ε"]) for row in rows], own


def overfitting(baselines: Mapping[str, Baseline]) -> Iterator[bool]:
    """Leakage goes with the gap over all data sets; without a gap there is next to none."""
    from scipy import stats

    from reticent.studies.lu.findings import CLOSE

    if len(baselines) >= _LEAST_SETS:
        gaps, leaks = zip(
            *((one.gap, one.leakage.value) for one in baselines.values()), strict=True
        )
        rank = stats.spearmanr(gaps, leaks)
        yield bool(rank.statistic > 0 and rank.pvalue < _SURE)
    for one in baselines.values():
        if abs(one.gap) <= CLOSE:
            yield one.leakage.high <= CLOSE


def falling_curve(on: str, epsilons: Sequence[float], own: Losses) -> Iterator[bool]:
    """The loss falls in ε, from about .5, and to 0 within the stated range of ε."""
    from reticent.studies.lu.findings import CLOSE, range_of

    for noise in _NOISES:
        curve, most = own[noise], max(one.value for one in own[noise])
        yield all(later.low <= one.high for one, later in itertools.pairwise(curve))
        yield abs(most - 0.5) <= CLOSE
        start, end = (curve[epsilons.index(at)].value for at in range_of(on, noise))
        yield start >= 0.9 * most and end <= CLOSE


def of_two_noises(classes: int, own: Losses) -> bool:
    """Two classes: both noises cost alike; more: Gaussian noise never more and somewhere less."""
    from reticent.studies.lu.findings import CLOSE

    pairs = list(zip(own["laplace"], own["gaussian"], strict=True))
    if classes == 2:
        return all(abs(laplace.value - gaussian.value) <= CLOSE for laplace, gaussian in pairs)
    less = any(gaussian.high < laplace.low for laplace, gaussian in pairs)
    return less and not any(laplace.high < gaussian.low for laplace, gaussian in pairs)


def judged(number: int, sets: Mapping[str, tuple[str, int]]) -> Callable[[entry.Files], entry.Ours]:
    """How many sentences of a finding hold, over data sets by their file and number of classes."""

    def read(files: entry.Files) -> entry.Ours:
        there = {
            on: (document, classes)
            for on, (file, classes) in sets.items()
            if (document := files(file)) is not None and baseline(document) is not None
        }
        if not there:
            return None
        if number == 1:
            bases = {on: baseline(document) for on, (document, _) in there.items()}
            held = list(overfitting({on: one for on, one in bases.items() if one is not None}))
        elif number == 2:
            held = [
                each
                for on, (document, _) in there.items()
                for each in falling_curve(on, *losses(document))
            ]
        else:
            held = [
                of_two_noises(classes, losses(document)[1]) for document, classes in there.values()
            ]
        return entry.Counted(sum(held), len(held))

    return read
