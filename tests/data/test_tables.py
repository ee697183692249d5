"""Users' own files: what is read, and what is refused with row and column."""

import gzip
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from reticent.data import read_table
from reticent.validation import InputError

ENDINGS = (".npz", ".csv", ".parquet")


def write(folder, ending, columns):
    """Writes columns as a file of that kind."""
    path = folder / f"table{ending}"
    if ending == ".npz":
        np.savez(path, **{name: np.asarray(values) for name, values in columns.items()})
    elif ending == ".parquet":
        parquet.write_table(pa.table(columns), path)
    else:
        rows = [
            ",".join(columns),
            *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True)),
        ]
        path.write_text("\n".join(rows) + "\n")
    return path


COLUMNS = {
    "age": [30, 41, 52],
    "who": ["ann", "bob", "ann"],
    "kind": ["yes", "no", "yes"],
    "pay": [0.5, 1.5, -2.0],
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_three_formats_give_one_data_set(tmp_path, ending):
    data = read_table(write(tmp_path, ending, COLUMNS), label="kind", person="who")
    assert data.columns == ("age", "pay")
    assert data.features.tolist() == [[30, 0.5], [41, 1.5], [52, -2]]
    assert data.features.dtype == np.float64
    assert (data.classes, data.labels.tolist()) == (("no", "yes"), [1, 0, 1])
    assert data.persons.tolist() == ["ann", "bob", "ann"]
    assert not data.public_classes
    assert data.name == f"table{ending}"


def test_equal_content_has_an_equal_checksum_in_every_format(tmp_path):
    checksums = {
        read_table(write(tmp_path, ending, COLUMNS), label="kind", person="who").checksum
        for ending in ENDINGS
    }
    assert len(checksums) == 1


@pytest.mark.parametrize("ending", ENDINGS)
def test_declared_classes_keep_their_order_and_may_be_empty(tmp_path, ending):
    path = write(tmp_path, ending, {"x": [1, 2, 3], "y": ["b", "a", "b"]})
    data = read_table(path, label="y", classes=["c", "b", "a"])
    assert (data.classes, data.labels.tolist()) == (("c", "b", "a"), [1, 2, 1])
    assert data.public_classes


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_without_records_is_one_where_the_classes_are_public(tmp_path, ending):
    """It is a neighbour of a table with one record: a refusal would tell them apart."""
    empty = {"u": np.zeros(0), "v": np.zeros(0), "y": np.array([], str), "who": np.array([], str)}
    path = write(tmp_path, ending, empty)
    data = read_table(path, label="y", person="who", classes=["a", "b"])
    assert (len(data), data.features.shape, data.persons.shape) == (0, (0, 2), (0,))
    assert len(data.checksum) == 64
    with pytest.raises(InputError, match="must hold records, got none, and no classes"):
        read_table(path, label="y", person="who")


def test_lists_of_no_record_have_no_length(tmp_path):
    path = tmp_path / "table.parquet"
    lists = pa.array([], pa.list_(pa.float32()))
    parquet.write_table(pa.table({"h": lists, "y": pa.array([], pa.string())}), path)
    with pytest.raises(InputError, match="must hold a record that shows the length of 'h'"):
        read_table(path, label="y", embedding="h", classes=["a", "b"])


@pytest.mark.parametrize("ending", ENDINGS)
def test_whole_numbers_are_sorted_as_numbers(tmp_path, ending):
    path = write(tmp_path, ending, {"x": [1, 2, 3], "y": [10, 9, 10]})
    data = read_table(path, label="y")
    assert (data.classes, data.labels.tolist()) == (("9", "10"), [1, 0, 1])
    declared = read_table(path, label="y", classes=range(11))
    assert declared.labels.tolist() == [10, 9, 10]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_label_outside_the_declared_classes_is_named_by_row(tmp_path, ending):
    path = write(tmp_path, ending, {"x": [1, 2, 3], "y": ["b", "a", "secret"]})
    with pytest.raises(InputError) as error:
        read_table(path, label="y", classes=["a", "b"])
    assert str(error.value) == (
        f"table{ending} must have labels of the 2 declared classes,"
        " got another in row 2 (counting from 0), column 'y'"
    )


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    "roles", [{"label": "z"}, {"label": "y", "person": "z"}, {"label": "y", "embedding": "z"}]
)
def test_a_missing_column_lists_those_that_exist(tmp_path, ending, roles):
    path = write(tmp_path, ending, {"x": [1, 2], "w": ["some", "text"], "y": [0, 1]})
    with pytest.raises(InputError) as error:
        read_table(path, **roles)
    role = next(role for role, name in roles.items() if name == "z")
    sure = ending != ".csv" or "y" in roles.values()  # else the first row may be a record
    assert str(error.value) == (
        f"{role} must be a column of table{ending}, got 'z': it has 'x', 'w', 'y'"
        if sure
        else "label must be a column of table.csv, got 'z': its first row has 3 others, which are"
        " not shown since they would be a record's if the header were missing"
    )


def test_a_long_list_of_columns_is_cut(tmp_path):
    path = write(tmp_path, ".parquet", {f"c{i}": [0] for i in range(500)})
    with pytest.raises(InputError, match=r"'c19' and 480 more$"):
        read_table(path, label="y")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(("value", "kind"), [("nan", "NaN"), ("-inf", "infinity")])
def test_what_is_not_finite_is_named_by_row_and_column(tmp_path, ending, value, kind):
    path = write(tmp_path, ending, {"x": [1.0, 2.0], "z": [0.5, float(value)], "y": [0, 1]})
    with pytest.raises(InputError) as error:
        read_table(path, label="y")
    assert str(error.value) == (
        f"inputs must be finite, got {kind} in row 1 (counting from 0), column 'z'"
    )


def test_a_number_too_large_for_float64_is_refused(tmp_path):
    path = write(tmp_path, ".csv", {"x": [1.0, 1e300], "y": [0, 1]})
    assert read_table(path, label="y").features[:, 0].tolist() == [1.0, 1e300]
    path = write(tmp_path, ".csv", {"x": ["1.0", "1e400"], "y": [0, 1]})
    with pytest.raises(InputError, match=r"got infinity in row 1 .*, column 'x'"):
        read_table(path, label="y")


@pytest.mark.parametrize("ending", ENDINGS)
def test_text_among_features_is_named_by_row_and_column(tmp_path, ending):
    path = write(tmp_path, ending, {"x": [1, 2, 3], "z": ["1", "2.5", "secret"], "y": [0, 1, 0]})
    with pytest.raises(InputError) as error:
        read_table(path, label="y")
    assert str(error.value).startswith(
        f"table{ending} must hold numbers in its feature columns,"
        " got text in row 2 (counting from 0), column 'z'"
    )
    assert "secret" not in str(error.value)


def csv(folder, content, name="table.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x,y\n1,0\n,1\n", "table.csv must have no gaps, got one in row 1 .*, column 'x'"),
        ("x,z,y\na,1,0\n,2,1\n", "feature columns, got text in row 0 .*, column 'x'"),
        ("x,y\n1,\n2,\n", "table.csv must have no gaps, got one in row 0 .*, column 'y'"),
        ("x,y\n1,a\n2,\n", "label column 'y' must be filled, got an empty cell in row 1 "),
        ("x,y\n1,a\n2, \n", "label column 'y' must be filled, got an empty cell in row 1 "),
        ("x,y\n1,0.5\n2,1\n", "label column 'y' must hold whole numbers or texts, got float64"),
        ("x,y,x\n1,0,2\n", "table.csv must name its columns differently, got 'x' twice"),
        ("x,y\n", "table.csv must hold records, got none"),
        ("", "table.csv must hold records, got an empty file"),
        ("\n\n", "table.csv must be a CSV table in UTF-8, got one that cannot be read"),
        ("y\n1\n", "table.csv must have a column of features, got none beside the label"),
        ("x,y\n1,0\n2,1,5\n", r"table.csv must have 2 fields in each row, got 3 in row 1 "),
        ("x,y\n1,0\n2\n", r"table.csv must have 2 fields in each row, got 1 in row 1 "),
        ("x,y\n2020-01-01,0\n", "feature columns, got text in row 0 .*, column 'x'"),
        (b"x,y\n1,\xff\xfe\n", "table.csv must be a CSV table in UTF-8"),
    ],
)
def test_a_wrong_csv(tmp_path, content, message):
    with pytest.raises(InputError, match=message) as error:
        read_table(csv(tmp_path, content), label="y")
    assert "\n" not in str(error.value)


def test_an_empty_cell_of_a_text_column_is_called_empty(tmp_path):
    path = csv(tmp_path, 'x,z,y\n1,1,0\n"",2,1\nb,3,1\n')
    with pytest.raises(InputError, match=r"got an empty cell in row 1 .*, column 'x'"):
        read_table(path, label="y")


def test_words_that_other_readers_take_for_missing_or_true_stay_words(tmp_path):
    path = csv(tmp_path, "x,y,p\n1,NA,true\n2,null,None\n3,true,nan\n")
    data = read_table(path, label="y", person="p")
    assert data.classes == ("NA", "null", "true")
    assert data.persons.tolist() == ["true", "None", "nan"]


def test_a_csv_may_be_quoted_packed_and_begin_with_a_mark(tmp_path):
    content = '\ufeffx,"y"\r\n1,"a, or\n b"\r\n2,c\r\n'.encode()
    for path in (csv(tmp_path, content), csv(tmp_path, gzip.compress(content), "table.csv.gz")):
        data = read_table(path, label="y")
        assert data.columns == ("x",)
        assert set(data.classes) == {"a, or\n b", "c"}


def test_a_type_that_changes_late_in_the_file(tmp_path):
    path = csv(tmp_path, "x,y\n" + "1,0\n" * 400_000 + "2.5,1\n")
    assert read_table(path, label="y").features[-1] == 2.5
    path = csv(tmp_path, "x,y\n" + "1,0\n" * 400_000 + "word,1\n")
    with pytest.raises(InputError, match="got text in row 400000 "):
        read_table(path, label="y")


VECTORS = [[0.5, 1.0], [2.0, -3.0]]


def vectors(folder, ending, values=VECTORS, **others):
    columns = {"id": [8, 9], "y": [0, 1], **others}
    if ending == ".csv":
        quoted = [f'"{value}"' for value in values]
        return write(folder, ending, {"e": quoted, **columns})
    return write(folder, ending, {"e": values, **columns})


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_embedding_column_leaves_the_other_columns_out(tmp_path, ending):
    path = vectors(tmp_path, ending, note=["some", "text"])
    data = read_table(path, label="y", person="id", embedding="e")
    assert data.features.tolist() == VECTORS
    assert data.columns == ("e[0]", "e[1]")
    assert list(map(str, data.persons)) == ["8", "9"]


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32()), pa.list_(pa.float64(), 2), pa.large_list(pa.float32())]
)
def test_every_kind_of_list_in_parquet(tmp_path, kind):
    path = vectors(tmp_path, ".parquet", pa.array(VECTORS, type=kind))
    assert read_table(path, label="y", embedding="e").features.tolist() == VECTORS


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [[1.0, 2.0], [3.0]],
            "lists of one length in column 'e', got 2 numbers first and 1 in row 1 ",
        ),
        ([["1"], ["x"]], "'e'"),
    ],
)
def test_a_wrong_list_is_named(tmp_path, ending, values, message):
    with pytest.raises(InputError, match=message) as error:
        read_table(vectors(tmp_path, ending, values), label="y", embedding="e")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0, None], [3.0, 4.0]], "no gaps, got one in row 0 .*, column 'e'"),
        ([[1.0, 2.0], [3.0, None]], "no gaps, got one in row 1 .*, column 'e'"),
        ([[1.0, 2.0], None], "no gaps, got one in row 1 .*, column 'e'"),
        ([[1.0, 2.0], [3.0, float("nan")]], r"got NaN in row 1 .*, column 'e\[1\]'"),
    ],
)
def test_a_gap_in_a_parquet_list_is_named(tmp_path, values, message):
    with pytest.raises(InputError, match=message):
        read_table(vectors(tmp_path, ".parquet", values), label="y", embedding="e")


@pytest.mark.parametrize("cell", ["[1, 2", "3", "[true, 1]", "[[1], 2]", "__import__('os')", "[]x"])
def test_a_cell_that_is_no_json_list_of_numbers(tmp_path, cell):
    path = vectors(tmp_path, ".csv", ["[1, 2]", cell])
    with pytest.raises(InputError, match=r"JSON lists of numbers in column 'e', .* row 1 "):
        read_table(path, label="y", embedding="e")


def test_a_plain_column_is_no_embedding(tmp_path):
    with pytest.raises(InputError, match="embedding column 'id' must hold lists of numbers"):
        read_table(vectors(tmp_path, ".parquet"), label="y", embedding="id")


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_one_array_of_features_needs_no_name_but_is_not_mixed(tmp_path, ending):
    data = read_table(vectors(tmp_path, ending), label="y", person="id")
    assert data.features.tolist() == VECTORS
    with pytest.raises(
        InputError, match=r"got 'e' beside others: choose with embedding='e' \(--embedding e\)"
    ):
        read_table(vectors(tmp_path, ending), label="y")


def test_images_in_npz_stay_bytes(tmp_path):
    images = np.arange(24, dtype=np.uint8).reshape(2, 2, 2, 3)
    path = write(tmp_path, ".npz", {"x": images, "y": [0, 1]})
    data = read_table(path, label="y")
    assert np.array_equal(data.images, images)
    assert data.images.dtype == np.uint8


def test_an_npz_with_arrays_of_different_lengths(tmp_path):
    path = write(tmp_path, ".npz", {"x": [[1.0], [2.0], [3.0]], "y": [0, 1]})
    with pytest.raises(InputError, match=r"table.npz must have a label for each record, got 2"):
        read_table(path, label="y")
    path = write(tmp_path, ".npz", {"a": [1, 2], "b": [1, 2, 3], "y": [0, 1]})
    with pytest.raises(InputError, match=r"columns of one length, got {'a': 2, 'b': 3}"):
        read_table(path, label="y")


def test_an_npz_of_other_things(tmp_path):
    path = write(tmp_path, ".npz", {"x": np.array([1j, 2j]), "y": [0, 1]})
    with pytest.raises(
        InputError, match=r"numbers or texts, got complex128 of shape \(2,\) in 'x'"
    ):
        read_table(path, label="y")
    np.savez(path, x=np.array([{}, []], dtype=object), y=[0, 1], allow_pickle=True)
    with pytest.raises(InputError, match=r"table.npz must hold plain arrays, got pickled objects"):
        read_table(path, label="y")


def test_parquet_words_numbers_and_truths(tmp_path):
    words = pa.array(["b", "a", "b"]).dictionary_encode()
    path = write(tmp_path, ".parquet", {"x": pa.array([True, False, True]), "y": words})
    data = read_table(path, label="y")
    assert data.features.tolist() == [[1], [0], [1]]
    assert data.labels.tolist() == [1, 0, 1]


def test_parquet_dates_are_refused_by_their_type(tmp_path):
    dates = pa.array([1, 2], pa.date32())
    path = write(tmp_path, ".parquet", {"x": dates, "y": ["a", "b"]})
    with pytest.raises(InputError, match=r"must hold numbers or texts, got date32.* 'x'"):
        read_table(path, label="y")


def test_parquet_cut_short(tmp_path):
    path = vectors(tmp_path, ".parquet")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match=r"table.parquet must be a whole Parquet file"):
        read_table(path, label="y")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_without_pyarrow(tmp_path, monkeypatch, ending):
    path = write(tmp_path, ending, COLUMNS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError) as error:
        read_table(path, label="kind")
    assert str(error.value) == (
        f"pyarrow must be installed to read table{ending}: pip install 'reticent[tables]'"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label": ""}, "label must be a non-empty text"),
        (
            {"label": "kind", "person": "kind"},
            "label, person, embedding, text must be different columns",
        ),
        (
            {"label": "kind", "person": "who", "classes": []},
            "classes must be a list of all classes",
        ),
        ({"label": "kind", "person": "who", "classes": "yes"}, "classes must be a list of all"),
        ({"label": "kind", "person": "who", "classes": ["yes", "no", "no"]}, "classes must differ"),
    ],
)
def test_wrong_arguments(tmp_path, arguments, message):
    with pytest.raises(InputError, match=message):
        read_table(write(tmp_path, ".csv", COLUMNS), **arguments)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.floats(width=32, allow_nan=False, allow_infinity=False),
            st.integers(-5, 5),
            st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(
                lambda word: word.strip() and not word.endswith("\0")
            ),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_npz_and_parquet_give_back_what_was_written(tmp_path, rows):
    numbers, labels, words = zip(*rows, strict=True)
    for ending in (".npz", ".parquet"):
        path = write(tmp_path, ending, {"x": list(numbers), "y": list(labels), "p": list(words)})
        data = read_table(path, label="y", person="p")
        assert data.features[:, 0].tolist() == list(numbers)
        assert [int(data.classes[label]) for label in data.labels] == list(labels)
        assert data.persons.tolist() == list(words)


def test_grey_images_have_one_channel_and_labels_may_be_left_out(tmp_path):
    path = tmp_path / "images.npz"
    np.savez(path, images=np.arange(24, dtype=np.uint8).reshape(2, 3, 4), digit=[1, 0])
    data = read_table(path, label=None, embedding="images")
    assert data.images.shape == (2, 3, 4, 1)
    assert (data.labels, data.classes) == (None, ())


def test_one_record_more_changes_no_other_label_or_person(tmp_path):
    """CSV has no types: guessed from all cells, "01" would be 1 or "01" by what else is there."""
    rows = ["x,y,who", "1,01,007", "2,02,7"]
    path = tmp_path / "table.csv"
    found = []
    for more in ([], ["3,z,k"]):
        path.write_text("\n".join(rows + more) + "\n")
        found.append(read_table(path, label="y", person="who", classes=["01", "02", "z"]))
    assert [data.labels[:2].tolist() for data in found] == [[0, 1], [0, 1]]
    assert [data.persons[:2].tolist() for data in found] == [["007", "7"], ["007", "7"]]


def test_lists_of_a_fixed_length_may_have_no_record(tmp_path):
    path = tmp_path / "table.parquet"
    lists = pa.array([], pa.list_(pa.float32(), 5))
    parquet.write_table(pa.table({"h": lists, "y": pa.array([], pa.string())}), path)
    assert read_table(path, label="y", embedding="h", classes=["a", "b"]).features.shape == (0, 5)


def test_persons_are_not_real_numbers(tmp_path):
    with pytest.raises(InputError, match="person column 'pay' must hold whole numbers or texts"):
        read_table(write(tmp_path, ".parquet", COLUMNS), label="kind", person="pay")


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("P-0017,-1.635,0.438,ill\nP-0018,1.0,2.0,well\n", "it has 4 columns, some with numbers"),
        ("P-0017;-1.635;ill\nP-0018;1.0;well\n", "it has one column; columns must be separated by"),
        ("P-0017,0.438,0.438,ill\nP-0018,1.0,2.0,well\n", "got a name twice"),
    ],
)
def test_a_record_in_the_place_of_the_header_is_not_shown(tmp_path, content, hint):
    path = tmp_path / "table.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_table(path, label="outcome")
    assert hint in str(error.value)
    assert not any(cell in str(error.value) for cell in ("P-0017", "1.635", "0.438", "ill"))


def test_a_column_of_texts(tmp_path):
    """Each text as it stands, an empty one too; other columns are not looked at."""
    path = tmp_path / "texts.csv"
    path.write_text('text,other,kind\n"who, me?",x,a\n,2,b\n01,,a\n', encoding="utf-8")
    data = read_table(path, label="kind", classes=["a", "b"], text_column="text")
    assert data.texts.tolist() == ["who, me?", "", "01"]
    with pytest.raises(InputError, match="embedding must not be given beside text"):
        read_table(path, label="kind", text_column="text", embedding="other")
    path.write_text("text,kind\n", encoding="utf-8")
    empty = read_table(path, label="kind", classes=["a", "b"], text_column="text")
    assert empty.texts.shape == (0,)
