"""Lu et al., Figs. 3 to 13: the DP-SGD half, beside Algorithm 1 on the same victims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reticent.audit.metrics import Measured, over_repeats
from reticent.bounds.published import lu
from reticent.guarantee.rounding import upper_text
from reticent.results import table
from reticent.studies import losses, membership
from reticent.studies.lu import dp_sgd_verdicts, findings_specs, formulas, victims
from reticent.studies.lu.findings import Cell, perturbed, series, values
from reticent.studies.lu.noisy_victims import ACCOUNTANTS, CLIPPED, Plan, answers
from reticent.studies.trained import Outcome, Run, Table

Multipliers = Mapping[str, Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class DpSgd:
    """Each seed draws all records, victims, shadows and noise anew; DP-SGD has as many passes."""

    data: victims.Attacked
    alpha: float
    """Of the loss of the victim without privacy and of its shadows."""
    seeds: int
    epsilons: tuple[float, ...] = formulas.EPSILONS
    clip: float = 1.0
    """The default of the code of Jayaraman and Evans, whose configuration the paper takes."""
    batch: int = 100
    first_seed: int = 10
    """As for ``lu findings``."""

    @property
    def plan(self) -> Plan:
        """Records, batch and passes: the public numbers that accountants need."""
        return Plan(records=self.data.members, batch=self.batch, passes=self.data.passes)


SPECS: Mapping[str, DpSgd] = {
    data.on: DpSgd(data=data, alpha=spec.alpha, seeds=spec.seeds)
    for spec in findings_specs.SPECS.values()
    for data in spec.data
}
"""Data, victims, shadows and seeds are those of ``lu findings``."""


def study(spec: DpSgd, run: Run) -> Outcome:
    """Figs. 3–13 for DP-SGD by four accountants, and findings 2 and 3 against Algorithm 1.

    Noise, accuracy loss, leakage, verdicts.
    """
    run.steps.plan(spec.seeds)
    noise = run.cell(("noise", spec.plan, spec.epsilons), _multipliers, spec, steps=0)
    common = (spec.data, spec.alpha, spec.epsilons, spec.clip, spec.batch)
    cells = [
        run.cell((*common, seed), _measured, spec, noise, seed, run)
        for seed in range(spec.first_seed, spec.first_seed + spec.seeds)
    ]
    return Outcome(
        specifications=(spec,),
        tables=(
            _noise(spec, noise),
            _losses(spec, cells),
            _leakages(spec, cells),
            dp_sgd_verdicts.verdicts(spec.data.on, cells, spec.epsilons),
        ),
    )


def _multipliers(spec: DpSgd) -> dict[str, list[float]]:
    return spec.plan.multipliers(spec.epsilons)


def _measured(spec: DpSgd, noise: Multipliers, seed: int, run: Run) -> Cell:
    records = membership.records_of(spec.data.on, run.folder)
    trial = victims.fitted(spec.data, records, spec.alpha, seed=seed, run=run)
    test = trial.accuracy(members=False)
    cell: dict[str, Any] = {
        "training": trial.accuracy(members=True),
        "test": test,
        "leakage": trial.leakage(),
    }
    cell |= perturbed(trial, victims.network_of(spec.data, records), spec.epsilons, test=test)
    cell |= {name: [] for name in (*ACCOUNTANTS, CLIPPED)}
    for name, probabilities in answers(trial, spec.plan, noise, clip=spec.clip, seed=seed):
        accuracy, leakage = trial.answered(probabilities)
        cell[name].append([1 - accuracy / test, leakage])
    return cell


def _noise(spec: DpSgd, noise: Multipliers) -> Table:
    plan = spec.plan
    rows = [
        (f"{epsilon:g}", *(f"{noise[name][place]:.4g}" for name in ACCOUNTANTS))
        for place, epsilon in enumerate(spec.epsilons)
    ]
    return Table(
        title=f"Lu et al., Figs. 3–13: DP-SGD's noise over the clip for {plan.records:,} records",
        columns=("ε", *ACCOUNTANTS.values()),
        rows=tuple(rows),
        notes=(
            f"δ = 1/(10n) = {upper_text(plan.delta)}; batches of {plan.batch} on average, "
            f"{plan.passes} passes ({plan.passes * plan.batches:,} steps). Neighbours: add-remove; "
            "unit: one record.",
            "RDP: Poisson samples, amplified. zCDP, advanced and naive composition: each record "
            "goes to one batch of a pass, chosen for it alone, so a pass is one release; these "
            "have no amplification. A pass has its least (ε₀, δ₀) for advanced and naive "
            "composition, so there is less noise than by the formulas of Jayaraman and Evans.",
        ),
    )


def _losses(spec: DpSgd, cells: list[Cell]) -> Table:
    data = spec.data
    without = {what: over_repeats(values(cells, what)) for what in ("training", "test", "leakage")}
    clipped = {
        what: over_repeats(series(cells, CLIPPED, 0, place))
        for place, what in enumerate(("loss", "leakage"))
    }
    return Table(
        title=f"Lu et al., Figs. 3–13 on {data.on}: accuracy loss by DP-SGD and by Algorithm 1",
        columns=_COLUMNS,
        rows=_rows(spec, cells, 0),
        notes=(
            "Loss is 1 − accuracy/accuracy without privacy (Eq. 31). Grade of DP-SGD here: none, "
            "figures of a study whose noise is of a seed; the same training with secure noise "
            "would be declared. Algorithm 1, for one answer: grade published (Theorem 6 is false).",
            f"Without privacy: {_listed(without)}. Clipping to {spec.clip:g} without noise:"
            f" {_listed(clipped)}.",
            "Networks m–128–C of Table 4, by Adam at .001 with 0.001‖W‖² after the noise. The "
            f"victim without privacy and its shadows have the convexified loss (α = "
            f"{spec.alpha:g}); a clipped gradient is of one record, whose convexified loss is its "
            f"cross-entropy. {data.members:,} members, {data.shadows} shadows"
            + (f"; {data.passes} passes where the paper has 100." if data.passes < 100 else "."),
            "All victims of a seed have the same first weights; those with one way of sampling "
            "see the same batches and add the same standard normal numbers, times their own "
            "scale.",
            f"Means over {spec.seeds} seeds with Student's 95 % interval; seeds share records.",
        ),
        figures={what: table.Cell.of(one).value for what, one in without.items()},
    )


def _listed(figures: Mapping[str, Measured]) -> str:
    return "; ".join(f"{what} {figure}" for what, figure in figures.items())


def _leakages(spec: DpSgd, cells: list[Cell]) -> Table:
    leakage = over_repeats(values(cells, "leakage"))
    bounds = [
        min(lu.leakage_bound(min(epsilon, 100.0)), leakage.value) for epsilon in spec.epsilons
    ]
    rows = zip(_rows(spec, cells, 1), bounds, strict=True)
    return Table(
        title=f"Lu et al., Figs. 3–13 on {spec.data.on}: leakage by DP-SGD and by Algorithm 1",
        columns=(*_COLUMNS, "bound"),
        rows=tuple((*row, losses.bare(bound, 3)) for row, bound in rows),
        notes=(
            "TPR − FPR of one attack for all (Eq. 32): shadows without privacy, as the paper has "
            f"it. The bound is e^ε − 1, up to the victim's own leakage, {leakage}.",
            "The attack decides at its own threshold. Where a victim is far less sure than the "
            "shadows are, it calls every record an outsider: 0 then says that this attack failed, "
            "not that its scores are in no order, nor what shadows with noise would find.",
        ),
    )


_COLUMNS = (
    "ε",
    *ACCOUNTANTS.values(),
    *(f"Algorithm 1, {noise}" for noise in dp_sgd_verdicts.NOISES),
)


def _rows(spec: DpSgd, cells: list[Cell], what: int) -> tuple[tuple[str, ...], ...]:
    """One for each ε: loss (0) or leakage (1)."""
    return tuple(
        (
            table.Cell(f"{epsilon:g}", epsilon),
            *(
                table.Cell.of(over_repeats(series(cells, name, place, what)))
                for name in (*ACCOUNTANTS, *dp_sgd_verdicts.NOISES)
            ),
        )
        for place, epsilon in enumerate(spec.epsilons)
    )
