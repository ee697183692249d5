"""What is printed stays as it was; a change belongs under *Privacy* in CHANGELOG.md."""

import pytest

from tests import printed_figures
from tests.ledger.printed_cases import CASES

FOLDER = "ledger"


@pytest.mark.parametrize("name", CASES)
def test_a_figure_is_as_it_was(name):
    printed_figures.check(FOLDER, name)


def test_each_case_has_its_numbers_and_no_others_are_kept():
    printed_figures.check_names(FOLDER)
