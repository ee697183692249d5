"""All that the end-to-end audit goes through, by name."""

from __future__ import annotations

from typing import Final

from reticent.pipeline.end_to_end.commands import COMMANDS, RUN_COMMAND
from reticent.pipeline.end_to_end.python_api import HOSTILE, PYTHON_RELEASES
from reticent.pipeline.end_to_end.releases import RELEASES, Audited

EVERY_RELEASE: Final[dict[str, Audited]] = {**RELEASES, **PYTHON_RELEASES, **HOSTILE, **COMMANDS}
WHOLE_JOB: Final[dict[str, Audited]] = RUN_COMMAND
"""Takes many seconds a pair."""
