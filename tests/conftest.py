"""Settings that all tests share."""

import os
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: the first call of a compiled function takes seconds. In CI the examples are the same
# in every run, so that a red run is about the change; elsewhere they are new each time.
settings.register_profile("reticent", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("reticent")


_HERE = str(Path(__file__).resolve().parent.parent) + os.sep


@pytest.fixture(autouse=True)
def forget_written_modules():
    """Drops modules that a test wrote and imported: the next test may write one of that name."""
    before = set(sys.modules)
    yield
    folder = tempfile.gettempdir() + os.sep
    for name in sys.modules.keys() - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(folder) and not file.startswith(_HERE):  # a clone may be in there too
            del sys.modules[name]


@pytest.fixture
def few_transcripts(monkeypatch):
    """Audits of a run look at 20 transcripts, the fewest they ever do, instead of some eighty.

    For tests of what else a run does: most of their time would go into these audits.
    """
    monkeypatch.setattr("reticent.run.auditing.MOST", 20)
