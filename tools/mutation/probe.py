"""``python -m tools.mutation.probe FILE SECTION…``: the figures of these sections, as JSON."""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path

SECTIONS = ("bounds", "mechanisms", "noise", "accounting", "ledger", "protect", "released")
FIRST = {
    "bounds": ("bounds",),
    "mechanisms": ("mechanisms", "noise"),
    "accounting": ("accounting",),
    "ledger": ("ledger",),
    "protect": ("protect", "released"),
}
"""The sections in which a mutant of a folder shows most likely."""


def main(arguments: list[str]) -> int:
    """Write the figures, and where the package that gave them was imported from."""
    import numpy as np

    import reticent
    from tools.mutation.probes.record import Figures

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    path, *sections = arguments
    figures = Figures()
    for section in sections:
        importlib.import_module(f"tools.mutation.probes.{section}").fill(figures)
    document = {"package": reticent.__file__, "figures": figures.values}
    Path(path).write_text(json.dumps(document), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
