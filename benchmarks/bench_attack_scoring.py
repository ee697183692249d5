"""Scoring records with LiRA and RMIA against loops, and their AUC against other implementations."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks.harness import Cell, Result
from reticent.attacks.attack import Attack
from reticent.attacks.lira import Lira, margins, online_scores
from reticent.attacks.metric import MetricAttack
from reticent.attacks.records import Records
from reticent.attacks.rmia import Rmia, dominated, log_expected
from reticent.attacks.shadow_models import train_shadows
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import ModelTarget, Target
from reticent.audit.metrics import auc
from reticent.randomness import seeded
from reticent.training.softmax_head import SoftmaxHead

NAME = "attack_scoring"
TITLE = "Scoring with LiRA and RMIA: against loops over records, scikit-learn's AUC and ART"

CLASSES = 10
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Size:
    """Records that are scored, shadow models, and RMIA's population."""

    records: int
    shadows: int
    population: int


FULL = Size(records=10_000, shadows=64, population=2000)
QUICK = Size(records=300, shadows=8, population=100)


def run(quick: bool) -> Result:
    """Both sides on one thread, in one run."""
    size = QUICK if quick else FULL
    with threadpool_limits(limits=1):
        rows = [*speeds(size), *agreements(quick)]
    return Result(
        columns=["what", "against", "ours", "theirs", "theirs ÷ ours", "largest difference"],
        rows=rows,
        note=(
            f"Seconds of one processor: {size.records} records, {size.shadows} shadows, {CLASSES} "
            f"classes, a population of {size.population}; differences are of scores. From logits: "
            "given the logits and which shadow saw which record, as the loops are. From records: "
            "the whole call, with the hashes that tell which shadow saw a record. AUC: digits with "
            "a fifth of the labels wrong, softmax heads; differences are of AUC. ART's attack and "
            "the metric have one shadow, LiRA and RMIA 64."
        ),
    )


# ----------------------------------------------------------------------------------- seconds


class Stored(Target):
    """Answers that are already there: a query is the number of a row."""

    def __init__(self, logits: Floats) -> None:
        self.stored = logits
        self.classes = np.arange(logits.shape[1])

    def logits(self, inputs: ArrayLike) -> Floats:
        found: Floats = self.stored[np.asarray(inputs)]
        return found


@dataclass(frozen=True, kw_only=True)
class Answers:
    """Logits of a target and of shadows on records, then on a population that no shadow saw."""

    target: Floats
    shadows: Floats
    labels: NDArray[np.int64]
    saw: Flags
    records: int

    @classmethod
    def drawn(cls, size: Size) -> "Answers":
        rng = seeded("attack scoring", size.records, size.shadows)
        rows = size.records + size.population
        labels = rng.integers(0, CLASSES, rows)
        saw = np.zeros((size.shadows, rows), dtype=bool)
        order = np.argsort(rng.random((size.shadows, size.records)), axis=0)
        saw[:, : size.records] = order < size.shadows // 2
        shadows = 2 * rng.standard_normal((size.shadows, rows, CLASSES))
        shadows[:, np.arange(rows), labels] += 2 + 2 * saw
        target = 2 * rng.standard_normal((rows, CLASSES))
        target[np.arange(rows), labels] += 2 + 2 * rng.integers(0, 2, rows)
        return cls(target=target, shadows=shadows, labels=labels, saw=saw, records=size.records)

    def part(self, start: int, stop: int | None) -> Records:
        """New records: their hashes are not known yet."""
        numbers = np.arange(len(self.labels))[start:stop]
        return Records(numbers, self.labels[numbers])

    def margins(self, start: int, stop: int | None) -> tuple[Floats, Floats]:
        """φ of the target and of the shadows."""
        labels = self.labels[start:stop]
        own = margins(self.target[start:stop], labels)
        return own, np.stack([margins(logits[start:stop], labels) for logits in self.shadows])


Margins = Callable[[Floats, int], Floats]
Scoring = Callable[[Answers], Floats]
Loop = Callable[[Answers, Margins], Floats]


def lira_of_arrays(answers: Answers) -> Floats:
    own, others = answers.margins(0, answers.records)
    return online_scores(own, others, answers.saw[:, : answers.records], fixed=False)


def rmia_of_arrays(answers: Answers) -> Floats:
    ratios = []
    for start, stop in ((0, answers.records), (answers.records, None)):
        own, others = answers.margins(start, stop)
        expected = log_expected(others, answers.saw[:, start:stop], a=0.3, online=True)
        ratios.append(special.log_expit(own) - expected)
    return dominated(*ratios, gamma=1.0)


def lira_of_records(answers: Answers) -> Floats:
    """As a user calls it."""
    records, shadows = shadows_of(answers)
    attack = Lira(shadows=shadows, variance="per-record")
    return attack.scores(Stored(answers.target), records).values


def rmia_of_records(answers: Answers) -> Floats:
    """As a user calls it."""
    records, shadows = shadows_of(answers)
    attack = Rmia(shadows=shadows, population=answers.part(answers.records, None))
    return attack.scores(Stored(answers.target), records).values


def shadows_of(answers: Answers) -> tuple[Records, Shadows]:
    records = answers.part(0, answers.records)
    models = [Stored(logits) for logits in answers.shadows]
    inside = answers.saw[:, : answers.records]
    return records, Shadows(pool=records, inside=inside, models=models)


def speeds(size: Size) -> list[list[Cell]]:
    """Rows for each attack, each part of ours and each way to write the loop."""
    answers = Answers.drawn(size)
    return [
        *speed("LiRA", answers, (lira_of_arrays, lira_of_records), looped_lira),
        *speed("RMIA", answers, (rmia_of_arrays, rmia_of_records), looped_rmia),
    ]


def speed(name: str, answers: Answers, ours: Sequence[Scoring], loop: Loop) -> list[list[Cell]]:
    (arrays, _), (whole, _) = (timed(partial(scoring, answers), repeats=7) for scoring in ours)
    found = [scoring(answers) for scoring in ours]
    rows: list[list[Cell]] = []
    for way, of_record in WAYS.items():
        theirs, expected = timed(partial(loop, answers, of_record), repeats=1)
        difference = max(float(np.abs(scores - expected).max()) for scores in found)
        rows += [
            [f"{name} from logits: s", way, arrays, theirs, theirs / arrays, difference],
            [f"{name} from records: s", way, whole, theirs, theirs / whole, difference],
        ]
    return rows


def timed(function: Callable[[], Floats], *, repeats: int) -> tuple[float, Floats]:
    """Median of the processor's time (both sides use one thread), and the last result."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        found = function()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds), found


def one_by_one(logits: Floats, label: int) -> Floats:
    """φ of a record in each shadow, one after the other."""
    found = []
    for row in logits:
        others = np.delete(row, label)
        top = others.max()
        found.append(row[label] - top - np.log(np.exp(others - top).sum()))
    return np.array(found)


def all_shadows_at_once(logits: Floats, label: int) -> Floats:
    """The same for all shadows of a record together."""
    others = np.delete(logits, label, axis=1)
    found: Floats = logits[:, label] - special.logsumexp(others, axis=1)
    return found


WAYS: dict[str, Margins] = {
    "loop over records and shadows": one_by_one,
    "loop over records, numpy over shadows": all_shadows_at_once,
}


def looped_lira(answers: Answers, of_record: Margins) -> Floats:
    """Online, a σ for each record."""
    scores = []
    for record in range(answers.records):
        label = int(answers.labels[record])
        own = of_record(answers.target[record][None], label)[0]
        others, saw = of_record(answers.shadows[:, record], label), answers.saw[:, record]
        inside, outside = others[saw], others[~saw]
        scores.append(
            stats.norm.logpdf(own, np.median(inside), inside.std(ddof=1))
            - stats.norm.logpdf(own, np.median(outside), outside.std(ddof=1))
        )
    return np.array(scores)


def looped_rmia(answers: Answers, of_record: Margins) -> Floats:
    """Online, with the offline formula for the population, a = 0.3 and γ = 1."""
    ratios = []
    for record, label in enumerate(answers.labels.tolist()):
        own = special.expit(of_record(answers.target[record][None], label)[0])
        p, saw = special.expit(of_record(answers.shadows[:, record], label)), answers.saw[:, record]
        seen = (p[saw].mean() + p[~saw].mean()) / 2 if saw.any() else (1.3 * p.mean() + 0.7) / 2
        ratios.append(own / seen)
    x, z = np.array(ratios[: answers.records]), np.array(ratios[answers.records :])
    return np.array([((P / z > 1).sum() + P / (1 + P)) / len(z) for P in x])


# --------------------------------------------------------------------------------------- AUC


@dataclass(frozen=True, kw_only=True)
class Overfit:
    """A head, half of the records of which were its own, and the shadows of an adversary."""

    target: ModelTarget
    records: Records
    member: Flags
    shadows: Shadows
    population: Records

    @classmethod
    def trained(cls, *, shadows: int, records: int = 800) -> "Overfit":
        rng = seeded("attack agreement")
        X, y = load_digits(return_X_y=True)
        order = rng.permutation(len(X))
        X, y = X[order] / 16, y[order]
        wrong = rng.random(len(y)) < 0.2
        y[wrong] = rng.integers(0, CLASSES, wrong.sum())
        pool = Records(X[:records], y[:records])
        member = np.isin(np.arange(records), rng.permutation(records)[: records // 2])
        head = SoftmaxHead(bound=9.0, penalty=1e-4, classes=list(range(CLASSES)))
        return cls(
            target=ModelTarget(clone(head).fit(pool.inputs[member], pool.labels[member])),
            records=pool,
            member=member,
            shadows=train_shadows(head, pool, count=shadows),
            population=Records(X[records:], y[records:]),
        )

    def area(self, scores: Floats) -> float:
        return auc(scores[self.member], scores[~self.member]).value

    def area_of(self, attack: Attack[Any]) -> float:
        return self.area(attack.scores(self.target, self.records).values)


def agreements(quick: bool) -> list[list[Cell]]:
    """AUC of ours and of others."""
    given = Overfit.trained(shadows=8 if quick else 64)
    return [lira_area(given), *tied_areas(given), *art_areas(given)]


def compared(what: str, against: str, ours: float, theirs: float) -> list[Cell]:
    return [what, against, ours, theirs, theirs / ours, abs(ours - theirs)]


def lira_area(given: Overfit) -> list[Cell]:
    """Against the loop."""
    answers = Answers(
        target=given.target.logits(given.records.inputs),
        shadows=given.shadows.logits(given.records.inputs),
        labels=given.records.among(given.target.classes),
        saw=given.shadows.inside,
        records=len(given.records),
    )
    theirs = given.area(looped_lira(answers, one_by_one))
    ours = given.area_of(Lira(shadows=given.shadows, variance="per-record"))
    return compared("LiRA, AUC", "loop over records and shadows", ours, theirs)


def tied_areas(given: Overfit) -> list[list[Cell]]:
    """The same scores, more and more of them equal."""
    scores, rows = Lira(shadows=given.shadows).scores(given.target, given.records).values, []
    for decimals in (0, -1):
        tied = np.round(scores, decimals)
        different = len(np.unique(tied))
        what = f"AUC of scores with {different} different values"
        theirs = float(roc_auc_score(given.member, tied))
        rows.append(compared(what, "scikit-learn", given.area(tied), theirs))
    return rows


def art_areas(given: Overfit) -> list[list[Cell]]:
    """ART's black-box attack, taught on the first shadow, beside our attacks."""
    saw = given.shadows.inside[0]
    pair = (given.shadows.models[0], given.records.take(saw), given.records.take(~saw))
    ours: Sequence[Attack[Any]] = (
        MetricAttack("modified-entropy", pair),
        Rmia(shadows=given.shadows, population=given.population, mode="offline"),
        Lira(shadows=given.shadows),
    )
    theirs = {f"ART, {kind}": given.area(art_scores(given, kind)) for kind in ("nn", "rf")}
    return [
        compared(f"{attack.name}: AUC", against, given.area_of(attack), area)
        for against, area in theirs.items()
        for attack in ours
    ]


def art_scores(given: Overfit, kind: str) -> Floats:
    """The probability of membership that ART's attack model gives, from the target's answers."""
    import torch
    from art.attacks.inference.membership_inference import MembershipInferenceBlackBox
    from art.estimators.classification import BlackBoxClassifier

    model, saw, records = given.shadows.models[0], given.shadows.inside[0], given.records
    estimator = BlackBoxClassifier(
        given.target.probabilities, records.inputs.shape[1:], len(given.target.classes)
    )
    attack = MembershipInferenceBlackBox(estimator, attack_model_type=kind)
    if kind == "rf":
        attack.attack_model.set_params(random_state=0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        attack.fit(
            y=records.labels[saw],
            test_y=records.labels[~saw],
            pred=model.probabilities(records.inputs[saw]),
            test_pred=model.probabilities(records.inputs[~saw]),
        )
    answers = given.target.probabilities(records.inputs)
    found = attack.infer(None, records.labels, pred=answers, probabilities=True)
    return np.asarray(found, dtype=np.float64).reshape(len(records), -1)[:, -1]
