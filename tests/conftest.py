"""Settings that all tests share."""

import os

from hypothesis import settings

# No deadline: the first call of a compiled function takes seconds. In CI the examples are the same
# in every run, so that a red run is about the change; elsewhere they are new each time.
settings.register_profile("reticent", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("reticent")
