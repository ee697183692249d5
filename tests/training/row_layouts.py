"""Equal rows in every memory layout, and rows of every magnitude, for tests of row functions."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

LARGEST = float(np.finfo(np.float64).max)

ENTRIES = st.one_of(
    st.floats(-10, 10),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 5e-324, -3 * 5e-324, 2.0**-1022, 1e-200, 1e300, -LARGEST]),
)


@st.composite
def any_rows(draw):
    """One to five rows: drawn entry by entry, or random ones that no shrinking makes simple."""
    shape = draw(st.integers(1, 5)), draw(st.integers(1, 40))
    if shape[1] < 9 and draw(st.booleans()):
        return draw(arrays.arrays(np.float64, shape, elements=ENTRIES))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = rng.normal(size=shape) * 2.0 ** draw(st.sampled_from([0, 1, -3, -1060, 1000]))
    if draw(st.booleans()):  # entries of one row far apart
        rows = rows * 2.0 ** -rng.integers(0, 70, size=shape)
    return rows


def layouts(rows):
    """The same numbers: C, Fortran, strided, reversed, read-only, unaligned, byte-swapped."""
    count, width = rows.shape
    wide, tall = np.full((count, 3 * width), np.nan), np.full((2 * count, width), np.nan)
    wide[:, 1::3], tall[::2] = rows, rows
    read_only = rows.copy()
    read_only.flags.writeable = False
    unaligned = np.empty(rows.nbytes + 1, dtype=np.uint8)[1:].view(np.float64).reshape(rows.shape)
    unaligned[:] = rows
    return {
        "C": np.ascontiguousarray(rows),
        "Fortran": np.asfortranarray(rows),
        "every third column": wide[:, 1::3],
        "every second row": tall[::2],
        "rows reversed": np.ascontiguousarray(rows[::-1])[::-1],
        "columns reversed": np.ascontiguousarray(rows[:, ::-1])[:, ::-1],
        "Fortran reversed": np.asfortranarray(rows[::-1, ::-1])[::-1, ::-1],
        "read-only": read_only,
        "unaligned": unaligned,
        "byte-swapped": rows.astype(rows.dtype.newbyteorder()),
    }


def squared_norm(row):
    """As a whole number of 2⁻²¹⁴⁸, without rounding."""
    return sum(whole(entry) ** 2 for entry in row.tolist())


def whole(number):
    """A float as the whole multiple of 2⁻¹⁰⁷⁴ that it is."""
    numerator, denominator = number.as_integer_ratio()
    return numerator * (2**1074 // denominator)


def same_bits(one, other):
    """Equal floats, 0.0 and −0.0 told apart."""
    return one.shape == other.shape and one.tobytes() == other.tobytes()


def assert_rows_alone(function, rows):
    """Each row's result is the same by itself, in another batch and place, in every layout."""
    expected = [np.ascontiguousarray(function(rows[i : i + 1].copy())) for i in range(len(rows))]
    together = np.concatenate(expected)
    for name, laid_out in layouts(rows).items():
        assert same_bits(np.ascontiguousarray(function(laid_out)), together), name
    batch = np.concatenate([rows[::-1], rows, rows[:1]])
    found = np.ascontiguousarray(function(np.asfortranarray(batch)))
    assert same_bits(found, np.concatenate([together[::-1], together, together[:1]]))
