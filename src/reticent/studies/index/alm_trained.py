"""Items of ALM that need training, read from committed files."""

from typing import Final

from reticent.studies.alm_table1 import TABLE_1
from reticent.studies.index import entry

_FIG1: Final = "alm-fig1-cifar10"
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


def setup() -> entry.Ours:
    """The defaults of ``SimCLRSpec`` are those of the example that the paper cites."""
    from reticent.training.contrastive.simclr import SimCLRSpec
    from reticent.training.encoders.convolutional import ConvolutionalConfig

    spec = SimCLRSpec()
    own = (spec.architecture, spec.temperature, spec.learning_rate, spec.epochs, spec.batch)
    config = ConvolutionalConfig(channels=3, height=32, width=32)
    same = own == ("conv", 0.1, 1e-3, 20, 525) and (config.filters, config.dimension) == (128, 128)
    return entry.Held(same, "SimCLRSpec()")


def figure_of(file: str) -> entry.Reader:
    """What a committed figure says of the paper's sentences, all of them together."""

    @entry.read_from(file)
    def read(document: entry.Document) -> entry.Ours:
        numbers = range(len(document["tables"]))
        notes = [note for number in numbers for note in entry.judged_of(document, number)]
        return entry.Held(bool(notes) and all(one.holds for one in notes), "; ".join(notes))

    return read


def claim(words: str, grade: str = "published") -> entry.Reader:
    """A sentence about Fig. 1 of the committed file: holds at every ε, or not."""

    @entry.read_from(_FIG1)
    def read(document: entry.Document) -> entry.Ours:
        notes = entry.judged_of(document, of=grade, claim=f"“{words}”")
        reasons = "; ".join(f"{one.by}: {one.why}" if one.by else one.why for one in notes)
        return entry.Held(bool(notes) and all(one.holds for one in notes), reasons)

    return read


def by_grade(file: str, words: str) -> entry.Reader:
    """What a committed table says of the paper's sentences for one grade and mechanism."""

    @entry.read_from(file)
    def read(document: entry.Document) -> entry.Ours:
        notes = entry.judged_of(document, of=words)
        reasons = "; ".join(f"{one.claim}: {one.why}" for one in notes)
        return entry.Held(bool(notes) and all(one.holds for one in notes), reasons)

    return read


def smallest_loss(most: float) -> entry.Reader:
    """Whether a row of logistic noise with a sampled sensitivity loses less, at any ε of Fig. 1."""

    @entry.read_from(_FIG1)
    def read(document: entry.Document) -> entry.Ours:
        kind = ("published", "logistic")
        own = [row for row in entry.rows_of(document) if (row["grade"], row["mechanism"]) == kind]
        best = min(own, key=lambda row: entry.number(row["loss"]))
        return entry.Held(
            entry.number(best["loss"]) < most, f"least {best['loss']}, at ε = {best['ε']}"
        )

    return read


@entry.read_from("alm-layers")
def layers(document: entry.Document) -> entry.Ours:
    """Utility loss grows with the number of protected layers, somewhere and never the contrary."""
    notes = entry.judged_of(document)
    reasons = "; ".join(note.why for note in notes)
    return entry.Held(all(note.at and note.not_at for note in notes), f"{reasons} (digits)")


def _figures(number: int) -> list[entry.Entry]:
    """Fig. 2, and Fig. 1 of the sets that are missing."""
    return [
        entry.Entry(
            item=f"Fig. {number}, {data}",
            source=f"Figure {number}",
            published="curves",
            ours=entry.missing(what),
            command=f"alm fig{number} --on {data.lower().replace('-', '')} --data DIR",
        )
        for data, what in _NO.items()
    ]


TRAINED: Final = (
    entry.Entry(
        item="Algorithm 1 query handler",
        source="Algorithm 1, Section 5",
        published="an answer from noisy weights",
        ours=entry.Reader(_FIG1, lambda _: entry.Held(True, "release_weights")),
        command="alm fig1 --on cifar10 --data DIR",
    ),
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
    *(
        entry.Entry(
            item=f"Fig. 1, CIFAR-10: {words}",
            source="Figure 1 and Section 6.1",
            published=words,
            ours=claim(key),
            command="alm fig1 --on cifar10 --data DIR",
        )
        for words, key in (
            ("logistic loses as much as Laplace", "logistic ≈ Laplace"),
            ("Gaussian loses significantly more", "Gaussian clearly worse than both"),
        )
    ),
    entry.Entry(
        item="Fig. 1, CIFAR-10 with the paper's SimCLR encoder",
        source="Figure 1 and Section 6.1",
        published="curves",
        ours=figure_of("alm-fig1-cifar10-simclr"),
        command="alm fig1 --on cifar10-simclr --data DIR",
    ),
    *_figures(1),
    entry.Entry(
        item="Fig. 2, CIFAR-10",
        source="Figure 2 and Section 6.2",
        published="attack accuracy about .5 under noise, loss against it",
        ours=figure_of("alm-fig2-cifar10"),
        command="alm fig2 --on cifar10 --data DIR",
    ),
    entry.Entry(
        item="Fig. 2, CIFAR-10 with the paper's SimCLR encoder",
        source="Figure 2 and Section 6.2",
        published="attack accuracy about .5 under noise, loss against it",
        ours=figure_of("alm-fig2-cifar10-simclr-10k"),
        command="alm fig2 --on cifar10-simclr-10k --data DIR",
    ),
    *_figures(2),
    *(
        entry.Entry(
            item=f"Figs. 1 and 2, {what}, logistic, {grade} sensitivity",
            source="Figures 1 and 2, Section 6",
            published="attack about .5, loss below 10 % at ε < 1",
            ours=by_grade(f"alm-grades-{on}", f"{grade} logistic"),
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
            ours=by_grade(f"alm-grades-{on}", "declared matrix-lda"),
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
        published="0.5",
        ours=entry.figure_at("alm-fig2-cifar10", 0, "attack", mechanism="logistic", epsilon="1"),
        command="alm fig2 --on cifar10 --data DIR",
        tolerance=0.02,
    ),
    entry.Entry(
        item="loss < 5 %",
        source="Abstract",
        published="utility loss below 5 %",
        ours=smallest_loss(0.05),
        command="alm fig1 --on cifar10 --data DIR",
    ),
    entry.Entry(
        item="loss < 10 % at ε < 1",
        source="Section 1, final contribution",
        published="utility loss below 10 % at ε < 1",
        ours=claim("loss < 10 % at ε < 1"),
        command="alm fig1 --on cifar10 --data DIR",
    ),
    entry.Entry(
        item="SimCLR set-up",
        source="Section 6.1, Keras example",
        published="4 × [conv 128, stride 2], dense 128; τ = .1, Adam 1e-3, 20 epochs of 525",
        ours=entry.computed(setup),
        command="alm fig1 --on cifar10-simclr --data DIR",
    ),
    entry.Entry(
        item="limitation: loss grows with protected layers",
        source="Section 7",
        published="utility loss grows with the number of protected layers",
        ours=layers,
        command="alm layers --on digits",
    ),
)
