"""Accounting: from events to (ε, δ), and from (ε, δ) to noise.

Every accountant covers the events it has a theorem for and refuses the others by name.
"""

from reticent.accounting.account import ACCOUNTANTS, PrivacyCost, account
from reticent.accounting.calibration import Calibration, calibrate_noise
from reticent.accounting.comparison import side_by_side

__all__ = [
    "ACCOUNTANTS",
    "Calibration",
    "PrivacyCost",
    "account",
    "calibrate_noise",
    "side_by_side",
]
