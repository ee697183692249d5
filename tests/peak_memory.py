"""How much memory a process took at most."""

import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak_bytes() -> int:
    """The most resident memory of this process since its program was started.

    Linux counts in ``ru_maxrss`` what the parent of a process had when it was started (``exec``
    keeps the larger of the two): a small child of a large process seems large. VmHWM does not.
    """
    if STATUS.exists():
        lines = STATUS.read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
