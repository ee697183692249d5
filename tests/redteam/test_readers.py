"""Files that attack whoever reads them: each gets one line and exit code 2, and shows no cell.

Every test here was seen to fail with its defence taken out (CONTRIBUTING.md: break it once).
"""

import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from safetensors.numpy import save as save_tensors

from reticent.attacks import Access, Scores, Threat
from reticent.audit.attack_report import write_scores
from reticent.cli.main import BAD_INPUT, one_line, run
from reticent.data import load, read_table
from reticent.data.cells import no_formula
from reticent.protect import release_weights, save, verify
from reticent.randomness import SecureBits
from reticent.read_limit import VARIABLE
from reticent.training import SoftmaxHead
from reticent.training.fit_file import load_fit
from reticent.validation import InputError
from tests.peak_memory import peak_bytes

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _small():
    """No file here makes the process that reads it large."""
    before = peak_bytes()
    yield
    assert peak_bytes() - before < 2 << 30


def refusal(call):
    """The one line of a call that must refuse."""
    with pytest.raises(InputError) as refused:
        call()
    line = str(refused.value)
    assert one_line(line) == line or len(line) > 1000
    return line


# ------------------------------------------------------------------------------- certificates


@pytest.fixture(scope="module")
def head():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 5)), np.array(["no", "yes", "maybe"])[np.arange(60) % 3]
    return SoftmaxHead(penalty=0.1, classes=["maybe", "no", "yes"], records=60).fit(X, y)


@pytest.fixture
def certified(head, tmp_path):
    """A release on disk, and its certificate as plain values."""
    save(release_weights(head, epsilon=2.0, delta=1e-6, relation="add-remove"), tmp_path / "head")
    return tmp_path, json.loads((tmp_path / "head.json").read_text())


RAW = "@raw@"


@pytest.mark.parametrize(
    ("place", "raw", "said"),
    [
        (("terms", "epsilon"), "NaN", "must hold finite numbers, got NaN"),
        (("guarantee", "epsilon"), "-Infinity", "must hold finite numbers, got -Infinity"),
        (("guarantee", "epsilon"), "1e999", "must hold finite numbers, got one beyond 1.8e308"),
        (("classes", 0), "1" + "0" * 400, "whole numbers of at most 308 digits"),
        (("classes", 0), "1" * 5000, "whole numbers of at most 308 digits"),
        (("classes", 0), '"\\ud800"', "must hold whole characters, got half of a surrogate pair"),
        (("numbers",), "[" * 100_000, "nested at most 64 levels deep"),
        (("numbers",), "[" * 65 + "]" * 65, "nested at most 64 levels deep"),
        (("guarantee", "unit"), '"one record", "unit": "nobody"', "must name each field once"),
    ],
)  # fmt: skip
def test_a_certificate_that_is_no_plain_json(certified, capsys, place, raw, said):
    folder, document = certified
    whole = document
    for step in place[:-1]:
        whole = whole[step]
    whole[place[-1]] = RAW
    (folder / "head.json").write_text(json.dumps(document).replace(f'"{RAW}"', raw))
    assert said in refusal(lambda: verify(folder / "head"))
    assert run(["verify", str(folder / "head")]) == BAD_INPUT
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("number", [2**42, 2**63, 10**300])
@pytest.mark.parametrize("place", ["outputs", "records", "shape"])
def test_a_certificate_of_a_huge_head(certified, capsys, place, number):
    """Neither memory for the declared shape nor an overflow: a problem or a refusal."""
    folder, document = certified
    old = document["numbers"][place]
    document["numbers"][place] = [number, number] if isinstance(old, list) else number
    (folder / "head.json").write_text(json.dumps(document))
    assert run(["verify", str(folder / "head")]) in (1, BAD_INPUT)
    assert len(capsys.readouterr().err.splitlines()) <= 1


def test_weights_with_a_deeply_nested_header(certified):
    folder, _ = certified
    header = b"[" * 100_000
    (folder / "head.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    assert not verify(folder / "head").holds
    assert run(["verify", str(folder / "head")]) == 1


@pytest.mark.parametrize(
    "header",
    [b"[" * 100_000, b"{}", b'{"__metadata__": 3}', b'{"__metadata__": {"fit": 1}}', b"\xff" * 8],
)
def test_a_fit_with_a_hostile_header(tmp_path, header):
    (tmp_path / "a.fit.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    assert "a.fit.safetensors must" in refusal(lambda: load_fit(tmp_path / "a"))


def test_a_fit_sealed_anew_without_its_parameters(tmp_path):
    from reticent.training.fit_file import FORMAT, _seal

    tensors = {"coordinates": np.zeros((2, 2))}
    metadata = {"format": FORMAT, "fit": "{}", "sha256": _seal("{}", tensors)}
    (tmp_path / "a.fit.safetensors").write_bytes(save_tensors(tensors, metadata=metadata))
    assert "must be as it was written" in refusal(lambda: load_fit(tmp_path / "a"))


# ------------------------------------------------------------------------- sizes, from headers


def npz(path, shape, *, kind="<f8", declared=0):
    """An archive of one array whose header says shape and type; no data stand behind it."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
        packed.writestr("x.npy", content)
        packed.infolist()[0].file_size = len(content) + declared
    return path


def test_an_array_of_a_declared_shape(tmp_path):
    path = npz(tmp_path / "t.npz", (2**42,))
    assert "must hold arrays as long as their headers say" in refusal(
        lambda: read_table(path, label=None)
    )


def test_an_archive_that_grows(tmp_path):
    """What would unpack to 3 GiB is refused by its headers, before anything is unpacked."""
    path = npz(tmp_path / "t.npz", (3 << 20, 128), declared=3 << 30)
    line = refusal(lambda: read_table(path, label=None))
    assert "must take at most 1.75 GiB of memory to read, got 3 GiB" in line
    assert f"{VARIABLE}=3G" in line


def csv_bomb(path, row=b"1," * 500 + b"1\n", rows=400_000):
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(b",".join(b"c%d" % i for i in range(row.count(b",") + 1)) + b"\n")
        for _ in range(rows // 1000):
            file.write(row * 1000)
    return path


READ = """
import sys
from reticent.data import read_table
from reticent.validation import InputError
from tests.peak_memory import peak_bytes
try:
    read_table(sys.argv[1], label="c0", classes=["1", "2"])
    print("read")
except InputError as error:
    print(error)
print(peak_bytes())
"""


def test_an_archive_that_holds_more_than_it_says(tmp_path):
    np.savez_compressed(tmp_path / "t.npz", x=np.zeros((1000, 100)))
    content = bytearray((tmp_path / "t.npz").read_bytes())
    place = content.rindex((128 + 800_000).to_bytes(4, "little"))  # of the central directory
    content[place : place + 4] = (128 + 800).to_bytes(4, "little")
    (tmp_path / "t.npz").write_bytes(content)
    assert "must be a whole .npz archive" in refusal(
        lambda: read_table(tmp_path / "t.npz", label=None)
    )


@pytest.mark.slow
def test_a_packed_table_that_grows(tmp_path):
    """401 KB that unpack to 400 MB of text and 3 GiB of numbers."""
    path = csv_bomb(tmp_path / "t.csv.gz")
    assert path.stat().st_size < 1 << 20
    reading = [sys.executable, "-c", READ, path]
    done = subprocess.run(reading, cwd=ROOT, capture_output=True, text=True, check=True)
    line, peak = done.stdout.splitlines()
    assert "must take at most 1.75 GiB of memory to read, got" in line
    assert int(peak) < 2 << 30


def test_a_table_of_very_many_columns(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b'"a\n",' + b"," * 3_000_000 + b"\n1\n"))
    assert "must take at most" in refusal(lambda: read_table(path, label="y"))


def test_one_long_text_beside_many_short_ones(tmp_path):
    """An array of texts gives each as much room as the longest."""
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "1,a\n" * 50_000 + f"1,{'a' * 50_000}\n")
    assert "must take at most" in refusal(lambda: read_table(path, label="y"))


@pytest.mark.slow
def test_a_parquet_file_of_one_value_a_billion_times(tmp_path):
    path = tmp_path / "t.parquet"
    kind = pa.dictionary(pa.int8(), pa.float64())
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10_000_000, np.int8)), [1.0])
    table = pa.table({"y": pa.chunked_array([column] * 20, kind)})
    parquet.write_table(table, path, compression="gzip")
    assert path.stat().st_size < 1 << 20
    assert "must take at most" in refusal(lambda: read_table(path, label="y"))


def test_a_parquet_file_of_one_long_text_many_times(tmp_path):
    path = tmp_path / "t.parquet"
    long = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int8)), ["a" * 100_000])
    parquet.write_table(pa.table({"y": long, "x": np.zeros(100_000)}), path)
    assert path.stat().st_size < 1 << 20
    assert "must take at most" in refusal(lambda: read_table(path, label="y"))


def test_a_sparse_file_of_images(tmp_path):
    with (tmp_path / "unlabeled_X.bin").open("wb") as file:
        file.truncate(3 * 96**2 * 10**7)
    assert "must take at most" in refusal(lambda: load("stl10-unlabeled", tmp_path))


def test_a_packed_text_that_grows(tmp_path):
    (tmp_path / "sst2.csv.gz").write_bytes(gzip.compress(b"split,label,text\n" + bytes(80 << 20)))
    assert "must take at most" in refusal(lambda: load("sst2-train", tmp_path))


def test_a_label_that_counts_classes(tmp_path):
    np.savez(tmp_path / "own.npz", x=np.zeros((2, 3)), y=np.array([0, 2**40]))
    assert "must hold labels below 100000" in refusal(lambda: load("features/own", tmp_path))


def test_the_limit_is_the_users(tmp_path, monkeypatch, capsys):
    """A file above it is refused, and the same file is read where the limit is raised."""
    path = tmp_path / "t.npz"
    np.savez(path, x=np.zeros((4000, 8)), y=np.arange(4000) % 2)
    told = f"fit --private {path} --label y --classes 0,1 --bound 1 --records 9 --penalty 1"
    monkeypatch.setenv(VARIABLE, "50K")
    line = refusal(lambda: read_table(path, label="y"))
    assert "must take at most 50 KiB of memory to read, got 0.305 MiB or more" in line
    assert run([*told.split(), "--out", str(tmp_path / "a")]) == BAD_INPUT
    assert "must take at most 50 KiB" in capsys.readouterr().err
    assert run(["--read-limit", "1M", *told.split(), "--out", str(tmp_path / "a")]) == 0
    assert os.environ[VARIABLE] == "1M", "workers inherit it"
    assert len(read_table(path, label="y")) == 4000


@pytest.mark.parametrize("size", ["", "0", "12X", "-1G", "1e9", "9" * 30])
def test_a_limit_that_is_no_size(size, capsys):
    assert run(["--read-limit", size, "calibrate"]) == BAD_INPUT
    assert "must be a size such as 512M" in capsys.readouterr().err


# -------------------------------------------------------------------- damage, cells, formulas


@pytest.mark.slow
def test_a_parquet_footer_that_would_end_the_process(tmp_path):
    """pyarrow's own view of some damaged columns calls std::terminate: not asked for any more."""
    table = pa.table({"h": pa.array([[0.5]] * 8), "y": ["a", "b"] * 4})
    whole = io.BytesIO()
    parquet.write_table(table, whole)
    content = whole.getvalue()
    length = int.from_bytes(content[-8:-4], "little")
    code = (
        "import sys, pathlib\nfrom reticent.data import read_table\n"
        "from reticent.validation import InputError\n"
        "path, content = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_bytes()\n"
        f"for place in range(len(content) - 8 - {length}, len(content)):\n"
        "    for flip in (1, 2, 16):\n"
        "        path.write_bytes(content[:place] + bytes([content[place] ^ flip])"
        " + content[place + 1:])\n"
        "        try: read_table(path, label='y', embedding='h', classes=['a', 'b'])\n"
        "        except InputError: pass\n"
    )
    (tmp_path / "whole").write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "t.parquet", tmp_path / "whole"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:]


@pytest.mark.parametrize(
    ("content", "roles"),
    [
        ("Alice,ill\nBob,well\n", {"label": "outcome"}),
        ("Alice,ill\nBob,well\n", {"label": None, "person": "who"}),
        ("Alice,Alice,ill\nBob,Bob,well\n", {"label": "outcome"}),
        ("Alice,ill\nBob,well\n", {"label": None}),
        ("Alice,ill\n1,\n", {"label": None}),
        ("Alice,ill\n1,2\nnan,2\n", {"label": None}),
        ("Alice,ill\n1,2\n1e999,2\n", {"label": None}),
    ],
)
def test_a_table_without_a_header_shows_no_cell(tmp_path, content, roles):
    path = tmp_path / "t.csv"
    path.write_text(content)
    line = refusal(lambda: read_table(path, **roles))
    assert not any(cell in line for cell in ("Alice", "Bob", "ill", "well"))


FORMULAS = ["=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\n=1", "＝1+1", "|calc"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_is_written_to_csv_as_no_formula(tmp_path, text):
    assert no_formula(text) == f"'{text}"
    threat = Threat(access=Access.SCORES)
    scores = Scores(values=np.array([0.5, -1.5]), attack=text, threat=threat)
    write_scores(tmp_path / "s.csv", scores, labels=[text, "plain"])
    content = (tmp_path / "s.csv").read_bytes().decode()
    assert content.count(f"'{text}") == 3
    assert "plain" in content
    assert ",-1.5," in content, "numbers stay numbers"


# ---------------------------------------------------------------------- what a terminal shows


@pytest.mark.parametrize("sign", ["\x1b[31m", "\u202e", "\x00", "\u2028", "\ud800"])
def test_no_sign_of_a_file_reaches_the_terminal(sign):
    shown = one_line(f"got {sign}text")
    assert shown.isprintable()
    assert len(one_line("a" * 10**6)) < 1100


# --------------------------------------------------------------------------------- random bits


@pytest.fixture
def source(monkeypatch):
    """os.urandom replaced by another source, in a process that has drawn nothing."""
    from reticent import randomness

    def use(give):
        monkeypatch.setattr(randomness, "_seen", [])
        monkeypatch.setattr(os, "urandom", give)

    return use


def counting(period):
    state = [0]

    def give(count):
        state[0] = (state[0] + 1) % period
        return (state[0] * 2**70 + 12345).to_bytes(32, "big")[-count:].rjust(count, b"\1")

    return give


@pytest.mark.parametrize(
    "give",
    [
        bytes,
        lambda count: b"\x17" * count,
        lambda count: (b"0123456789abcdef" * 4)[:count],
        counting(2),
        counting(20),
    ],
    ids=["zeros", "one byte", "a constant", "period 2", "period 20"],
)
def test_random_bits_that_repeat_are_refused(source, give):
    source(give)
    with pytest.raises(InputError, match="must be fresh, got some that repeat"):
        SecureBits()


@pytest.mark.parametrize("bad", [bytes(7) + b"123456789", b"\x05" * 9 + b"1234567"])
def test_a_source_that_is_bad_at_start_up_alone_is_refused(source, bad):
    """Keys of another length come out sound: the test of the start refuses all the same."""
    sound, drawn = os.urandom, []

    def give(count):
        drawn.append(count)
        repeats = bad if bad[0] == 5 and len(drawn) == 1 else sound(count)
        return (bad if bad[0] == 0 else repeats) if count == 16 else sound(count)

    source(give)
    with pytest.raises(InputError, match="must be fresh, got some that repeat"):
        SecureBits()


def test_a_source_that_stops_later_is_refused(source, monkeypatch):
    sound = os.urandom
    source(sound)
    SecureBits()
    monkeypatch.setattr(os, "urandom", lambda count: (bytes(range(64)))[:count])
    SecureBits()
    with pytest.raises(InputError, match="must be fresh, got some that repeat"):
        SecureBits()


def test_a_release_from_a_constant_source_is_refused(tmp_path):
    """20 releases from one constant source: in the attack 19 of them were equal."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os\nos.urandom = lambda count: (b'constant' * 99)[:count]\n"
    )
    code = (
        "from reticent.mechanisms import Laplace\nfrom reticent import Sensitivity\n"
        "m = Laplace.calibrate(Sensitivity(l1=1.0), epsilon=1.0, delta=0.0)\n"
        "print(m.release([1.0]))\n"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "must be fresh, got some that repeat: nothing was released" in done.stderr
