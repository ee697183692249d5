"""The counts of the code base: nobody asks which kind of release it has."""

from pathlib import Path

import pytest

from tools.count_code import asked_kinds

SOURCE = Path(__file__).parents[1] / "src" / "reticent"
KINDS = "class Recipe: ...\nclass LinearRecipe(Recipe): ...\nclass ReleasedHead: ...\n"


def test_a_release_says_itself_what_others_ask_of_it():
    assert asked_kinds(SOURCE) == []


@pytest.mark.parametrize(
    ("line", "asks"),
    [
        ("isinstance(one, LinearRecipe)", True),
        ("isinstance(one, (int, ReleasedHead))", True),
        ("release.recipe.name == 'mean'", True),
        ("spec.learner == 'weights'", True),
        ("learner not in (None, WEIGHTS)", True),
        ("isinstance(one, int)", False),
        ("spec.learner not in (None, learner)", False),
        ("learner in known", False),
        ("recipe.on_optimum", False),
    ],
)
def test_what_asks_for_a_kind_is_found(tmp_path, line, asks):
    (tmp_path / "code.py").write_text(KINDS + line, encoding="utf-8")
    assert asked_kinds(tmp_path) == (["code.py:4"] if asks else [])
