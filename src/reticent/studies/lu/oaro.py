"""Lu et al., Definition 3 and Corollary 3: on-average-remove-one stability, measured by refits."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from reticent.audit import Measured, metrics
from reticent.bounds.published import lu
from reticent.data import load, split
from reticent.mechanisms.profiles import gaussian
from reticent.neighbours.stability import RemovedOnes, removed_from_head, removed_from_network
from reticent.protect.published.single_neuron import Noise, SingleNeuron
from reticent.randomness import seeded
from reticent.results.table import VERDICTS, Cell, Judged
from reticent.studies.losses import bare
from reticent.studies.lu.tables import HIDDEN, PENALTY
from reticent.studies.trained import Outcome, Run, Table, numbered
from reticent.training import MLPHead, SoftmaxHead

CLEAN = "none"
BOUND = "“OARO ≤ 2ρ²/(λn)”"
COROLLARY_3 = "Corollary 3, “noise makes a model more OARO-stable”"


@dataclass(frozen=True, kw_only=True)
class Stability:
    """Heads and networks on digits; each seed draws its records anew."""

    on: str = "digits"
    records: int = 500
    network_records: int = 200
    penalties: tuple[float, ...] = (PENALTY, 0.01, 0.1)
    """λ of the linear heads; the objective has 2λ‖W‖², as in Eq. 23."""
    alphas: tuple[float | None, ...] = (None, 1.0, 5.0)
    """Of the networks; None for the averaged loss."""
    epsilons: tuple[float, ...] = (0.1, 1.0, 10.0)
    passes: int = 100
    draws: int = 100
    seeds: int = 5


SPECS: Mapping[str, Stability] = {"digits": Stability()}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model whose records are left out one by one."""

    name: str
    penalty: float
    """λ."""
    alpha: float | None
    linear: bool
    records: int

    def widths(self, features: int) -> tuple[int, ...]:
        """Of the layers before the output."""
        return (features,) if self.linear else (features, HIDDEN)


def study(spec: Stability, run: Run) -> Outcome:
    """Definition 3 and Corollary 3: stability measured by leaving records out, with noise too.

    One table: each model without noise and with each noise.
    """
    cases = _cases(spec)
    run.steps.plan(len(cases) * spec.seeds)
    seeds = range(spec.seeds)
    measured = [
        (case, [run.cell((spec, case, seed), _measured, spec, case, seed) for seed in seeds])
        for case in cases
    ]
    return Outcome(specifications=(spec,), tables=(_table(spec, measured),))


def _cases(spec: Stability) -> list[Case]:
    heads = [
        Case(
            name=f"linear head, λ = {penalty:g}",
            penalty=penalty,
            alpha=None,
            linear=True,
            records=spec.records,
        )
        for penalty in spec.penalties
    ]
    return heads + [
        Case(
            name="network" if alpha is None else f"network, α = {alpha:g}",
            penalty=PENALTY,
            alpha=alpha,
            linear=False,
            records=spec.network_records,
        )
        for alpha in spec.alphas
    ]


def _measured(spec: Stability, case: Case, seed: int) -> dict[str, Any]:
    """Of each noise: the mean rise of a record's loss, and the same as Eq. 29 takes it."""
    data = load(spec.on)
    chosen = split(data, sizes={"records": case.records}, seed=seed)["records"]
    rows, labels = data.features[chosen].astype(np.float64), np.asarray(data.labels)[chosen]
    removed = _removed(spec, case, rows, labels, seed)
    rises = {CLEAN: [float(removed.rises.mean())] * 2}
    features, classes = rows.shape[1], removed.full.shape[1]
    if case.linear:
        for epsilon in spec.epsilons:
            rises[_weights(epsilon)] = _noisy_weights(spec, case, removed, features, epsilon, seed)
    for noise in _NOISES:
        for epsilon in spec.epsilons:
            mechanism = SingleNeuron(
                classes=classes,
                budget=epsilon,
                neuron=_published_change(case, features, classes),
                noise=noise,
            )
            rises[_answers(noise, epsilon)] = _noisy_answers(mechanism, removed)
    rho = lu.lipschitz_constant(classes, case.widths(features))
    return {
        "rises": rises,
        "published": lu.average_stability(rho, case.penalty, case.records),
        "valid": _valid(case, features) if case.linear else None,
        "moved": float(removed.distances.max()),
    }


def _removed(spec: Stability, case: Case, rows: Any, labels: Any, seed: int) -> RemovedOnes:
    classes = list(range(10))
    if case.linear:
        head = SoftmaxHead(
            penalty=4 * case.penalty, bound=math.sqrt(rows.shape[1]), classes=classes, intercept=0.0
        )
        return removed_from_head(head, rows, labels)
    batches = -(-case.records // 100)
    network = MLPHead(
        layers=2,
        width=HIDDEN,
        activation="tanh",
        penalty=4 * case.penalty,
        learning_rate=1e-3,
        batch=100,
        steps=spec.passes * batches,
        seed=seed,
        classes=classes,
        risk=case.alpha,
    )
    return removed_from_network(network, rows, labels)


def _valid(case: Case, features: int) -> float:
    """2ρ²/(4λn) with ρ = √2·R: what Theorem 4 gives for pixels in [0, 1], so R = √64."""
    return lu.average_stability(math.sqrt(2 * features), 4 * case.penalty, case.records)


def _noisy_weights(
    spec: Stability, case: Case, removed: RemovedOnes, features: int, epsilon: float, seed: int
) -> list[float]:
    """Gaussian noise for a proven (ε, 1/(10n)): √2R/(4λn) in L2, add-remove with N = n public."""
    sensitivity = math.sqrt(2 * features) / (4 * case.penalty * case.records)
    std = sensitivity / gaussian.shift(epsilon, 1 / (10 * case.records))
    rng = seeded("noise of a stability", case.name, repr(epsilon), seed)
    return [
        float(part.mean()) for part in removed.under_gaussian_noise(std, draws=spec.draws, rng=rng)
    ]


def _noisy_answers(mechanism: SingleNeuron, removed: RemovedOnes) -> list[float]:
    """Algorithm 1 on both sides, and on the full model's side alone; by its law, undrawn."""
    noisy, without = (
        mechanism.expected_loss(logits, removed.labels).mean()
        for logits in (removed.full, removed.without)
    )
    clean = removed.rises.mean() + _mean_loss(removed)
    return [float(without - noisy), float(clean - noisy)]


def _mean_loss(removed: RemovedOnes) -> float:
    own = removed.full[np.arange(len(removed.full)), removed.labels]
    return float((np.logaddexp.reduce(removed.full, axis=1) - own).mean())


def _published_change(case: Case, features: int, classes: int) -> float:
    """Δz by Eqs. 15, 18, 19 and 21."""
    widths = case.widths(features)
    rho = lu.lipschitz_constant(classes, widths)
    weights = sum(
        first * second for first, second in zip(widths, (*widths[1:], classes), strict=True)
    )
    shift = lu.weights_change(rho, case.penalty, case.records)
    return lu.neuron_change(lu.weight_change(shift, weights), widths[-1])


_NOISES: tuple[Noise, ...] = ("laplace", "gaussian")


def _weights(epsilon: float) -> str:
    return f"weights, gaussian, ε = {epsilon:g}"


def _answers(noise: str, epsilon: float) -> str:
    return f"Algorithm 1, {noise}, ε = {epsilon:g}"


def _table(spec: Stability, measured: Sequence[tuple[Case, list[dict[str, Any]]]]) -> Table:
    rows = [row for case, cells in measured for row in _rows(case, cells)]
    return Table(
        title=f"Lu et al., Definition 3 measured on {spec.on}: OARO with and without noise",
        columns=("model", "noise", "OARO", "change", "as in Eq. 29", "2ρ²/(λn)", "valid"),
        rows=tuple(rows),
        notes=(
            "OARO is the mean of l(W without i, x_i) − l(W, x_i) over all records i, each left out "
            "once: exact optima of the averaged loss for linear heads "
            f"({spec.records} records), trained networks 64–{HIDDEN}–10 with one seed and order "
            f"({spec.network_records} records, {spec.passes} passes). The objective has 2λ‖W‖². "
            f"Means over {spec.seeds} draws of the records with Student's 95 % interval.",
            "Noise: on weights, for a proven (ε, 1/(10n)), or Algorithm 1 with the paper's Δz, "
            "graded published. OARO under noise has noise on both models (Definition 3 of what is "
            "released); change is that minus OARO without noise, pair by pair. Eq. 29 has noise on "
            "the model with the record alone.",
            "2ρ²/(λn) is Theorem 4 with the paper's ρ (Eq. 21); valid is 2ρ²/(4λn) with ρ = √2·R "
            "and R = 8, which covers linear heads alone.",
            *_verdicts(spec, measured),
        ),
    )


def _rows(case: Case, cells: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    return [
        (
            case.name,
            noise,
            Cell.of(metrics.over_repeats([cell["rises"][noise][0] for cell in cells])),
            "–" if noise == CLEAN else _shown(_changes(cells, noise)),
            "–" if noise == CLEAN else bare(_mean([c["rises"][noise][1] for c in cells]), 3),
            bare(cells[0]["published"], 4),
            "–" if cells[0]["valid"] is None else f"{cells[0]['valid']:.4g}",
        )
        for noise in cells[0]["rises"]
    ]


def _shown(values: Sequence[float]) -> Cell:
    """With signs and four digits."""
    mean = metrics.over_repeats(values)
    return Cell.of(mean, f"{mean.value:+.4f} [{mean.low:+.4f}, {mean.high:+.4f}]")


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _changes(cells: list[dict[str, Any]], noise: str) -> list[float]:
    return [cell["rises"][noise][0] - cell["rises"][CLEAN][0] for cell in cells]


def _verdicts(
    spec: Stability, measured: Sequence[tuple[Case, list[dict[str, Any]]]]
) -> list[Judged]:
    """Theorem 4 with the paper's ρ, and Corollary 3, noise by noise."""
    above = [
        f"{case.name} ({_times(cells):.1f} times)" for case, cells in measured if _times(cells) > 1
    ]
    why = VERDICTS[not above]
    if above:
        why += f", measured above it: {', '.join(above)}"
    note = f"{BOUND} with the paper's ρ: {why}."
    verdicts = [Judged(note, claim=BOUND, holds=not above, why=why)]
    for kind, named in _KINDS.items():
        names = [named(epsilon) for epsilon in spec.epsilons]
        rises = [
            metrics.over_repeats(_changes(cells, name))
            for _, cells in measured
            for name in names
            if name in cells[0]["rises"]
        ]
        by = f"{kind} (ε = {numbered(spec.epsilons)})"
        holds, why = _corollary_3(rises)
        note = f"{COROLLARY_3}, {by}: {why}."
        verdicts.append(Judged(note, claim=COROLLARY_3, by=by, holds=holds, why=why))
    return verdicts


_KINDS: Mapping[str, Callable[[float], str]] = {
    "noise on weights": _weights,
    "Algorithm 1 with Laplace noise": partial(_answers, "laplace"),
    "Algorithm 1 with Gaussian noise": partial(_answers, "gaussian"),
}


def _times(cells: list[dict[str, Any]]) -> float:
    return _mean([cell["rises"][CLEAN][0] for cell in cells]) / float(cells[0]["published"])


def _corollary_3(changes: Sequence[Measured]) -> tuple[bool, str]:
    """Whether OARO falls in every case, and in words how many get better and worse by how much."""
    better = [change for change in changes if change.high < 0]
    worse = [change for change in changes if change.low > 0]
    holds = len(better) == len(changes)
    verdict = f"{VERDICTS[holds]}; of {len(changes)} cases {len(worse)} get worse"
    if worse:
        verdict += f" (by up to {max(change.value for change in worse):.2g})"
    verdict += f" and {len(better)} better"
    if better:
        verdict += f" (by up to {-min(change.value for change in better):.2g})"
    return holds, verdict
