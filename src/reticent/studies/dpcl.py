"""Differentially private contrastive learning: the noise scales of the paper and their ε."""

from dataclasses import dataclass

from reticent import guarantee
from reticent.accounting import account
from reticent.guarantee.rounding import upper_text
from reticent.protect.published import dpcl as published
from reticent.results.table import Table

BATCH, RECORDS = 128, 50_000
DELTA = 1e-5
PUBLISHED_EPSILON = 1_000


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One row of the paper: the noise multipliers of a step's releases, and how long it trains."""

    name: str
    noise_multipliers: tuple[float, ...]
    epochs: int


SETTINGS = (
    Setting(name="SimCLR, naive", noise_multipliers=(0.3812,), epochs=200),
    Setting(name="SimCLR, noisy similarity", noise_multipliers=(0.4021, 0.4021), epochs=200),
    Setting(name="Barlow Twins, naive", noise_multipliers=(0.3633,), epochs=100),
    Setting(
        name="Barlow Twins, noisy mean and variance",
        noise_multipliers=(0.3931, 0.416, 0.416, 0.416, 0.416),
        epochs=100,
    ),
)


def amplified_each(setting: Setting) -> guarantee.Event:
    """The paper's way: each release is amplified alone, 390 steps an epoch."""
    steps = 390 * setting.epochs
    return published.amplified_each(setting.noise_multipliers, BATCH, RECORDS, steps)


def composed_first(setting: Setting) -> guarantee.Event:
    """The right order by the paper's accountant: the releases of a step are one, then amplified."""
    steps = _steps(setting)
    return published.composed_first(setting.noise_multipliers, BATCH, RECORDS, steps)


def poisson(setting: Setting) -> guarantee.Event:
    """The same releases under Poisson sampling, which the tight accountant covers."""
    releases = published.composed_releases(setting.noise_multipliers)
    step = guarantee.PoissonSampled(event=releases, rate=BATCH / RECORDS)
    return guarantee.Repeated(event=step, count=_steps(setting))


def noise_scales() -> Table:
    """The four noise scales: ε as published, with the releases composed first, and tight."""
    return Table(
        title=f"DPCL: ε of the published noise scales at δ = {DELTA}",
        columns=(
            "setting",
            "published",
            "the paper's way",
            "composed first",
            "tight",
            "tight, Poisson",
        ),
        rows=tuple(_row(setting) for setting in SETTINGS),
        notes=(
            "Grade published: the paper's way amplifies the releases of a step one by one, which "
            "no theorem allows, and its gradient sensitivity is false besides. The last three "
            "columns are right for the noise multipliers as they stand: composed first by the "
            "paper's accountant (Theorem 9 alone), tight by privacy loss distributions. "
            "Neighbours: replace-one, and add-remove in the last column.",
        ),
    )


def _row(setting: Setting) -> tuple[str, ...]:
    papers_way = _epsilon(amplified_each(setting), "rdp")
    first = theorem_nine(setting)
    tight = _epsilon(composed_first(setting), "pld")
    poisson_sampled = _epsilon(poisson(setting), "pld", relation=guarantee.Relation.ADD_REMOVE)
    return (
        setting.name,
        str(PUBLISHED_EPSILON),
        f"{papers_way:.2f}",
        f"{first:.0f}",
        upper_text(tight, 4),
        upper_text(poisson_sampled, 4),
    )


def theorem_nine(setting: Setting) -> float:
    """The composed step by Theorem 9 alone; our own rdp takes the unsampled curve where smaller."""
    steps = setting.epochs * RECORDS / BATCH
    return published.theorem_nine(setting.noise_multipliers, BATCH / RECORDS, steps, DELTA)


def _epsilon(
    event: guarantee.Event,
    method: str,
    relation: guarantee.Relation = guarantee.Relation.REPLACE_ONE,
) -> float:
    return account(event, relation=relation, delta=DELTA, methods=[method]).epsilon


def _steps(setting: Setting) -> int:
    return setting.epochs * RECORDS // BATCH
