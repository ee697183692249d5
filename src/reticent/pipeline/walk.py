"""The demonstration so far: a count, mechanisms, accounts, and a head with a proven release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reticent.accounting import account
from reticent.accounting.comparison import calibrated_steps
from reticent.data import load, split
from reticent.guarantee import Event, PoissonSampled, Relation, Repeated, Sensitivity
from reticent.guarantee.rounding import scale_text, upper_text
from reticent.mechanisms import Calibrated, DiscreteLaplace, Gaussian, Laplace, Logistic, calibrated
from reticent.pipeline.protecting import Wanted, protect_head
from reticent.pipeline.table import Table

SMOKERS = 20
COUNT = Sensitivity(
    l1=1.0, relation=Relation.ADD_REMOVE, source="one person changes a count by one"
)
HEAD = Sensitivity(
    l1=0.017492,
    l2=0.013842,
    relation=Relation.REPLACE_ONE,
    source="a tuned head, as its owner says",
)
GRADIENT = Sensitivity(l2=1.0, relation=Relation.ADD_REMOVE, source="gradients clipped to norm 1")
EPSILON, DELTA = 1.0, 1e-5
RELEASES = 100
STEPS, RATE = 10_000, 0.01


@dataclass(frozen=True, kw_only=True)
class Walk:
    """The tables of the walk in order, and what they say."""

    tables: tuple[Table, ...]
    verdict: str

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file."""
        return {"tables": [table.to_dict() for table in self.tables], "verdict": self.verdict}


def walk() -> Walk:
    """All of it; takes seconds and needs no data folder."""
    return Walk(
        tables=(smokers(), head(), many_releases(), training(), digits()),
        verdict=(
            "Tables 1 to 4 are declared: the sensitivities were given, what follows from them is "
            "proven. Table 5 is proven from end to end, under assumptions that the certificate "
            "lists. All noise is correctly rounded, so its floats leak nothing."
        ),
    )


def smokers() -> Table:
    """Real releases of a count at two ε."""
    rows = []
    for kind in (Laplace, Logistic, DiscreteLaplace):
        for epsilon in (1.0, 0.1):
            mechanism = kind.calibrate(COUNT, epsilon=epsilon, delta=0.0)
            claim = mechanism.guarantee(epsilon=epsilon, delta=0.0)
            released = float(mechanism.release(SMOKERS))
            scale = scale_text(mechanism.scale)
            rows.append((kind.name, upper_text(claim.epsilon), scale, f"{released:.2f}"))
    return Table(
        title=f"1. {SMOKERS} of 100 people smoke: a noisy count",
        columns=("mechanism", "ε", "scale", "released"),
        rows=tuple(rows),
        notes=("Run it again: the noise is new each time, and each time costs ε again.",),
    )


def head() -> Table:
    """The noise on a head's weights, mechanism by mechanism."""
    ways = [
        way
        for row in calibrated(HEAD, epsilon=EPSILON, delta=DELTA)
        for way in (row, *row.alternatives)
    ]
    return _noise_table(f"2. The weights of a tuned head: noise for ε = {EPSILON}", ways)


def many_releases() -> Table:
    """What many releases cost together, by every accountant."""
    laplace = Laplace.calibrate(COUNT, epsilon=EPSILON, delta=0.0).event()
    logistic = Logistic.calibrate(COUNT, epsilon=EPSILON, delta=0.0).event()
    gaussian = Gaussian.calibrate(COUNT, epsilon=EPSILON, delta=DELTA).event()
    events: dict[str, Event] = {"laplace": laplace, "logistic": logistic, "gaussian": gaussian}
    rows = []
    for name, event in events.items():
        repeated = Repeated(event=event, count=RELEASES)
        found = account(repeated, relation=COUNT.relation, delta=DELTA)
        basic = found.epsilons.get("basic")
        plain = "–" if basic is None else upper_text(basic)
        rows.append((name, plain, upper_text(found.epsilon), found.method))
    return Table(
        title=f"3. {RELEASES} releases, each ε = {EPSILON} alone: ε together at δ = {DELTA}",
        columns=("mechanism", "added up", "best", "by"),
        rows=tuple(rows),
    )


def training() -> Table:
    """Noise for private training: many steps on Poisson samples."""

    def steps(release: Event) -> Event:
        return Repeated(event=PoissonSampled(event=release, rate=RATE), count=STEPS)

    rows = calibrated_steps(GRADIENT, epsilon=EPSILON, delta=DELTA, steps=steps)
    return _noise_table(
        f"4. {STEPS:,} training steps at sampling rate {RATE}: noise for ε = {EPSILON}", rows
    )


def digits() -> Table:
    """A head on real digits, its weights released; accuracy on records that stay public."""
    data = load("digits")
    parts = split(data, sizes={"private": 1300, "public": 497}, seed=0)
    private, public = data.take(parts["private"]), data.take(parts["public"])
    truth = np.asarray(public.classes)[public.labels]
    rows = []
    for mechanism in ("gaussian", "logistic"):
        for epsilon in (1.0, 4.0, 16.0):
            wanted = Wanted(
                epsilon=epsilon,
                delta=DELTA,
                relation=Relation.ADD_REMOVE,
                records=1300,
                bound=5.0,
                mechanism=mechanism,
            )
            released = protect_head(private, wanted)
            accuracy = float(np.mean(released.predict(public.features) == truth))
            claim = released.guarantee
            shown = (upper_text(claim.epsilon), upper_text(claim.delta), str(claim.grade))
            rows.append((mechanism, *shown, f"{accuracy:.3f}"))
    return Table(
        title="5. A softmax head on 1,300 private digits: accuracy of the released weights",
        columns=("mechanism", "ε", "δ", "grade", "accuracy"),
        rows=tuple(rows),
        notes=("The penalty comes from public numbers; nothing was tuned on the private records.",),
    )


def _noise_table(title: str, ways: list[Calibrated]) -> Table:
    return Table(
        title=title,
        columns=("mechanism", "by", "std", "δ", "grade"),
        rows=tuple(
            (
                way.mechanism,
                way.route,
                scale_text(way.std),
                upper_text(way.guarantee.delta),
                str(way.guarantee.grade),
            )
            for way in ways
            if way.std is not None
        ),
    )
