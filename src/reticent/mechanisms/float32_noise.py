"""Gaussian noise in float32 from secure bits, as fast as it goes: for claims that are *declared*.

Box and Muller in float32. Which floats a sum can be depends on the value below the noise, so
floating-point attacks (Mironov 2012) are not covered: whoever uses it states
``additive.IDEAL_NOISE``. The exact samplers are those of ``reticent.mechanisms.rounded``.
"""

import threading
from typing import Final

import numba
import numpy as np
from numpy.typing import NDArray

from reticent.arrays import Floats32
from reticent.randomness import SecureBits

_BLOCK: Final = 1 << 17
"""Entries at a time: their random words stay in the second-level cache."""
_WORDS_OF_A_KEY: Final = 1 << 21
"""Then a new one is taken: whoever reads the memory of a process can tell that much noise."""

_F = np.float32
_U = np.uint32
_I = np.int32
_ZERO: Final = _F(0.0)
_HALF: Final = _F(0.5)
_ONE: Final = _F(1.0)
_LN2: Final = _F(0.6931471805599453)
_BITS_OF_ROOT_HALF: Final = _I(0x3F3504F3)
_MANTISSA: Final = _I(23)
_SIGN: Final = _I(-(2**31))
_TAIL_UNIT: Final = _F(2.0**-8)
_UNIT: Final = _F(2.0**-31)
_MIDDLE: Final = _F(2.0**21 - 0.5)
_ANGLE_UNIT: Final = _F(np.pi / 2 * 2.0**-22)
_ARTANH: Final = tuple(_F(2 / (2 * j + 1)) for j in range(5))
_COS: Final = tuple(_F(one) for one in (1, -1 / 2, 1 / 24, -1 / 720, 1 / 40320))
_SIN: Final = tuple(_F(one) for one in (1, -1 / 6, 1 / 120, -1 / 5040))


class _Streams(threading.local):
    """Secure bits of one thread, for several releases: a new key costs as much as 10⁵ draws."""

    bits: SecureBits
    left = 0

    def __init__(self) -> None:
        self.memory = np.empty(_BLOCK // 2, np.uint64)

    def words(self, count: int) -> NDArray[np.uint32]:
        """An even number of words of 32 bits, none of which was drawn before; read them at once."""
        if self.left < count:
            self.bits, self.left = SecureBits(), _WORDS_OF_A_KEY
        self.left -= count
        drawn = self.memory[: count // 2]
        self.bits.fill(drawn)
        return drawn.view(np.uint32)


_STREAMS: Final = _Streams()


def add_gaussian(values: Floats32, scale: float) -> None:
    """values += N(0, scale²), i.i.d. over the entries of a flat array, in place."""
    pairs = values[: values.size - values.size % 2]
    for start in range(0, pairs.size, _BLOCK):
        part = pairs[start : start + _BLOCK]
        add_gaussian_of_words(_STREAMS.words(part.size), _F(scale), part)
    if pairs.size < values.size:
        last = np.zeros(2, np.float32)
        add_gaussian_of_words(_STREAMS.words(2), _F(scale), last)
        values[-1] += last[0]


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "nsz", "arcp"})
def add_gaussian_of_words(words: NDArray[np.uint32], scale: np.float32, values: Floats32) -> None:
    """The same as a function of random words: as many as values, an even number.

    Of a pair (i, h + i) of words, h half their number, the first gives 31 bits of the uniform of
    the radius. The second gives it 8 more, with which the noise ends at √(80·ln 2) = 7.4 scales
    (10⁻¹³ of a Gaussian lies beyond), two signs, and 22 bits of an angle in (−π/4, π/4): as in
    ``rounded.kernels.gaussian_noise``, r·(cos φ ∓ sin φ) are the two draws.
    """
    half = words.size // 2
    for i in range(half):
        word, turn = words[i], words[half + i]
        tail = (_F(_I(turn & _U(255))) + _HALF) * _TAIL_UNIT
        radius = scale * np.sqrt(_minus_log((_F(_I(word >> _U(1))) + tail) * _UNIT))
        angle = (_F(_I(turn >> _U(10))) - _MIDDLE) * _ANGLE_UNIT
        z = angle * angle
        cosine = (((_COS[4] * z + _COS[3]) * z + _COS[2]) * z + _COS[1]) * z + _COS[0]
        sine = angle * (((_SIN[3] * z + _SIN[2]) * z + _SIN[1]) * z + _SIN[0])
        values[i] += _signed(radius * (cosine - sine), _I(turn << _U(23)))
        values[half + i] += _signed(radius * (cosine + sine), _I(turn << _U(22)))


@numba.njit(nogil=True, inline="always")
def _minus_log(uniform: np.float32) -> np.float32:
    """−ln u for a normal float in (0, 1]: u = m·2^e, m in [√½, √2), and the series of artanh."""
    bits = _F(uniform).view(_I)
    exponent = _I(_I(bits - _BITS_OF_ROOT_HALF) >> _MANTISSA)
    m = _I(bits - _I(exponent << _MANTISSA)).view(_F)
    x = (m - _ONE) / (m + _ONE)
    z = x * x
    series = (((_ARTANH[4] * z + _ARTANH[3]) * z + _ARTANH[2]) * z + _ARTANH[1]) * z + _ARTANH[0]
    return max(-(_F(exponent) * _LN2 + x * series), _ZERO)


@numba.njit(nogil=True, inline="always")
def _signed(magnitude: np.float32, sign: np.int32) -> np.float32:
    """The magnitude with its sign turned where the first bit of ``sign`` is set."""
    return _I(_F(magnitude).view(_I) ^ _I(sign & _SIGN)).view(_F)
