"""Every way to something that is called proven, from a file to what leaves.

One entry for each command and function that mints. The end-to-end audit goes through all of them;
a test compares the list with the modules that mint.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reticent.audit.end_to_end.adversarial import LABEL, TARGET
from reticent.audit.end_to_end.replay import Covered, Published, Release
from reticent.data import Dataset, read_table
from reticent.pipeline.end_to_end.settings import Settings
from reticent.pipeline.learning import LEARNERS, protect_with
from reticent.pipeline.protecting import capped, private_rows, unfitted
from reticent.protect import (
    AdaSSPRegressor,
    calibrated_answers,
    numbers_of,
    private_answers,
    release_mean,
    release_weights,
    save,
)
from reticent.protect.budget import event_of
from reticent.protect.certificate import Released
from reticent.training import SigmoidHead

Floats = NDArray[np.float64]
QUERIES: Final = 3


@dataclass(frozen=True, kw_only=True)
class Audited:
    """One way to a release: how it is built for some settings, and what tables it takes."""

    build: Callable[[Settings], Release]
    targets: bool = False
    embedded: bool = True
    fewest: int = 0
    mints: tuple[str, ...] = ()
    """The modules of ``reticent.protect`` whose minting it goes through."""
    hostile: bool = False
    """A way around the noise: it must be refused, on every table."""
    tame: bool = False
    """Ordinary numbers alone: beside the release it attacks and audits, which odd tables end."""


def table_of(path: Path, settings: Settings) -> Dataset:
    """As every command reads it, with the classes that were declared."""
    embedding = settings.shape.features[0] if settings.shape.embedded else None
    return read_table(
        path,
        label=LABEL,
        person=settings.person,
        embedding=embedding,
        classes=settings.shape.classes,
    )


def published(released: Released) -> Published:
    """All bytes of a released model: weights and certificate."""
    with tempfile.TemporaryDirectory() as folder:
        files = save(released, Path(folder) / "released")
        content = b"".join(path.read_bytes() for path in files)
    return Published(claims=(Covered(released.guarantee),), outputs=content)


def _protected(learner: str) -> Callable[[Settings], Release]:
    def build(settings: Settings) -> Release:
        def release(path: Path) -> Published:
            data = table_of(path, settings)
            return published(protect_with(data, settings.wanted(), learner=learner))

        return release

    return build


def _numbers(path: Path, settings: Settings) -> tuple[Floats, Floats]:
    """Features and targets of a table of numbers alone, each person's rows capped."""
    data = read_table(path, label=None, person=settings.person)
    kept = np.arange(len(data))
    if data.persons is not None and settings.records_each is not None:
        kept = capped(data.persons, settings.records_each)
    rows = data.features[kept].astype(np.float64)
    place = data.columns.index(TARGET)
    return np.delete(rows, place, axis=1), rows[:, place]


def _regression(settings: Settings) -> Release:
    def release(path: Path) -> Published:
        rows, targets = _numbers(path, settings)
        model = AdaSSPRegressor(
            bound=settings.bound,
            target_bound=2.0,
            records=settings.records,
            **settings.budget,
        )
        return published(model.fit(rows, targets).released_)

    return release


def _mean(settings: Settings) -> Release:
    def release(path: Path) -> Published:
        rows, _ = _numbers(path, settings)
        mean = release_mean(rows, bound=settings.bound, records=settings.records, **settings.budget)
        return Published(claims=(Covered(mean.guarantee),), outputs=mean.values.tobytes())

    return release


def _several_labels(settings: Settings) -> Release:
    """A sigmoid head: two labels, each of which is a question about the target."""

    def release(path: Path) -> Published:
        rows, targets = _numbers(path, settings)
        labels = np.column_stack([targets > 0, targets > 1]).astype(np.int64)
        head = SigmoidHead(
            classes=("positive", "large"),
            records=settings.records,
            bound=settings.bound,
            penalty=settings.penalty,
            norms=settings.norms,
            intercept=settings.intercept,
        )
        return published(release_weights(head.fit(rows, labels), **settings.budget))

    return release


def _answers(settings: Settings) -> Release:
    """Some answers of a head, centred by a noisy mean or not, and what is claimed of each."""

    def release(path: Path) -> Published:
        wanted = settings.wanted().for_rows_of(data := table_of(path, settings))
        rows, labels = private_rows(data, wanted.records_each)
        head = unfitted(wanted.head(rows.shape[1], len(data.classes)), data.classes)
        mean, before = None, None
        if settings.centre == "mean":
            mean = release_mean(
                rows, records=wanted.records, **wanted.mean(rows.shape[1]), **wanted.budget
            )
            head.set_params(centre=mean.values)
            before = event_of(mean.noise(), delta=wanted.delta)
        head.fit(rows, labels)
        public = numbers_of(head, records_each=wanted.records_each, mean=mean)
        plan = calibrated_answers(
            public,
            epsilon=wanted.epsilon,
            delta=wanted.delta,
            relation=wanted.relation,
            queries=QUERIES,
            mechanism=answer_mechanism(settings),
            before=before,
        )
        answers = private_answers(head, plan, mean=mean)
        answered = answers.ask(_questions(rows.shape[1]))
        ahead = (0,) if mean is not None else ()
        each = tuple(
            Covered(answered.guarantee, (*ahead, len(ahead) + place)) for place in range(QUERIES)
        )
        return Published(
            claims=(Covered(answers.guarantee), *each), outputs=answered.released.tobytes()
        )

    return release


def answer_mechanism(settings: Settings) -> str:
    """Also the two that answer with a label alone, where no δ is spent."""
    labels = {"laplace": "exponential", "l2-laplace": "permute-and-flip"}
    return labels.get(settings.mechanism, settings.mechanism)


def _questions(width: int) -> Any:
    """Public rows to ask about: far beyond every bound, in one direction, and nothing."""
    first = np.zeros(width)
    first[0] = 1e6
    return np.stack([first, np.full(width, -3.0), np.zeros(width)])


RELEASES: Final[dict[str, Audited]] = {
    "weights": Audited(build=_protected("weights"), mints=("weights", "mean")),
    **{
        name: Audited(build=_protected(name), mints=("learners.released_linear",))
        for name in LEARNERS
    },
    "regression": Audited(
        build=_regression,
        targets=True,
        embedded=False,
        mints=("learners.released_regression",),
    ),
    "several labels": Audited(
        build=_several_labels, targets=True, embedded=False, mints=("weights",)
    ),
    "mean": Audited(build=_mean, targets=True, embedded=False, mints=("mean",)),
    "answers": Audited(build=_answers, mints=("answers.answers", "mean")),
}
