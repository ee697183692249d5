"""``reticent demo``: the whole job on digits that come with the installation."""

from pathlib import Path
from typing import Annotated

import typer

from reticent.cli import options, output, progress
from reticent.cli.summary import print_summary, stop_refuted, written_by

Quick = Annotated[bool, typer.Option("--quick", help="Smaller digits, fewer steps: seconds.")]
Out = Annotated[Path, typer.Option(help="A folder for the page, results.json and the release.")]


def demo(
    quick: Quick = False, out: Out = Path("reticent-demo"), json: options.Json = False
) -> None:
    """The whole job on real digits: encoder, head, bounds, releases, attacks, audits, one page."""
    from reticent.files import folder_for
    from reticent.run.demo import DemoSpec, demonstrate
    from reticent.training.encoders.cache import usual_folder

    spec = DemoSpec.quick() if quick else DemoSpec.full()
    with folder_for(out) as target:
        with progress.stages() as stage:
            finished = demonstrate(spec, cache=usual_folder(), stage=stage)
        written = written_by(finished, target)
    if json:
        output.print_json(finished.results.model_dump(mode="json"))
    else:
        print_summary(finished.results, out, written)
    stop_refuted(finished.results)
