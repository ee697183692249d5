"""Rounding that keeps a claim true: upper bounds go up, lower bounds go down."""

import math
import sys
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction

_SLACK = 2.0**-46
"""Relative; the closed forms are evaluated to about 2⁻⁵⁰ and tested against quadrature."""


def up(value: float) -> float:
    """A float safely above a computed upper bound; zero stays zero."""
    return math.nextafter(value * (1 + _SLACK), math.inf) if value > 0 else value


def sum_up(values: Iterable[float]) -> float:
    """The sum, exact where a float can hold it and rounded up where not."""
    return _float_up(sum(map(Fraction, values), Fraction(0)))


def product_up(value: float, factor: int) -> float:
    """A multiple, exact where a float can hold it and rounded up where not."""
    return _float_up(Fraction(value) * factor)


def quotient_down(dividend: float, divisor: float) -> float:
    """A quotient, exact where a float can hold it and rounded down where not."""
    exact = Fraction(dividend) / Fraction(divisor)
    nearest = min(dividend / divisor, sys.float_info.max)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, 0.0)


def _float_up(exact: Fraction) -> float:
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def upper_text(value: float, digits: int = 5) -> str:
    """The number in at most ``digits`` significant digits, never smaller than it is.

    >>> upper_text(0.99995), upper_text(1.000001), upper_text(1.0)
    ('0.99995', '1.0001', '1')
    """
    return _text(value, Context(prec=digits, rounding=ROUND_CEILING))


def scale_text(value: float, digits: int = 5) -> str:
    """A scale of noise in few digits: rounded up, but for the slack that calibration adds.

    >>> scale_text(10 * (1 + 2**-43)), scale_text(0.1234561)
    ('10', '0.12346')
    """
    nearest = float(f"{value:.{digits - 1}e}")
    return upper_text(nearest if abs(nearest - value) <= 1e-12 * value else value, digits)


def lower_text(value: float, digits: int = 5) -> str:
    """The number in at most ``digits`` significant digits, never larger than it is.

    >>> lower_text(1.99999)
    '1.9999'
    """
    return _text(value, Context(prec=digits, rounding=ROUND_FLOOR))


def _text(value: float, context: Context) -> str:
    if not math.isfinite(value):
        return str(value)
    # repr is the shortest decimal that names the float, so what a user typed prints as typed.
    rounded = context.create_decimal(repr(value)).normalize()
    exponent = rounded.adjusted()
    return f"{rounded:f}" if -4 <= exponent < 7 else f"{rounded:e}"
