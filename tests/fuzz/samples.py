"""A valid file for every reader, how to change it, and how the program reads it."""

import csv
import dataclasses
import gzip
import io
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reticent import data
from reticent.accounting import account
from reticent.attacks.targets import AnsweredTarget
from reticent.audit.user_code import open_input
from reticent.cli.events import read_event
from reticent.data.adult import _ATTRIBUTES
from reticent.data.schema import Schema
from reticent.guarantee import (
    Composed,
    GaussianEvent,
    Guarantee,
    PoissonSampled,
    Relation,
    Repeated,
)
from reticent.ledger import Ledger
from reticent.protect import calibrated_answers, numbers_of, release_weights, save, verify
from reticent.protect.answers.files import load_plan, save_plan
from reticent.results import read_results, write_results
from reticent.studies.trained import _read as read_cells
from reticent.training import SoftmaxHead
from reticent.training.fit_file import load_fit, save_fit
from tests.fuzz import mutations
from tests.fuzz.mutations import (
    Change,
    inside_gzip,
    of_bytes,
    of_json,
    of_npz,
    of_safetensors,
    of_text,
)
from tests.report.sample import short_results

RNG = np.random.default_rng(18)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Files in a folder, of which ``changed`` ones are mutated; ``read`` reads the folder."""

    name: str
    write: Callable[[Path], object]
    read: Callable[[Path], object]
    changed: Mapping[str, tuple[Change, ...]]
    weight: float = 1.0
    """How many files of this kind, compared with others: less for slow readers."""


def _table(folder: Path) -> dict[str, list[Any]]:
    rows = 12
    return {
        "age": list(range(20, 20 + rows)),
        "pay": [round(float(value), 3) for value in RNG.normal(size=rows)],
        "who": [f"p{place % 5}" for place in range(rows)],
        "kind": ["ill", "well"] * (rows // 2),
    }


def _csv_text(columns: dict[str, list[Any]]) -> bytes:
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return target.getvalue().encode()


def _read_table(ending: str, **roles: Any) -> Callable[[Path], object]:
    said = {"label": "kind", "person": "who", "classes": ["ill", "well"]} | roles
    return lambda folder: data.read_table(folder / f"table{ending}", **said)


def _write_csv(folder: Path) -> None:
    (folder / "table.csv").write_bytes(_csv_text(_table(folder)))


def _write_packed(folder: Path) -> None:
    (folder / "table.csv.gz").write_bytes(gzip.compress(_csv_text(_table(folder))))


def _write_lists(folder: Path) -> None:
    columns = {"h": [json.dumps([0.5, 1, -2e-3])] * 6, "kind": ["ill", "well"] * 3}
    (folder / "table.csv").write_bytes(_csv_text(columns))


def _write_npz(folder: Path) -> None:
    arrays: dict[str, Any] = {name: np.array(cells) for name, cells in _table(folder).items()}
    np.savez(folder / "table.npz", **arrays)


def _write_parquet(folder: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table(_table(folder))
    dictionary = table.column("who").dictionary_encode()
    parquet.write_table(table.set_column(2, "who", dictionary), folder / "table.parquet")


def _write_lists_parquet(folder: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    lists = pyarrow.array([[0.5, 1.0, 2.0]] * 8, pyarrow.list_(pyarrow.float32()))
    table = pyarrow.table({"h": lists, "kind": ["ill", "well"] * 4})
    parquet.write_table(table, folder / "table.parquet", compression="gzip", row_group_size=4)


def _write_saved(folder: Path) -> None:
    """As ``datasets`` saves a table: a stream of Arrow, and a state that names it."""
    import pyarrow
    from pyarrow import ipc

    table = pyarrow.table(_table(folder))
    table = table.set_column(2, "who", table.column("who").dictionary_encode())
    (folder / "table").mkdir(exist_ok=True)
    with ipc.new_stream(folder / "table" / "data.arrow", table.schema) as out:
        out.write_table(table, max_chunksize=5)
    state = {"_data_files": [{"filename": "data.arrow"}], "_format_type": None}
    (folder / "table" / "state.json").write_text(json.dumps(state), encoding="utf-8")


_SCHEMA = """
source = "a codebook"
records = 12
[file]
gaps = ["?"]
[columns.age]
type = "number"
range = [0, 100]
gap = "indicator"
[columns.pay]
type = "number"
range = [-5.0, 5.0]
[columns.born]
role = "ignored"
[columns.who]
role = "person"
[columns.kind]
role = "label"
classes = ["ill", "well"]
"""


def _write_raw(folder: Path) -> None:
    (folder / "schema.toml").write_text(_SCHEMA, encoding="utf-8")
    _write_csv(folder)
    _write_npz(folder)
    _write_parquet(folder)


def _read_raw(ending: str) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        schema = data.Schema.load(folder / "schema.toml")
        return data.read_by_schema(folder / f"table{ending}", schema)

    return read


def _tables() -> list[Reader]:
    parquet = {"table.parquet": (of_bytes,)}
    lists = _read_table(".csv", person=None, embedding="h")
    from_lists = _read_table(".parquet", person=None, embedding="h")
    return [
        Reader(name="csv", write=_write_csv, read=_read_table(".csv"),
               changed={"table.csv": (of_text, of_text, of_bytes)}),
        Reader(name="csv, guessed", write=_write_csv, read=_read_table(".csv", classes=None),
               changed={"table.csv": (of_text, of_bytes)}, weight=0.5),
        Reader(name="csv.gz", write=_write_packed, read=_read_table(".csv.gz"),
               changed={"table.csv.gz": (inside_gzip(of_text), of_bytes)}),
        Reader(name="csv of lists", write=_write_lists, read=lists,
               changed={"table.csv": (of_text, of_bytes)}, weight=0.5),
        Reader(name="npz", write=_write_npz, read=_read_table(".npz"),
               changed={"table.npz": (of_npz, of_npz, of_bytes)}),
        Reader(name="parquet", write=_write_parquet, read=_read_table(".parquet"),
               changed=parquet, weight=2.0),
        Reader(name="parquet of lists", write=_write_lists_parquet, read=from_lists,
               changed=parquet),
        Reader(name="saved dataset", write=_write_saved, read=_read_table(""),
               changed={"table/data.arrow": (of_bytes,), "table/state.json": (of_json,)}),
        Reader(name="schema", write=_write_raw, read=_read_raw(".csv"),
               changed={"schema.toml": (of_text, of_text, of_bytes)}),
        Reader(name="raw csv", write=_write_raw, read=_read_raw(".csv"),
               changed={"table.csv": (of_text, of_bytes)}, weight=0.5),
        Reader(name="raw npz", write=_write_raw, read=_read_raw(".npz"),
               changed={"table.npz": (of_npz, of_bytes)}, weight=0.5),
        Reader(name="raw parquet", write=_write_raw, read=_read_raw(".parquet"),
               changed=parquet, weight=0.5),
    ]  # fmt: skip


def _write_layouts(folder: Path) -> None:
    """Every publisher's file, of two records or a few."""

    def bits(width: int, label: bool) -> bytes:
        rows = RNG.integers(0, 2, (3, width)).astype(str)
        return b"".join(
            (f"{place + 1}," if label else "").encode() + ",".join(row).encode() + b"\n"
            for place, row in enumerate(rows)
        )

    def idx(array: np.ndarray[Any, Any]) -> bytes:
        return (
            bytes([0, 0, 8, array.ndim])
            + struct.pack(f">{array.ndim}I", *array.shape)
            + array.tobytes()
        )

    def image(labels: int, side: int) -> bytes:
        return b"".join(bytes([1] * labels) + RNG.bytes(3 * side**2) for _ in range(2))

    x, y = RNG.integers(0, 2, (4, 645)).astype(np.uint8), np.arange(4)
    first = [f"{kind}" if isinstance(kind, float) else kind[0] for kind in _ATTRIBUTES.values()]
    adult = ", ".join("39" if "." in value else value for value in first)
    files = {
        "train-images-idx3-ubyte.gz": gzip.compress(
            idx(RNG.integers(0, 9, (3, 28, 28)).astype(np.uint8))
        ),
        "train-labels-idx1-ubyte": idx(np.arange(3, dtype=np.uint8)),
        **{f"data_batch_{i}.bin": image(1, 32) for i in range(1, 6)},
        "train.bin": image(2, 32),
        "fine_label_names.txt": " ".join(f"c{i}" for i in range(100)).encode(),
        "train_X.bin": image(0, 96),
        "train_y.bin": bytes([1, 10]),
        "adult.data": f"{adult}, <=50K\n{adult}, >50K\n".encode(),
        "bangkok": bits(446, True),
        "dataset_purchase": bits(600, True),
        "feats": bits(6169, False),
        "labels": b"1\n2\n100\n",
        "trec.csv": b'split,label,text\ntrain,ABBR,what is it?\ntrain,NUM,"how, many"\n',
        "sst2.csv.gz": gzip.compress(b"split,label,text\ntrain,0,bad\ntrain,1,good\n"),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    names = np.array([f"f{i}" for i in range(645)])
    np.savez(folder / "hospital100.npz", x=x, y=y, feature_names=names, class_icd9=np.arange(4))
    np.savez(folder / "purchase_shoppers.npz", x=x, y10=y, item_id=np.arange(645))
    np.savez(folder / "own.npz", x=x.astype(np.float32), y=y)


def _layouts() -> list[Reader]:
    each: dict[str, dict[str, tuple[Change, ...]]] = {
        "mnist-train": {
            "train-images-idx3-ubyte.gz": (inside_gzip(of_bytes), of_bytes),
            "train-labels-idx1-ubyte": (of_bytes,),
        },
        "cifar10-train": {"data_batch_3.bin": (of_bytes,)},
        "cifar100-train": {"train.bin": (of_bytes,), "fine_label_names.txt": (of_bytes,)},
        "stl10-train": {"train_X.bin": (of_bytes,), "train_y.bin": (of_bytes,)},
        "adult-train": {"adult.data": (of_text, of_bytes)},
        "location": {"bangkok": (of_text, of_bytes)},
        "purchase100": {"dataset_purchase": (of_text, of_bytes)},
        "texas100": {"feats": (of_bytes,), "labels": (of_text,)},
        "hospital100": {"hospital100.npz": (of_npz, of_bytes)},
        "purchase-shoppers-10": {"purchase_shoppers.npz": (of_npz, of_bytes)},
        "features/own": {"own.npz": (of_npz, of_bytes)},
        "trec-train": {"trec.csv": (of_text, of_bytes)},
        "sst2-train": {"sst2.csv.gz": (inside_gzip(of_text), of_bytes)},
    }
    return [
        Reader(
            name=name,
            write=_write_layouts,
            read=lambda folder, name=name: data.load(name, folder),  # type: ignore[misc]
            changed=changed,
            weight=0.4,
        )
        for name, changed in each.items()
    ]


def _head() -> SoftmaxHead:
    X, y = RNG.normal(size=(60, 5)), np.array(["no", "yes", "maybe"])[np.arange(60) % 3]
    head = SoftmaxHead(penalty=0.1, classes=["maybe", "no", "yes"], records=60, centre=np.ones(5))
    return head.fit(X, y)


def _write_plan(folder: Path) -> None:
    """With a schema of five columns, as the head has features."""
    columns = {name: {"type": "number", "range": [0, 1]} for name in "abcde"}
    columns["label"] = {"role": "label", "classes": ["0", "1", "2"]}
    schema = Schema.from_dict({"source": "a codebook", "records": 60, "columns": columns})
    plan = calibrated_answers(
        dataclasses.replace(numbers_of(_head()), bound=schema.bound), epsilon=1.0, delta=1e-5,
        relation="add-remove", queries=20, mechanism="exponential", filter="zcdp",
    )  # fmt: skip
    save_plan(plan, schema.classes, folder / "plan.json", schema=schema)


def _write_release(folder: Path) -> None:
    save(release_weights(_head(), epsilon=2.0, delta=1e-6, relation="add-remove"), folder / "head")


def _write_ledger(folder: Path) -> None:
    with Ledger.open(folder / "spent.db", create=True) as ledger:
        ledger.set_budget("survey", epsilon=3.0, delta=1e-6, relation="add-remove")
        for purpose in ("mean", "head"):
            event = GaussianEvent(noise_multiplier=9.0)
            ledger.charge(
                "survey", event, relation="add-remove", purpose=purpose, claim=(0.7, 1e-7)
            )


def _read_ledger(folder: Path) -> None:
    with Ledger.open(folder / "spent.db") as ledger:
        for one in ledger.accounts():
            ledger.spent(one.name)
            ledger.entries(one.name)
            ledger.budget_changes(one.name)
        ledger.charge(
            "survey", GaussianEvent(noise_multiplier=9.0), relation="add-remove", purpose="x",
            claim=(0.7, 1e-8),
        )  # fmt: skip


def _event() -> dict[str, object]:
    gaussian = GaussianEvent(noise_multiplier=1.5)
    steps = Repeated(event=PoissonSampled(event=gaussian, rate=0.01), count=20)
    return Composed(events=(steps, gaussian)).to_dict()


def _documents() -> list[Reader]:
    def written(name: str, content: str) -> Callable[[Path], object]:
        return lambda folder: (folder / name).write_text(content, encoding="utf-8")

    both = (of_json, of_json, of_bytes)
    claim = Guarantee(epsilon=1.0, delta=1e-5, relation=Relation.ADD_REMOVE).to_json()
    return [
        Reader(name="certificate", write=_write_release,
               read=lambda folder: verify(folder / "head"),
               changed={"head.json": both, "head.safetensors": (of_safetensors, of_bytes)},
               weight=2.0),
        Reader(name="results",
               write=lambda folder: write_results(short_results(), folder / "r.json"),
               read=lambda folder: read_results(folder / "r.json"), changed={"r.json": both},
               weight=0.3),
        Reader(name="fit", write=lambda folder: save_fit(_head(), folder / "a"),
               read=lambda folder: load_fit(folder / "a"),
               changed={"a.fit.safetensors": (mutations.of_fit, of_safetensors, of_bytes)}),
        Reader(name="plan of answers", write=_write_plan,
               read=lambda folder: load_plan(folder / "plan.json"),
               changed={"plan.json": (of_json, of_text, of_bytes)}, weight=0.3),
        Reader(name="event", write=written("e.json", json.dumps(_event())),
               read=lambda folder: read_event(folder / "e.json"), changed={"e.json": both}),
        Reader(name="event, accounted", write=written("e.json", json.dumps(_event())),
               read=lambda folder: account(read_event(folder / "e.json"), relation="add-remove",
                                           delta=1e-5),
               changed={"e.json": (of_json,)}, weight=0.1),
        Reader(name="guarantee", write=written("g.json", claim),
               read=lambda folder: Guarantee.from_json((folder / "g.json").read_text("latin1")),
               changed={"g.json": both}),
        Reader(name="ledger", write=_write_ledger, read=_read_ledger,
               changed={"spent.db": (mutations.of_database, of_bytes)}, weight=0.3),
        Reader(name="cells of a study", write=written("c.json", json.dumps({"a": [1, 2]})),
               read=lambda folder: read_cells(folder / "c.json"), changed={"c.json": both},
               weight=0.3),
    ]  # fmt: skip


def _encoder() -> Reader:
    """What pretrain writes: an encoder, or the state of an interrupted run."""
    import torch

    from reticent.training.encoders.torch_encoder import read_sealed, write_sealed

    def write(folder: Path) -> None:
        write_sealed(folder / "e.safetensors", {"w": torch.zeros(3, 2)}, {"a": 1}, format="x")

    return Reader(
        name="encoder",
        write=write,
        read=lambda folder: read_sealed(folder / "e.safetensors", format="x"),
        changed={"e.safetensors": (of_safetensors, of_bytes)},
        weight=0.5,
    )


def _answers() -> list[Reader]:
    def write(folder: Path) -> None:
        (folder / "p.csv").write_bytes(_csv_text({"ill": [0.2, 0.7], "well": [0.8, 0.3]}))
        np.save(folder / "x.npy", np.arange(6.0))

    return [
        Reader(name="answers", write=write,
               read=lambda folder: AnsweredTarget.read(folder / "p.csv"),
               changed={"p.csv": (of_text, of_bytes)}, weight=0.5),
        Reader(name="npy", write=write,
               read=lambda folder: open_input("--one", str(folder / "x.npy")),
               changed={"x.npy": (of_bytes,)}, weight=0.5),
    ]  # fmt: skip


def readers() -> list[Reader]:
    """All of them; a new reader of files gets a line here."""
    return [*_tables(), *_layouts(), *_documents(), *_answers(), _encoder()]
