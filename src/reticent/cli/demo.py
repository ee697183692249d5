"""``reticent demo``: the whole job on digits that come with the installation."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from reticent.cli.options import Json
from reticent.cli.output import print_json, print_line, print_titled
from reticent.cli.progress import stages

Quick = Annotated[bool, typer.Option("--quick", help="Smaller digits, fewer steps: seconds.")]
Out = Annotated[
    Path | None,
    typer.Option(
        help="A folder for results.json and the released head with its certificate.",
        show_default=False,
    ),
]


def demo(quick: Quick = False, out: Out = None, json: Json = False) -> None:
    """The whole job on real digits: encoder, head, bound, release, attack, verdict."""
    from reticent.files import write_whole
    from reticent.pipeline.demo import DemoSpec, demonstrate
    from reticent.protect import save
    from reticent.training.encoders.cache import usual_folder

    spec = DemoSpec.quick() if quick else DemoSpec.full()
    with stages() as stage:
        result = demonstrate(spec, cache=usual_folder(), stage=stage)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        document = json_text.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False, indent=2)
        write_whole(out / "results.json", document.encode())
        save(result.released, out / "head")
    if json:
        print_json(result.to_dict())
        return
    for table in result.tables:
        print_titled(table)
    for line in result.verdict:
        print_line(line)
    if out is not None:
        print_line(f"written to {out}: results.json, head.safetensors, head.json")
