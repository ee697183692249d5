"""The index of what others reach with a linear head on frozen features of CIFAR-10."""

from typing import Final

from reticent.studies.index import entry

_LEARNERS: Final = "learners-cifar10"


@entry.read_from(_LEARNERS)
def best_at_one(document: entry.Document) -> entry.Ours:
    """The best proven head on EfficientNet-Lite0 features at ε = 1."""
    after = [entry.number(row["after"]) for row in entry.rows_of(document) if row["ε"] == "1"]
    return entry.Figure.exact(max(after)) if after else None


@entry.read_from(_LEARNERS)
def least_squares(document: entry.Document) -> entry.Ours:
    """Noisy sums for least squares against noise on the logistic optimum, at ε ≤ 1."""
    rows = entry.rows_of(document)
    at = {row["mechanism"]: entry.number(row["after"]) for row in rows if row["ε"] == "1"}
    if not {"adassp", "weights"} <= set(at):
        return None
    figures = f"adassp {at['adassp']:.4f}, weights {at['weights']:.4f} at ε = 1"
    return entry.Held(at["adassp"] > at["weights"], figures)


@entry.read_from("pure-cifar10")
def prototypes(document: entry.Document) -> entry.Ours:
    """At δ = 0 class means are above discriminants with plain noise; matrix noise is above both."""
    rows = entry.rows_of(document, table=1)
    at = {row["mechanism"]: entry.number(row["accuracy"]) for row in rows if row["ε"] == "1"}
    means = at["pure-class-means"]
    plain = max(accuracy for name, accuracy in at.items() if name.startswith("lda, "))
    words = f"class means {means:.4f}, lda {plain:.4f}, matrix-lda {at['matrix-lda']:.4f}"
    return entry.Held(means > plain, words)


_OTHERS: Final = {
    "CIFAR-10 at ε = 1, SimCLRv2 features, sufficient statistics": ("0.916", "SimCLRv2's weights"),
    "CIFAR-10 at ε = 2, SimCLRv2 features, DP-SGD": ("0.924", "SimCLRv2's weights"),
    "CIFAR-10 at ε = 1, ImageNet features": ("0.947", "the weights behind these features"),
    "CIFAR-10 at ε = 1, large ViT (DP-RAFT)": ("0.99", "the weights of that network"),
}
ENTRIES: Final = (
    *(
        entry.Entry(
            item=item,
            source="state of the art",
            published=published,
            ours=entry.missing(what),
            command="beyond learners --on cifar10 --data DIR",
        )
        for item, (published, what) in _OTHERS.items()
    ),
    entry.Entry(
        item="CIFAR-10 at ε = 1, EfficientNet-Lite0 features in their place",
        source="state of the art, SimCLRv2 features",
        published="0.916",
        ours=best_at_one,
        command="beyond learners --on cifar10 --data DIR",
        tolerance=0.02,
    ),
    entry.Entry(
        item="least squares beats logistic below ε ≈ 1",
        source="state of the art",
        published="least squares above",
        ours=least_squares,
        command="beyond learners --on cifar10 --data DIR",
    ),
    entry.Entry(
        item="pure-DP rival: noisy class prototypes",
        source="state of the art",
        published="a rival at δ = 0: above plain noise on discriminants",
        ours=prototypes,
        command="beyond pure --on cifar10 --data DIR",
    ),
)
