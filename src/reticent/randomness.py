"""Two kinds of randomness that cannot be turned into each other.

``SecureBits`` protects: it takes no seed, and no argument at all. ``seeded`` is for everything
else (splits, initial weights, simulations): a Generator that is a function of its identity, so
that one core, two cores and a cluster give equal rows.
"""

import hashlib
import operator
import os
from typing import Final, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

_KEY_BYTES: Final = 32
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
        if os.getpid() != self._process:
            self._take_key()
        words = np.empty(count, dtype=np.uint64)
        target = words.view(np.uint8).data
        for start in range(0, target.nbytes, _ZEROS.nbytes):
            part = target[start : start + _ZEROS.nbytes]
            self._cipher.update_into(_ZEROS[: part.nbytes], part)
        return words

    def extra_bits(self, count: int) -> int:
        """The next ``count`` bits as a whole number in [0, 2^count)."""
        words = self.words(-(-count // 64))
        return int.from_bytes(words.tobytes(), "little") >> (64 * words.size - count)

    def _take_key(self) -> None:
        self._process = os.getpid()
        # A key is used for one stream only, so the counter may always start at zero.
        key = algorithms.AES(os.urandom(_KEY_BYTES))
        self._cipher = Cipher(key, modes.CTR(bytes(16))).encryptor()

    def __reduce__(self) -> NoReturn:
        raise TypeError("SecureBits must not be copied or pickled: noise would be used twice")


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
