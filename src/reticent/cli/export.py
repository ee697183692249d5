"""``reticent export``: a released model for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from reticent.cli import options, output
from reticent.cli.released import Released
from reticent.validation import InputError

Onnx = Annotated[
    Path | None, typer.Option("--onnx", help="Write this .onnx file, for any runtime.")
]


def export(released: Released, onnx: Onnx = None, json: options.Json = False) -> None:
    """Write a released model in a format of others, with the same predictions.

    The guarantee is the release's: to write it otherwise is post-processing. Keep the certificate
    beside the file, which cannot be verified by itself.
    """
    from reticent.files import writable_file, write_atomic
    from reticent.protect import load
    from reticent.protect.export import to_onnx

    if onnx is None:
        raise InputError("--onnx must name the file to write, got nothing")
    if writable_file(onnx).suffix != ".onnx":
        raise InputError(f"--onnx must be a .onnx file, got {onnx}")
    release = load(released)
    write_atomic(onnx, to_onnx(release))
    inputs = {"x": f"float64, {release.features} columns"}
    if json:
        output.print_json({"onnx": str(onnx), "inputs": inputs, "columns": list(release.columns)})
        return
    output.print_line(f"input x: {inputs['x']}; {release.guarantee}")
    output.print_line(f"written to {onnx}")
