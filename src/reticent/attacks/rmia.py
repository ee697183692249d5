"""RMIA, the relative attack (Zarifzadeh, Liu, Shokri 2024), online and offline.

P_x = p(x|θ)/p(x): how much more probable the target finds a record than models do on the whole,
where p(x|θ) is the probability of the true label. The score is the share of a population of other
records z that x dominates: P_x/P_z > γ. All of it in logarithms, from φ: log p = log expit(φ).

Over one population the share is a function of P_x that never falls, so records with equal shares
are ordered by P_x: the score is (number dominated + P_x/(1 + P_x)) / (size of the population),
which lies in [share, share + 1/size) and depends on no other scored record.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import special, stats

from reticent.arrays import Flags, Floats
from reticent.attacks import lira
from reticent.attacks.attack import Need, ScoreAttack, with_online_shadows, with_shadows
from reticent.attacks.records import Records
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import Target, Threat
from reticent.validation import InputError, count, positive, real

_NEARLY_UNDERFLOWN = 1e-290
"""Means of probabilities below are formed in logarithms."""
CANDIDATES = tuple(i / 10 for i in range(11))
"""The values of a that are tried."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Rmia(ScoreAttack):
    """RMIA on any target that shows probabilities.

    Online, p(x) = ½(p̄_in + p̄_out): the means over the shadows that saw x and that did not, at
    least one of each. Offline, p(x) = ½[(1+a)p̄_out + (1−a)], from those that did not see x. The
    population's p(z) is formed alike; for a record of the population that no shadow saw, p̄_in is
    not known, so the offline formula stands in, and a note says for how many.

    Args:
        shadows: Models of the adversary. Which of them saw a record is found by its content.
        population: Records of the same distribution; none should be the target's.
        mode: "online" or "offline".
        gamma: γ, the ratio that counts as dominating.
        a: Of the offline formula, from 0 to 1: near 1 where models that did not see a record are
            almost as sure of it as those that did. ``tuned_a`` finds it on the shadows alone.
    """

    shadows: Shadows
    population: Records
    mode: lira.Mode = "online"
    gamma: float = 1.0
    a: float = 0.3
    threat: Threat = field(init=False)

    def __post_init__(self) -> None:
        """Known words and numbers in range; the threat follows from the mode."""
        lira.one_of("mode", self.mode, ("online", "offline"))
        positive("gamma", self.gamma)
        share("a", self.a)
        if not len(self.population):
            raise InputError("population must have records, got none")
        base = lira.shadow_threat(self.mode, augmented=False)
        object.__setattr__(self, "threat", replace(base, knows=(*base.knows, "a population")))

    @property
    def name(self) -> str:
        """What stands in tables: RMIA with its mode, online or offline."""
        return f"RMIA, {self.mode}"

    def _values(self, target: Target, records: Records) -> Floats:
        saw, known = self.shadows.saw(records), self.shadows.saw(self.population)
        lira.require_shadows(~saw, at_least=1, which="did not see it")
        lira.require_shadows(
            ~known, at_least=1, which="did not see it", what="record of the population"
        )
        if self.mode == "online":
            lira.require_shadows(saw, at_least=1, which="saw it (or use mode='offline')")
        x = self._log_ratios(target, records, saw)
        z = self._log_ratios(target, self.population, known)
        return dominated(x, z, gamma=self.gamma)

    def _log_ratios(self, target: Target, records: Records, saw: Flags) -> Floats:
        """log P of each record."""
        views = lira.views_of(records, None)
        own = special.log_expit(lira.target_margins(target, records, views))
        others = lira.shadow_margins(self.shadows, records, views)
        expected = log_expected(others, saw, a=self.a, online=self.mode == "online")
        ratios: Floats = own - expected
        return ratios

    def _notes(self, target: Target, records: Records) -> tuple[str, ...]:  # noqa: ARG002
        notes = (f"{len(self.shadows)} shadows, population of {len(self.population)}",)
        unseen = int((~self.shadows.saw(self.population).any(axis=0)).sum())
        if self.mode == "offline" or not unseen:
            return notes
        return (*notes, f"no shadow saw {unseen} of the population: p(z) by the offline formula")


def log_expected(others: Floats, saw: Flags, *, a: float, online: bool) -> Floats:
    """log p(x) of each record, from φ of the shadows (shadows × records).

    Offline, and online where no shadow saw the record: p(x) = ½[(1+a)p̄_out + (1−a)].
    """
    outside = _log_means(others, ~saw)
    with np.errstate(divide="ignore"):  # a = 1: the constant is 0
        log_means: Floats = np.logaddexp(np.log1p(a) + outside, np.log(1 - a)) - np.log(2)
    if online:
        seen = saw.any(axis=0)
        inside = _log_means(others[:, seen], saw[:, seen])
        log_means[seen] = np.logaddexp(inside, outside[seen]) - np.log(2)
    return log_means


def dominated(x: Floats, z: Floats, *, gamma: float) -> Floats:
    """The share of z with P_x/P_z > γ, plus less than one record's share for ties.

    Args:
        x: log P of the scored records.
        z: log P of the population.
        gamma: γ.

    >>> dominated(np.log([4.0, 1.0, 0.25]), np.log([0.5, 2.0]), gamma=1.0)
    array([1.4 , 0.75, 0.1 ])
    """
    below = np.searchsorted(np.sort(z), x - np.log(gamma), side="left")
    shares: Floats = (below + special.expit(x)) / len(z)
    return shares


def tuned_a(
    shadows: Shadows, *, candidates: Sequence[float] = CANDIDATES, targets: int = 4
) -> float:
    """The a for which offline RMIA tells the members of shadows best, without any other target.

    Each of the first shadows plays the target in turn: the records of the pool are its members and
    non-members, and the remaining shadows that did not see a record give p̄_out. The AUC over these,
    averaged over the turns, depends on a alone: it is that of P_x for any population and γ.

    Args:
        shadows: At least 3, so that non-members of one are also outside another.
        candidates: The values of a to try.
        targets: How many shadows play the target.
    """
    tried = [share("candidates", a) for a in candidates]
    if not tried:
        raise InputError("candidates must hold a value of a, got none")
    others = lira.shadow_margins(shadows, shadows.pool, lira.views_of(shadows.pool, None))
    saw = shadows.saw(shadows.pool)
    turns = range(min(count("targets", targets), len(shadows)))
    aucs = np.mean([_offline_aucs(others, saw, turn, tried) for turn in turns], axis=0)
    return tried[int(aucs.argmax())]


def _offline_aucs(others: Floats, saw: Flags, turn: int, tried: Sequence[float]) -> list[float]:
    """For each a, with this shadow as the target."""
    rest = np.delete(np.arange(len(others)), turn)
    usable = ~saw[rest].all(axis=0)
    member = saw[turn, usable]
    if not 0 < member.sum() < member.size:
        raise InputError(
            "a must be tuned on shadows whose members and non-members are both outside other"
            f" shadows, shadow {turn} of {len(others)} has none of one kind: use more shadows"
        )
    own = special.log_expit(others[turn, usable])
    rest_logits, inside = others[np.ix_(rest, usable)], saw[np.ix_(rest, usable)]
    return [
        _auc(own - log_expected(rest_logits, inside, a=a, online=False), member=member)
        for a in tried
    ]


def _auc(values: Floats, *, member: Flags) -> float:
    """Mann and Whitney's statistic: the chance that a member's value is above another's."""
    inside = int(member.sum())
    ranks = stats.rankdata(values)[member].sum() - inside * (inside + 1) / 2
    return float(ranks / (inside * (member.size - inside)))


def _log_means(others: Floats, chosen: Flags) -> Floats:
    """log of the mean of p = expit(φ) over the chosen shadows."""
    means = np.einsum("kn,kn->n", special.expit(others), chosen) / chosen.sum(axis=0)
    rare = means < _NEARLY_UNDERFLOWN
    logs: Floats = np.log(np.where(rare, 1.0, means))
    if rare.any():  # the same in logarithms, which takes five times as long
        log_p = np.where(chosen[:, rare], special.log_expit(others[:, rare]), -np.inf)
        logs[rare] = special.logsumexp(log_p, axis=0) - np.log(chosen[:, rare].sum(axis=0))
    return logs


def share(name: str, value: object) -> float:
    """A number from 0 to 1, both allowed."""
    number = real(name, value)
    if not 0 <= number <= 1:
        raise InputError(f"{name} must be in [0, 1], got {number}")
    return number


RMIA_OFFLINE = with_shadows(
    lambda known: Rmia(shadows=known.offline, population=known.others, mode="offline"), Need.QUERIES
)
RMIA_ONLINE = with_online_shadows(
    lambda known: Rmia(shadows=known.online, population=known.others), Need.POPULATION, Need.QUERIES
)
