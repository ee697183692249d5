"""How many files of the package a new recipe, attack, study or mechanism touches.

Each is written into a copy of the package, as CONTRIBUTING says, and then asked for by commands.
Files that differ from the package's are counted: one of its own and the registry, and for a
mechanism with an event of its own the events and an accountant's rule too.
"""

import filecmp
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import reticent

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(reticent.__file__).parent
MOST = {"recipe": 2, "attack": 2, "study": 2, "mechanism": 5}


def example(name):
    """The page's block that shows how to add one, up to its registration; it begins with numpy."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = re.search(rf"^\*\*An? {name}\*\* .*?```python\n(.*?)```", page, flags=re.DOTALL | re.M)
    return "import numpy as np\n" + block[1][: re.search(r"^\w+\.register", block[1], re.M).start()]


class Copy:
    """A copy of the package that is edited."""

    def __init__(self, folder):
        self.package = folder / "reticent"
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__"))

    def write(self, file, text):
        assert not (self.package / file).exists()
        (self.package / file).write_text(text, encoding="utf-8")

    def insert(self, file, after, lines):
        """Put lines behind the first place of a text."""
        text = (self.package / file).read_text(encoding="utf-8")
        assert after in text
        changed = text.replace(after, f"{after}{lines}", 1)
        (self.package / file).write_text(changed, encoding="utf-8")

    def touched(self):
        """Files that are new or differ."""
        own = [path for path in self.package.rglob("*") if path.is_file()]
        names = [path.relative_to(self.package) for path in own if path.suffix != ".pyc"]
        return sorted(
            str(name)
            for name in names
            if not (PACKAGE / name).exists()
            or not filecmp.cmp(PACKAGE / name, self.package / name, shallow=False)
        )

    def prints(self, code):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYTHONPATH": str(self.package.parent), "COLUMNS": "200"},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path)


RELEASED = """
import numpy as np
from reticent.protect import Terms, RECIPES, release_records, verify, save
from reticent.cli.main import run
from reticent.run.every_release import every_release
terms = Terms(epsilon=2.0, delta={delta}, relation="add-remove")
recipe = RECIPES["{name}"].planned(terms, records=60, features=2, classes=2, mechanism="{noise}")
rows, labels = np.ones((60, 2)), np.arange(60) % 2
save(release_records(recipe, terms, rows, labels, classes=("a", "b")), "{out}")
assert run(["protect", "--help"]) == 0 and run(["verify", "{out}"]) == 0
print("goes end to end:", "{name}" in every_release())
"""


@pytest.mark.slow
def test_a_recipe_touches_two_files(copy, tmp_path):
    copy.write("protect/recipes/largest_class.py", example("recipe"))
    copy.insert(
        "protect/registry.py",
        '    "recipe",\n    {\n',
        '"largest-class": Lazy(_HERE + ".largest_class:LargestClass", "", CLASSIFICATION),\n',
    )
    assert len(copy.touched()) <= MOST["recipe"]
    code = RELEASED.format(name="largest-class", noise="gaussian", delta=1e-5, out=tmp_path / "r")
    printed = copy.prints(code)
    assert "largest-class" in printed
    assert "holds: ε ≤ 2, δ ≤ 1e-5 (" in printed
    assert "goes end to end: True" in printed


@pytest.mark.slow
def test_an_attack_touches_two_files(copy):
    builder = "AttackBuilder(needs=(Need.SCORES,), build=lambda known: SecondGuess())"
    copy.write("attacks/second_guess.py", f"{example('attack')}SECOND_GUESS = {builder}\n")
    copy.insert(
        "attacks/registry.py",
        '    "attack",\n    {\n',
        '        "second-guess": _in("second_guess", "SECOND_GUESS"),\n',
    )
    assert len(copy.touched()) <= MOST["attack"]
    printed = copy.prints(
        "from reticent.cli.main import run\n"
        "from reticent.attacks.registry import ATTACKS\n"
        "assert run(['attack', '--help']) == 0\n"
        "print(type(ATTACKS['second-guess'].build(None)).__name__)"
    )
    assert "second-guess" in "".join(printed.split())
    assert "SecondGuess" in printed


@pytest.mark.slow
def test_a_study_touches_two_files(copy):
    text = f"from reticent.protect import RECIPES\n{example('study')}"
    copy.write("studies/recipes_counted.py", text)
    copy.insert(
        "studies/__init__.py",
        "_PAPERS: Mapping[str, Mapping[str, Study]] = {\n",
        '    "mine": {"counts": exact_in("recipes_counted", "counts")},\n',
    )
    assert len(copy.touched()) <= MOST["study"]
    printed = copy.prints(
        "from reticent.cli.main import run\n"
        "assert run(['reproduce']) == 0 and run(['reproduce', 'mine', 'counts']) == 0"
    )
    assert "How many recipes there are" in " ".join(printed.split())


EVENT = '''@dataclass(frozen=True, kw_only=True)
class CarefulEvent(Event):
    """Laplace noise that is a tenth larger; noise_multiplier = b/Δ₁."""

    noise_multiplier: float


'''
RULE = """@release.register
def _(event: events.CarefulEvent) -> Spent:
    return Spent(reciprocal_up(event.noise_multiplier), 0.0)


"""


@pytest.mark.slow
def test_a_mechanism_with_an_event_of_its_own_touches_five_files(copy, tmp_path):
    """Its file, the registry, the events, and a rule in an accountant: another may know it too."""
    own = (
        "    def event(self):\n"
        "        return CarefulEvent(noise_multiplier=self.scale / self.sensitivity.l1)\n"
    )
    text = f"from reticent.guarantee.events import CarefulEvent\n{example('mechanism').rstrip()}"
    copy.write("mechanisms/careful.py", f"{text}\n\n{own}")
    copy.insert(
        "mechanisms/registry.py",
        '    "mechanism",\n    {\n',
        '        "careful-laplace": Lazy("reticent.mechanisms.careful:CarefulLaplace"),\n',
    )
    copy.insert("guarantee/events.py", '    norm: str = "l1"\n\n\n', EVENT)
    copy.insert("guarantee/events.py", "        ObjectiveEvent,\n", "        CarefulEvent,\n")
    copy.insert("accounting/basic.py", "reciprocal_up(event.noise_multiplier), 0.0)\n\n\n", RULE)
    assert len(copy.touched()) <= MOST["mechanism"]
    code = RELEASED.format(
        name="class-means", noise="careful-laplace", delta=0.0, out=tmp_path / "r"
    )
    printed = " ".join(copy.prints(code).split())
    assert "careful-laplace" in printed
    assert "holds: ε ≤ 2" in printed
    assert "public numbers: ε = 1.8182" in printed  # of its own event: 2 over 1.1


def test_what_is_edited_is_counted(copy):
    assert copy.touched() == []
    copy.write("new.py", "")
    copy.insert("version.py", "import", " os\nimport")
    assert copy.touched() == ["new.py", "version.py"]
