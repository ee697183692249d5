"""All that the end-to-end audit goes through, by name."""

from typing import Final

from reticent.audit.end_to_end.encoders import ENCODER_RELEASES
from reticent.audit.end_to_end.python_api import HOSTILE, PYTHON_RELEASES
from reticent.audit.end_to_end.releases import Audited, releases
from reticent.run.end_to_end_commands import RUN_COMMAND, commands


def every_release() -> dict[str, Audited]:
    """Recipes of the registry, plug-ins included; encoders, arrays, ways around, commands."""
    return {
        **releases(),
        **ENCODER_RELEASES,
        **PYTHON_RELEASES,
        **HOSTILE,
        **commands(),
    }


WHOLE_JOB: Final[dict[str, Audited]] = RUN_COMMAND
"""Takes many seconds a pair."""
