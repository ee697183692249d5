"""All that the end-to-end audit goes through, by name."""

from typing import Final

from reticent.audit.end_to_end import encoders, head_starts, python_api
from reticent.audit.end_to_end.releases import Audited, releases
from reticent.run.end_to_end_commands import RUN_COMMAND, commands


def every_release() -> dict[str, Audited]:
    """Recipes of the registry, plug-ins included; encoders, arrays, ways around, commands."""
    return {
        **releases(),
        **encoders.ENCODER_RELEASES,
        **head_starts.HEAD_STARTS,
        **python_api.PYTHON_RELEASES,
        **python_api.HOSTILE,
        **commands(),
    }


WHOLE_JOB: Final[dict[str, Audited]] = RUN_COMMAND
"""Takes many seconds a pair."""
