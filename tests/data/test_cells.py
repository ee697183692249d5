"""What is read of one record depends on that record's cells alone."""

import csv
import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from reticent.data import csv_file, read_table
from reticent.data.cells import plain_cells
from reticent.data.dataset import persons_array
from reticent.validation import InputError

TWICE_ROUNDED = 2**62 + 2**38 + 1
"""In float32 2**62 + 2**39; by way of float64, which loses the last 1, the even 2**62."""


def table(folder, lines, name="table.csv"):
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    return path


def clipped_sum(data, *, centre, bound):
    """Of one column, as a release forms it from public numbers."""
    return float(np.clip(data.features[:, 0].astype(np.float64) - centre, -bound, bound).sum())


def test_one_fractional_cell_moves_no_sum_by_more_than_its_own_record(tmp_path):
    """At n = 100,000 it moved everybody: the sum by 1.095 where one record has 1."""
    lines = ["x,y", *[f"{TWICE_ROUNDED},a"] * 100_000]
    centre, bound = 2.0**62 - 2.0**58, 2.0**59
    sums = [
        clipped_sum(
            read_table(table(tmp_path, some), label="y", classes=["a", "b"]),
            centre=centre,
            bound=bound,
        )
        for some in (lines, [*lines, f"{2.0**62 - 2.0**58 - 2.0**59 + 0.5:f},a"], [*lines, "0.5,a"])
    ]
    assert abs(sums[1] - sums[0]) <= bound * (1 + 1e-9)
    assert abs(sums[2] - sums[0]) <= bound * (1 + 1e-9)


@pytest.mark.parametrize("other", ["0.5", "1e3", "-0.0", "3", "9" * 30])
def test_no_cell_changes_the_bits_of_another(tmp_path, other):
    lines = ["x,z,y", f"{TWICE_ROUNDED},0.1,a", "-0,16777217,a"]
    alone, beside = (
        read_table(table(tmp_path, some), label="y", classes=["a"]).features
        for some in (lines, [*lines, f"{other},{other},a"])
    )
    assert alone.dtype == beside.dtype == np.float64
    assert beside[:2].tobytes() == alone.tobytes()
    assert alone.tolist() == [[2.0**62 + 2.0**38, 0.1], [-0.0, 16777217.0]]


CELLS = [
    *("nan", "NaN", "-nan", "inf", "Infinity", "-INF", "", " ", "  ", "\t"),
    *("1", " 1", "1 ", "\t1", "1\n", "\r\n1", "+1", "--1", "-0", "-0.0", "0.1", ".5", "5.", "007"),
    *("1e400", "-1e400", "1e-400", "4.9e-324", "2.5e-324", "1E5", "1e+5", "1.e5", "1e", "e5"),
    *("0x10", "1_000", "1,5", "1'000", "1;2", "\u0661", "\uff11", "1\u00a0", "1\0", "1f", "1d5"),
    *("true", "True", "false", "NA", "null", "None", "2020-01-01", "12:00", "2020-01-01 12:00:00"),
    *("word", "wörd", '"', '""', '1"', '"1"', "a\r\nb", "\r", "[1]", "=1"),
    *("9007199254740993", str(TWICE_ROUNDED), str(2**63), str(2**64), "1" * 30, "1" + "0" * 400),
    *("0." + "3" * 60, "1.7976931348623157e308", "1.7976931348623159e308"),
]
LABELS = ["a", "1", "01", "1.0", "nan", "a\r\nb"]
ROWS = st.tuples(
    st.sampled_from(CELLS), st.sampled_from(CELLS), st.sampled_from([*LABELS, "", "b"]),
    st.sampled_from([*CELLS, "ann", "007"]), st.booleans(),
)  # fmt: skip
GOOD = st.tuples(
    st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.integers(-(2**70), 2**70).map(str),
    st.sampled_from(["1", " 1", "-0", str(TWICE_ROUNDED), "1e-400"]),
    st.sampled_from(LABELS),
    st.sampled_from(["ann", "7", "007", "a\r\nb", 'a"b', "x,y"]),
    st.booleans(),
)


def written(folder, rows):
    """Each row in its own quoting, with the line ends of its own."""
    text = io.StringIO()
    text.write("u,v,y,who\n")
    for *cells, quoted in rows:
        quoting = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
        ends = "\r\n" if quoted else "\n"
        csv.writer(text, quoting=quoting, lineterminator=ends).writerow(cells)
    path = folder / "table.csv"
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    return path


def outcome(folder, rows):
    """Bits, labels and persons; None where the table is refused."""
    try:
        data = read_table(written(folder, rows), label="y", person="who", classes=LABELS)
    except InputError:
        return None
    return [
        (bits.tobytes(), int(label), str(person))
        for bits, label, person in zip(data.features, data.labels, data.persons, strict=True)
    ]


@pytest.mark.parametrize("cell", ["0x10", "0.5", "2020-01-01", "true", str(2**64), "word", ""])
@pytest.mark.parametrize("beside", ["1", "0.5", "2020-01-01", "word", "true", ""])
def test_whether_a_cell_is_a_number_depends_on_that_cell(tmp_path, cell, beside):
    """0x10 was 16 among whole numbers, and a text beside 0.5."""
    rows = [(other, "1", "a", "ann", False) for other in (cell, beside)]
    alone = [outcome(tmp_path, [row]) for row in rows]
    assert outcome(tmp_path, rows) == (None if None in alone else [one for [one] in alone])


@pytest.mark.slow
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(GOOD | ROWS, max_size=4), GOOD | ROWS)
def test_a_table_is_what_its_records_are_alone(tmp_path, rows, one):
    """Read with and without one record: the same verdict and the same bits for all others."""
    alone = [outcome(tmp_path, [row]) for row in (*rows, one)]
    together = outcome(tmp_path, [*rows, one])
    assert together == (None if None in alone else [record for [record] in alone])


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(GOOD, min_size=1, max_size=6), st.integers(8, 60))
def test_where_a_block_of_the_file_ends_does_not_matter(tmp_path, rows, size):
    """Arrow reads blocks: cut between CR and LF inside a name, it would lose the LF."""
    whole = outcome(tmp_path, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_file, "BLOCK", size)
        assert outcome(tmp_path, rows) == whole
    assert whole is not None


def test_a_name_of_two_lines_is_the_same_wherever_a_block_ends(tmp_path, monkeypatch):
    """Cut between CR and LF, "a\\r\\nb" would be "a\\rb": another person by the rows before."""
    rows = [("1", "1", "a", "a\r\nb", True)] * 12
    whole = outcome(tmp_path, rows)
    assert [person for _, _, person in whole] == ["a\r\nb"] * 12
    for size in range(30, 70):
        monkeypatch.setattr(csv_file, "BLOCK", size)
        assert outcome(tmp_path, rows) == whole


@pytest.mark.parametrize("line", ['1,a,"ann', '"1,a,ann', '1,"a,ann', '1,a,"ann""'])
def test_a_quote_that_never_ends_is_refused(tmp_path, line):
    """It would swallow the records after it."""
    path = table(tmp_path, ["x,y,who", line, "2,b,bob", "3,a,cy"])
    with pytest.raises(InputError, match=r"table.csv must ") as error:
        read_table(path, label="y", person="who", classes=["a", "b"])
    assert "bob" not in str(error.value)


@pytest.mark.parametrize("ends", ["", "\n", "\r\n", "\r", "\n\n"])
def test_a_header_alone_is_an_empty_table_however_it_ends(tmp_path, ends):
    path = tmp_path / "table.csv"
    path.write_bytes(f"x,y{ends}".encode())
    assert read_table(path, label="y", classes=["a", "b"]).features.shape == (0, 1)


def test_a_row_may_be_longer_than_a_block(tmp_path):
    long = "[" + ", ".join(["0.125"] * 1000) + "]"
    path = table(tmp_path, ["h,y", *[f'"{long}",a'] * 3])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_file, "BLOCK", 500)
        data = read_table(path, label="y", embedding="h", classes=["a", "b"])
    assert data.features.shape == (3, 1000)


KINDS = {
    "int64": [TWICE_ROUNDED, 2**53 + 1, -5],
    "uint64": [2**64 - 1, 2**53 + 1, 0],
    "int8": [-128, 0, 127],
    "float16": [0.1, 65504.0, -0.0],
    "float32": [0.1, 1e-45, 3e38],
    "float64": [0.1, 1e-320, 1e308],
}


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beside", [None, *KINDS])
def test_stored_numbers_become_float64_cell_by_cell(tmp_path, ending, kind, beside):
    """The nearest float64, whatever the type of the column beside it."""
    path = tmp_path / f"table{ending}"
    columns = {"x": np.array(KINDS[kind], kind), "y": np.array(["a", "b", "a"])}
    if beside is not None:
        columns["z"] = np.array(KINDS[beside], beside)
    if ending == ".npz":
        np.savez(path, **columns)
    else:
        parquet.write_table(pa.table(columns), path)
    features = read_table(path, label="y", classes=["a", "b"]).features
    assert features.dtype == np.float64
    nearest = [float(cell) for cell in columns["x"].tolist()]
    assert features[:, 0].tobytes() == np.array(nearest).tobytes()


@pytest.mark.parametrize("kind", ["uint8", "int64", "float32"])
def test_an_array_of_features_is_float64_too(tmp_path, kind):
    path = tmp_path / "table.npz"
    np.savez(path, h=np.array([[1, 2], [3, 4]], kind), y=["a", "b"])
    features = read_table(path, label="y", classes=["a", "b"]).features
    assert (features.dtype, features.tolist()) == (np.float64, [[1, 2], [3, 4]])


def test_a_json_list_with_a_number_of_too_many_digits(tmp_path):
    path = table(tmp_path, ["h,y", f'"[{"1" * 5000}]",a'])
    with pytest.raises(InputError, match="JSON lists of numbers in column 'h', got something else"):
        read_table(path, label="y", embedding="h", classes=["a", "b"])


class TestPlainCells:
    def test_a_list_keeps_each_cell(self):
        cells = plain_cells([1, "a", 2**53 + 1, 0.5, True])
        assert cells.dtype == object
        assert cells.tolist() == [1, "a", 2**53 + 1, 0.5, True]

    @pytest.mark.parametrize("kind", ["int64", "float32", "U3", "bool"])
    def test_an_array_with_a_type_stays_as_it_is(self, kind):
        array = np.zeros(3, kind)
        assert plain_cells(array) is array


CELLS_OF_PERSONS = [1, "1", "01", "a", "a\0", True, 1.0, None, b"a", 2**63, 2**64, -(2**63) - 1]


def persons_or_none(cells):
    try:
        return [str(person) for person in persons_array(cells, len(cells))]
    except InputError:
        return None


class TestPersons:
    @given(st.lists(st.sampled_from(CELLS_OF_PERSONS), max_size=5))
    @example([1, True])
    @example([1, "a"])
    @example([2**63, -1])
    @example([])
    def test_who_it_is_and_whether_it_is_valid_depends_on_the_cell(self, cells):
        alone = [persons_or_none([cell]) for cell in cells]
        expected = None if None in alone else [one for [one] in alone]
        assert persons_or_none(cells) == expected
        assert persons_or_none(np.fromiter(cells, object, len(cells))) == expected

    @given(st.lists(st.integers(0, 2**64 - 1), min_size=1))
    @example([2**63 + 5, 5])
    def test_no_whole_number_wraps_around(self, cells):
        persons = persons_array(np.array(cells, np.uint64), len(cells))
        assert [str(person) for person in persons] == [str(cell) for cell in cells]
        assert persons.dtype.kind == "U" or persons.dtype == np.int64

    def test_a_refused_person_is_named_by_row(self):
        with pytest.raises(InputError, match=r"persons must be whole numbers or texts, .* row 1 "):
            persons_array([1, 2.5], 2)
