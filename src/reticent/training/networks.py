"""Networks by name, for private training.

Small ones (tanh, no batch norms, a public seed), and encoders that start from public weights, of
which a part is trained (``fine_tuning``).
"""

import copy
import math
import os
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from reticent.training.encoders import base, named, pretrained
from reticent.training.encoders.torch_extra import nn, torch
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.training.fine_tuning.folder import FolderKind
    from reticent.training.fine_tuning.texts import TextSource, TokenEncoder

Builder = Callable[[tuple[int, ...], int], nn.Module]
"""From the shape of a record and the number of classes."""


def mlp(shape: tuple[int, ...], classes: int) -> nn.Module:
    """One hidden layer of 128 units."""
    return nn.Sequential(
        nn.Flatten(), nn.Linear(math.prod(shape), 128), nn.Tanh(), nn.Linear(128, classes)
    )


class _MaxPool(nn.MaxPool2d):
    """The same numbers with the channels last in memory, where torch is five times as fast."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The largest of each window."""
        pooled: torch.Tensor = super().forward(images.contiguous(memory_format=torch.channels_last))
        return pooled.contiguous()


class _ChannelsFirst(nn.Module):
    """From images as tables hold them, height×width×channels, to channels×height×width."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The same pixels in the other order."""
        return images.permute(0, 3, 1, 2).contiguous()


def conv(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Two convolutions with tanh, as in Papernot et al. 2021; 26,010 weights at 1×28×28.

    Images have their channels first, as 3×32×32, or last, as 32×32×3.
    """
    if len(shape) != 3:
        raise InputError(
            f"shape must be channels×height×width or height×width×channels for conv, got {shape}"
        )
    last = base.channels_last(shape)
    features = nn.Sequential(
        *([_ChannelsFirst()] if last else []),
        nn.Conv2d(shape[2 if last else 0], 16, 8, stride=2, padding=2),
        nn.Tanh(),
        _MaxPool(2, 1),
        nn.Conv2d(16, 32, 4, stride=2),
        nn.Tanh(),
        _MaxPool(2, 1),
        nn.Flatten(),
    )
    try:
        width = features(torch.zeros(1, *shape)).shape[1]
    except RuntimeError:
        raise InputError(f"shape must be at least 1×18×18 for conv, got {shape}") from None
    return nn.Sequential(*features, nn.Linear(width, 32), nn.Tanh(), nn.Linear(32, classes))


_MAPS: Final = 81
"""Of one colour, of the encoder ``scattering-maps``."""


def scattering_conv(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Two convolutions on the maps of ``scattering-maps``, as in Tramèr and Boneh 2021.

    Groups of maps have mean 0 and variance 1 in each image, by its own numbers alone.
    """
    maps, *sides = _maps_shape(shape)
    first = nn.Sequential(
        nn.Unflatten(1, (maps, *sides)) if len(shape) == 1 else nn.Identity(),
        nn.GroupNorm(_MAPS // 3, maps, affine=False),
        nn.Conv2d(maps, 16, 3, stride=2, padding=1),
        nn.Tanh(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.Tanh(),
        nn.Flatten(),
    )
    width = first(torch.zeros(1, *shape)).shape[1]
    return nn.Sequential(*first, nn.Linear(width, 32), nn.Tanh(), nn.Linear(32, classes))


def _maps_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Of the maps in a row of features: those of a square image, where nothing else is said."""
    if len(shape) == 3 and shape[0] in (_MAPS, 3 * _MAPS):
        return shape
    for maps in (_MAPS, 3 * _MAPS):  # no number is 81·s² and 243·t² at once
        side = math.isqrt(math.prod(shape) // maps)
        if len(shape) == 1 and maps * side * side == shape[0]:
            return maps, side, side
    raise InputError(
        f"shape must be 81 or 243 maps×height×width for scattering-conv, got {shape}: take"
        " --encoder scattering-maps, and say --shape where images are not square"
    )


def minilm(part: str) -> Builder:
    """MiniLM with adapters (LoRA) in all layers or the last one, or with a head alone."""

    def build(shape: tuple[int, ...], classes: int) -> nn.Module:
        from reticent.training.fine_tuning.texts import text_network

        return text_network(_minilm_source(), part, shape, classes)

    return build


def efficientnet(shape: tuple[int, ...], classes: int) -> nn.Module:
    """EfficientNet-Lite0 whose last block is trained, with a head."""
    from reticent.training.fine_tuning.images import EfficientNetLast

    return EfficientNetLast(shape, classes)


NETWORKS: Final[dict[str, Builder]] = {
    "mlp": mlp,
    "conv": conv,
    "scattering-conv": scattering_conv,
    "minilm-lora": minilm("lora"),
    "minilm-lora-last": minilm("lora-last"),
    "minilm-head": minilm("head"),
    "efficientnet-lite0-last": efficientnet,
}
_OF_IMAGES: Final = ("conv", "efficientnet-lite0-last")
TRUST_VARIABLE: Final = "RETICENT_TRUST_CODE"
_trusted: set[str] = set()
_PUBLIC: Final = {
    **{name: pretrained.MINILM_FILES for name in NETWORKS if name.startswith("minilm-")},
    "efficientnet-lite0-last": pretrained.EFFICIENTNET_FILE,
}


def network(name: str, shape: tuple[int, ...], classes: int, *, seed: int) -> nn.Module:
    """A network with its first weights drawn from a public seed.

    ``name`` is one of ``NETWORKS``; a folder of transformers, perhaps with ``#lora-last`` or
    ``#head``, or of timm, perhaps with ``#head``; or ``package.module:function`` of a function that
    is called with the shape of a record and the number of classes.
    """
    builder = NETWORKS.get(name) or (_folder_builder(name) if _is_folder(name) else None)
    builder = builder or named.imported(name, kind="network")  # type: ignore[assignment]
    if not callable(builder):
        raise InputError(f"network {name!r} must be a function, got {type(builder).__name__}")
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model = builder(shape, classes)
        if name not in NETWORKS:
            model = copy.deepcopy(model)  # a foreign builder may give the same one twice
    if not isinstance(model, nn.Module):
        raise InputError(f"{name} must return a torch module, got {type(model).__name__}")
    return model.to(torch.float32).train()


def trust_code(name: str) -> None:
    """From now on ``package.module:function`` may be called in this process when a file names it.

    Whoever trains a network by its name trusts it; whoever reads somebody's certificate says so
    here, or in the environment: ``RETICENT_TRUST_CODE``, names with commas between them.
    """
    _trusted.add(name)


def refuse_untrusted(name: str) -> None:
    """Raise where a file names a function that nobody here has said to trust."""
    known = name in NETWORKS or _is_folder(name) or name in _trusted
    if not known and name not in os.environ.get(TRUST_VARIABLE, "").split(","):
        raise InputError(
            f"network {name!r} must be trusted before it is called, got it from a file alone: set "
            f"{TRUST_VARIABLE} to it if you know the code"
        )


def public_weights(name: str) -> str:
    """The files of public weights that a network starts from, with their SHA-256; "" for none."""
    if name in NETWORKS or not _is_folder(name):
        return _PUBLIC.get(name, "")
    from reticent.training.fine_tuning.folder import folder_weights, split_name

    return folder_weights(split_name(name)[0])


def trained_shapes(
    name: str, shape: tuple[int, ...], classes: int, public: str
) -> dict[str, tuple[int, ...]]:
    """Of the trainable parameters; computed once where the network is one of public weights."""
    return dict(
        _shapes_of_public(name, shape, classes, public) if public else _shapes(name, shape, classes)
    )


def token_encoder(name: str, length: int) -> "TokenEncoder":
    """From texts to the rows that the named network reads, of so many tokens each.

    >>> token_encoder("minilm-lora", 8).encode(["Who?"]).tolist()
    [[102.0, 2041.0, 1030.0, 103.0, 0.0, 0.0, 0.0, 0.0]]
    """
    from reticent.training.fine_tuning.texts import TokenEncoder

    if not reads_texts(name):
        if name not in NETWORKS and "/" in name:
            _refuse_no_folder(name)
        raise InputError(f"texts must be given to an encoder of texts, got the model {name!r}")
    if name in NETWORKS:
        return TokenEncoder(_minilm_source(), length)
    from reticent.training.fine_tuning.folder import folder_source, split_name

    return TokenEncoder(folder_source(split_name(name)[0]), length)


def reads_texts(name: str) -> bool:
    """Whether the named network is an encoder of texts: other numbers would be taken for tokens."""
    kind = _folder_kind(name)
    return name.startswith("minilm-") if kind is None else kind.reads_texts


def reads_images(name: str) -> bool:
    """Whether the named network must be told the shape of an image: a name, or a folder of timm."""
    kind = _folder_kind(name)
    return name in _OF_IMAGES if kind is None else not kind.reads_texts


def _folder_kind(name: str) -> "FolderKind | None":
    """Of a name that is a path to a folder that is there; None of all others."""
    if name in NETWORKS or not _is_folder(name):
        return None
    from reticent.training.fine_tuning.folder import folder_kind, split_name

    folder, _ = split_name(name)
    return folder_kind(folder) if folder.is_dir() else None


def _refuse_no_folder(name: str) -> None:
    """Of a path: what is wrong with the folder, before what its network reads."""
    from reticent.training.fine_tuning.folder import folder_kind, split_name

    folder_kind(split_name(name)[0])


def _is_folder(name: str) -> bool:
    """Whether it is meant as a path: package.module:function has a colon."""
    return ":" not in name or "/" in name


def _folder_builder(name: str) -> Builder:
    def build(shape: tuple[int, ...], classes: int) -> nn.Module:
        from reticent.training.fine_tuning.folder import folder_network

        return folder_network(name, shape, classes)

    return build


def _minilm_source() -> "TextSource":
    from reticent.training.fine_tuning.texts import TextSource

    model = pretrained.load_minilm()
    return TextSource(
        encoder=model.network, tokenizer=model.tokenizer, public_weights=pretrained.MINILM_FILES
    )


def _shapes(name: str, shape: tuple[int, ...], classes: int) -> dict[str, tuple[int, ...]]:
    model = network(name, shape, classes, seed=0)
    if name not in NETWORKS and not _is_folder(name):
        _refuse_other_outputs(name, model, shape, classes)
    return {
        parameter: tuple(one.shape)
        for parameter, one in model.named_parameters()
        if one.requires_grad
    }


def _refuse_other_outputs(
    name: str, model: nn.Module, shape: tuple[int, ...], classes: int
) -> None:
    """Before anything is charged: what it says of two records of zeros."""
    wanted = f"{name} must give {classes} scores for each record of shape {shape}"
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            scores = model(torch.zeros(2, *shape))
    except (RuntimeError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise InputError(f"{wanted}, got {type(error).__name__}: {error}") from None
    if not isinstance(scores, torch.Tensor) or tuple(scores.shape) != (2, classes):
        is_tensor = isinstance(scores, torch.Tensor)
        given = tuple(scores.shape) if is_tensor else type(scores).__name__
        raise InputError(f"{wanted}, got {given} for two")


@lru_cache(maxsize=16)
def _shapes_of_public(
    name: str, shape: tuple[int, ...], classes: int, public: str
) -> dict[str, tuple[int, ...]]:
    del public  # part of the key: other weights may have other shapes
    return _shapes(name, shape, classes)
