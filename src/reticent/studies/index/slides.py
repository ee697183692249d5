"""The index of the lecture on membership inference and differential privacy (slides).

What the lecture explains runs on the page docs/lecture.md; what it prints stands here.
"""

import math
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Final

import numpy as np

from reticent import guarantee
from reticent.mechanisms import ClassicalGaussian, Exponential, Laplace
from reticent.studies.index import entry

_COUNT: Final = guarantee.Sensitivity(
    l1=1.0, relation=guarantee.Relation.ADD_REMOVE, source="a count"
)


def _pure(epsilon: float) -> guarantee.Guarantee:
    return guarantee.Guarantee(epsilon=epsilon, delta=0.0, relation=guarantee.Relation.ADD_REMOVE)


def definition() -> entry.Ours:
    """Laplace noise of ε = 1 on a count: ln of the ratio of densities, far from both counts."""
    noise = Laplace.calibrate(_COUNT, epsilon=1.0, delta=0.0)
    return entry.Figure.exact(abs(float(noise.log_ratio([30.0], [29.0]))))


def sequential() -> entry.Ours:
    """.3 and .7 on one data set."""
    return entry.Figure.exact(guarantee.composed([_pure(0.3), _pure(0.7)]).epsilon)


def parallel() -> entry.Ours:
    """.3 and .7 on disjoint parts."""
    return entry.Figure.exact(guarantee.parallel([_pure(0.3), _pure(0.7)]).epsilon)


def convexity() -> entry.Ours:
    """One of two ε = 1 mechanisms by a coin."""
    return entry.Figure.exact(guarantee.mixture([_pure(1.0), _pure(1.0)]).epsilon)


def post_processing() -> entry.Ours:
    """A function of the answer has its ε."""
    from reticent.accounting import account
    from reticent.guarantee import PostProcessed, PureEvent

    event = PostProcessed(event=PureEvent(epsilon=1.0))
    return entry.Figure.exact(
        account(event, relation=guarantee.Relation.ADD_REMOVE, delta=0.0).epsilon
    )


def scale(epsilon: float) -> entry.Ours:
    """Of Laplace noise on a count."""
    return entry.Figure.exact(Laplace.calibrate(_COUNT, epsilon=epsilon, delta=0.0).scale)


def sensitivities() -> entry.Ours:
    """Median of {0, 0, 0, 1, 1} over [0, 1]: one changed record moves it by 1; of five 0 by 0."""
    from itertools import product

    def local(data: tuple[int, ...]) -> float:
        near = [(*data[:i], bit, *data[i + 1 :]) for i in range(len(data)) for bit in (0, 1)]
        return max(abs(float(np.median(one) - np.median(data))) for one in near)

    everywhere = max(local(data) for data in product((0, 1), repeat=5))
    return entry.Held(everywhere == 1.0 and local((0,) * 5) == 0.0, "median: global 1, local 0")


def gaussian() -> entry.Ours:
    """σ² = 2·S²·ln(1.25/δ)/ε² at S = 1, ε = 1, δ = 1e-5."""
    given = guarantee.Sensitivity(l2=1.0, relation=guarantee.Relation.ADD_REMOVE, source="one")
    return entry.Figure.exact(ClassicalGaussian.calibrate(given, epsilon=1.0, delta=1e-5).std)


def exponential() -> entry.Ours:
    """P(R) ∝ exp(εq/2S) of scores 0 and 2 at ε = 1, S = 1: e/(1 + e)."""
    noise = Exponential.calibrate(guarantee.Sensitivity(linf=1.0), epsilon=1.0, delta=0.0)
    return entry.Figure.exact(float(np.exp(noise.log_probabilities([0.0, 2.0]))[1]))


def laplace_or_gaussian() -> entry.Ours:
    """100 coordinates that each move by .1: the Gaussian's std is below Laplace's."""
    given = guarantee.Sensitivity(
        l1=10.0, l2=1.0, relation=guarantee.Relation.ADD_REMOVE, source="built"
    )
    one = Laplace.calibrate(
        guarantee.Sensitivity(l1=10.0, relation=guarantee.Relation.ADD_REMOVE, source="built"),
        epsilon=1.0,
        delta=0.0,
    ).std
    other = ClassicalGaussian.calibrate(given, epsilon=1.0, delta=1e-5).std
    return entry.Held(other < one, f"std {other:.2f} against {one:.2f}")


def taylor() -> entry.Ours:
    """ln(1 + eᶻ) ≈ ln 2 + z/2 + z²/8, off by at most |z|⁴/192 at |z| = .5."""
    z = np.linspace(-0.5, 0.5, 101)
    error = np.abs(np.logaddexp(0, z) - (math.log(2) + z / 2 + z**2 / 8)).max()
    return entry.Held(bool(error <= 0.5**4 / 192 + 1e-12), f"largest error {error:.1e}")


def there(name: str) -> Callable[[], entry.Ours]:
    """An attack, a recipe or another object of the package; None where the name is gone."""

    def find() -> entry.Ours:
        import importlib

        module, _, wanted = name.rpartition(".")
        is_there = hasattr(importlib.import_module(f"reticent.{module}"), wanted)
        return entry.There(name) if is_there else None

    return find


_exact = partial(entry.exact_entry, source="Differential Privacy", command="slides smokers")


_RUNS: Final = {
    "attack: shadow pipeline": "attacks.ShokriAttack",
    "attack: Algorithm 1 data synthesis": "attacks.synthesis.synthesized",
    "attack: statistics-based data": "attacks.synthesis.from_marginals",
    "attack: noisy real data": "attacks.synthesis.noisy_real",
    "attack: white box (Nasr et al.)": "attacks.GradientAttack",
    "attack: Salem's adversaries 1 and 2": "attacks.SalemAttack",
    "attack: Salem's adversary 3": "attacks.SalemThreshold",
    "attack: few false positives on models that generalise": "attacks.Lira",
    "attack: white box without data": "attacks.DisplacementAttack",
    "attack: discriminator of a generative model": "attacks.DiscriminatorAttack",
    "attack: Homer et al. on released means": "attacks.ReleasedMeansAttack",
    "input-space DP": "protect.recipes.input.InputRecipe",
    "randomised smoothing": "protect.smoothing.SmoothedClassifier",
    "Algorithm 5.1 DP-SGD": "protect.recipes.network.NetworkRecipe",
    "Algorithm 5.2 functional mechanism": "protect.recipes.functional.FunctionalRecipe",
    "challenge: better metrics": "audit.measured_attack",
}
_TABLE: Final = {  # training, test, precision
    "Adult": ("adult", ".848", ".842", ".503"),
    "MNIST": ("mnist", ".984", ".928", ".517"),
    "Location": ("location", "1.000", ".673", ".678"),
}
_STAND_INS: Final = {
    "Purchase-2": ("shoppers2", ".999", ".984", ".505"),
    "Purchase-10": ("shoppers10", ".999", ".866", ".550"),
    "Purchase-20": ("shoppers20", "1.000", ".781", ".590"),
    "Purchase-50": ("shoppers50", "1.000", ".693", ".860"),
    "Purchase-100": ("shoppers100", ".999", ".659", ".935"),
    "Texas": ("hospital100", ".668", ".517", ".657"),
}
_COLUMNS: Final = ("training accuracy", "test accuracy", "attack precision")


def _row(data: str, place: int, values: tuple[str, ...], stand_in: bool) -> entry.Entry:
    on, *printed = values
    return entry.Entry(
        item=f"result table, {data}{' (stand-in)' if stand_in else ''}: {_COLUMNS[place]}",
        source="How well can MIA perform?",
        published=printed[place],
        ours=entry.figure_at(f"slides-table-{on}", 0, "ours", figure=_COLUMNS[place]),
        command=f"slides table --on {on} --data DIR",
        tolerance=0.02,
    )


@entry.read_from("learners-cifar10")
def fine_tuned(document: entry.Document) -> entry.Ours:
    """A proven head on public features at ε = 1, against 69 % from scratch at ε = 3."""
    best = max(entry.number(row["after"]) for row in entry.rows_of(document) if row["ε"] == "1")
    return entry.Held(
        best > 0.69, f"{best:.4f} at ε = 1 on public features, .69 at ε = 3 from scratch"
    )


def metrics() -> entry.Ours:
    """The five metric attacks by name."""
    from reticent.attacks.registry import ATTACKS

    named = ("gap", "loss", "confidence", "entropy", "modified-entropy")
    return entry.There(", ".join(named)) if all(name in ATTACKS for name in named) else None


def detector() -> entry.Ours:
    """What watches the questions that a service is asked."""
    module_spec = find_spec("reticent.service.detector")
    return None if module_spec is None else entry.There("service.detector")


ENTRIES: Final = (
    _exact("definition of (ε, δ)-DP", "1", definition, source="Definition 5.1", tolerance=1e-9),
    _exact("sequential composition", "1", sequential, source="Property 5.1", tolerance=1e-9),
    _exact("parallel composition", "0.7", parallel, source="Property 5.2", tolerance=1e-9),
    _exact("post-processing", "1", post_processing, source="Property 5.3", tolerance=1e-9),
    _exact("convexity", "1", convexity, source="Property 5.4", tolerance=1e-9),
    _exact(
        "global and local sensitivity",
        "max over all D, or at one D",
        sensitivities,
        source="Definitions 5.2 and 5.3",
    ),
    _exact("Laplace mechanism", "1", lambda: scale(1.0), source="Noise Models", tolerance=1e-9),
    _exact(
        "Gaussian mechanism",
        f"{math.sqrt(2 * math.log(1.25e5)):.4f}",
        gaussian,
        source="Noise Models",
        tolerance=1e-4,
    ),
    _exact(
        "exponential mechanism",
        f"{math.e / (1 + math.e):.4f}",
        exponential,
        source="Noise Models",
        tolerance=1e-4,
    ),
    _exact("bit sum", "1", lambda: scale(1.0), source="The Laplace Mechanism", tolerance=1e-9),
    *(
        _exact(
            f"smokers at ε = {epsilon:g}",
            f"{1 / epsilon:g}",
            lambda epsilon=epsilon: scale(epsilon),  # type: ignore[misc]
            source="Example: Counting queries",
            tolerance=1e-9,
        )
        for epsilon in (1.0, 0.1)
    ),
    _exact(
        "Gaussian often adds less noise than Laplace",
        "L2 below L1",
        laplace_or_gaussian,
        source="Laplace vs. Gaussian",
    ),
    _exact("Taylor expansion of cross-entropy", "order 2", taylor, source="Output-space DP"),
    *(
        _exact(
            item,
            "explained",
            there(name),
            source="Membership Inference Attack" if "attack" in item else "DP + Deep Learning",
        )
        for item, name in _RUNS.items()
    ),
    _exact("attack: five metrics", "5", metrics, source="Metric-guided MIA"),
    _exact(
        "challenge: detecting attacks on the fly",
        "open",
        detector,
        source="Remaining Challenges",
    ),
    *(_row(data, place, values, False) for data, values in _TABLE.items() for place in range(3)),
    *(_row(data, place, values, True) for data, values in _STAND_INS.items() for place in range(3)),
    entry.Entry(
        item="result table, Purchase and Texas themselves",
        source="How well can MIA perform?",
        published="6 rows",
        ours=entry.missing(
            "the shoppers of Purchase and Texas stays; stand-ins are rows of their own"
        ),
        command="slides table --on shoppers20 --data DIR",
    ),
    *(
        entry.Entry(
            item=f"DP-SGD on {data} at ε = {epsilon}",
            source="DP-SGD performance, Tramèr and Boneh",
            published=published,
            ours=entry.figure_at(f"scattering-{on}", 0, "accuracy", epsilon=epsilon),
            command=f"beyond scattering --on {on} --data DIR",
            tolerance=0.01,
        )
        for data, on, epsilon, published in (
            ("MNIST", "mnist", "1", "0.98"),
            ("MNIST", "mnist", "3", "0.99"),
            ("CIFAR-10", "cifar10", "3", "0.69"),
        )
    ),
    *(
        entry.Entry(
            item=f"DP-SGD on CIFAR-10 at ε = {epsilon}",
            source=f"DP-SGD performance, {who}",
            published=published,
            ours=entry.figure_at("scattering-cifar10", 0, "accuracy", epsilon=epsilon),
            command="beyond scattering --on cifar10 --data DIR",
            tolerance=0.01,
        )
        for epsilon, published, who in (
            ("4", "0.735", "De et al., Klause et al."),
            ("8", "0.825", "De et al."),
        )
    ),
    entry.Entry(
        item="DP-SGD on ImageNet at ε = 8",
        source="DP-SGD performance, De et al.",
        published="0.324 (0.87 without)",
        ours=entry.missing("ImageNet"),
        command="",
    ),
    entry.Entry(
        item="public pre-training and DP fine-tuning",
        source="More Practical Solution?",
        published="better than DP-SGD from scratch",
        ours=fine_tuned,
        command="beyond learners --on cifar10 --data DIR",
    ),
    entry.Entry(
        item="challenge: attacks on large pre-trained models",
        source="Remaining Challenges",
        published="open",
        ours=entry.Reader("fine-tuning-trec", lambda _: entry.Held(True, "heads on them")),
        command="beyond fine-tuning --on trec --data DIR",
    ),
)
