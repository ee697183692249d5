"""Local folders of public weights, and text encoders in them as transformers writes them.

Such a folder holds config.json, model.safetensors and tokenizer.json. Folders of timm, which are of
images, are read by ``timm_folder``.

Nothing is fetched and no code of the folder runs: three files are read once, hashed and handed to
classes that transformers itself has. A folder that asks for code of its own, or has its weights as
a pickle alone, is refused.
"""

import hashlib
from pathlib import Path
from typing import Any, Final, NamedTuple

from reticent import strict_json
from reticent.read_limit import bounded_bytes
from reticent.training.encoders.base import missing
from reticent.training.encoders.torch_extra import torch
from reticent.training.fine_tuning.partly import PartlyTrained
from reticent.training.fine_tuning.texts import PARTS as TEXT_PARTS
from reticent.training.fine_tuning.texts import TextSource, text_network
from reticent.validation import InputError

CONFIG: Final = "config.json"
WEIGHTS: Final = "model.safetensors"
_TOKENIZER: Final = "tokenizer.json"
_PICKLES: Final = (".bin", ".pth", ".pt", ".ckpt", ".pkl")
_TEXT_FILES: Final = (CONFIG, WEIGHTS, _TOKENIZER)


class FolderKind(NamedTuple):
    """What a folder holds, by the library that wrote it."""

    library: str
    files: tuple[str, ...]

    @property
    def reads_texts(self) -> bool:
        """Whether its network is an encoder of texts; of images otherwise."""
        return self.library == "transformers"


_TRANSFORMERS: Final = FolderKind("transformers", _TEXT_FILES)
_TIMM: Final = FolderKind("timm", (CONFIG, WEIGHTS))


def split_name(name: str) -> tuple[Path, str]:
    """The folder and the part of ``FOLDER#PART``; no part where none is said."""
    folder, _, part = name.partition("#")
    return Path(folder).expanduser(), part


def folder_kind(folder: Path) -> FolderKind:
    """By its configuration: that of timm names its ``architecture``."""
    if not folder.is_dir():
        raise InputError(
            f"model must be a name, package.module:function or a folder of transformers or timm,"
            f" got {str(folder)!r}, which is none"
        )
    if not (folder / CONFIG).is_file():
        raise InputError(f"{folder} must hold {CONFIG}, as transformers or timm write it, got none")
    config = strict_json.read(folder / CONFIG)
    return _TIMM if isinstance(config, dict) and "architecture" in config else _TRANSFORMERS


def folder_network(name: str, shape: tuple[int, ...], classes: int) -> PartlyTrained:
    """The network of ``FOLDER`` or ``FOLDER#PART``, of images or of texts."""
    folder, part = split_name(name)
    if folder_kind(folder).reads_texts:
        return text_network(folder_source(folder), part or TEXT_PARTS[0], shape, classes)
    from reticent.training.fine_tuning import timm_folder, timm_images

    source = timm_folder.timm_source(folder)
    return timm_images.image_network(source, part or timm_images.PARTS[0], shape, classes)


def folder_source(folder: Path) -> TextSource:
    """The encoder and the tokenizer of a folder."""
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        raise missing(str(error.name), encoder=f"the folder {folder}") from None
    files = read_files(folder, _TEXT_FILES)
    try:
        tokenizer = Tokenizer.from_str(files[_TOKENIZER].decode())
    except Exception:  # noqa: BLE001 - the library raises Exception itself, in other words each time
        raise InputError(f"{folder / _TOKENIZER} must be a tokenizer, got another file") from None
    return TextSource(
        encoder=_encoder(folder, files),
        tokenizer=tokenizer,
        public_weights=named_files(files),
    )


def folder_weights(folder: Path) -> str:
    """The files of a folder with their SHA-256."""
    return named_files(read_files(folder, folder_kind(folder).files))


def read_files(folder: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    """The content of the files that a network is built from; pickles are never opened."""
    lacking = [name for name in names if not (folder / name).is_file()]
    if lacking:
        pickles = sorted(one.name for one in folder.iterdir() if one.suffix in _PICKLES)
        why = (
            f": {pickles[0]} is a pickle, which may run anything: save the weights as safetensors"
            if pickles
            else ""
        )
        raise InputError(f"{folder} must hold {', '.join(names)}, got no {lacking[0]}{why}")
    return {name: bounded_bytes(folder / name) for name in names}


def named_files(files: dict[str, bytes]) -> str:
    """Each file with its SHA-256, as a certificate names it."""
    return "; ".join(
        f"{name} sha256:{hashlib.sha256(content).hexdigest()}" for name, content in files.items()
    )


def _encoder(folder: Path, files: dict[str, bytes]) -> Any:
    try:
        from transformers import AutoConfig, AutoModel
    except ModuleNotFoundError as error:
        raise missing(str(error.name), encoder=f"the folder {folder}") from None
    numbers = strict_json.parsed_object(files[CONFIG], source=str(folder / CONFIG))
    if "auto_map" in numbers:
        raise InputError(
            f"{folder / CONFIG} must name a model of transformers, got auto_map: code of the"
            " folder is never run"
        )
    try:
        config = AutoConfig.for_model(numbers.pop("model_type", ""), **numbers)
        with torch.random.fork_rng(devices=[]):  # the first weights are drawn, and thrown away
            model = AutoModel.from_config(config, attn_implementation="sdpa", dtype=torch.float32)
    except (ValueError, TypeError, KeyError, ImportError, AttributeError) as error:
        reason = str(error).partition("\n")[0][:200]
        raise InputError(
            f"{folder / CONFIG} must be of an encoder that transformers has, got: {reason}"
        ) from None
    _load_weights(folder, model, files[WEIGHTS])
    return model.eval()


def _load_weights(folder: Path, model: Any, content: bytes) -> None:
    """Every weight of the encoder; a pooler, and heads of other tasks, are not needed."""
    import safetensors
    from safetensors.torch import load

    try:
        state = load(content)
    except safetensors.SafetensorError:
        raise InputError(f"{folder / WEIGHTS} must be a safetensors file, got another") from None
    prefix = f"{model.base_model_prefix}."
    if any(name.startswith(prefix) for name in state):
        state = {name.removeprefix(prefix): one for name, one in state.items()}
    try:
        lacking = model.load_state_dict(state, strict=False).missing_keys
    except RuntimeError:
        raise InputError(f"{folder / WEIGHTS} must fit {CONFIG}, got other shapes") from None
    needed = [name for name in lacking if not name.startswith("pooler.")]
    if needed:
        raise InputError(f"{folder / WEIGHTS} must hold all weights, got no {needed[0]}")
