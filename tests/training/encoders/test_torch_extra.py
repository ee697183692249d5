"""Without torch there is one line, which says what to install."""

import subprocess
import sys

import pytest

CODE = """
import importlib, sys
import reticent.training
from reticent.validation import InputError

sys.modules["torch"] = None  # as if it were not installed
for module in ("contrastive", "gradients", "encoders.torch_encoder"):
    try:
        importlib.import_module(f"reticent.training.{module}")
    except InputError as error:
        print(error)
"""


@pytest.mark.slow
def test_a_missing_torch_is_one_line():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    line = 'torch must be installed for image encoders: pip install "reticent[torch]"\n'
    assert done.stdout == 3 * line
