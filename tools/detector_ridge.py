"""How much ridge the detector's covariance takes: tried on data sets that it is not measured on.

``python -m tools.detector_ridge`` prints, for each data set, ridge and stream, the AUC against
benign streams and how many of the streams raise an alarm.
"""

from __future__ import annotations

import sys

from reticent.audit.metrics import auc
from reticent.service import detector
from tools.query_streams import World, diabetes, some_mnist, watched

RIDGES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
STREAMS = 16


def tried(world: World, ridge: float, streams: int = STREAMS) -> dict[str, tuple[float, int]]:
    """AUC and alarms of each kind of stream at a ridge; of benign streams the alarms alone."""
    before = detector._RIDGE
    try:
        detector._RIDGE = ridge  # type: ignore[misc]
        benign = [watched(world, world.benign, 1_000 + number) for number in range(streams)]
        found = {"benign": (0.5, sum(alarm is not None for _, alarm in benign))}
        for kind in ("boundary", "noise", "synthesis"):
            seen = [watched(world, getattr(world, kind), number) for number in range(streams)]
            value = auc([score for score, _ in seen], [score for score, _ in benign]).value
            found[kind] = value, sum(alarm is not None for _, alarm in seen)
        return found
    finally:
        detector._RIDGE = before  # type: ignore[misc]


def main() -> int:
    """Print the table."""
    for name, world in (("diabetes", diabetes()), ("570 of MNIST", some_mnist())):
        for ridge in RIDGES:
            for kind, (value, alarmed) in tried(world, ridge).items():
                sys.stdout.write(
                    f"{name}, ridge {ridge:g}, {kind}: AUC {value:.3f}, "
                    f"{alarmed} of {STREAMS} alarmed\n"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
