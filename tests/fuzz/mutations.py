"""Changes of a valid file, as damage or malice would make them: each a function of one generator.

Packed files are opened first, changed inside and packed anew with right lengths and check sums:
otherwise these would refuse every change before the reader proper is reached.
"""

import contextlib
import gzip
import hashlib
import io
import json
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

Change = Callable[[bytes, Random], bytes]

BYTES = (b"\0", b"\xff", b"\x7f", b"\x80", b",", b'"', b"\n", b"\r", b"{", b"[", b"\xef\xbb\xbf")
SIZES = (0, 1, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**42, 2**62, 2**63 - 1, 2**64 - 1)
TEXTS = (
    *("", " ", "nan", "NaN", "1e999", "-inf", "0x10", "1" * 400, "1" * 5000, "²", "1_0", "'", '"'),
    *('""', "a" * 200_000, "\0", "\r", "\x1b[31m", "\u202e", "ﬁ", "=1+1", "9223372036854775808"),
)
RAW = "@raw@"
NUMBERS = (
    *("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1e308", "1e-320", "-0.0", "0", "-1"),
    *("0.5", str(2**42), str(2**53 + 1), str(2**63), str(10**20), str(10**300), str(10**400)),
    *("1" * 5000, "true", "null", '"\\ud800"', '"\\ud83d\\ude00"', "[" * 70 + "]" * 70),
    *("[" * 20_000, '{"a":1,"a":2}', "[]", "{}", '""', '"proven"'),
)


def of_bytes(content: bytes, rng: Random) -> bytes:
    """One to four small changes anywhere."""
    for _ in range(rng.randint(1, 4)):
        content = rng.choice(_BYTE_CHANGES)(content, rng)
    return content


def of_text(content: bytes, rng: Random) -> bytes:
    """A cell of a table is another, or a row is."""
    lines = content.decode("utf-8", "replace").split("\n")
    row = rng.randrange(len(lines))
    cells = lines[row].split(",")
    kind = rng.randrange(5)
    if kind == 0:
        cells[rng.randrange(len(cells))] = rng.choice(TEXTS)
    elif kind == 1:
        cells.insert(rng.randrange(len(cells) + 1), rng.choice(TEXTS))
    elif kind == 2:
        del cells[rng.randrange(len(cells))]
    else:
        lines.insert(row, rng.choice(lines)) if kind == 3 else lines.pop(rng.randrange(len(lines)))
        return "\n".join(lines).encode()
    lines[row] = ",".join(cells)
    return "\n".join(lines).encode()


def of_json(content: bytes, rng: Random) -> bytes:
    """A value, a name or a part of a document is another; some of these are not JSON."""
    document = json.loads(content)
    for _ in range(rng.randint(1, 2)):
        _change_value(document, rng)
    text = json.dumps(document)
    while RAW in text:
        text = text.replace(f'"{RAW}"', rng.choice(NUMBERS), 1)
    return text.encode()


def of_safetensors(content: bytes, rng: Random) -> bytes:
    """The header is another, with the right length before it."""
    length = int.from_bytes(content[:8], "little")
    change = rng.choice((of_json, of_json, of_bytes))
    header = change(content[8 : 8 + length], rng)
    if rng.random() < 0.05:
        header = b"[" * 100_000
    return len(header).to_bytes(8, "little") + header + content[8 + length :]


def inside_gzip(change: Change) -> Change:
    """The content is another, packed anew."""

    def changed(content: bytes, rng: Random) -> bytes:
        return gzip.compress(change(gzip.decompress(content), rng), compresslevel=1)

    return changed


def of_npz(content: bytes, rng: Random) -> bytes:
    """One member is another, mostly in its header, and the archive is whole."""
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    name = rng.choice(list(members))
    member = members[name]
    end = 10 + int.from_bytes(member[8:10], "little")
    if rng.random() < 0.7:
        header = _other_header(member[10:end], rng)
        members[name] = member[:8] + len(header).to_bytes(2, "little") + header + member[end:]
    else:
        members[name] = of_bytes(member, rng)
    if rng.random() < 0.1:
        members[rng.choice(["x.txt", "../x.npy", "\x1b.npy", "y"])] = members.pop(name)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", rng.choice((0, 8))) as packed:
        for one, data in members.items():
            packed.writestr(one, data)
    return target.getvalue()


def of_fit(content: bytes, rng: Random) -> bytes:
    """The document in the header is another, sealed anew."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    document = of_json(header["__metadata__"]["fit"].encode(), rng).decode()
    digest = hashlib.sha256(document.encode())
    start = 8 + length
    for name in sorted(set(header) - {"__metadata__"}):
        tensor = header[name]
        low, high = tensor["data_offsets"]
        digest.update(f"{name}:float64:{tuple(tensor['shape'])};".encode())
        digest.update(content[start + low : start + high])
    header["__metadata__"] |= {"fit": document, "sha256": digest.hexdigest()}
    written = json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written + content[start:]


def of_database(content: bytes, rng: Random) -> bytes:
    """A cell of some table is another, written by SQLite itself."""
    with tempfile.NamedTemporaryFile(suffix=".db") as file:
        file.write(content)
        file.flush()
        with sqlite3.connect(file.name) as database:
            named = "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite%'"
            table = rng.choice([row[0] for row in database.execute(named)])
            column = rng.choice([row[1] for row in database.execute(f"PRAGMA table_info({table})")])
            if rng.random() < 0.1:
                database.execute(f"DELETE FROM {table}")
            else:
                value = rng.choice((*TEXTS, *NUMBERS, *(size % 2**63 for size in SIZES), 0.5, b"x"))
                with contextlib.suppress(sqlite3.Error):  # a rule of the table forbids it
                    database.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (value,))
        database.close()
        return Path(file.name).read_bytes()


def _change_value(document: Any, rng: Random) -> None:
    """Walk down to some place, and put something else there."""
    place = document
    while True:
        keys: list[Any] = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = rng.choice(keys)
        deeper = isinstance(place[key], (dict, list)) and place[key]
        if not deeper or rng.random() < 0.2:
            break
        place = place[key]
    kind = rng.randrange(8)
    if kind == 0:
        del place[key]
    elif kind == 1 and isinstance(place, dict):
        place[rng.choice((*TEXTS[:8], RAW, "type", "event"))] = place.pop(key)
    elif kind == 2:
        place[key] = rng.choice(TEXTS)
    elif kind == 3:
        place[key] = [place[key]] * rng.randint(0, 3)
    elif kind == 4:
        place[key] = {str(key): place[key]}
    else:
        place[key] = RAW


def _other_header(header: bytes, rng: Random) -> bytes:
    """The Python text before the data of an array says another shape or type."""
    shapes = ("2**42", "4398046511104,", "-1,", "1" * 400 + ",", "3, 3", "", "0,", "1e9,", "True,")
    kinds = ("<f8", "<f4", ">f8", "<f2", "|O", "<U1", "<U1000000", "|S8", "<c16", "<M8[s]", "|u1")
    text = header.decode("latin1").strip()
    old_kind = text.partition("'descr': '")[2].partition("'")[0]
    old_shape = text.partition("'shape': (")[2].partition(")")[0]
    if rng.random() < 0.5:
        text = text.replace(f"({old_shape})", f"({rng.choice(shapes)})")
    elif rng.random() < 0.8:
        text = text.replace(f"'{old_kind}'", f"'{rng.choice(kinds)}'")
    else:
        return of_bytes(header, rng)[:65_535]
    return (text + "\n").encode("latin1")


def _flip(content: bytes, rng: Random) -> bytes:
    place = rng.randrange(max(1, len(content)))
    old = content[place] if content else 0
    return content[:place] + bytes([old ^ (1 << rng.randrange(8))]) + content[place + 1 :]


def _cut(content: bytes, rng: Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _splice(content: bytes, rng: Random) -> bytes:
    """Some of it stands at another place, or twice."""
    start, length = rng.randrange(len(content) + 1), rng.choice((1, 8, 100, 5000))
    target = rng.randrange(len(content) + 1)
    return content[:target] + content[start : start + length] + content[target:]


def _drop(content: bytes, rng: Random) -> bytes:
    start = rng.randrange(len(content) + 1)
    return content[:start] + content[start + rng.choice((1, 2, 7, 100)) :]


def _insert(content: bytes, rng: Random) -> bytes:
    place = rng.randrange(len(content) + 1)
    return content[:place] + rng.choice(BYTES) * rng.choice((1, 1, 3, 1000)) + content[place:]


def _size(content: bytes, rng: Random) -> bytes:
    """Four or eight bytes are a length that somebody may believe."""
    place, width = rng.randrange(len(content) + 1), rng.choice((4, 8))
    value = rng.choice(SIZES) % 2 ** (8 * width)
    order: Any = rng.choice(("little", "big"))
    return content[:place] + value.to_bytes(width, order) + content[place + width :]


_BYTE_CHANGES: tuple[Change, ...] = (_flip, _flip, _flip, _cut, _splice, _drop, _insert, _size)
