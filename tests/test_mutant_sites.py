"""Mutants stand where the tool says, and a figure counts as changed where it is."""

import ast

import pytest

from tools.mutation.figures import change_between, relative_change, steady, unexpected
from tools.mutation.sites import drawn, sites_of

SOURCE = '''
"""Text with 2 numbers, and 1 < 2."""

from math import sqrt, inf
from fake.other import thing as another

ALIAS = int | str
LIMIT: "1 + 2" = 3.0  # ε ≤ 3


@decorated(1)
def moved(bound: "2 * 3", records: int = 1) -> "4 + 5":
    """One of 7."""
    if TYPE_CHECKING:
        unused = 11 + 12
    if not bound > 0:
        raise ValueError(f"bound must be > {1 - 1}, got " + str(2 * bound))
    text = f"{bound + 1}" + "two"
    δ, both = -bound, bound >= 1 and bound is not None
    return max(sqrt(bound), δ) * both
'''


def found(tmp_path, source=SOURCE):
    path = tmp_path / "module.py"
    path.write_text(source, encoding="utf-8")
    return path, sites_of(path, "bounds/module.py")


def test_sites_are_operators_comparisons_constants_and_functions_of_the_code(tmp_path):
    _, sites = found(tmp_path)
    kinds = [(site.alternatives[0].kind, len(site.alternatives)) for site in sites]
    assert sorted(kinds) == sorted(
        [
            ("constant", 5),  # LIMIT
            ("constant", 4),  # records = 1; 1 + 1 is 2 * 1
            ("boolean", 1),  # not
            ("comparison", 5),  # bound > 0
            ("constant", 1),  # of it: 0 + 1 alone is another number
            ("operator", 1),  # −bound
            ("boolean", 1),  # and
            ("comparison", 5),  # bound >= 1
            ("constant", 4),
            ("comparison", 1),  # is not
            ("operator", 2),  # ×
            ("function", 1),  # max
            ("function", 1),  # √
        ]
    )
    assert {m.function for site in sites for m in site.alternatives} == {"module", "moved"}


def test_a_mutant_changes_its_own_node_and_nothing_else(tmp_path):
    path, sites = found(tmp_path)
    source = path.read_bytes()
    before = ast.dump(ast.parse(source))
    texts = set()
    for mutant in (mutant for site in sites for mutant in site.alternatives):
        changed = mutant.applied(source)
        assert ast.dump(ast.parse(changed)) != before
        assert changed.startswith(source[: mutant.start])
        assert changed.endswith(source[mutant.end :])
        assert mutant.before in " ".join(source.decode().split())
        assert mutant.after in " ".join(changed.decode().split())
        texts.add(changed)
    assert len(texts) == sum(len(site.alternatives) for site in sites)


def test_a_number_between_brackets_stays_whole(tmp_path):
    _, sites = found(tmp_path, "first = rows[1] + 1\n")
    texts = [
        {m.text for m in s.alternatives} for s in sites if s.alternatives[0].kind == "constant"
    ]
    assert texts == [{"2", "0", "(-1)"}, {"2", "0", "(-1)", "1.001"}]


def test_a_draw_is_a_function_of_its_seed_and_a_shorter_one_begins_it(tmp_path):
    _, sites = found(tmp_path)
    all_of_them = drawn(sites, 100, 7)
    assert len({(mutant.start, mutant.end, mutant.kind) for mutant in all_of_them}) == len(sites)
    assert drawn(sites, 4, 7) == all_of_them[:4]
    assert drawn(sites, 4, 8) != all_of_them[:4]


# --- figures --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        (1.0, 1.0, 0.0),
        (1.0, 1.0 + 1e-5, pytest.approx(1e-5, rel=1e-3)),
        (0.0, 1e-300, 1.0),
        (float("nan"), float("nan"), 0.0),
        (float("inf"), float("inf"), 0.0),
        (float("inf"), 1.0, None),
        ("raises InputError", "raises InputError", 0.0),
        ("raises InputError", "raises TypeError", None),
        (1.0, "raises InputError", None),
        (None, 0.0, None),
    ],
)
def test_how_far_a_figure_moved(was, now, expected):
    assert relative_change(was, now) == expected


def test_a_change_is_one_beyond_a_millionth_or_of_what_is_there():
    before = {"ε": 1.0, "δ": 1e-5, "scale": 2.0}
    assert change_between(before, before | {"ε": 1.0 + 9e-7}) is None
    change = change_between(before, before | {"ε": 1.1, "scale": 4.0})
    assert (change.figure, change.relative, change.figures) == ("scale", 0.5, 2)
    gone = change_between(before, {"ε": 1.0, "δ": 1e-5})
    assert (gone.figure, gone.now, gone.relative) == ("scale", "absent", None)


def test_what_two_runs_disagree_on_is_no_figure_and_a_strange_error_is_told():
    assert steady({"ε": 1.0, "time": 2.0}, {"ε": 1.0, "time": 3.0}) == {"ε": 1.0}
    table = {"a": "raises InputError", "b": "raises TypeError", "c": 1.0, "d": "text"}
    assert unexpected(table) == ["b raises TypeError"]
