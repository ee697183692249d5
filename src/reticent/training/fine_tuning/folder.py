"""A text encoder from a local folder of transformers: config, safetensors weights, tokenizer.json.

Nothing is fetched and no code of the folder runs: three files are read once, hashed and handed to
classes that transformers itself has. A folder that asks for code of its own, or has its weights as
a pickle alone, is refused.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Final

from reticent import strict_json
from reticent.read_limit import bounded_bytes
from reticent.training.encoders.base import missing
from reticent.training.encoders.torch_extra import torch
from reticent.training.fine_tuning.texts import PARTS, TextSource
from reticent.validation import InputError

_CONFIG: Final = "config.json"
_WEIGHTS: Final = "model.safetensors"
_TOKENIZER: Final = "tokenizer.json"
_FILES: Final = (_CONFIG, _WEIGHTS, _TOKENIZER)


def split_name(name: str) -> tuple[Path, str]:
    """The folder and the part of ``FOLDER`` or ``FOLDER#PART``; adapters where none is said."""
    folder, _, part = name.partition("#")
    if part and part not in PARTS:
        raise InputError(f"part must be one of {', '.join(PARTS)}, got {part!r}")
    return Path(folder).expanduser(), part or PARTS[0]


def folder_source(folder: Path) -> TextSource:
    """The encoder and the tokenizer of a folder."""
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        raise missing(str(error.name), encoder=f"the folder {folder}") from None
    files = _read(folder)
    try:
        tokenizer = Tokenizer.from_str(files[_TOKENIZER].decode())
    except Exception:  # noqa: BLE001 - the library raises Exception itself, in other words each time
        raise InputError(f"{folder / _TOKENIZER} must be a tokenizer, got another file") from None
    return TextSource(
        encoder=_encoder(folder, files),
        tokenizer=tokenizer,
        public_weights=_named(files),
    )


def folder_weights(folder: Path) -> str:
    """The files of a folder with their SHA-256."""
    return _named(_read(folder))


def _read(folder: Path) -> dict[str, bytes]:
    if not folder.is_dir():
        raise InputError(
            f"model must be a name, package.module:function or a folder of transformers, got"
            f" {str(folder)!r}, which is none"
        )
    lacking = [name for name in _FILES if not (folder / name).is_file()]
    if lacking:
        pickles = sorted(one.name for one in folder.glob("*.bin"))
        why = f": {pickles[0]} is a pickle, which may run anything" if pickles else ""
        raise InputError(f"{folder} must hold {', '.join(_FILES)}, got no {lacking[0]}{why}")
    return {name: bounded_bytes(folder / name) for name in _FILES}


def _named(files: dict[str, bytes]) -> str:
    return "; ".join(
        f"{name} sha256:{hashlib.sha256(content).hexdigest()}" for name, content in files.items()
    )


def _encoder(folder: Path, files: dict[str, bytes]) -> Any:
    try:
        from transformers import AutoConfig, AutoModel
    except ModuleNotFoundError as error:
        raise missing(str(error.name), encoder=f"the folder {folder}") from None
    numbers = strict_json.parsed_object(files[_CONFIG], source=str(folder / _CONFIG))
    if "auto_map" in numbers:
        raise InputError(
            f"{folder / _CONFIG} must name a model of transformers, got auto_map: code of the"
            " folder is never run"
        )
    try:
        config = AutoConfig.for_model(numbers.pop("model_type", ""), **numbers)
        with torch.random.fork_rng(devices=[]):  # the first weights are drawn, and thrown away
            model = AutoModel.from_config(config, attn_implementation="sdpa", dtype=torch.float32)
    except (ValueError, TypeError, KeyError, ImportError, AttributeError) as error:
        reason = str(error).partition("\n")[0][:200]
        raise InputError(
            f"{folder / _CONFIG} must be of an encoder that transformers has, got: {reason}"
        ) from None
    _load_weights(folder, model, files[_WEIGHTS])
    return model.eval()


def _load_weights(folder: Path, model: Any, content: bytes) -> None:
    """Every weight of the encoder; a pooler, and heads of other tasks, are not needed."""
    import safetensors
    from safetensors.torch import load

    try:
        state = load(content)
    except safetensors.SafetensorError:
        raise InputError(f"{folder / _WEIGHTS} must be a safetensors file, got another") from None
    prefix = f"{model.base_model_prefix}."
    if any(name.startswith(prefix) for name in state):
        state = {name.removeprefix(prefix): one for name, one in state.items()}
    try:
        lacking = model.load_state_dict(state, strict=False).missing_keys
    except RuntimeError:
        raise InputError(f"{folder / _WEIGHTS} must fit {_CONFIG}, got other shapes") from None
    needed = [name for name in lacking if not name.startswith("pooler.")]
    if needed:
        raise InputError(f"{folder / _WEIGHTS} must hold all weights, got no {needed[0]}")
