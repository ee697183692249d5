"""Every name that the packages promise is there, and an unknown one is refused."""

import subprocess
import sys

import pytest

from reticent import attacks, audit


@pytest.mark.parametrize("package", [attacks, audit], ids=lambda package: package.__name__)
def test_every_public_name_is_there(package):
    for name in package.__all__:
        found = getattr(package, name)
        assert callable(found), name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        package.nothing  # noqa: B018


def test_black_box_attacks_load_no_torch():
    code = "import sys; from reticent.attacks import Lira, Rmia, MetricAttack, train_shadows; "
    code += "print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
