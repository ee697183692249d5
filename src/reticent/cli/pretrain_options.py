"""Options of ``reticent pretrain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Public = Annotated[
    str | None,
    typer.Option(
        metavar="NAME_OR_FILE",
        help="Public images: a data set's name, or an .npz file with one array of images"
        " (n, height, width) or (n, height, width, channels). Labels are not used. With"
        " --private: the negatives of simclr, a file of the same form.",
        show_default=False,
    ),
]
PrivateImages = Annotated[
    Path | None,
    typer.Option(
        "--private",
        help="Private images or rows: .npz, .csv or .parquet; with --privacy and --epsilon.",
        show_default=False,
    ),
]
Method = Annotated[
    str,
    typer.Option(
        help="simclr (NT-Xent), barlow (Barlow Twins), spectral (spectral contrastive loss); of"
        " --private images alone: masked-patches (hidden blocks are told from the others),"
        " closed-form (the spectral loss on fixed filters, by noisy sums) or prototypes (a public"
        " encoder adapted by noisy sums)."
    ),
]
Way = Annotated[
    str | None,
    typer.Option(
        help="Of simclr --privacy proven, how private images are kept apart: public-negatives, each"
        " is told from --public images alone (synthetic ones where none are given);"
        " released-embeddings, from noisy embeddings of its batch; logit-clipping, the gradient of"
        " each similarity is clipped. The last two: replace-one, batches of one size.",
        show_default=False,
    ),
]
PrivacyName = Annotated[
    str,
    typer.Option(
        "--privacy",
        help="none, of public images alone; proven: with a certificate; published:"
        " DPCL for simclr and barlow, whose claim does not hold; naive: its baseline, noise for"
        " 4|B|C.",
    ),
]
MaybeEpsilon = Annotated[
    float | None, typer.Option("--epsilon", help="The ε to reach.", show_default=False)
]
Clip = Annotated[
    float | None,
    typer.Option(help="The norm to which each image's gradient is clipped: 1.", show_default=False),
]
Rate = Annotated[
    float | None, typer.Option(help="Of SGD with momentum .9: 0.5.", show_default=False)
]
Projection = Annotated[
    int | None,
    typer.Option(
        help="Entries of the embeddings that a loss compares, 32; closed-form: features that it"
        " makes, 256, or 0 for whitening alone.",
        show_default=False,
    ),
]
Repulsion = Annotated[
    float | None,
    typer.Option(help="spectral: the weight of the second moment, 5.", show_default=False),
]
CouplingShare = Annotated[
    float | None,
    typer.Option(
        help="The part of a step's budget for the matrix that couples a batch, 1/17; for released"
        " embeddings, 1/2.",
        show_default=False,
    ),
]
Base = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        help="Train on what a public encoder makes of private records, by its name:"
        " efficientnet-lite0, minilm, scattering; closed-form: gabor-views (the default for"
        " images), gabor-digit-views, patch-views.",
        show_default=False,
    ),
]
Components = Annotated[
    int | None,
    typer.Option(
        help="prototypes: private principal components, 48; closed-form: whitened ones, 384.",
        show_default=False,
    ),
]
ViewCount = Annotated[
    int | None,
    typer.Option(
        "--views",
        help="closed-form: views of a row, each by half of its entries, 3; of images always 3.",
        show_default=False,
    ),
]
Clusters = Annotated[int | None, typer.Option(help="prototypes: clusters, 64.", show_default=False)]
Rounds = Annotated[
    int | None,
    typer.Option(
        help="prototypes: steps of k-means, 4; 0 for components alone.", show_default=False
    ),
]
Root = Annotated[
    bool,
    typer.Option("--root", help="prototypes: take the signed root of each entry of a row first."),
]
Fast = Annotated[
    bool, typer.Option("--fast", help="Books in float32: faster, and declared instead of proven.")
]
Data = Annotated[
    Path | None,
    typer.Option(help="The data folder; by default RETICENT_DATA.", show_default=False),
]
Out = Annotated[
    Path,
    typer.Option(
        help="Where to write OUT.safetensors and OUT.log.jsonl, and OUT.json with a proven ε; after"
        " a stop the same command goes on, of private images with --resume."
    ),
]
Architecture = Annotated[
    str | None,
    typer.Option(
        help="conv, four convolutions (public images alone, and the default there); strided, three"
        " with group normalisation; resnet18 with group normalisation; mlp for rows.",
        show_default=False,
    ),
]
AugmentationName = Annotated[
    str | None,
    typer.Option(
        "--augmentation",
        help="How views of an image are made: natural (photographs, the default) or digits (never"
        " mirrored). Of public images it also chooses the defaults below.",
        show_default=False,
    ),
]
Width = Annotated[
    int | None,
    typer.Option(
        help="Filters: conv 128, with digits 32; resnet18 64 in its first stage.",
        show_default=False,
    ),
]
Epochs = Annotated[
    float | None,
    typer.Option(help="natural: 20; digits: 50; of private images 1.", show_default=False),
]
Batch = Annotated[
    int | None,
    typer.Option(
        help="Images in a batch. natural: 525; digits: 125; of private images 512 on average.",
        show_default=False,
    ),
]
Temperature = Annotated[
    float | None, typer.Option(help="Of the loss. natural: 0.1; digits: 0.2.", show_default=False)
]
Seed = Annotated[int, typer.Option(help="Of initial weights, order and views.")]
Restart = Annotated[bool, typer.Option("--restart", help="Forget where an earlier run stopped.")]
Limit = Annotated[
    int | None, typer.Option(help="Use only the first images, this many.", show_default=False)
]
