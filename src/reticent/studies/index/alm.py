"""The index of ALM (Yang, Gohari and Topcu 2022, "On the privacy risk of self-supervised models").

Published values stand here, and nowhere else; places are those of the paper.
"""

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from reticent.guarantee import Grade, Sensitivity
from reticent.mechanisms import ClassicalGaussian, Gaussian, Laplace, Logistic
from reticent.studies.alm_table1 import DELTA, EPSILON, TABLE_1
from reticent.studies.index.entry import (
    Counted,
    Entry,
    Figure,
    Files,
    Held,
    Ours,
    computed,
    figure_at,
    missing,
)

_STDS: Final = {  # Laplace, logistic, classical Gaussian, analytic Gaussian
    "CIFAR-10": (0.0247, 0.0317, 0.0671, 0.0516),
    "CIFAR-100": (0.0293, 0.0376, 0.0794, 0.0611),
    "STL-10": (0.0187, 0.0240, 0.0526, 0.0405),
}
_KINDS: Final = (Laplace, Logistic, ClassicalGaussian, Gaussian)
_ONE: Final = Sensitivity(l1=1.0, grade=Grade.DECLARED, source="one")
_FIG1: Final = "alm-fig1-cifar10"


def density() -> Ours:
    """The largest difference between Eq. 3 and our log density, at scale .7."""
    scale, x = 0.7, np.linspace(-20, 20, 801)
    wanted = np.exp(-x / scale) / (scale * (1 + np.exp(-x / scale)) ** 2)
    noise = Logistic(scale=scale, sensitivity=_ONE)
    found = np.array([math.exp(float(noise.log_density(np.array([one])))) for one in x])
    return Figure.exact(float(np.abs(found - wanted).max()))


def worst_ratio(dimension: int) -> Ours:
    """sup log p(x)/p(x − Δ) of logistic noise with L1 sensitivity 1 at s = .5: Δ/s = 2."""
    scale = 0.5
    far = np.full(dimension, -40.0)
    moved = np.full(dimension, 1 / dimension)
    noise = Logistic(scale=scale, sensitivity=_ONE)
    return Figure.exact(abs(float(noise.log_ratio(far, far - moved))))


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
    found = []
    for kind in kinds:
        pure = kind < 2
        noise = _KINDS[kind].calibrate(
            only if pure else both, epsilon=EPSILON, delta=0.0 if pure else DELTA
        )
        found.append(f"{noise.std:.4f}" == f"{_STDS[data][kind]:.4f}")
    return Counted(sum(found), len(found))


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


def unseen() -> Ours:
    """An outlier among 10,000 records is in none of 500 pairs with this probability."""
    chance = (1 - 2 / 10_000) ** TABLE_1["CIFAR-10"][2]
    return Held(chance < 0.5, f"one record of 10,000 is in no pair with probability {chance:.2f}")


def setup() -> Ours:
    """The defaults of ``SimCLRSpec`` are those of the example that the paper cites."""
    from reticent.training.contrastive.simclr import SimCLRSpec
    from reticent.training.encoders.convolutional import ConvolutionalConfig

    spec = SimCLRSpec()
    own = (spec.architecture, spec.temperature, spec.learning_rate, spec.epochs, spec.batch)
    config = ConvolutionalConfig(channels=3, height=32, width=32)
    same = own == ("conv", 0.1, 1e-3, 20, 525) and (config.filters, config.dimension) == (128, 128)
    return Held(same, "SimCLRSpec()")


def accountable() -> Ours:
    """One plan of DP-SGD with logistic noise has an ε."""
    from reticent.studies.dp_sgd import Plan

    noise = Plan().noise("logistic")
    return Held(math.isfinite(noise), f"noise of {noise:.3f} times the clip for ε = 3")


def figure_of(file: str) -> Callable[[Files], Ours]:
    """What a committed figure says of the paper's sentences, all of them together."""

    def read(files: Files) -> Ours:
        document = files(file)
        if document is None:
            return None
        notes = [one for table in document["tables"] for one in table["notes"] if "“" in one]
        return Held(
            bool(notes) and not any("does not hold" in note for note in notes), "; ".join(notes)
        )

    return read


def claim(words: str, grade: str = "published") -> Callable[[Files], Ours]:
    """A sentence about Fig. 1 in the notes of the committed file: holds at every ε, or not."""

    def read(files: Files) -> Ours:
        document = files(_FIG1)
        if document is None:
            return None
        begin = f"{grade}: “{words}"
        notes = [one for one in document["tables"][0]["notes"] if one.startswith(begin)]
        said = "; ".join(note.removeprefix(begin).strip(" ”,:.") for note in notes)
        return Held(bool(notes) and all("holds at every ε" in note for note in notes), said)

    return read


def smallest_loss(most: float) -> Callable[[Files], Ours]:
    """Whether a row of logistic noise with a sampled sensitivity loses less, at any ε of Fig. 1."""

    def read(files: Files) -> Ours:
        document = files(_FIG1)
        if document is None:
            return None
        table = document["tables"][0]
        rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
        own = [row for row in rows if (row["grade"], row["mechanism"]) == ("published", "logistic")]
        best = min(own, key=lambda row: float(row["loss"]))
        return Held(float(best["loss"]) < most, f"least {best['loss']}, at ε = {best['ε']}")

    return read


def layers(files: Files) -> Ours:
    """Utility loss grows with the number of protected layers, somewhere and never the contrary."""
    document = files("alm-layers")
    if document is None:
        return None
    notes = [one for one in document["tables"][0]["notes"] if one.startswith("the loss")]
    said = "; ".join(note.partition(": ")[2].rstrip(".") for note in notes)
    return Held(all("holds at ε" in note for note in notes), f"{said} (digits)")


_NO = {
    "CIFAR-100": "CIFAR-100's files",
    "STL-10": "STL-10's files, 100,000 images without labels",
}


def _figures(number: int) -> list[Entry]:
    """Fig. 2, and Fig. 1 of the sets that are missing."""
    made = [
        Entry(
            item=f"Fig. {number}, {data}",
            kind="trained",
            source=f"Figure {number}, p. {'7' if number == 1 else '8'}",
            published="curves",
            ours=missing(what),
            command=f"alm fig{number} --on {data.lower().replace('-', '')} --data DIR",
        )
        for data, what in _NO.items()
    ]
    return made


ENTRIES: Final = (
    Entry(
        item="Eq. 3 pdf and sampler",
        kind="exact",
        source="Eq. 3",
        published="0",
        ours=computed(density),
        command="alm",
        tolerance=1e-12,
    ),
    *(
        Entry(
            item=name,
            kind="exact",
            source=f"{name}, Section 4.1",
            published="2",
            ours=computed(lambda dimension=dimension: worst_ratio(dimension)),  # type: ignore[misc]
            command="alm",
            tolerance=1e-6,
        )
        for name, dimension in (("Theorem 4.1", 1), ("Remark 4.1", 5))
    ),
    Entry(
        item="Proposition 4.1",
        kind="exact",
        source="Proposition 4.1, Section 4.3",
        published="1",
        ours=computed(budget),
        command="alm",
        tolerance=1e-6,
    ),
    *(
        Entry(
            item=f"Remark 4.2, {name}",
            kind="exact",
            source="Remark 4.2, Section 4.2",
            published=f"{_STDS['CIFAR-10'][kind]}",
            ours=computed(lambda kind=kind: remark(kind)),  # type: ignore[misc]
            command="alm noise",
            tolerance=5e-5,
        )
        for name, kind in (("Laplace", 0), ("classical Gaussian", 2))
    ),
    Entry(
        item="Definition 6.1 utility loss",
        kind="exact",
        source="Definition 6.1, Section 6",
        published="0.2",
        ours=computed(utility),
        command="alm",
        tolerance=1e-9,
    ),
    *(
        Entry(
            item=f"noise std at ε = 1, {data}",
            kind="exact",
            source="Table 1 with Proposition 4.1 and Remark 4.2",
            published=" / ".join(f"{value:.4f}" for value in values[:3]),
            ours=computed(lambda data=data: stds(data, (0, 1, 2))),  # type: ignore[misc]
            command="alm noise",
        )
        for data, values in _STDS.items()
    ),
    *(
        Entry(
            item=f"analytic Gaussian std, {data}",
            kind="exact",
            source="Table 1 with Balle and Wang 2018",
            published=f"{values[3]:.4f}",
            ours=computed(lambda data=data: stds(data, (3,))),  # type: ignore[misc]
            command="alm noise",
        )
        for data, values in _STDS.items()
    ),
    Entry(
        item="Algorithm 1 query handler",
        kind="trained",
        source="Algorithm 1, Section 5",
        published="an answer from noisy weights",
        ours=lambda files: Held(True, "release_weights") if files(_FIG1) else None,
        command="alm fig1 --on cifar10 --data DIR",
        file=_FIG1,
    ),
    Entry(
        item="Algorithm 2 sensitivity sampler",
        kind="trained",
        source="Algorithm 2, Section 5",
        published="the largest change bounds the sensitivity",
        ours=computed(unseen),
        command="refutations algorithm-2",
        theorem=True,
    ),
    Entry(
        item="Table 1, L2 of CIFAR-10 (λ = .01)",
        kind="trained",
        source="Table 1, L2",
        published="0.013842",
        ours=figure_at("alm-table1", 0, "L2", penalty="0.01"),
        command="alm table1 --on cifar10 --data DIR",
        tolerance=0.0014,
        file="alm-table1",
    ),
    Entry(
        item="Table 1, L1 of CIFAR-10 (λ = .01)",
        kind="trained",
        source="Table 1, L1",
        published="0.017492",
        ours=figure_at("alm-table1", 0, "L1", penalty="0.01"),
        command="alm table1 --on cifar10 --data DIR",
        tolerance=0.0017,
        file="alm-table1",
    ),
    *(
        Entry(
            item=f"Table 1, {data}",
            kind="trained",
            source="Table 1",
            published=f"{TABLE_1[data][0]} / {TABLE_1[data][1]}",
            ours=missing(what),
            command=f"alm table1 --on {data.lower().replace('-', '')} --data DIR",
        )
        for data, what in _NO.items()
    ),
    *(
        Entry(
            item=f"Fig. 1, CIFAR-10: {words}",
            kind="trained",
            source="Figure 1 and Section 6.1",
            published=words,
            ours=claim(key),
            command="alm fig1 --on cifar10 --data DIR",
            file=_FIG1,
        )
        for words, key in (
            ("logistic loses as much as Laplace", "logistic ≈ Laplace"),
            ("Gaussian loses significantly more", "Gaussian clearly worse than both"),
        )
    ),
    Entry(
        item="Fig. 1, CIFAR-10 with the paper's SimCLR encoder",
        kind="trained",
        source="Figure 1 and Appendix",
        published="curves",
        ours=figure_of("alm-fig1-cifar10-simclr"),
        command="alm fig1 --on cifar10-simclr --data DIR",
        file="alm-fig1-cifar10-simclr",
    ),
    *_figures(1),
    Entry(
        item="Fig. 2, CIFAR-10",
        kind="trained",
        source="Figure 2 and Section 6.2",
        published="attack accuracy about .5 under noise, loss against it",
        ours=figure_of("alm-fig2-cifar10"),
        command="alm fig2 --on cifar10 --data DIR",
        file="alm-fig2-cifar10",
    ),
    *_figures(2),
    Entry(
        item="baseline attack, CIFAR-10",
        kind="trained",
        source="Section 6.2",
        published="0.62",
        ours=figure_at("alm-fig2-cifar10", 0, "attack", mechanism="none"),
        command="alm fig2 --on cifar10 --data DIR",
        tolerance=0.02,
        file="alm-fig2-cifar10",
    ),
    Entry(
        item="baseline attack, MNIST pixels in CIFAR-10's place",
        kind="trained",
        source="Section 6.2, CIFAR-10",
        published="0.62",
        ours=figure_at("alm-attack", 0, "accuracy", attack="ALM's shadow network"),
        command="alm attack --on mnist5k",
        tolerance=0.02,
        file="alm-attack",
    ),
    *(
        Entry(
            item=f"baseline attack, {data}",
            kind="trained",
            source="Section 6.2",
            published=value,
            ours=missing(what),
            command=f"alm fig2 --on {data.lower().replace('-', '')} --data DIR",
        )
        for (data, what), value in zip(_NO.items(), ("0.71", "0.61"), strict=True)
    ),
    Entry(
        item="attack after noise about 50 %",
        kind="trained",
        source="Section 6.2",
        published="0.5",
        ours=figure_at("alm-fig2-cifar10", 0, "attack", mechanism="logistic", epsilon="1"),
        command="alm fig2 --on cifar10 --data DIR",
        tolerance=0.02,
        file="alm-fig2-cifar10",
    ),
    Entry(
        item="loss < 5 %",
        kind="trained",
        source="Abstract",
        published="utility loss below 5 %",
        ours=smallest_loss(0.05),
        command="alm fig1 --on cifar10 --data DIR",
        file=_FIG1,
    ),
    Entry(
        item="loss < 10 % at ε < 1",
        kind="trained",
        source="Section 1",
        published="utility loss below 10 % at ε < 1",
        ours=claim("loss < 10 % at ε < 1"),
        command="alm fig1 --on cifar10 --data DIR",
        file=_FIG1,
    ),
    Entry(
        item="SimCLR set-up",
        kind="trained",
        source="Appendix, Keras example",
        published="4 × [conv 128, stride 2], dense 128; τ = .1, Adam 1e-3, 20 epochs of 525",
        ours=computed(setup),
        command="alm fig1 --on cifar10-simclr --data DIR",
    ),
    Entry(
        item="limitation: loss grows with protected layers",
        kind="trained",
        source="Section 7",
        published="utility loss grows with the number of protected layers",
        ours=layers,
        command="alm layers --on digits",
        file="alm-layers",
    ),
    Entry(
        item="future work: an accountant for logistic noise in DP-SGD",
        kind="exact",
        source="Section 7",
        published="open",
        ours=computed(accountable),
        command="beyond logistic-noise",
    ),
)
