"""``python -m tools.mutation.calls FILE SECTION…``: the figures, and which functions gave them.

A section whose figures never call the function of a mutant cannot show it, and is not asked again.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType

from tools.mutation import probe

MODULE = "module"
"""What runs when a file is imported, as ``Mutant.function`` calls it."""


def main(arguments: list[str]) -> int:
    """What ``probe`` writes, with ``called``: pairs of a file of the package and a function."""
    seen: set[CodeType] = set()

    def noticed(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    threading.setprofile(noticed)
    sys.setprofile(noticed)
    try:
        code = probe.main(arguments)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    path = Path(arguments[0])
    document = json.loads(path.read_text(encoding="utf-8"))
    package = Path(document["package"]).parent
    files = {code: Path(code.co_filename) for code in seen}
    document["called"] = sorted(
        {
            (file.relative_to(package).as_posix(), named(code))
            for code, file in files.items()
            if file.is_relative_to(package)
        }
    )
    path.write_text(json.dumps(document), encoding="utf-8")
    return code


def named(code: CodeType) -> str:
    """As ``Mutant.function`` names it: ``outer.inner``, and what a file does when imported."""
    name = code.co_qualname.replace(".<locals>", "")
    return MODULE if name == "<module>" else name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
