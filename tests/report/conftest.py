"""The pages of the sample, made once."""

import pytest

from reticent.report import page
from tests.report.sample import certified, sample_results


@pytest.fixture(scope="session")
def sample():
    return sample_results()


@pytest.fixture(scope="session")
def internal(sample):
    return page(sample)


@pytest.fixture(scope="session")
def public(sample):
    return page(sample, public=True, released=certified(sample)[1])
