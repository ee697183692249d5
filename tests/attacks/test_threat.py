"""What is printed of an adversary."""

import pytest

from reticent.attacks.targets import Access, Threat


@pytest.mark.parametrize("access", list(Access))
def test_access_comes_first_then_knowledge(access):
    assert str(Threat(access=access)) == f"{access.value}; knows: nothing else"
    assert str(Threat(access=access, knows=("a", "b"))) == f"{access.value}; knows: a, b"


def test_each_access_has_its_own_words():
    assert len({access.value for access in Access}) == len(Access)
