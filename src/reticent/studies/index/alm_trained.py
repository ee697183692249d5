"""Items of ALM that need training, read from committed files."""

from typing import Final

from reticent.studies.alm_table1 import TABLE_1
from reticent.studies.index import alm_figures, entry

_GRADES: Final = "alm-grades-cifar10"
"""500 pairs of Algorithm 2, as in the paper."""
_NO = {
    "CIFAR-100": "CIFAR-100's files",
    "STL-10": "STL-10's files, 100,000 images without labels",
}


GRADED: Final = {
    "cifar10": "CIFAR-10",
    "cifar10-simclr-10k": "CIFAR-10 with the paper's SimCLR encoder",
    "hospital100": "100 diagnoses of hospital stays in CIFAR-100's place",
}
"""Data sets whose tables stand by grade."""
_SENTENCES: Final = {
    1: {
        "logistic loses as much as Laplace": alm_figures.alike,
        "Gaussian loses significantly more": alm_figures.gaussian_above,
    },
    2: {"Laplace keeps the highest attack accuracy": alm_figures.laplace_highest},
}
"""Of each figure, for logistic noise with the published sensitivity."""


def setup() -> entry.Ours:
    """The defaults of ``SimCLRSpec`` are those of the example that the paper cites."""
    from reticent.training.contrastive.simclr import SimCLRSpec
    from reticent.training.encoders.convolutional import ConvolutionalConfig

    spec = SimCLRSpec()
    own = (spec.architecture, spec.temperature, spec.learning_rate, spec.epochs, spec.batch)
    config = ConvolutionalConfig(channels=3, height=32, width=32)
    same = own == ("conv", 0.1, 1e-3, 20, 525) and (config.filters, config.dimension) == (128, 128)
    return entry.Held(same, "SimCLRSpec()")


def _figures(number: int) -> list[entry.Entry]:
    """The sentences about a figure on each data set, and those whose data are missing."""
    source = f"Figure {number} and Section 6.{number}"
    judged = [
        entry.Entry(
            item=f"Fig. {number}, {what}: {words}",
            source=source,
            published=words,
            ours=alm_figures.sentence(f"alm-grades-{on}", rule),
            command=f"alm grades --on {on} --data DIR",
        )
        for on, what in GRADED.items()
        for words, rule in _SENTENCES[number].items()
    ]
    missing = [
        entry.Entry(
            item=f"Fig. {number}, {data}",
            source=f"Figure {number}",
            published="curves",
            ours=entry.missing(what),
            command=f"alm fig{number} --on {data.lower().replace('-', '')} --data DIR",
        )
        for data, what in _NO.items()
    ]
    return judged + missing


TRAINED: Final = (
    entry.Entry(
        item="Table 1, L2 of CIFAR-10 (λ = .01)",
        source="Table 1, L2",
        published="0.013842",
        ours=entry.figure_at("alm-table1", 0, "L2", penalty="0.01"),
        command="alm table1 --on cifar10 --data DIR",
        tolerance=0.0014,
    ),
    entry.Entry(
        item="Table 1, L1 of CIFAR-10 (λ = .01)",
        source="Table 1, L1",
        published="0.017492",
        ours=entry.figure_at("alm-table1", 0, "L1", penalty="0.01"),
        command="alm table1 --on cifar10 --data DIR",
        tolerance=0.0017,
    ),
    *(
        entry.Entry(
            item=f"Table 1, {data}",
            source="Table 1",
            published=f"{TABLE_1[data][0]} / {TABLE_1[data][1]}",
            ours=entry.missing(what),
            command=f"alm table1 --on {data.lower().replace('-', '')} --data DIR",
        )
        for data, what in _NO.items()
    ),
    *_figures(1),
    *(
        entry.Entry(
            item=f"Fig. 2, {what}: the attack falls to approximately 50 %",
            source="Figure 2 and Section 6.2",
            published="from .62 (CIFAR-10), .71 (CIFAR-100) to about .5",
            ours=alm_figures.fall(f"alm-grades-{on}"),
            command=f"alm grades --on {on} --data DIR",
        )
        for on, what in GRADED.items()
    ),
    *_figures(2),
    *(
        entry.Entry(
            item=f"Figs. 1 and 2, {what}, logistic, {grade} sensitivity",
            source="Figures 1 and 2, Section 6",
            published="attack about .5, loss below 10 % at ε < 1",
            ours=alm_figures.by_grade(f"alm-grades-{on}", grade, "logistic"),
            command=f"alm grades --on {on} --data DIR",
        )
        for on, what in GRADED.items()
        for grade in ("published", "sampled", "proven")
    ),
    *(
        entry.Entry(
            item=f"Figs. 1 and 2, {what}, this package's pure learner",
            source="Figures 1 and 2, Section 6",
            published="attack about .5, loss below 10 % at ε < 1",
            ours=alm_figures.by_grade(f"alm-grades-{on}", "declared", "matrix-lda"),
            command=f"alm grades --on {on} --data DIR",
        )
        for on, what in GRADED.items()
    ),
    entry.Entry(
        item="baseline attack, hospital stays in CIFAR-100's place",
        source="Section 6.2, CIFAR-100",
        published="0.71",
        ours=entry.figure_at("alm-grades-hospital100", 0, "attack", mechanism="none"),
        command="alm grades --on hospital100 --data DIR",
        tolerance=0.02,
    ),
    entry.Entry(
        item="baseline attack, CIFAR-10",
        source="Section 6.2",
        published="0.62",
        ours=entry.figure_at("alm-fig2-cifar10", 0, "attack", mechanism="none"),
        command="alm fig2 --on cifar10 --data DIR",
        tolerance=0.02,
    ),
    entry.Entry(
        item="baseline attack, CIFAR-10 with the paper's SimCLR encoder",
        source="Section 6.2",
        published="0.62",
        ours=entry.figure_at("alm-fig2-cifar10-simclr-10k", 0, "attack", mechanism="none"),
        command="alm fig2 --on cifar10-simclr-10k --data DIR",
        tolerance=0.02,
    ),
    entry.Entry(
        item="baseline attack, MNIST pixels in CIFAR-10's place",
        source="Section 6.2, CIFAR-10",
        published="0.62",
        ours=entry.figure_at("alm-attack", 0, "accuracy", attack="ALM's shadow network"),
        command="alm attack --on mnist5k",
        tolerance=0.02,
    ),
    *(
        entry.Entry(
            item=f"baseline attack, {data}",
            source="Section 6.2",
            published=value,
            ours=entry.missing(what),
            command=f"alm fig2 --on {data.lower().replace('-', '')} --data DIR",
        )
        for (data, what), value in zip(_NO.items(), ("0.71", "0.61"), strict=True)
    ),
    entry.Entry(
        item="attack after noise about 50 %",
        source="Section 6.2",
        published="from .62 to roughly .5",
        ours=alm_figures.fall(_GRADES),
        command="alm grades --on cifar10 --data DIR",
    ),
    entry.Entry(
        item="loss < 5 %",
        source="Abstract",
        published="utility loss below 5 %",
        ours=alm_figures.smallest_loss(_GRADES, 0.05),
        command="alm grades --on cifar10 --data DIR",
    ),
    entry.Entry(
        item="loss < 10 % at ε < 1",
        source="Section 1, final contribution",
        published="utility loss below 10 % at ε < 1",
        ours=alm_figures.sentence(_GRADES, alm_figures.below_a_tenth, below=1.0),
        command="alm grades --on cifar10 --data DIR",
    ),
    entry.Entry(
        item="SimCLR set-up",
        source="Section 6.1, Keras example",
        published="4 × [conv 128, stride 2], dense 128; τ = .1, Adam 1e-3, 20 epochs of 525",
        ours=entry.computed(setup),
        command="alm fig1 --on cifar10-simclr --data DIR",
    ),
    entry.Entry(
        item="limitation: the loss can grow with protected layers",
        source="Section 7",
        published="“the utility loss can increase” with more layers",
        ours=alm_figures.layers,
        command="alm layers --on digits",
    ),
)
