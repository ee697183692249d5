"""Options of ``reticent pretrain``, all but those of a ledger."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from reticent.cli import option_groups, options, private_table
from reticent.cli.train import Resume

OF_PUBLIC = ("width", "limit", "data", "restart")
"""Those that only public images have a use for."""
OF_PRIVATE = (
    *("epsilon", "delta", "relation", "records", "embedding", "person", "encoder", "way", "clip"),
    *("learning_rate", "projection", "repulsion", "coupling_share", "components", "clusters"),
    *("rounds", "root", "views", "sign", "fast", "resume"),
)
"""Those that only private images have a use for."""
_OF_RECIPES = (
    *("architecture", "augmentation", "epochs", "batch", "temperature", "clip", "learning_rate"),
    *("repulsion", "coupling_share", "components", "clusters", "rounds", "root", "views", "seed"),
)


@dataclass(frozen=True, kw_only=True)
class PretrainOptions:
    """What the user said of a pre-training."""

    out: Annotated[
        Path,
        typer.Option(
            help="Where to write OUT.safetensors and OUT.log.jsonl, and OUT.json with a proven ε;"
            " after a stop the same command goes on, of private images with --resume."
        ),
    ]
    public: Annotated[
        str | None,
        typer.Option(
            metavar="NAME_OR_FILE",
            help="Public images: a data set's name, or an .npz file with one array of images"
            " (n, height, width) or (n, height, width, channels). Labels are not used. With"
            " --private: the negatives of simclr, a file of the same form.",
        ),
    ] = None
    private: Annotated[
        Path | None,
        typer.Option(
            help="Private images or rows: .npz, .csv or .parquet; with --privacy and --epsilon.",
        ),
    ] = None
    method: Annotated[
        str,
        typer.Option(
            help="simclr (NT-Xent), barlow (Barlow Twins), spectral (spectral contrastive loss);"
            " of --private images alone: masked-patches (hidden blocks are told from the others),"
            " closed-form (the spectral loss on fixed filters, by noisy sums) or prototypes (a"
            " public encoder adapted by noisy sums)."
        ),
    ] = "simclr"
    way: Annotated[
        str | None,
        typer.Option(
            help="Of simclr --privacy proven, how private images are kept apart: public-negatives,"
            " each is told from --public images alone (synthetic ones where none are given);"
            " released-embeddings, from noisy embeddings of its batch; logit-clipping, the"
            " gradient of each similarity is clipped. The last two: replace-one, batches of one"
            " size."
        ),
    ] = None
    privacy: Annotated[
        str,
        typer.Option(
            help="none, of public images alone; proven: with a certificate; published:"
            " DPCL for simclr and barlow, whose claim does not hold; naive: its baseline, noise for"
            " 4|B|C.",
        ),
    ] = "none"
    epsilon: Annotated[float | None, typer.Option(help="The ε to reach.")] = None
    delta: options.Delta = None
    relation: options.RelationName = None
    records: private_table.Records = None
    embedding: private_table.Embedding = None
    person: private_table.Person = None
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Train on what a public encoder makes of private records, by its name:"
            " efficientnet-lite0, minilm, scattering; closed-form: gabor-views (the default for"
            " images), gabor-digit-views, patch-views.",
        ),
    ] = None
    data: Annotated[
        Path | None, typer.Option(help="The data folder; by default RETICENT_DATA.")
    ] = None
    architecture: Annotated[
        str | None,
        typer.Option(
            help="conv, four convolutions (public images alone, and the default there); strided,"
            " three with group normalisation; resnet18 with group normalisation; mlp for rows."
        ),
    ] = None
    augmentation: Annotated[
        str | None,
        typer.Option(
            help="How views of an image are made: natural (photographs, the default) or digits"
            " (never mirrored). Of public images it also chooses the defaults below.",
        ),
    ] = None
    width: Annotated[
        int | None,
        typer.Option(help="Filters: conv 128, with digits 32; resnet18 64 in its first stage."),
    ] = None
    epochs: Annotated[
        float | None, typer.Option(help="natural: 20; digits: 50; of private images 1.")
    ] = None
    batch: Annotated[
        int | None,
        typer.Option(
            help="Images in a batch. natural: 525; digits: 125; of private images 512 on average."
        ),
    ] = None
    temperature: Annotated[
        float | None, typer.Option(help="Of the loss. natural: 0.1; digits: 0.2.")
    ] = None
    clip: Annotated[
        float | None, typer.Option(help="The norm to which each image's gradient is clipped: 1.")
    ] = None
    learning_rate: Annotated[float | None, typer.Option(help="Of SGD with momentum .9: 0.5.")] = (
        None
    )
    projection: Annotated[
        int | None,
        typer.Option(
            help="Entries of the embeddings that a loss compares, 32; closed-form: features that it"
            " makes, 256, or 0 for whitening alone."
        ),
    ] = None
    repulsion: Annotated[
        float | None, typer.Option(help="spectral: the weight of the second moment, 5.")
    ] = None
    coupling_share: Annotated[
        float | None,
        typer.Option(
            help="The part of a step's budget for the matrix that couples a batch, 1/17; for"
            " released embeddings, 1/2."
        ),
    ] = None
    components: Annotated[
        int | None,
        typer.Option(
            help="prototypes: private principal components, 48; closed-form: whitened ones, 384."
        ),
    ] = None
    clusters: Annotated[int | None, typer.Option(help="prototypes: clusters, 64.")] = None
    rounds: Annotated[
        int | None, typer.Option(help="prototypes: steps of k-means, 4; 0 for components alone.")
    ] = None
    root: Annotated[
        bool,
        typer.Option(
            "--root", help="prototypes: take the signed root of each entry of a row first."
        ),
    ] = False
    views: Annotated[
        int | None,
        typer.Option(
            help="closed-form: views of a row, each by half of its entries, 3; of images always 3.",
        ),
    ] = None
    fast: Annotated[
        bool,
        typer.Option("--fast", help="Books in float32: faster, and declared instead of proven."),
    ] = False
    seed: Annotated[int, typer.Option(help="Of initial weights, order and views.")] = 0
    restart: Annotated[
        bool, typer.Option("--restart", help="Forget where an earlier run stopped.")
    ] = False
    resume: Resume = False
    limit: Annotated[int | None, typer.Option(help="Use only the first images, this many.")] = None
    replace: options.Replace = False
    sign: options.Sign = None
    json: options.Json = False

    def numbers(self) -> dict[str, Any]:
        """What was typed of a recipe's numbers, by the names that recipes have for them."""
        numbers = option_groups.typed(self, _OF_RECIPES)
        if self.projection is not None:
            numbers["embedding"] = self.projection
        return numbers | ({"exact": False} if self.fast else {})
