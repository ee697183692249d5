"""``reticent run`` and the demonstration: data in, one document and a release out."""

from reticent.run.arrays import run
from reticent.run.job import Finished, run_job
from reticent.run.spec import RunData, RunSpec

__all__ = ["Finished", "RunData", "RunSpec", "run", "run_job"]
