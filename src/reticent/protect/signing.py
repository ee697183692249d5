"""Whose claim it is: an Ed25519 signature over certificate and weights, in a file beside them.

A certificate can be computed anew by everybody and written by everybody. A signature says that the
holder of a key wrote these bytes; whose key it is, its receiver must know from elsewhere. It covers
the bytes of both files, so that neither can be changed or exchanged.
"""

import base64
import binascii
import hashlib
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from reticent.files import writable_file, write_atomic
from reticent.strict_json import parsed
from reticent.validation import InputError

FORMAT: Final = "reticent-signature-1"
_FIELDS: Final = {"format", "algorithm", "key", "signature"}
_ALGORITHM: Final = "ed25519"
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class Signer:
    """A private key, as ``--sign`` reads it."""

    key: Ed25519PrivateKey

    @property
    def name(self) -> str:
        """The fingerprint of its public key."""
        return fingerprint(self.key.public_key())

    def document(self, certificate: bytes, weights: bytes) -> bytes:
        """The file that stands beside these two: the public key, and the signature of both."""
        values = {
            "format": FORMAT,
            "algorithm": _ALGORITHM,
            "key": base64.b64encode(self.key.public_key().public_bytes_raw()).decode(),
            "signature": base64.b64encode(self.key.sign(_message(certificate, weights))).decode(),
        }
        return f"{json.dumps(values, indent=2)}\n".encode()


def make_keys(path: str | Path) -> tuple[Path, Path]:
    """Write a new private key to PATH, for its owner alone, and the public one to PATH.pub.

    Neither is written over: who verifies with the old public key would lose every signature.
    """
    private = writable_file(Path(path))
    public = writable_file(private.with_name(f"{private.name}.pub"))
    for one in (private, public):
        if one.exists():
            raise InputError(f"{one} must not be there yet, got a file: keys are not written over")
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    known = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    write_atomic(private, secret, private=True)
    write_atomic(public, known)
    return private, public


def read_signer(path: str | Path) -> Signer:
    """A private key that its owner alone can read; another is refused before anything is spent."""
    content = _content(path)
    if os.name == "posix" and Path(path).stat().st_mode & _OTHERS:
        raise InputError(f"{path} must be readable by its owner alone, got more: chmod 600")
    try:
        key: Any = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{path} must be an Ed25519 private key (PEM, no password), got another")
    return Signer(key)


def read_public_key(path: str | Path) -> Ed25519PublicKey:
    """The key that a receiver trusts, from PATH.pub."""
    try:
        key: Any = serialization.load_pem_public_key(_content(path))
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{path} must be an Ed25519 public key (PEM), got another file")
    return key


def fingerprint(key: Ed25519PublicKey) -> str:
    """A short name of a key, which two people can compare by voice."""
    digest = hashlib.sha256(key.public_bytes_raw()).digest()
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def signed_with(
    document: bytes, certificate: bytes, weights: bytes, name: object
) -> Ed25519PublicKey | None:
    """The key in a signature's document, if it signed these two; None where it did not.

    What is no such document is refused; ``name`` says in the message which file it is.
    """
    values = parsed(document, source=str(name))
    if not isinstance(values, dict) or set(values) != _FIELDS or values["format"] != FORMAT:
        raise InputError(f"{name} must be a signature of format {FORMAT}, got another file")
    try:
        raw, signature = (_bytes(values[part]) for part in ("key", "signature"))
        key = Ed25519PublicKey.from_public_bytes(raw)
    except (ValueError, TypeError):
        raise InputError(f"{name} must hold an Ed25519 key and signature, got others") from None
    try:
        key.verify(signature, _message(certificate, weights))
    except InvalidSignature:
        return None
    return key if values["algorithm"] == _ALGORITHM else None


def _message(certificate: bytes, weights: bytes) -> bytes:
    """Both files by their hashes, behind a name that no other use of the key begins with."""
    parts = (hashlib.sha256(part).digest() for part in (certificate, weights))
    return b"\n".join((FORMAT.encode(), *parts))


def _bytes(value: object) -> bytes:
    try:
        return base64.b64decode(str(value).encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise ValueError("no base64") from None


def _content(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path} must be a readable key, got: {error.strerror}") from None
