"""Raw records become features by themselves: order, company and layout of a file change nothing."""

import datetime
import gzip
import itertools
import lzma

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from reticent.data import Schema, read_by_schema
from reticent.validation import InputError
from tests.data.schema.raw_tables import FACTS, HEADER, ROWS, SCHEMA, text_of


def read(folder, rows, *, header=HEADER, schema=SCHEMA, name="table.csv", **options):
    path = folder / name
    path.write_text(text_of(rows, header), encoding="utf-8")
    return read_by_schema(path, schema, **options)


def test_each_cell_becomes_what_the_schema_says(tmp_path):
    data = read(tmp_path, ROWS)
    found = dict(zip(data.columns, data.features.T.tolist(), strict=True))
    assert found["age"] == [0.31, 0.45, 0.0, 1.0]
    assert found["age is missing"] == [0, 0, 1, 0]
    assert found["income"][0] == found["income"][2] == np.log1p(999) / np.log1p(999_999)
    assert found["income"][3] == 0
    assert found["shift"] == [1.5 / 20, -5 / 20, 1.0, 0.5 / 20]
    assert found["city=Bern"] == [1, 1, 0, 0]
    assert found["city=Chur"] == [0, 0, 0, 1]
    assert found["city=other"] == [0, 0, 1, 0]
    assert found["sex is missing"] == [0, 0, 1, 0]
    assert found["smoker"] == [1, 0, 1, 0]
    assert found["born"][1:] == [0, 1, 0]
    assert found["born is missing"] == [0, 0, 0, 1]
    vectors = np.array([found[f"vector[{i}]"] for i in range(3)]).T
    assert np.allclose(vectors[1], [2**-0.5, 2**-0.5, 0])  # cut to [−1, 1], then to norm 1
    assert data.labels.tolist() == [0, 1, 0, 1]
    assert data.classes == ("0", "1")


def test_a_record_is_the_same_alone_and_among_others_in_every_order(tmp_path):
    alone = [read(tmp_path, [row]).features.tobytes() for row in ROWS]
    for order in itertools.permutations(range(len(ROWS))):
        together = read(tmp_path, [ROWS[i] for i in order]).features
        assert [row.tobytes() for row in together] == [alone[i] for i in order]


def test_the_order_of_columns_does_not_count(tmp_path):
    turned = [";".join(reversed(row.split(";"))) for row in ROWS]
    header = ";".join(reversed(HEADER.split(";")))
    one, other = read(tmp_path, ROWS), read(tmp_path, turned, header=header)
    assert one.features.tobytes() == other.features.tobytes()
    assert one.columns == other.columns


def test_no_row_is_longer_than_the_bound(tmp_path):
    lengths = np.linalg.norm(read(tmp_path, ROWS).features, axis=1)
    assert SCHEMA.bound == pytest.approx(8**0.5)
    assert lengths.max() <= SCHEMA.bound


def test_a_table_without_records_has_the_same_features(tmp_path):
    data = read(tmp_path, [])
    assert data.features.shape == (0, len(SCHEMA.names))
    assert data.labels.shape == (0,)


@pytest.mark.parametrize(
    ("column", "cell"),
    [("shift", "?"), ("shift", "1.5"), ("shift", "nan"), ("age", "ten"), ("sex", "x"), ("ill", "2"),
     ("ill", ""), ("born", "1990-02-06"), ("vector", "[1, 2]"), ("smoker", "maybe")],
)  # fmt: skip
def test_an_invalid_record_is_named_and_its_cell_is_not_shown(tmp_path, column, cell):
    row = dict(zip(HEADER.split(";"), ROWS[0].split(";"), strict=True)) | {column: cell}
    bad = ";".join(row.values())
    with pytest.raises(InputError, match=f"in column '{column}', got .* in row 1 ") as error:
        read(tmp_path, [ROWS[1], bad])
    assert not cell or len(cell) < 3 or cell not in str(error.value)
    leaving = Schema.from_dict(FACTS | {"invalid": "leave-out"})
    kept = read(tmp_path, [ROWS[1], bad, ROWS[2]], schema=leaving)
    assert kept.features.tobytes() == read(tmp_path, [ROWS[1], ROWS[2]]).features.tobytes()
    with pytest.raises(InputError, match="row 1"):  # each query has an answer
        read(tmp_path, [ROWS[1], bad], schema=leaving, purpose="queries")


def test_columns_must_be_known_and_there(tmp_path):
    more = [f"{row};9" for row in ROWS]
    with pytest.raises(InputError, match="got none for 'extra'"):
        read(tmp_path, more, header=f"{HEADER};extra")
    queries = read(tmp_path, more, header=f"{HEADER};extra", purpose="queries")
    assert queries.features.tobytes() == read(tmp_path, ROWS).features.tobytes()
    cut = [row.rpartition(";")[0] for row in ROWS]
    with pytest.raises(InputError, match="none named 'ill'"):
        read(tmp_path, cut, header=HEADER.rpartition(";")[0])
    assert read(tmp_path, cut, header=HEADER.rpartition(";")[0], purpose="queries").labels is None


@pytest.mark.parametrize("ending", ["csv.gz", "csv.xz", "data"])
def test_packed_files_and_other_endings(tmp_path, ending):
    content = text_of(ROWS).encode()
    packed = {"csv.gz": gzip.compress, "csv.xz": lzma.compress}.get(ending, bytes)(content)
    (tmp_path / f"table.{ending}").write_bytes(packed)
    found = read_by_schema(tmp_path / f"table.{ending}", SCHEMA)
    assert found.features.tobytes() == read(tmp_path, ROWS).features.tobytes()


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252", "utf-8-sig"])
def test_encodings_are_said(tmp_path, encoding):
    city = FACTS["columns"]["city"] | {"values": ["Bern", "Zürich"], "gap": "refuse"}
    facts = FACTS | {
        "columns": FACTS["columns"] | {"city": city},
        "file": FACTS["file"] | {"encoding": encoding},
    }
    row = ROWS[0].replace("Bern", "Zürich")
    (tmp_path / "table.csv").write_bytes(text_of([row] * 3).encode(encoding))
    data = read_by_schema(tmp_path / "table.csv", Schema.from_dict(facts))
    assert data.features[:, data.columns.index("city=Zürich")].tolist() == [1, 1, 1]


def test_a_wrong_encoding_is_refused(tmp_path):
    (tmp_path / "table.csv").write_bytes(text_of(ROWS).encode() + "Z\xfcrich".encode("latin-1"))
    with pytest.raises(InputError, match="must be a CSV table in UTF-8"):
        read_by_schema(tmp_path / "table.csv", SCHEMA)


def test_a_file_without_header_and_with_comments(tmp_path):
    facts = FACTS | {"file": FACTS["file"] | {"header": False, "comment": "|"}}
    schema = Schema.from_dict(facts)
    assert [column.name for column in schema.columns] == HEADER.split(";")
    lines = ["| a comment; with; separators", *ROWS[:2], '| "another', *ROWS[2:]]
    (tmp_path / "table.data").write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    found = read_by_schema(tmp_path / "table.data", schema)
    assert found.features.tobytes() == read(tmp_path, ROWS).features.tobytes()


def test_files_with_types_of_their_own_give_the_same_features(tmp_path):
    """Numbers, dates, truth values and lists as Parquet and npz store them; null is a gap."""
    facts = FACTS["columns"] | {"born": FACTS["columns"]["born"] | {"format": ""}}
    schema = Schema.from_dict(FACTS | {"columns": facts})
    columns = {
        "age": pa.array([31.0, 45.0, None, 1e300]),
        "income": pa.array([1000, 200_000, None, -5]),
        "shift": pa.array([1.5, -7.0, 20.0, 0.5], pa.float32()),
        "city": pa.array(["Bern", "Berne", "Atlantis", None]).dictionary_encode(),
        "sex": pa.array(["f", "m", None, "f"]),
        "smoker": pa.array([True, False, True, None]),
        "born": pa.array([datetime.date(1990, 2, 6), datetime.date(1850, 1, 1),
                          datetime.date(2020, 12, 31), None]),
        "vector": pa.array([[0.5, 0, 0], [3, 4, 0], [-1, -1, -1], [0, 0, 0]]),
        "row": pa.array([1, 2, 3, 4]),
        "ill": pa.array([0, 1, 0, 1]),
    }  # fmt: skip
    parquet.write_table(pa.table(columns), tmp_path / "table.parquet")
    expected = read(tmp_path, ROWS).features.tobytes()
    assert read_by_schema(tmp_path / "table.parquet", schema).features.tobytes() == expected
    arrays = {
        "age": np.array([31.0, 45.0, np.nan, 1e300]),
        "income": np.array([1000, 200_000, np.nan, -5]),
        "shift": np.array([1.5, -7.0, 20.0, 0.5]),
        "city": np.array(["Bern", "Berne", "Atlantis", ""]),
        "sex": np.array(["f", "m", "?", "f"]),
        "smoker": np.array(["1", "0", "true", ""]),
        "born": np.array(["1990-02-06", "1850-01-01", "2020-12-31", ""]),
        "vector": np.array([[0.5, 0, 0], [3, 4, 0], [-1, -1, -1], [0, 0, 0]]),
        "row": np.arange(4),
        "ill": np.array([0.0, 1.0, 0.0, 1.0]),
    }
    np.savez(tmp_path / "table.npz", **arrays)
    assert read_by_schema(tmp_path / "table.npz", schema).features.tobytes() == expected


def test_persons_are_texts_without_spaces(tmp_path):
    facts = FACTS["columns"] | {"row": {"role": "person"}}
    schema = Schema.from_dict(FACTS | {"columns": facts})
    assert read(tmp_path, ROWS, schema=schema).persons.tolist() == ["1", "2", "3", "4"]
    with pytest.raises(InputError, match="must hold a filled cell in column 'row'"):
        read(tmp_path, [ROWS[0].replace(";1;0", ";;0")], schema=schema)


def test_a_word_in_a_typed_column_changes_no_other_record(tmp_path):
    """It makes the column one of texts; the decimal comma is that of text files alone."""
    facts = {
        "source": "a codebook",
        "invalid": "leave-out",
        "file": {"decimal": ","},
        "columns": {
            "x": {"type": "number", "range": [0, 10]},
            "code": {"type": "category", "values": ["1", "2"], "gap": "indicator"},
        },
    }
    schema = Schema.from_dict(facts)
    columns = {"x": pa.array([1.5, 7.0]), "code": pa.array([1, 2])}
    parquet.write_table(pa.table(columns), tmp_path / "one.parquet")
    more = {"x": pa.array(["1.5", "7.0", "word", "3.0"]), "code": pa.array([1.0, 2.0, 1.0, None])}
    parquet.write_table(pa.table(more), tmp_path / "other.parquet")
    one = read_by_schema(tmp_path / "one.parquet", schema).features
    other = read_by_schema(tmp_path / "other.parquet", schema).features
    assert len(other) == 3
    assert other[:2].tobytes() == one.tobytes()
