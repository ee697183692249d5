"""Alarms about query streams that look like membership attacks: for the operator, never an answer.

Nothing that a client is told depends on it: a refusal would be an oracle. It never reads private
records or true logits. It looks at queries alone, each client's by themselves:

- *exact repeats* of a row: repeated answers, label-only attacks that vote;
- *near repeats*: rows closer to one of the client's last ones than public rows are to each other
  (attacks that walk along the decision boundary or add noise to one record). As many of the last
  are compared as there are public rows to learn benign distances from, up to 2,048: among more rows
  the nearest is nearer;
- *far from public data*: rows that public data hardly holds (records that are synthesised).

Each is an e-detector (Shin, Ramdas & Rinaldo 2023): a CUSUM of likelihood ratios of the flag's rate
against a benign rate, averaged over some rates of attacks. For a client whose flags are no likelier
than the benign rates, whatever came before, the chance of an alarm within n queries is at most
n/``THRESHOLD``: 1 % for 10,000. The benign rates are upper confidence bounds on public rows that
the thresholds were not chosen on. Fingerprints are kept in memory, under a key that is drawn at
each start.

What no such detector can see is one query for each record: single queries look like anybody's.
"""

import hashlib
import math
import secrets
from collections import deque
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from scipy import stats

from reticent.arrays import Floats, Floats32
from reticent.service.detector_kernel import PROJECTED, looked_at
from reticent.validation import InputError, float_rows

WINDOW: Final = 2048
THRESHOLD: Final = 1e6
KINDS: Final = ("exact repeats", "near repeats", "far from public data")
UNSEEN: Final = (
    "not seen by any detector of queries: one query for each record, and few among many others"
)
EXACT_RATE: Final = 0.10
"""The share of exact repeats that a benign client may have; a choice, not a measurement."""
_ATTACK_RATES: Final = (0.1, 0.3, 0.6, 0.9)
_ALARM: Final = math.log(THRESHOLD)
_RIDGE: Final = 3e-5
"""Of the mean variance. Chosen on data sets that the detector is not measured on: up to 1e-3 no
stream was lost there, and this is the middle of those tried (``tools/detector_ridge.py``)."""
_QUANTILE: Final = 0.01
_CONFIDENCE: Final = 0.99
_LEAST_ROWS: Final = 150
_MOST_CLIENTS: Final = 10_000


Flags = tuple[bool, bool, bool]
"""Of one query, in the order of KINDS."""


@dataclass(frozen=True)
class Alarm:
    """A client's stream looks like an attack."""

    client: str
    kind: str
    queries: int
    """How many it had asked by then."""

    def __str__(self) -> str:
        """One line; nothing of a query."""
        return f"{self.client}: {self.kind}, after {self.queries} queries"


@dataclass(frozen=True)
class Reference:
    """What public rows say of benign queries: how near, how far, and how often they are flagged."""

    mean: Floats
    directions: Floats
    """A few random directions, by which rows are compared; then those of the whitening."""
    near: float
    far: float
    rates: tuple[float, float]
    """Upper confidence bounds on the benign rates of near repeats and of far rows."""
    window: int
    """How many of the last queries are compared: what the rate of near repeats was measured at."""

    @classmethod
    def of(cls, public: Floats, *, key: int) -> "Reference":
        """A third of the rows fits, a third sets the thresholds, a third bounds the rates."""
        rows = float_rows("public rows", public)
        if len(rows) < _LEAST_ROWS:
            raise InputError(f"public rows must be {_LEAST_ROWS} at least, got {len(rows)}")
        random = np.random.default_rng(key)
        fitted, chosen, held = np.array_split(rows[random.permutation(len(rows))], 3)
        directions = np.vstack([_projection(rows.shape[1], random), _whitening(fitted).T])
        reference = cls(fitted.mean(axis=0), directions, 0.0, math.inf, (0.0, 0.0), 0)
        points, distances = reference.seen(chosen)
        near = float(np.quantile(_nearest(points[: WINDOW + 1]), _QUANTILE))
        far = float(np.quantile(distances, 1 - _QUANTILE))
        held = held[: WINDOW + 1]
        points, distances = reference.seen(held)
        flagged = int((_nearest(points) < near).sum()), int((distances > far).sum())
        rates = _upper_rate(flagged[0], len(held)), _upper_rate(flagged[1], len(held))
        window = min(WINDOW, len(held) - 1)
        return cls(reference.mean, directions, near, far, rates, window)

    def seen(self, rows: Floats) -> tuple[Floats, Floats]:
        """Rows in a few random directions, and their squared Mahalanobis distances from public."""
        projected: Floats = (rows - self.mean) @ self.directions.T
        points, whitened = projected[:, :PROJECTED], projected[:, PROJECTED:]
        return points, np.einsum("ij,ij->i", whitened, whitened)


@dataclass
class _Watch:
    """What is kept of one client."""

    scores: list[list[float]]
    """The CUSUM of each kind, at each rate of attacks."""
    window: int
    points: Floats32 = field(init=False)
    """The last queries in a few random directions."""
    digests: set[bytes] = field(default_factory=set)
    order: deque[bytes] = field(default_factory=deque)
    queries: int = 0
    alarmed: bool = False

    def __post_init__(self) -> None:
        """Memory that grows no more."""
        self.points = np.empty((self.window, PROJECTED), np.float32)


class Detector:
    """Watches the streams of all clients of one process."""

    def __init__(
        self,
        public: Floats | None = None,
        *,
        augmenting: frozenset[str] = frozenset(),
        key: bytes | None = None,
    ) -> None:
        """``augmenting`` names clients that send several versions of a row, as they may.

        ``key`` is drawn anew: whoever knows it knows which rows look alike here.
        """
        self._key = secrets.token_bytes(32) if key is None else key
        seed = int.from_bytes(hashlib.sha256(self._key).digest(), "big")
        self._reference = None if public is None else Reference.of(public, key=seed)
        self._augmenting = augmenting
        near, far = (0.0, 0.0) if self._reference is None else self._reference.rates
        self.rates = (EXACT_RATE, near, far)
        self._gains = [_gains(rate) for rate in self.rates]
        self._watched: dict[str, _Watch] = {}
        self.alarms: list[Alarm] = []
        if public is not None:  # compiled now: not while a client waits
            self._flags("", self._new_watch(), np.zeros((1, np.shape(public)[1])))

    @property
    def features(self) -> int | None:
        """Of the public rows; None without any."""
        return None if self._reference is None else len(self._reference.mean)

    @property
    def says(self) -> str:
        """What it watches for, and what it cannot see."""
        kinds = [
            kind
            for kind, rate in zip(KINDS, self.rates, strict=True)
            if _usable(rate, _ATTACK_RATES[-1])
        ]
        return f"watched for: {', '.join(kinds)}; {UNSEEN}"

    def see(self, client: str, rows: Floats) -> Alarm | None:
        """Count a request; the alarm, if it raises the first one about this client."""
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        watch = self._watched.get(client)
        if watch is None:
            if len(self._watched) >= _MOST_CLIENTS:
                self._watched.pop(next(iter(self._watched)))
            watch = self._watched[client] = self._new_watch()
        raised = None
        for flags in self._flags(client, watch, rows):
            highest = self._score(watch, flags)
            if watch.alarmed or highest < _ALARM:  # the average is never above the highest
                continue
            if _mean(watch.scores) >= _ALARM:
                watch.alarmed = True
                kinds = [max(scores) for scores in watch.scores]
                raised = Alarm(client, KINDS[kinds.index(max(kinds))], watch.queries)
                self.alarms.append(raised)
        return raised

    def score(self, client: str) -> float:
        """The log of the e-detector as it stands."""
        watch = self._watched.get(client)
        return -math.inf if watch is None else _mean(watch.scores)

    def _new_watch(self) -> _Watch:
        window = 0 if self._reference is None else self._reference.window
        return _Watch([[0.0] * len(_ATTACK_RATES) for _ in KINDS], window)

    def _score(self, watch: _Watch, flags: Flags) -> float:
        """Count the flags of one query; the highest of all scores."""
        highest = -math.inf
        for scores, gains, flag in zip(watch.scores, self._gains, flags, strict=True):
            for place, gain in enumerate(gains[flag]):
                score = scores[place]
                score = score + gain if score > 0.0 else gain
                scores[place] = score
                highest = max(score, highest)
        watch.queries += 1
        return highest

    def _flags(self, client: str, watch: _Watch, rows: Floats) -> list[Flags]:
        reference = self._reference
        if reference is None:
            return [(self._seen(watch, row), False, False) for row in rows]
        gaps = np.empty((len(rows), 2))
        mean, directions = reference.mean, reference.directions
        looked_at(rows, mean, directions, watch.points, watch.queries, gaps)
        limit, mine = reference.near**2, client in self._augmenting
        flags = []
        for row, (gap, distance) in zip(rows, gaps.tolist(), strict=True):
            exact = self._seen(watch, row)
            unusual = not distance <= reference.far  # true of NaN
            flags.append((exact, gap < limit and not exact and not mine, unusual))
        return flags

    def _seen(self, watch: _Watch, row: Floats) -> bool:
        digest = hashlib.blake2b(row.tobytes(), key=self._key, digest_size=16).digest()
        if digest in watch.digests:
            return True
        watch.digests.add(digest)
        watch.order.append(digest)
        if len(watch.order) > WINDOW:
            watch.digests.discard(watch.order.popleft())
        return False


def _gains(rate: float) -> tuple[list[float], list[float]]:
    """Log likelihood ratios without and with the flag; losses where nothing can be told."""
    used = [_usable(rate, attack) for attack in _ATTACK_RATES]
    pairs = list(zip(_ATTACK_RATES, used, strict=True))
    return (
        [math.log((1 - attack) / (1 - rate)) if use else -1.0 for attack, use in pairs],
        [math.log(attack / rate) if use else -1.0 for attack, use in pairs],
    )


def _usable(rate: float, attack: float) -> bool:
    """Whether flags at the rate of attacks can be told from benign ones."""
    return 0 < 2 * rate <= attack


def _mean(scores: list[list[float]]) -> float:
    """The log of the average of the e-detectors, which is one too."""
    every = [one for some in scores for one in some]
    most = max(every)
    return most + math.log(sum(math.exp(one - most) for one in every) / len(every))


def _upper_rate(flagged: int, rows: int) -> float:
    """Clopper and Pearson's upper bound."""
    if flagged == rows:
        return 1.0
    return float(stats.beta.ppf(_CONFIDENCE, flagged + 1, rows - flagged))


def _projection(features: int, random: np.random.Generator) -> Floats:
    projection: Floats = random.normal(size=(PROJECTED, features)) / math.sqrt(PROJECTED)
    return projection


def _whitening(rows: Floats) -> Floats:
    """L with LLᵀ the inverse covariance; directions that hardly vary weigh the most.

    Noise on a record is seen there: features of real rows go together, and noise does not know it.
    """
    features = rows.shape[1]
    spread = np.atleast_2d(np.cov(rows.T))
    ridge = max(float(np.trace(spread)) / features, np.finfo(float).tiny) * _RIDGE
    whitening: Floats = np.linalg.cholesky(np.linalg.inv(spread + ridge * np.eye(features)))
    return whitening


def _nearest(points: Floats) -> Floats:
    """The distance of each point to its nearest other."""
    norms = np.einsum("ij,ij->i", points, points)
    gaps = norms[:, None] + norms - 2 * (points @ points.T)
    np.fill_diagonal(gaps, np.inf)
    distances: Floats = np.sqrt(np.maximum(gaps.min(axis=1), 0.0))
    return distances
