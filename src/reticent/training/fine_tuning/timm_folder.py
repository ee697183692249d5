"""A network of images from a local folder as timm writes it: config.json and model.safetensors.

``timm.models.save_for_hf(model, FOLDER, safe_serialization=True)`` writes one, and so does every
download of a network of timm from a hub. Nothing is fetched, no pickle is opened and no code of the
folder runs: its two files are read once and hashed, and the network is one that timm itself has.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reticent import strict_json
from reticent.training.encoders.torch_extra import torch
from reticent.training.fine_tuning.cut import Features
from reticent.training.fine_tuning.folder import CONFIG, WEIGHTS, named_files, read_files
from reticent.training.fine_tuning.timm_library import imported_timm
from reticent.validation import InputError

FILES: Final = (CONFIG, WEIGHTS)
_SIDES: Final = range(8, 2049)
_INTERPOLATIONS: Final = ("bilinear", "bicubic")
_OTHER_PLACES: Final = ("pretrained", "checkpoint_path", "cache_dir", "features_only")
"""Arguments of ``timm.create_model``, by their beginnings, that say where weights come from, or
would build another network than the one that the weights are of."""
_UNBUILT: Final = (
    *(ValueError, TypeError, KeyError, AttributeError, AssertionError, IndexError, RuntimeError),
    *(ImportError, ZeroDivisionError, NotImplementedError),
)


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """How images are prepared for a network: public numbers of its ``pretrained_cfg``."""

    channels: int
    height: int
    width: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    interpolation: str


@dataclass(frozen=True, kw_only=True)
class ImageSource:
    """A network of timm without its classifier, as its files have it."""

    features: Features
    preparation: Preparation
    public_weights: str
    """The files with their SHA-256."""


def timm_source(folder: Path) -> ImageSource:
    """The network in a folder, in evaluation mode."""
    files = read_files(folder, FILES)
    config = strict_json.parsed_object(files[CONFIG], source=str(folder / CONFIG))
    preparation = _preparation(folder, config)
    network = _network(folder, config)
    _load_weights(folder, network, files[WEIGHTS])
    return ImageSource(
        features=Features(network.eval().requires_grad_(False)).eval(),
        preparation=preparation,
        public_weights=named_files(files),
    )


def _cfg(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of the weights; older folders have them beside the architecture."""
    cfg = config.get("pretrained_cfg", config)
    if not isinstance(cfg, dict):
        raise _bad(folder, "an object as pretrained_cfg", cfg)
    return cfg


def _preparation(folder: Path, config: Mapping[str, Any]) -> Preparation:
    cfg = _cfg(folder, config)
    size = cfg.get("input_size", [3, 224, 224])
    if not _numbers(size, int, 3) or size[0] not in (1, 3) or not {*size[1:]} <= {*_SIDES}:
        raise _bad(folder, "an input_size of 1 or 3 channels and sides of 8 to 2048 pixels", size)
    mean, std = cfg.get("mean", [0.485, 0.456, 0.406]), cfg.get("std", [0.229, 0.224, 0.225])
    for name, values in (("mean", mean), ("std", std)):
        if not _numbers(values, (int, float), size[0]) or (name == "std" and not min(values) > 0):
            raise _bad(folder, f"a {name} of {size[0]} numbers, of which no std is 0", values)
    interpolation = cfg.get("interpolation", _INTERPOLATIONS[0])
    return Preparation(
        channels=size[0],
        height=size[1],
        width=size[2],
        mean=tuple(map(float, mean)),
        std=tuple(map(float, std)),
        interpolation=interpolation if interpolation in _INTERPOLATIONS else _INTERPOLATIONS[0],
    )


def _numbers(values: object, kind: Any, length: int) -> bool:
    return (
        isinstance(values, list)
        and len(values) == length
        and all(isinstance(one, kind) and not isinstance(one, bool) for one in values)
    )


def _network(folder: Path, config: Mapping[str, Any]) -> Any:
    """With weights that are drawn, and thrown away when those of the file are read."""
    timm = imported_timm(f"the folder {folder}")
    name, model_args = config.get("architecture"), config.get("model_args") or {}
    if not isinstance(name, str) or not name.isidentifier() or not timm.is_model(name):
        raise _bad(folder, "an architecture that timm has", name)
    if not isinstance(model_args, dict):
        raise _bad(folder, "an object as model_args", model_args)
    for one in model_args:
        if one.startswith(_OTHER_PLACES):
            raise _bad(folder, "model_args of the network alone", one)
    cfg = _cfg(folder, config)
    classes = config.get("num_classes", cfg.get("num_classes", 1000))
    sizes = {one: cfg[one] for one in ("input_size", "fixed_input_size") if one in cfg}
    try:
        with torch.random.fork_rng(devices=[]):
            return timm.create_model(
                name,
                pretrained=False,
                pretrained_cfg_overlay=sizes,
                **({"num_classes": classes} | model_args),
            )
    except _UNBUILT as error:
        reason = str(error).partition("\n")[0][:200]
        raise _bad(folder, "arguments that timm takes", reason) from None


def _load_weights(folder: Path, network: Any, content: bytes) -> None:
    import safetensors
    from safetensors.torch import load

    try:
        state = load(content)
    except safetensors.SafetensorError:
        raise InputError(f"{folder / WEIGHTS} must be a safetensors file, got another") from None
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1].strip()[:120]
        raise InputError(
            f"{folder / WEIGHTS} must hold the weights of {CONFIG}, got others: {reason}"
        ) from None


def _bad(folder: Path, rule: str, value: object) -> InputError:
    return InputError(f"{folder / CONFIG} must have {rule}, got {str(value)[:200]!r}")
