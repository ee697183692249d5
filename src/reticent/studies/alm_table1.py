"""ALM (Yang et al.), Table 1: sensitivities of Algorithm 2, the noise for them, and ours beside."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reticent.guarantee import Grade, Relation, Sensitivity, rounding
from reticent.mechanisms import ClassicalGaussian, Gaussian, Laplace, Logistic
from reticent.neighbours import gamma_of, pairs_for
from reticent.results.table import Cell
from reticent.studies.trained import Outcome, Run, Table

if TYPE_CHECKING:  # exact items need neither scikit-learn nor numba
    from reticent.studies.tasks import Task


@dataclass(frozen=True, kw_only=True)
class Table1:
    """The paper's |d| and m; the rest of its head is not given there."""

    on: str = "cifar10"
    records: int = 10_000
    pairs: int = 500
    penalties: tuple[float, ...] = (1e-2, 1e-3)
    intercept: float = 0.1
    published: tuple[str, str] = (".017492", ".013842")
    seed: int = 0


SPECS: Mapping[str, Table1] = {
    "cifar10": Table1(),
    "digits": Table1(on="digits", records=1_400, pairs=100),
    "cifar10-simclr": Table1(on="cifar10-simclr"),
    "cifar100": Table1(on="cifar100", published=(".020738", ".016391")),
    "stl10": Table1(on="stl10", records=5_000, pairs=250, published=(".013242", ".010856")),
}


def study(spec: Table1, run: Run) -> Outcome:
    """Table 1: the sensitivity that Algorithm 2 finds, beside the paper's.

    One row for each penalty: the sensitivity is, above all, a matter of that.
    """
    from reticent.studies.alm_encoder import epochs_before, train_encoder
    from reticent.studies.tasks import task

    run.steps.plan(epochs_before(spec.on) + len(spec.penalties))
    train_encoder(spec.on, run)
    data = task(spec.on, records=spec.records, seed=spec.seed, folder=run.folder)
    rows = []
    for penalty in spec.penalties:
        cell = run.cell((spec, penalty), _measured, spec, data, penalty)
        figures = (Cell(f"{cell[key]:.6f}", cell[key]) for key in ("l1", "l2", "ratio"))
        rows.append((f"{penalty:g}", *figures))
    l1, l2 = map(float, spec.published)
    return Outcome(
        specifications=(spec,),
        tables=(
            Table(
                title=f"ALM Table 1 on {spec.on}: Algorithm 2, {spec.pairs} pairs",
                columns=("penalty", "L1", "L2", "L1/L2"),
                rows=(*rows, ("published", *spec.published, f"{l1 / l2:.6f}")),
                notes=(
                    "Graded published: the largest change over pairs d∖i, d∖j of one data set is "
                    "no bound. Exact leave-one-out heads; norms of the weights, as in the paper.",
                    "The paper's ratio of L1 to L2 is that of a change on about 1.6 coordinates of "
                    "more than a thousand: not to be expected of a dense head.",
                ),
            ),
        ),
    )


def _measured(spec: Table1, data: "Task", penalty: float) -> dict[str, Any]:
    from reticent.neighbours import published_head_sensitivity
    from reticent.protect import ReleaseRequest
    from reticent.studies.alm_fig1 import unprotected_head

    request = ReleaseRequest.of(
        epsilon=1.0,
        delta=1e-5,
        relation=Relation.REPLACE_ONE,
        records=spec.records,
        bound=1.0,
        norms="scale",
        intercept=spec.intercept,
        mean_bound=1.0,
    )
    head = unprotected_head(data, request.with_options(penalty=penalty))
    sensitivity = published_head_sensitivity(
        head, data.rows, data.labels, pairs=spec.pairs, seed=spec.seed, measured="weights"
    )
    l1, l2 = sensitivity.require_l1("table 1"), sensitivity.require_l2("table 1")
    return {"l1": l1, "l2": l2, "ratio": l1 / l2}


TABLE_1 = {  # data set: (L1, L2, pairs drawn)
    "CIFAR-10": (0.017492, 0.013842, 500),
    "CIFAR-100": (0.020738, 0.016391, 500),
    "STL-10": (0.013242, 0.010856, 250),
}
EPSILON, DELTA = 1.0, 1e-5


def noise() -> Table:
    """Noise std at ε = 1 from the sensitivities of Table 1."""
    rows = []
    for data, (l1, l2, _) in TABLE_1.items():
        sensitivity = Sensitivity(
            l1=l1, l2=l2, grade=Grade.PUBLISHED, source="Algorithm 2, Table 1"
        )
        only_l1 = Sensitivity(l1=l1, grade=Grade.PUBLISHED, source="Algorithm 2, Table 1")
        stds = (
            Laplace.calibrate(only_l1, epsilon=EPSILON, delta=0.0).std,
            Logistic.calibrate(only_l1, epsilon=EPSILON, delta=0.0).std,
            Gaussian.calibrate(sensitivity, epsilon=EPSILON, delta=DELTA).std,
            ClassicalGaussian.calibrate(sensitivity, epsilon=EPSILON, delta=DELTA).std,
        )
        rows.append((data, str(l1), str(l2), *(f"{std:.4f}" for std in stds)))
    return Table(
        title=f"ALM Table 1: noise std at ε = {EPSILON}",
        columns=("data", "L1", "L2", "laplace", "logistic", "gaussian", "classical gaussian"),
        rows=tuple(rows),
        notes=(
            f"Laplace and logistic at δ = 0, Gaussians at δ = {DELTA}; every row is graded "
            "published, because its sensitivity comes from Algorithm 2, which is not a bound.",
        ),
    )


def sampler() -> Table:
    """What the m pairs of Table 1 would give in the sampler of Rubinstein and Aldà."""
    rows = [
        (data, str(pairs), rounding.upper_text(gamma_of(pairs).gamma, 3))
        for data, (_, _, pairs) in TABLE_1.items()
    ]
    rows += [(f"γ = {gamma}", str(pairs_for(gamma).pairs), str(gamma)) for gamma in (0.1, 0.01)]
    return Table(
        title="Pairs drawn by the sensitivity sampler and the γ they give",
        columns=("data", "pairs", "γ"),
        rows=tuple(rows),
        notes=(
            "Only for i.i.d. pairs from the data distribution; Algorithm 2 draws them from one "
            "data set, so its own value stays published.",
        ),
    )
