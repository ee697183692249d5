"""The additive logistic mechanism for self-supervised learning (Yang et al.)."""

from reticent.guarantee import Grade, Sensitivity
from reticent.guarantee.rounding import upper_text
from reticent.mechanisms import ClassicalGaussian, Gaussian, Laplace, Logistic
from reticent.neighbours import gamma_of, pairs_for
from reticent.results.table import Table
from reticent.studies.trained import Outcome, Run, Trained

TABLE_1 = {  # data set: (L1, L2, pairs drawn)
    "CIFAR-10": (0.017492, 0.013842, 500),
    "CIFAR-100": (0.020738, 0.016391, 500),
    "STL-10": (0.013242, 0.010856, 250),
}
SOURCE = "Algorithm 2 of the paper, Table 1"
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
        (data, str(pairs), upper_text(gamma_of(pairs).gamma, 3))
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


def fig1(on: str, run: Run) -> Outcome:
    """Fig. 1: ε against utility loss, proven and as published."""
    from reticent.studies import alm_fig1

    return alm_fig1.study(alm_fig1.SPECS[on], run)


def mnist(on: str, run: Run) -> Outcome:
    """A head on MNIST pixels at ε = 1, every mechanism proven."""
    from reticent.studies import alm_mnist

    return alm_mnist.study(alm_mnist.SPECS[on], run)


def table1(on: str, run: Run) -> Outcome:
    """Table 1: the sensitivity that Algorithm 2 finds, beside the paper's."""
    from reticent.studies import alm_table1

    return alm_table1.study(alm_table1.SPECS[on], run)


def layers(on: str, run: Run) -> Outcome:
    """The stated limitation: utility loss by the number of protected layers."""
    from reticent.studies import alm_layers

    return alm_layers.study(alm_layers.SPECS[on], run)


def attack(on: str, run: Run) -> Outcome:
    """The paper's membership inference attack on an unprotected head, and LiRA."""
    from reticent.studies import alm_attack

    return alm_attack.study(alm_attack.SPECS[on], run)


ITEMS = {"noise": noise, "sampler": sampler}
TRAINED = {
    "fig1": Trained(run=fig1, on=("digits", "cifar10"), in_folder=frozenset({"cifar10"})),
    "mnist": Trained(run=mnist, on=("mnist", "mnist5k"), in_folder=frozenset({"mnist"})),
    "table1": Trained(run=table1, on=("cifar10", "digits"), in_folder=frozenset({"cifar10"})),
    "layers": Trained(run=layers, on=("digits", "mnist5k")),
    "attack": Trained(run=attack, on=("mnist5k", "digits")),
}
