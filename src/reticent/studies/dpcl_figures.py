"""DPCL, Figs. 1–5: loss, gradient norm and accuracy along training, four ways, both losses.

When a sentence of the paper counts as borne out was fixed before the runs that are reported.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np

from reticent.audit import Measured
from reticent.audit.metrics import over_repeats
from reticent.data import Dataset, load
from reticent.guarantee.rounding import upper_text
from reticent.protect.published.dpcl_steps import DPCLRun
from reticent.randomness import seeded
from reticent.results.table import Cell, Table
from reticent.studies import dpcl_training
from reticent.studies.dpcl import PUBLISHED_EPSILON
from reticent.studies.dpcl_orderings import with_orderings
from reticent.studies.trained import Outcome, Run
from reticent.training.contrastive.networks import NetworkChoice

ONE_SEED: Final = (
    f"one training of each way; {dpcl_training.PARTS} parts of the queries, as many fixed batches"
    " for the loss: intervals say how well these trainings were measured, not how others would end"
)
METRICS: Final = ("loss", "gradient norm", "kNN", "probe")
PAPERS_STEPS: Final = {"SimCLR": 78_125, "Barlow Twins": 39_062}
"""200 and 100 epochs of 50,000 images, 128 a step."""
PART: Final = 16
"""Images of the step of ResNet-18 that is timed."""
STEADY: Final = 2.0
"""A norm that stays within this factor “does not change so much”."""
Found = Mapping[tuple[str, dpcl_training.Way], list[list[dict[str, float]]]]
"""By loss and way: of each seed, the figures at each mark."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Every number was fixed before a query was asked; noise, C and learning rate are the paper's.

    Seeds from ``first_seed`` on are reported; 100 was used to see how long a step takes.
    """

    on: str
    training: dpcl_training.Training
    records: int
    public: int = 256
    labelled: int = 3_000
    queries: int = 2_000
    halved: bool = False
    """Images are halved in height and width, 2×2 means, for the sake of time."""
    losses: tuple[str, ...] = ("SimCLR", "Barlow Twins")
    ways: tuple[dpcl_training.Way, ...] = dpcl_training.WAYS
    seeds: int = 5
    first_seed: int = 0
    large: str = "resnet18"
    """The paper's encoder, of which one step is timed; empty for none."""

    @property
    def marks(self) -> tuple[int, ...]:
        """Steps after which the network is judged."""
        return self.training.marks


_MNIST = dpcl_training.Training(
    shape="14x14x1",
    augmentation="digits",
    architecture="strided",
    batch=128,
    steps=2_000,
    marks=(0, 200, 520, 1_000, 1_520, 2_000),
    delta=1e-5,
    penalty=0.01,
)
SPECS: Mapping[str, Figures] = {
    "mnist": Figures(on="mnist", training=_MNIST, records=50_000, halved=True, seeds=3),
    "cifar10": Figures(
        on="cifar10",
        training=replace(_MNIST, shape="16x16x3", augmentation="natural"),
        records=20_000,
        halved=True,
        seeds=1,
    ),
    "digits": Figures(
        on="digits",
        training=replace(_MNIST, shape="8x8x1", batch=64, steps=50, marks=(0, 20, 50)),
        records=1_000,
        public=97,
        labelled=400,
        queries=300,
        seeds=2,
        large="",
    ),
}


def study(spec: Figures, run: Run) -> Outcome:
    """Figs. 1–5: loss, gradient norm, kNN and probe along the steps, four ways, both losses.

    Figures at each mark, then the paper's sentences one by one.
    """
    run.steps.plan(len(spec.losses) * len(spec.ways) * spec.seeds * spec.training.steps)
    images = _images(spec, run)
    curves: dict[tuple[str, dpcl_training.Way], list[list[dict[str, float]]]] = {}
    for seed in range(spec.first_seed, spec.first_seed + spec.seeds):
        for loss in spec.losses:
            for way in spec.ways:
                cell = _cell(spec, images, (loss, way, seed), run)
                curves.setdefault((loss, way), []).append(cell)
    timed = run.cell((spec.on, "timed", spec.large), _timed, spec, steps=0)
    along = _along(spec, curves, timed)
    sentences = with_orderings(verdicts(spec, curves), along, spec.queries)
    return Outcome(specifications=(spec,), tables=(along, sentences))


def _cell(
    spec: Figures, images: dpcl_training.Images, what: tuple[str, dpcl_training.Way, int], run: Run
) -> list[dict[str, float]]:
    loss, way, seed = what
    job = dpcl_training.Job(spec.training, dpcl_training.PAPER[loss], seed)
    key = (spec.on, spec.records, spec.public, spec.labelled, spec.queries, spec.halved, job, way)
    before = run.steps.done
    cell: list[dict[str, float]] = run.cell(
        key, dpcl_training.trained, way, job, images, run.steps.step, steps=0
    )
    run.steps.reach(before + spec.training.steps)
    return cell


def _images(spec: Figures, run: Run) -> dpcl_training.Images:
    """Parts of the training images in their order, which no label decides; queries are others."""
    if spec.on == "digits":
        whole = _small(load("digits"), spec)
        queries = whole.take(np.arange(len(whole) - spec.queries, len(whole)))
    else:
        whole, test = (_small(load(f"{spec.on}-{part}", run.folder), spec) for part in _PARTS)
        queries = test.take(np.arange(spec.queries))
    ends = np.cumsum([0, spec.records, spec.public, spec.labelled])
    private, public, labelled = (whole.take(np.arange(start, end)) for start, end in pairwise(ends))
    return dpcl_training.Images(private=private, public=public, labelled=labelled, queries=queries)


_PARTS: Final = ("train", "test")


def _small(data: Dataset, spec: Figures) -> Dataset:
    if not spec.halved:
        return data
    high, wide, channels = (int(part) for part in spec.training.shape.split("x"))
    blocks = data.features.reshape(-1, high, 2, wide, 2, channels)
    rows = blocks.mean(axis=(2, 4)).reshape(len(data), -1).astype(np.float32)
    return replace(data, inputs=rows, columns=())


def _timed(spec: Figures) -> dict[str, float]:
    """CPU seconds of one step of |B| images: the study's encoder, and the paper's at its size.

    Of the paper's on a part of the batch, times how many parts there are: memory is bounded so.
    """
    shape, augmentation = spec.training.shape, spec.training.augmentation
    asked = [(spec.training.architecture, shape, augmentation, spec.training.batch)]
    if spec.large:
        asked.append((spec.large, "32x32x3", "natural", PART))
    seconds = {}
    for name, size, views, batch in asked:
        features = math.prod(int(part) for part in size.split("x"))
        rows = seeded("timed").random((batch, features))
        training = replace(spec.training, architecture=name, shape=size, batch=batch)
        published = dpcl_training.paper_spec(
            "published", dpcl_training.Job(training, dpcl_training.PAPER["SimCLR"], 0), batch
        )
        one = DPCLRun(
            published,
            dpcl_training.PAPER["SimCLR"].gradient,
            rows,
            NetworkChoice(name, size, views),
        )
        one.step(np.arange(batch), 0)
        before = time.process_time()
        one.step(np.arange(batch), 1)
        seconds[name] = (time.process_time() - before) * spec.training.batch / batch
    return seconds


def _along(spec: Figures, curves: Found, timed: Mapping[str, float]) -> Table:
    rows = [
        (
            loss,
            way,
            Cell(str(step), step),
            *(
                _shown([seed[place][metric] for seed in seeds], 4 if metric == "loss" else 3)
                for metric in METRICS
            ),
        )
        for (loss, way), seeds in curves.items()
        for place, step in enumerate(spec.marks)
    ]
    return Table(
        title=f"DPCL, Figs. 1–5 on {spec.on}: {spec.records:,} private images, |B| ="
        f" {spec.training.batch}, {spec.training.steps:,} steps",
        columns=("loss", "way", "step", *METRICS),
        rows=tuple(rows),
        notes=(*_conditions(spec), *_cost(timed)),
    )


def _conditions(spec: Figures) -> tuple[str, ...]:
    claimed = {
        loss: dpcl_training.claimed_epsilon(dpcl_training.PAPER[loss], spec.training, spec.records)
        for loss in spec.losses
    }
    epsilons = ", ".join(f"{loss} {upper_text(value, 3)}" for loss, value in claimed.items())
    size = "halved in height and width, " if spec.halved else ""
    return (
        f"Images are {size}{spec.training.shape}; the encoder is {spec.training.architecture},"
        " three strided convolutions with group normalisation, and not ResNet-18. C, learning rate"
        " .1 on sums over |B| and noise multipliers are the paper's (Sections 5.2 and 5.3), for its"
        f" ε of {PUBLISHED_EPSILON:,} after 78,125 and 39,062 steps; the rate rises over ten steps"
        " and falls as a cosine. None: the steps of naive with C of published, without noise.",
        "Grades: naive declared, published published (its claim is false, docs/refutations.md),"
        " proven proven: SimCLR tells private images from"
        f" {spec.public} public ones, Barlow Twins releases its cross-correlation; δ ="
        f" {spec.training.delta:g}, at the ε that the paper's accounting claims for its noise in"
        f" these steps: {epsilons}.",
        "Loss and mean norm of gradients, view by view and not clipped, are exact, of one fixed"
        f" batch of private images; kNN (5) and ridge probe on {spec.labelled:,} other images with"
        f" labels, {spec.queries:,} queries. {_repeated(spec)}",
    )


def _repeated(spec: Figures) -> str:
    if spec.seeds == 1:
        return "One seed of first weights, views, samples and noise."
    return (
        f"Means over {spec.seeds} seeds of first weights, views, samples and noise, with Student's"
        " 95 % interval; images are the same."
    )


def _cost(timed: Mapping[str, float]) -> tuple[str, ...]:
    if len(timed) < 2:
        return ()
    (small, one), (large, other) = timed.items()
    hours = sum(PAPERS_STEPS.values()) * other / 3600
    return (
        f"A step took {1000 * one:.0f} CPU ms with {small}, and would take {other:.1f} CPU s with"
        f" {large} on the paper's 32×32×3 images (timed on {PART} of them, times |B|/{PART}): its"
        f" {sum(PAPERS_STEPS.values()):,} steps of one way are {hours:,.0f} hours of one core.",
    )


def _shown(values: Sequence[float], places: int) -> Cell:
    if len(values) < 2:
        return Cell(f"{values[0]:.{places}f}", values[0])
    interval = over_repeats(values)
    low, high = (f"{end:.{places}f}" for end in (interval.low, interval.high))
    return Cell.of(interval, f"{interval.value:.{places}f} [{low}, {high}]")


# ------------------------------------------------------------------------- the paper's sentences


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """What the paper says of a figure: a difference that is above 0, or is not."""

    figure: str
    said: str
    loss: str
    metric: str
    ways: tuple[dpcl_training.Way, dpcl_training.Way | None]
    """The first is compared with the second at the end, or with its own first weights (None)."""
    sign: int
    """1 where the first is said to be larger, −1 smaller, 0 where it is said not to gain."""


def _sentences(loss: str, figures: tuple[str, str]) -> list[Sentence]:
    curve, accuracy = figures
    made = [
        (curve, "published lowers the loss", "loss", ("published", None), -1),
        (curve, "naive does not lower it", "loss", ("naive", None), 0),
        (curve, "published ends below naive", "loss", ("published", "naive"), -1),
        (accuracy, "published raises the accuracy", "kNN", ("published", None), 1),
        (accuracy, "naive does not raise it", "kNN", ("naive", None), 0),
        (accuracy, "published ends above naive", "kNN", ("published", "naive"), 1),
        ("–", "published ends above naive", "probe", ("published", "naive"), 1),
        ("–", "none ends above published", "kNN", ("none", "published"), 1),
        ("–", "none ends above published", "probe", ("none", "published"), 1),
        ("–", "proven ends above naive", "kNN", ("proven", "naive"), 1),
        ("–", "proven ends above naive", "probe", ("proven", "naive"), 1),
    ]
    return [
        Sentence(figure=figure, said=words, loss=loss, metric=metric, ways=ways, sign=sign)  # type: ignore[arg-type]
        for figure, words, metric, ways, sign in made
    ]


SENTENCES: Final = (
    *_sentences("SimCLR", ("Fig. 1", "Fig. 2")),
    *_sentences("Barlow Twins", ("Fig. 4", "Fig. 5")),
)
_STEADY_WAYS: Final[tuple[dpcl_training.Way, ...]] = ("published", "naive")


def verdicts(spec: Figures, curves: Found) -> Table:
    """Each sentence with the difference that decides it."""
    rows = [_judged(sentence, curves) for sentence in SENTENCES if _is_there(sentence, curves)]
    steady = [way for way in _STEADY_WAYS if ("SimCLR", way) in curves]
    rows += [_steady(way, curves, spec) for way in steady]
    pairing = "by seed" if spec.seeds > 1 else f"by part ({ONE_SEED})"
    return Table(
        title=f"DPCL, the sentences about Figs. 1–5 on {spec.on}",
        columns=("figure", "loss", "sentence", "metric", "difference", "verdict"),
        rows=tuple(rows),
        notes=(
            "Figs. 1, 4: training loss; 2, 5: kNN; 3: gradient norm; – : an ordering that the paper"
            f" has no figure of. Differences are paired {pairing}, with Student's 95 % interval: a"
            " sentence holds where the interval is on its side of 0, “does not” where it is not"
            " above 0 in the direction of learning, and cannot be told where it holds 0.",
            f"Fig. 3: “does not change so much” holds where the norm stays within a factor of"
            f" {STEADY:g} from the second mark on, in every seed.",
        ),
    )


def _is_there(sentence: Sentence, curves: Found) -> bool:
    return all((sentence.loss, way) in curves for way in sentence.ways if way is not None)


def difference(sentence: Sentence, curves: Found) -> Measured | None:
    """At the end, paired by seed; of one seed alone paired by parts of what it is judged by."""
    first, second = sentence.ways
    ends = [seed[-1] for seed in curves[sentence.loss, first]]
    base = (
        [seed[0] for seed in curves[sentence.loss, first]]
        if second is None
        else [seed[-1] for seed in curves[sentence.loss, second]]
    )
    pairs = [
        (end[sentence.metric], own[sentence.metric]) for end, own in zip(ends, base, strict=True)
    ]
    if len(pairs) == 1:
        parts = (dpcl_training.in_parts(side[0], sentence.metric) for side in (ends, base))
        pairs = list(zip(*parts, strict=True))
    return over_repeats([end - own for end, own in pairs]) if len(pairs) > 1 else None


def holds_by(sentence: Sentence, apart: Measured) -> bool | None:
    """Whether a sentence holds by a difference; None where that cannot be told."""
    if sentence.sign == 0:
        gains = apart.high < 0 if sentence.metric == "loss" else apart.low > 0
        return not gains
    signed = (apart.low, apart.high) if sentence.sign > 0 else (-apart.high, -apart.low)
    if signed[0] > 0:
        return True
    return False if signed[1] < 0 else None


def _judged(sentence: Sentence, curves: Found) -> tuple[str, ...]:
    apart = difference(sentence, curves)
    words = (sentence.figure, sentence.loss, sentence.said, sentence.metric)
    if apart is None:
        return (*words, "one figure", Cell.verdict(None))
    return (*words, Cell.of(apart), Cell.verdict(holds_by(sentence, apart)))


def _steady(way: dpcl_training.Way, curves: Found, spec: Figures) -> tuple[str, ...]:
    """Largest over smallest norm from the second mark on, the worst seed."""
    ratios = []
    for seed in curves["SimCLR", way]:
        norms = [mark["gradient norm"] for mark in seed[1 if len(spec.marks) > 1 else 0 :]]
        ratios.append(max(norms) / max(min(norms), 1e-300))
    verdict = Cell.verdict(max(ratios) <= STEADY)
    shown = Cell(f"largest/smallest {max(ratios):.3g}", max(ratios))
    return "Fig. 3", "SimCLR", f"{way}: the norm changes little", "gradient norm", shown, verdict


def drawn(document: Mapping[str, Any]) -> dict[str, str]:
    """Figs. 1–5 as SVG by the names of their files, of the result as it stands in a file."""
    from reticent.report.figures.along_steps import study_drawings

    return {f"{name}.svg": drawing.svg for name, drawing in study_drawings(document).items()}
