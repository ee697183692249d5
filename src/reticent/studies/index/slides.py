"""The index of the lecture on membership inference and differential privacy (slides).

What the lecture explains runs on the page docs/lecture.md, and is carried out by
``lecture_attacks`` and ``lecture_places``; what it prints stands here.
"""

import math
from functools import partial
from typing import Final

import numpy as np

from reticent import guarantee
from reticent.mechanisms import ClassicalGaussian, Exponential, Laplace
from reticent.studies.index import entry, lecture_attacks, lecture_places

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


_exact = partial(entry.exact_entry, source="Differential Privacy", command="slides smokers")


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


_HEADS: Final = "learners-cifar10"
_SCRATCH: Final = "scattering-cifar10"


def on_public_features(files: entry.Files) -> entry.Ours:
    """Heads on public features against DP-SGD without public data, on CIFAR-10 at equal ε."""
    heads, scratch = files(_HEADS), files(_SCRATCH)
    if heads is None or scratch is None:
        return None
    held, words = [], []
    for row in entry.rows_of(scratch):
        own = entry.cells(heads, 0, mechanism="noisy-gradient", epsilon=row["ε"])
        if own is not None:
            least = entry.number(own["before"]) * (1 - entry.number(own["high"]))
            held.append(least > entry.number(row["high"]))
            words.append(f"{own['after']} against {row['accuracy']} at ε = {row['ε']}")
    return entry.Held(bool(held) and all(held), "; ".join(words))


@entry.read_from("fine-tuning-trec")
def tuned(document: entry.Document) -> entry.Ours:
    """Whether a network that is tuned with DP-SGD is as good as a private head, at every ε."""
    rows = [row for row in entry.table_of(document).rows if row[0] == "proven" and row[6] != "–"]
    words = "; ".join(f"gain {row[6]} [{row[7]}, {row[8]}] at ε = {row[2]}" for row in rows)
    return entry.Held(bool(rows) and all(entry.number(row[8]) >= 0 for row in rows), words)


@entry.read_from("texts-trec")
def pretrained(document: entry.Document) -> entry.Ours:
    """Whether heads on a pre-trained network's vectors give their members away, in every draw."""
    before = [entry.Figure.of(row["AUC before"]) for row in entry.rows_of(document)]
    found = sum(one.low > 0.5 for one in before)
    values = ", ".join(f"{one.value:.3f}" for one in before)
    return entry.Held(found == len(before) > 0, f"AUC {values}")


ALARMED: Final = 0.9
"""The share of streams of one kind that a detector must find."""


@entry.read_from("../benchmarks/results/detector")
def detected(document: entry.Document) -> entry.Ours:
    """Of how many kinds of attacking streams nine in ten are found."""
    rows = [dict(zip(document["columns"], row, strict=True)) for row in document["rows"]]
    kinds = [row for row in rows if row["AUC"] != ""]
    found = sum(row["alarmed"] >= ALARMED * row["streams"] for row in kinds)
    return entry.Counted(found, len(kinds))


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
            compute,
            source="Membership Inference Attack" if "attack" in item else "DP + Deep Learning",
        )
        for item, compute in {**lecture_attacks.ATTACKS, **lecture_places.PLACES}.items()
    ),
    _exact(
        "challenge: better metrics",
        "open",
        lecture_attacks.better_metrics,
        source="Remaining Challenges",
    ),
    entry.Entry(
        item="challenge: detecting attacks on the fly",
        source="Remaining Challenges",
        published="open",
        ours=detected,
        command="make bench BENCH=detector",
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
        item="public pre-training and DP fine-tuning: a head on public features, CIFAR-10",
        source="More Practical Solution?",
        published="better than DP-SGD from scratch",
        ours=on_public_features,
        command="beyond learners --on cifar10 --data DIR",
        file=_HEADS,
        also=(_SCRATCH,),
    ),
    entry.Entry(
        item="public pre-training and DP fine-tuning: adapters, beside a private head",
        source="More Practical Solution?",
        published="fine-tuning with DP-SGD, no figure; asked here: as good as a head?",
        ours=tuned,
        command="beyond fine-tuning --on trec --data DIR",
    ),
    entry.Entry(
        item="challenge: attacks on large pre-trained models, heads on MiniLM",
        source="Remaining Challenges",
        published="open; asked here: do heads on one give members away?",
        ours=pretrained,
        command="beyond texts --on trec --data DIR",
    ),
)
