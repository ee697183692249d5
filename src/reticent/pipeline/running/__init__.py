"""``reticent run`` and the demonstration: data in, one document and a release out."""

from reticent.pipeline.running.arrays import run
from reticent.pipeline.running.run import Finished, run_job
from reticent.pipeline.running.spec import RunData, RunSpec

__all__ = ["Finished", "RunData", "RunSpec", "run", "run_job"]
