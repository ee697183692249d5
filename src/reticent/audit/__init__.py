"""What protection costs, what a model tells, and whether a claimed ε stands.

Metrics with intervals, lower bounds on ε, audits of claims.
"""

from typing import TYPE_CHECKING

from reticent.audit.attack_report import AttackReport, measured_attack, write_scores
from reticent.audit.canaries import Canaries, insert_canaries
from reticent.audit.error_counts import clopper_pearson_epsilon, gdp_epsilon, jeffreys_epsilon
from reticent.audit.lower_bound import LowerBound, divided
from reticent.audit.many_runs import SeparateRuns, ThresholdGrid, many_runs
from reticent.audit.metrics import (
    Measured,
    Roc,
    auc,
    balanced_accuracy,
    ceiling,
    leakage,
    precision,
    roc,
    share_above,
    tpr_at_fpr,
)
from reticent.audit.one_run import one_run, one_run_epsilon, one_run_gdp_epsilon
from reticent.audit.slices import Slice, Sliced, deciles, holm, sliced
from reticent.audit.utility import UtilityLoss, utility_loss
from reticent.lazy import lazy_exports

if TYPE_CHECKING:
    from reticent.audit.mechanism import FunctionAudit, audit_function
    from reticent.audit.one_training import TrainingAudit, one_run_audit
    from reticent.audit.release import ClaimsAudit, audit_release, audit_releases, audit_together
    from reticent.audit.release_audit import ReleaseAudit, SampledAudit, audit_sampled

__all__ = [
    "AttackReport",
    "Canaries",
    "ClaimsAudit",
    "FunctionAudit",
    "LowerBound",
    "Measured",
    "ReleaseAudit",
    "Roc",
    "SampledAudit",
    "SeparateRuns",
    "Slice",
    "Sliced",
    "ThresholdGrid",
    "TrainingAudit",
    "UtilityLoss",
    "auc",
    "audit_function",
    "audit_release",
    "audit_releases",
    "audit_sampled",
    "audit_together",
    "balanced_accuracy",
    "ceiling",
    "clopper_pearson_epsilon",
    "deciles",
    "divided",
    "gdp_epsilon",
    "holm",
    "insert_canaries",
    "jeffreys_epsilon",
    "leakage",
    "many_runs",
    "measured_attack",
    "one_run",
    "one_run_audit",
    "one_run_epsilon",
    "one_run_gdp_epsilon",
    "precision",
    "roc",
    "share_above",
    "sliced",
    "tpr_at_fpr",
    "utility_loss",
    "write_scores",
]

__getattr__ = lazy_exports(__name__)
