"""The index of ALM (Yang, Gohari and Topcu 2022, additive logistic mechanism).

Published values stand here, and nowhere else; places are those of the paper.
"""

import math
from typing import Final

import numpy as np

from reticent.guarantee import Grade, Sensitivity
from reticent.mechanisms import ClassicalGaussian, Gaussian, Laplace, Logistic
from reticent.studies.alm_table1 import DELTA, EPSILON, TABLE_1
from reticent.studies.index.alm_trained import TRAINED
from reticent.studies.index.entry import Counted, Figure, Held, Ours, exact_entry

_STDS: Final = {  # Laplace, logistic, classical Gaussian, analytic Gaussian
    "CIFAR-10": (0.0247, 0.0317, 0.0671, 0.0516),
    "CIFAR-100": (0.0293, 0.0376, 0.0794, 0.0611),
    "STL-10": (0.0187, 0.0240, 0.0526, 0.0405),
}
_KINDS: Final = (Laplace, Logistic, ClassicalGaussian, Gaussian)
_ONE: Final = Sensitivity(l1=1.0, grade=Grade.DECLARED, source="one")


def density() -> Ours:
    """The largest difference between Eq. 3 and our log density, at scale .7."""
    scale, x = 0.7, np.linspace(-20, 20, 801)
    wanted = np.exp(-x / scale) / (scale * (1 + np.exp(-x / scale)) ** 2)
    noise = Logistic(scale=scale, sensitivity=_ONE)
    densities = np.array([math.exp(float(noise.log_density(np.array([one])))) for one in x])
    return Figure.exact(float(np.abs(densities - wanted).max()))


def worst_ratio(dimension: int) -> Ours:
    """sup log p(x)/p(x − Δ) of logistic noise with L1 sensitivity 1 at s = .5: Δ/s = 2."""
    scale = 0.5
    far = np.full(dimension, -40.0)
    shift = np.full(dimension, 1 / dimension)
    noise = Logistic(scale=scale, sensitivity=_ONE)
    return Figure.exact(abs(float(noise.log_ratio(far, far - shift))))


def budget() -> Ours:
    """ε of the scale that Proposition 4.1 gives CIFAR-10's L1 sensitivity at ε = 1."""
    l1 = TABLE_1["CIFAR-10"][0]
    sensitivity = Sensitivity(l1=l1, grade=Grade.PUBLISHED, source="Table 1")
    return Figure.exact(Logistic(scale=l1, sensitivity=sensitivity).epsilon(delta=0.0))


def stds(data: str, kinds: tuple[int, ...]) -> Ours:
    """How many of the deviations at ε = 1 are the published ones to four decimals."""
    l1, l2, _ = TABLE_1[data]
    only = Sensitivity(l1=l1, grade=Grade.PUBLISHED, source="Algorithm 2, Table 1")
    both = Sensitivity(l1=l1, l2=l2, grade=Grade.PUBLISHED, source="Algorithm 2, Table 1")
    agreements = []
    for kind in kinds:
        pure = kind < 2
        noise = _KINDS[kind].calibrate(
            only if pure else both, epsilon=EPSILON, delta=0.0 if pure else DELTA
        )
        agreements.append(f"{noise.std:.4f}" == f"{_STDS[data][kind]:.4f}")
    return Counted(sum(agreements), len(agreements))


def utility() -> Ours:
    """1 − M(ỹ)/M(y) of 90 right answers of 100, and 72 with noise: .2."""
    from reticent.studies.losses import Claim, loss_row

    truth = np.repeat(["a", "b"], 50)
    before, after = truth.copy(), truth.copy()
    before[:10], after[:28] = "c", "c"
    nothing = Claim(grade="declared", mechanism="–", epsilon=1.0, delta=0.0)
    return Figure.exact(loss_row(nothing, [after], unprotected=before, truth=truth).loss)


def remark(kind: int) -> Ours:
    """The deviation of Remark 4.2 from CIFAR-10's sensitivities, at ε = 1."""
    l1, l2, _ = TABLE_1["CIFAR-10"]
    given = Sensitivity(l1=l1, l2=l2, grade=Grade.PUBLISHED, source="Table 1")
    delta = 0.0 if kind < 2 else DELTA
    return Figure.exact(_KINDS[kind].calibrate(given, epsilon=EPSILON, delta=delta).std)


def query_handler() -> Ours:
    """Algorithm 1: noise goes onto the weights once, and each answer is theirs, without more.

    A head of 200 built records, released with logistic noise at ε = 1.
    """
    from reticent.guarantee import Relation
    from reticent.protect import release_weights
    from reticent.studies.alm_fig1 import mapped
    from reticent.training import SoftmaxHead

    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(200, 5)), np.arange(200) % 3
    head = SoftmaxHead(penalty=0.1, bound=1.0, classes=range(3), records=200).fit(rows, labels)
    released = release_weights(
        head, epsilon=1.0, delta=0.0, relation=Relation.ADD_REMOVE, mechanism="logistic"
    )
    layer, queries = released.recipe.layer(released.tensors), rng.normal(size=(50, 5))
    assert layer is not None  # a released head is one
    answers = (mapped(head, queries) @ layer.weights.T).argmax(axis=1)
    same = all(np.array_equal(released.predict(queries), answers) for _ in range(2))
    noisy = bool((layer.weights != head.weights_).all())
    return Held(same and noisy, "50 answers of one release, asked twice, are those of its weights")


def unseen() -> Ours:
    """An outlier among 10,000 records is in none of 500 pairs with this probability."""
    chance = (1 - 2 / 10_000) ** TABLE_1["CIFAR-10"][2]
    return Held(chance < 0.5, f"one record of 10,000 is in no pair with probability {chance:.2f}")


def accountable() -> Ours:
    """One plan of DP-SGD with logistic noise has an ε."""
    from reticent.studies.dp_sgd import Plan

    noise = Plan().noise("logistic")
    return Held(math.isfinite(noise), f"noise of {noise:.3f} times the clip for ε = 3")


ENTRIES: Final = (
    exact_entry(
        "Eq. 3 pdf and sampler", "0", density, source="Eq. 3", command="alm", tolerance=1e-12
    ),
    *(
        exact_entry(
            name,
            "2",
            lambda dimension=dimension: worst_ratio(dimension),  # type: ignore[misc]
            source=f"{name}, Section 4.1",
            command="alm",
            tolerance=1e-6,
        )
        for name, dimension in (("Theorem 4.1", 1), ("Remark 4.1", 5))
    ),
    exact_entry(
        "Proposition 4.1",
        "1",
        budget,
        source="Proposition 4.1, Section 4.3",
        command="alm",
        tolerance=1e-6,
    ),
    *(
        exact_entry(
            f"Remark 4.2, {name}",
            f"{_STDS['CIFAR-10'][kind]}",
            lambda kind=kind: remark(kind),  # type: ignore[misc]
            source="Remark 4.2, Section 4.2",
            command="alm noise",
            tolerance=5e-5,
        )
        for name, kind in (("Laplace", 0), ("classical Gaussian", 2))
    ),
    exact_entry(
        "Definition 6.1 utility loss",
        "0.2",
        utility,
        source="Definition 6.1, Section 6",
        command="alm",
        tolerance=1e-9,
    ),
    *(
        exact_entry(
            f"noise std at ε = 1, {data}",
            " / ".join(f"{value:.4f}" for value in values[:3]),
            lambda data=data: stds(data, (0, 1, 2)),  # type: ignore[misc]
            source="Table 1 with Proposition 4.1 and Remark 4.2",
            command="alm noise",
        )
        for data, values in _STDS.items()
    ),
    *(
        exact_entry(
            f"analytic Gaussian std, {data}",
            f"{values[3]:.4f}",
            lambda data=data: stds(data, (3,)),  # type: ignore[misc]
            source="Table 1 with Balle and Wang 2018",
            command="alm noise",
        )
        for data, values in _STDS.items()
    ),
    exact_entry(
        "Algorithm 2 sensitivity sampler",
        "the largest change bounds the sensitivity",
        unseen,
        source="Algorithm 2, Section 5",
        command="refutations algorithm-2",
        theorem=True,
    ),
    exact_entry(
        "Algorithm 1 query handler",
        "an answer from noisy weights",
        query_handler,
        source="Algorithm 1, Section 5",
        command="alm",
    ),
    *TRAINED,
    exact_entry(
        "future work: an accountant for logistic noise in DP-SGD",
        "open",
        accountable,
        source="Section 7",
        command="beyond logistic-noise",
    ),
)
