"""Frames of other libraries, and folders that Hugging Face ``datasets`` saved, as Arrow tables.

A frame is anything that gives an Arrow stream (polars, pandas, pyarrow, DuckDB) or knows the
dataframe interchange protocol; none of these libraries is imported here. A saved folder holds Arrow
streams that pyarrow reads by itself. No cell is shown in a message: cells are private.
"""

import struct
from pathlib import Path
from typing import Any, Final

from reticent.read_limit import bounded_bytes, refuse_above_limit
from reticent.strict_json import parsed_object
from reticent.validation import InputError, describe

STATE: Final = "state.json"
"""Which ``Dataset.save_to_disk`` writes beside its Arrow files, whose names are in it."""
SPLITS: Final = "dataset_dict.json"
"""Which ``DatasetDict.save_to_disk`` writes above its splits."""
FRAME: Final = "the frame"
_BYTES_OF_A_ROW: Final = 16
_DICTIONARY, _RECORDS = 2, 3
"""Kinds of messages (Arrow's Message.fbs) that hold columns."""


def is_frame(value: object) -> bool:
    """Whether a value is a table of another library."""
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__dataframe__")


def frame_table(frame: Any) -> Any:
    """The columns of a frame as an Arrow table; an index of pandas is no column.

    >>> import pyarrow
    >>> frame_table(pyarrow.table({"age": [41, 20]})).column_names
    ['age']
    """
    pyarrow = _arrow("a frame")
    if not is_frame(frame):
        raise InputError(f"table must be a file or a frame, got {describe(type(frame))}")
    if hasattr(frame, "reset_index"):
        frame = frame.reset_index(drop=True)
    try:
        if hasattr(frame, "__arrow_c_stream__"):
            table = pyarrow.RecordBatchReader.from_stream(frame).read_all()
        else:
            from pyarrow.interchange import from_dataframe

            table = from_dataframe(frame)
    except (pyarrow.ArrowException, TypeError, ValueError, NotImplementedError):
        raise InputError(
            f"{FRAME} must have columns of one type each, as Arrow has them, got another"
        ) from None
    return _plain(table)


def is_saved_dataset(path: Path) -> bool:
    """Whether a path is a folder that ``datasets`` saved."""
    return path.is_dir() and ((path / STATE).is_file() or (path / SPLITS).is_file())


def read_saved_dataset(folder: Path) -> Any:
    """The table of a folder of ``Dataset.save_to_disk``, of all its Arrow files in their order."""
    pyarrow = _arrow(folder.name)
    if not (folder / STATE).is_file():
        raise InputError(f"{folder} must be one data set, got a folder of splits: name one of them")
    parts = []
    for path in _files(folder):
        try:
            parts.append(_stream(path))
        except InputError:
            raise
        except (pyarrow.ArrowException, OSError, ValueError, struct.error, MemoryError):
            raise InputError(
                f"{path.name} must be a whole Arrow file, got one cut short or another file"
            ) from None
    try:
        return _plain(pyarrow.concat_tables(parts))
    except pyarrow.ArrowException:
        raise InputError(f"{folder} must have files of the same columns, got others") from None


def _files(folder: Path) -> list[Path]:
    """As the state names them; each is a file of the folder itself."""
    state = parsed_object(bounded_bytes(folder / STATE), source=STATE)
    listed: Any = state.get("_data_files")
    files = listed if isinstance(listed, list) else []
    names: list[Any] = [one.get("filename") for one in files if isinstance(one, dict)]
    if not names or len(names) < len(files) or not all(isinstance(one, str) for one in names):
        raise InputError(f"{folder / STATE} must name its data files, got none")
    there = {path.name: path for path in folder.iterdir() if path.is_file()}
    if not set(names) <= set(there):
        raise InputError(f"{folder / STATE} must name files of its folder, got others")
    paths = [there[name] for name in names]
    refuse_above_limit(folder.name, 2 * sum(path.stat().st_size for path in paths))
    return paths


def _stream(path: Path) -> Any:
    """One Arrow stream, mapped into memory; a packed one, which could grow, is refused."""
    import pyarrow
    from pyarrow import ipc

    with pyarrow.memory_map(str(path)) as source:
        for message in ipc.MessageReader.open_stream(source):
            if _is_packed(message.metadata.to_pybytes()):
                raise InputError(f"{path.name} must not be compressed, as datasets writes it")
    with pyarrow.memory_map(str(path)) as source, ipc.open_stream(source) as stream:
        batches, rows, size = [], 0, 0
        for batch in stream:
            rows += batch.num_rows
            refuse_above_limit(path.name, 2 * _BYTES_OF_A_ROW * rows)
            batch.validate(full=True)  # before anything looks at it: Arrow trusts its offsets
            size += batch.nbytes
            refuse_above_limit(path.name, 2 * size)
            batches.append(batch)
        return pyarrow.Table.from_batches(batches, schema=stream.schema)


def _is_packed(message: bytes) -> bool:
    """Whether the buffers of a message are compressed (Arrow's Message.fbs, RecordBatch)."""
    root = struct.unpack_from("<I", message)[0]
    kind = _field(message, root, 1)
    kind = 0 if kind is None else message[kind]
    if kind not in (_DICTIONARY, _RECORDS):
        return False
    header = _followed(message, _field(message, root, 2))
    if kind == _DICTIONARY:
        header = _followed(message, _field(message, header, 1))
    return _field(message, header, 3) is not None


def _field(message: bytes, table: int, number: int) -> int | None:
    """Where a field of a flatbuffer's table stands; None where it has none."""
    fields = table - struct.unpack_from("<i", message, table)[0]
    place = 4 + 2 * number
    if fields < 0 or table < 0:
        raise ValueError("no flatbuffer")
    if place >= struct.unpack_from("<H", message, fields)[0]:
        return None
    offset = struct.unpack_from("<H", message, fields + place)[0]
    return table + int(offset) if offset else None


def _followed(message: bytes, place: int | None) -> int:
    if place is None:
        raise ValueError("no flatbuffer")
    return place + int(struct.unpack_from("<I", message, place)[0])


def _plain(table: Any) -> Any:
    """Texts that are views, as polars has them, as large_string: readers of columns know these."""
    import pyarrow

    columns = [_texts(column) for column in table.columns]
    return pyarrow.table(columns, names=table.column_names)


def _texts(column: Any) -> Any:
    import pyarrow
    from pyarrow import types

    if types.is_string_view(column.type):
        return column.cast(pyarrow.large_string())
    if not types.is_dictionary(column.type) or not types.is_string_view(column.type.value_type):
        return column
    parts = [
        pyarrow.DictionaryArray.from_arrays(
            part.indices, part.dictionary.cast(pyarrow.large_string())
        )
        for part in column.chunks
    ]
    kind = pyarrow.dictionary(column.type.index_type, pyarrow.large_string())
    return pyarrow.chunked_array(parts, type=kind)


def _arrow(what: str) -> Any:
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise InputError(
            f"pyarrow must be installed to read {what}: pip install 'reticent[tables]'"
        ) from None
    return pyarrow
