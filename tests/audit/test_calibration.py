"""How many wrong audits are too many: the binomial test that judges audits."""

import pytest
from scipy import stats

from reticent.audit.intervals import most_wrong, wrong_too_often
from reticent.validation import InputError


@pytest.mark.parametrize("audits", [5, 200, 1000])
@pytest.mark.parametrize("beta", [0.001, 0.05, 0.3])
def test_the_most_that_is_allowed_is_allowed_and_one_more_is_not(audits, beta):
    most = most_wrong(audits, beta=beta)
    assert not wrong_too_often(most, audits, beta=beta)
    assert wrong_too_often(most + 1, audits, beta=beta) or most == audits
    assert stats.binom.sf(most, audits, beta) <= 1e-6


def test_nonsense_is_refused():
    with pytest.raises(InputError, match="beta must be"):
        most_wrong(10, beta=0.0)
    with pytest.raises(InputError, match="wrong must be"):
        wrong_too_often(-1, 10, beta=0.05)
