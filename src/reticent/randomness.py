"""Two kinds of randomness that cannot be turned into each other.

``SecureBits`` protects: it takes no seed, and no argument at all. ``seeded`` is for everything
else (splits, initial weights, simulations): a Generator that is a function of its identity, so
that one core, two cores and a cluster give equal rows.
"""

import hashlib
import math
import operator
import os
from typing import Final, NamedTuple, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from reticent.validation import InputError

_KEY_BYTES: Final = 32
_BLOCK_BYTES: Final = 16
_TEST_BLOCKS: Final = 64
_LONGEST_RUN: Final = 9
_ZEROS: Final = memoryview(bytes(1 << 17))  # what the cipher encrypts: its output is the keystream


class SecureBits:
    """A stream of AES-256-CTR under a fresh key from the operating system.

    One object serves one release and is then dropped, so no state survives between releases. A
    forked child that holds an object takes a new key before its next word; copying and pickling
    are refused. So no two releases share a stream.

    Formal guarantee: ideal random bits give differential privacy; these give COMPUTATIONAL
    differential privacy. Whoever told the two apart would tell AES-256 from a random permutation.
    """

    __slots__ = ("_cipher", "_process")

    def __init__(self) -> None:
        self._take_key()

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next ``count`` words of 64 bits."""
        words = np.empty(count, dtype=np.uint64)
        self.fill(words)
        return words

    def fill(self, words: NDArray[np.uint64]) -> None:
        """Write the next words over a contiguous array."""
        if os.getpid() != self._process:
            self._take_key()
        target = words.view(np.uint8).data
        for start in range(0, target.nbytes, _ZEROS.nbytes):
            part = target[start : start + _ZEROS.nbytes]
            self._cipher.update_into(_ZEROS[: part.nbytes], part)

    def extra_bits(self, count: int) -> int:
        """The next ``count`` bits as a whole number in [0, 2^count)."""
        words = self.words(-(-count // 64))
        return int.from_bytes(words.tobytes(), "little") >> (64 * words.size - count)

    def _take_key(self) -> None:
        self._process = os.getpid()
        # A key is used for one stream only, so the counter may always start at zero.
        key = algorithms.AES(_fresh_key())
        self._cipher = Cipher(key, modes.CTR(bytes(16))).encryptor()

    def __reduce__(self) -> NoReturn:
        raise TypeError("SecureBits must not be copied or pickled: noise would be used twice")


class RandomSourceError(InputError):
    """The operating system's random bits repeat: noise drawn from them would protect nobody."""


class _Seen(NamedTuple):
    """Blocks of the start-up test of one process, and a hash of the last key that it has drawn."""

    process: int
    blocks: frozenset[bytes]
    last: list[bytes]


_seen: list[_Seen] = []


def _fresh_key() -> bytes:
    """A key from the operating system, whose source was tested in this process.

    Formal guarantee: none, as no test proves randomness. A source that is constant or soon repeats
    is refused: no two of 64 blocks of 128 bits at start-up are equal, no byte stands 9 times in a
    row (NIST SP 800-90B, 4.4.1, repetition count at 8 bits a byte), and no key holds one of those
    blocks or is the one before it. A sound source fails with probability below 2^-53 a process. One
    that gives every process the same bits (a copied machine) looks sound from inside each.
    """
    if not _seen or _seen[0].process != os.getpid():
        _seen[:] = [_Seen(os.getpid(), _tested_blocks(), [])]
    tested, key = _seen[0], os.urandom(_KEY_BYTES)
    halves = {key[:_BLOCK_BYTES], key[_BLOCK_BYTES:]}
    digest = hashlib.sha256(key).digest()  # the key itself is kept nowhere
    if digest in tested.last or halves & tested.blocks or len(halves) < 2:
        raise _repeating()
    tested.last[:] = [digest]
    return key


def _tested_blocks() -> frozenset[bytes]:
    drawn = [os.urandom(_BLOCK_BYTES) for _ in range(_TEST_BLOCKS)]
    blocks, stream = frozenset(drawn), b"".join(drawn)
    runs = any(bytes([byte]) * _LONGEST_RUN in stream for byte in range(256))
    if len(blocks) < len(drawn) or runs or len(drawn[0]) < _BLOCK_BYTES:
        raise _repeating()
    return blocks


def _repeating() -> RandomSourceError:
    return RandomSourceError(
        "random bits of the operating system must be fresh, got some that repeat: nothing was"
        " released; repair os.urandom on this machine"
    )


def secret_sample(size: int, rate: float) -> NDArray[np.int64]:
    """The places that a Poisson sample takes: each of ``size`` by a secret coin of its own.

    A coin is a word of 64 bits below ⌊rate·2⁶⁴⌋: the probability is the rate, or less by 2⁻⁶⁴.
    """
    if rate >= 1:
        return np.arange(size)
    limit = np.uint64(int(math.ldexp(rate, 64)))
    return np.flatnonzero(SecureBits().words(size) < limit)


def secret_order(size: int) -> NDArray[np.int64]:
    """The places 0 … size − 1 in an order that is as likely as every other, by secret bits.

    Words of 64 bits are sorted; two equal ones (one in 10⁹ draws of 60,000) are drawn anew, so that
    no place has an advantage.
    """
    while True:
        words = SecureBits().words(size)
        order = np.argsort(words, kind="stable")
        ordered = words[order]
        if not (ordered[1:] == ordered[:-1]).any():
            return order


def seeded(*identity: int | str) -> np.random.Generator:
    """A Generator that depends on the identity alone: equal identities, equal streams.

    Never for noise that protects. The identity is hashed with the type and length of each part,
    so ``seeded("a", 1)``, ``seeded("a1")`` and ``seeded("a", "1")`` are unrelated.

    >>> seeded("split", 3).permutation(5).tolist() == seeded("split", 3).permutation(5).tolist()
    True
    """
    digest = hashlib.sha256()
    for part in identity:
        kind = "text" if isinstance(part, str) else "whole"
        written = (part if isinstance(part, str) else str(operator.index(part))).encode()
        digest.update(f"{kind}:{len(written)}:".encode() + written)
    entropy = int.from_bytes(digest.digest(), "big")
    return np.random.Generator(np.random.PCG64DXSM(np.random.SeedSequence(entropy)))
