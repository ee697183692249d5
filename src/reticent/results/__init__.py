"""What a run found, as one versioned document: ``results.json``."""

from typing import TYPE_CHECKING

from reticent.lazy import lazy_exports

if TYPE_CHECKING:
    from reticent.results.attack import Attack, Curve, Interval, Rate
    from reticent.results.audit import Audit, Bound, Claim
    from reticent.results.by_class import ByClass, Recall
    from reticent.results.document import (
        VERSION,
        Conclusion,
        DataSummary,
        Exposed,
        Exposure,
        Features,
        Outlier,
        Provenance,
        ReleaseRow,
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
    "ByClass",
    "Claim",
    "Conclusion",
    "Curve",
    "DataSummary",
    "Exposed",
    "Exposure",
    "Features",
    "Interval",
    "Outlier",
    "Provenance",
    "Rate",
    "Recall",
    "ReleaseRow",
    "Results",
    "SensitivityRow",
    "Unprotected",
    "read_results",
    "write_results",
]

__getattr__ = lazy_exports(__name__)
