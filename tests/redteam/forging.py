"""What the red team does with files: sealing them anew, and asking for public texts of them."""

import hashlib
import json

import numpy as np
from safetensors.numpy import save as save_tensors

from reticent.cli.main import BAD_INPUT
from reticent.protect import verify
from reticent.protect.sealed_pair import _digest, paths_of, read_pair, write_pair

MISMATCH = 1
LIE = "Certified by the Institute"


def rows():
    return np.random.default_rng(1).normal(size=(60, 3)), np.arange(60) % 2


def one_line(command, *arguments):
    """The one line of a refused command, which has written and printed nothing else."""
    code, out, error = command(*arguments)
    assert (code, out, error.count("\n")) == (BAD_INPUT, "", 1)
    return error


def public_texts(command, folder, *more):
    """What both commands say for publication, or the one line why not."""
    said = []
    for name, arguments in {
        "report-public.html": ("report", folder / "results.json", "--public"),
        "card.md": ("card", folder / "results.json", "--public", "--out", folder / "card.md"),
    }.items():
        code, _, error = command(*arguments, *more)
        assert code in (0, BAD_INPUT)
        assert error.count("\n") == (code == BAD_INPUT)
        said.append((folder / name).read_text("utf-8") if code == 0 else error)
    return said


def problems(path, change=None, *, tensors=None, metadata=None):
    """What ``verify`` says after a change, both files sealed anew as their forger can."""
    pair = read_pair(path)
    claims, numbers = json.loads(json.dumps(pair.claims)), dict(pair.tensors)
    if change is not None:
        change(claims)
    write_pair(path, claims, numbers if tensors is None else tensors(numbers))
    if metadata is not None:
        places = paths_of(path)
        content = save_tensors(numbers, {"certificate_sha256": _digest(claims), **metadata})
        places.weights.write_bytes(content)
        whole = {**claims, "weights_sha256": hashlib.sha256(content).hexdigest()}
        places.certificate.write_text(json.dumps(whole))
    return verify(path).problems
