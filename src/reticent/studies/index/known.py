"""The index of what others reach with a linear head on frozen features of CIFAR-10."""

from collections.abc import Callable
from typing import Final

from reticent.studies.index.entry import Entry, Figure, Files, Held, Ours, missing

_LEARNERS: Final = "learners-cifar10"


def best(epsilon: str) -> Callable[[Files], Ours]:
    """The best proven head on EfficientNet-Lite0 features."""

    def read(files: Files) -> Ours:
        rows = _rows(files, _LEARNERS)
        return None if rows is None else _largest(rows, epsilon)

    return read


def _rows(files: Files, file: str) -> list[dict[str, str]] | None:
    document = files(file)
    if document is None:
        return None
    table = document["tables"][0]
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def _largest(rows: list[dict[str, str]], epsilon: str) -> Ours:
    after = [float(row["after"]) for row in rows if row["ε"] == epsilon]
    return Figure.exact(max(after)) if after else None


def least_squares(files: Files) -> Ours:
    """Noisy sums for least squares against noise on the logistic optimum, at ε ≤ 1."""
    rows = _rows(files, _LEARNERS)
    if rows is None:
        return None
    at = {row["mechanism"]: float(row["after"]) for row in rows if row["ε"] == "1"}
    if not {"adassp", "weights"} <= set(at):
        return None
    said = f"adassp {at['adassp']:.4f}, weights {at['weights']:.4f} at ε = 1"
    return Held(at["adassp"] > at["weights"], said)


def prototypes(files: Files) -> Ours:
    """At δ = 0 the class means are below the discriminants of a matrix mechanism."""
    document = files("pure-cifar10")
    if document is None:
        return None
    table = document["tables"][1]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    at = {row["mechanism"]: float(row["accuracy"]) for row in rows if row["ε"] == "1"}
    said = f"class means {at['pure-class-means']:.4f}, matrix-lda {at['matrix-lda']:.4f}"
    return Held("pure-class-means" in at, said)


_OTHERS: Final = {
    "CIFAR-10 at ε = 1, SimCLRv2 features, sufficient statistics": ("0.916", "SimCLRv2's weights"),
    "CIFAR-10 at ε = 2, SimCLRv2 features, DP-SGD": ("0.924", "SimCLRv2's weights"),
    "CIFAR-10 at ε = 1, ImageNet features": ("0.947", "the weights behind these features"),
    "CIFAR-10 at ε = 1, large ViT (DP-RAFT)": ("0.99", "the weights of that network"),
}
ENTRIES: Final = (
    *(
        Entry(
            item=item,
            kind="trained",
            source="state of the art",
            published=published,
            ours=missing(what),
            command="beyond learners --on cifar10 --data DIR",
        )
        for item, (published, what) in _OTHERS.items()
    ),
    Entry(
        item="CIFAR-10 at ε = 1, EfficientNet-Lite0 features in their place",
        kind="trained",
        source="state of the art, SimCLRv2 features",
        published="0.916",
        ours=best("1"),
        command="beyond learners --on cifar10 --data DIR",
        tolerance=0.02,
        file=_LEARNERS,
    ),
    Entry(
        item="least squares beats logistic below ε ≈ 1",
        kind="trained",
        source="state of the art",
        published="least squares above",
        ours=least_squares,
        command="beyond learners --on cifar10 --data DIR",
        file=_LEARNERS,
    ),
    Entry(
        item="pure-DP rival: noisy class prototypes",
        kind="trained",
        source="state of the art",
        published="a rival at δ = 0",
        ours=prototypes,
        command="beyond pure --on cifar10 --data DIR",
        file="pure-cifar10",
    ),
)
