"""Sensitivities of sums: numbers for which the theorem would not hold are refused."""

import pytest

from reticent.bounds.sums import clipped_gradients
from reticent.validation import InputError


@pytest.mark.parametrize("clip", [1e-201, 1e201, 1e-280, float("nan"), 0.0])
def test_a_clip_whose_factors_would_underflow_is_refused(clip):
    """At 1e-282 one record moved the sum by 1.0009 of what was claimed."""
    with pytest.raises(InputError, match="clip must be"):
        clipped_gradients(clip=clip, size=8, records=100, relation="add-remove")
