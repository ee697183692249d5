"""What a run found, as one versioned document: ``results.json``."""

from reticent.results.attack import Attack, Curve, Interval, Rate
from reticent.results.audit import Audit, Bound, Claim
from reticent.results.document import (
    VERSION,
    Conclusion,
    Exposed,
    Exposure,
    Facts,
    Features,
    Made,
    Outlier,
    Release,
    Results,
    SensitivityRow,
    Unprotected,
    read_results,
    write_results,
)

__all__ = [
    "VERSION",
    "Attack",
    "Audit",
    "Bound",
    "Claim",
    "Conclusion",
    "Curve",
    "Exposed",
    "Exposure",
    "Facts",
    "Features",
    "Interval",
    "Made",
    "Outlier",
    "Rate",
    "Release",
    "Results",
    "SensitivityRow",
    "Unprotected",
    "read_results",
    "write_results",
]
