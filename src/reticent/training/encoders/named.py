"""An encoder by its name, by its file, or by the place of an object in Python code."""

import inspect
import pkgutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from reticent.training.encoders import filter_views, pretrained, scattering
from reticent.training.encoders.base import Encoder, FunctionEncoder
from reticent.validation import InputError, line

_NAMED: Final[dict[str, Callable[[], Encoder]]] = {
    "efficientnet-lite0": pretrained.EfficientNetLite0,
    "minilm": pretrained.MiniLM,
    "scattering": scattering.Scattering,
    "scattering-maps": partial(scattering.Scattering, grid=None),
    "gabor-views": partial(filter_views.FilterViews, "gabor"),
    "gabor-digit-views": partial(filter_views.FilterViews, "gabor", augmentation="digits"),
    "patch-views": partial(filter_views.FilterViews, "patches"),
}
_PICKLES: Final = (".bin", ".ckpt", ".joblib", ".pickle", ".pkl", ".pt", ".pth")

NAMES: Final = tuple(_NAMED)


def encoder_of(text: str) -> Encoder:
    """The encoder that the text names.

    One of four: a name in ``NAMES``; a file ``….safetensors`` that ``save_encoder`` wrote; or
    ``package.module:attribute``, which is imported and is an encoder, a torch module, a function
    from n records to features (n, d), or a function without arguments that returns one of these.
    Importing runs the code of that package.

    >>> encoder_of("efficientnet-lite0").fingerprint()[:12]
    'd49fa773954c'
    """
    name = line("encoder", text)
    if name in _NAMED:
        return _NAMED[name]()
    ending = Path(name).suffix.lower()
    if ending in _PICKLES:
        raise InputError(
            f"encoder must not be a pickle, which may run anything when it is opened, got {name!r}:"
            " save it as safetensors"
        )
    if ending == ".safetensors":
        return _from_file(name)
    if ":" in name:
        return _of_object(name, imported(name), may_build=True)
    raise InputError(
        f"encoder must be {', '.join(NAMES)}, FILE.safetensors or package.module:attribute,"
        f" got {name!r}"
    )


def _from_file(name: str) -> Encoder:
    from reticent.training.encoders.torch_encoder import load_encoder, refuse_private

    encoder = load_encoder(Path(name).expanduser())
    refuse_private(encoder)
    return encoder


def imported(name: str, *, kind: str = "encoder") -> object:
    """What ``package.module:attribute`` names; importing runs the code of that package."""
    try:
        return pkgutil.resolve_name(name)
    except ImportError as error:
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"{kind} {name!r} must be importable, got {reason}: install its package or add its"
            " folder to PYTHONPATH"
        ) from None
    except AttributeError:
        raise InputError(
            f"{kind} {name!r} must name an attribute of its module, got no such attribute"
        ) from None
    except ValueError:
        raise InputError(f"{kind} must be written package.module:attribute, got {name!r}") from None


def _of_object(name: str, candidate: object, *, may_build: bool) -> Encoder:
    if not inspect.isclass(candidate):
        if _is_encoder(candidate):
            return cast(Encoder, candidate)
        if _is_torch_module(candidate):
            from reticent.training.encoders.torch_encoder import TorchEncoder

            return TorchEncoder(cast(Any, candidate), name=name)
    if not callable(candidate):
        raise InputError(
            f"encoder {name!r} must be a torch module or a function, got {type(candidate).__name__}"
        )
    if not _needs_arguments(candidate):
        if may_build:
            return _of_object(name, candidate(), may_build=False)
        raise InputError(f"encoder {name!r} must return a torch module, got another function")
    if inspect.isclass(candidate):
        raise InputError(
            f"encoder {name!r} must be built without arguments, got a class that needs some:"
            " name a function that builds it"
        )
    return FunctionEncoder(cast(Callable[..., Any], candidate))


def _is_encoder(candidate: object) -> bool:
    return all(callable(getattr(candidate, method, None)) for method in ("encode", "fingerprint"))


def _is_torch_module(candidate: object) -> bool:
    torch = sys.modules.get("torch")  # where it was not imported, nothing is a torch module
    return torch is not None and isinstance(candidate, torch.nn.Module)


def _needs_arguments(function: Callable[..., object]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # written in C, without a signature: such a thing builds no encoder
        return True
    named = (parameter for parameter in parameters if parameter.kind not in _VARIADIC)
    return any(parameter.default is parameter.empty for parameter in named)


_VARIADIC: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
