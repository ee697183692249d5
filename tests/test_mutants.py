"""The tool behind ``make mutants`` plants what it says, sees what changes, and judges rightly."""

import ast
import json
import textwrap
import tomllib

import pytest

from tools.mutation import report, run
from tools.mutation.figures import change_between, relative_change, steady, unexpected
from tools.mutation.journal import Journal
from tools.mutation.sites import drawn, sites_of
from tools.mutation.workspace import Project, Workspace

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


# --- verdicts -------------------------------------------------------------------------------------

SUMS = '''
"""A bound."""


def bound(radius: float) -> float:
    """Twice the radius."""
    return 2 * radius


def slack(radius: float) -> float:
    """Printed, and tested by nothing."""
    return radius + 1


def hidden(radius: float) -> float:
    """Neither printed nor tested."""
    return radius - 1


def steps(left: int) -> int:
    """Ends, as it is."""
    while left > 0:
        left -= 1
    return left
'''
PROBE = """
    import json, sys
    import fake
    from fake.bounds import sums

    figures = {"bound": sums.bound(3.0), "slack": sums.slack(3.0), "left": float(sums.steps(3))}
    with open(sys.argv[1], "w") as file:
        json.dump({"package": fake.__file__, "figures": figures}, file)
"""
TESTS = """
    from fake.bounds import sums

    def test_the_bound():
        assert sums.bound(3.0) == 6.0

    def test_the_steps():
        assert sums.steps(5) == 0
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "_MORE", 2)  # seconds of a core, before a mutant counts as hanging
    root = tmp_path / "project"
    (root / "src" / "fake" / "bounds").mkdir(parents=True)
    (root / "tests" / "bounds").mkdir(parents=True)
    for name in ("__init__.py", "bounds/__init__.py"):
        (root / "src" / "fake" / name).touch()
    (root / "src" / "fake" / "bounds" / "sums.py").write_text(SUMS)
    (root / "probe.py").write_text(textwrap.dedent(PROBE))
    (root / "tests" / "bounds" / "test_sums.py").write_text(textwrap.dedent(TESTS))
    return Project(
        root=root,
        package="fake",
        folders=("bounds",),
        probe=("probe.py",),
        sections=("all",),
        first={"bounds": ("all",)},
    )


def planted(project, function, text):
    """The mutant that writes this text into that function."""
    sites = [site for name, path in project.files() for site in sites_of(path, name)]
    (mutant,) = [
        mutant
        for site in sites
        for mutant in site.alternatives
        if mutant.function == function and mutant.text == text
    ]
    return mutant


@pytest.mark.slow
def test_planted_mutants_get_the_verdicts_that_they_deserve(project, tmp_path):
    space = Workspace(project, tmp_path / "copy")
    unchanged = run.measured(project, space, ["bounds"])
    judge = run.Judge(project, unchanged)
    source = (space.folder / "src/fake/bounds/sums.py").read_bytes()

    def verdict(function, text):
        found = judge.verdict(planted(project, function, text), space)
        assert (space.folder / "src/fake/bounds/sums.py").read_bytes() == source
        return found

    killed = verdict("bound", "(2 / radius)")
    assert (killed.verdict, killed.test) == (
        run.KILLED,
        "tests/bounds/test_sums.py::test_the_bound",
    )
    assert (killed.change.figure, killed.change.was, killed.change.now) == ("bound", 6.0, 2.0 / 3.0)
    survived = verdict("slack", "(radius * 1)")
    assert (survived.verdict, survived.test) == (run.SURVIVED, None)
    assert survived.change.relative == 0.25
    unseen = verdict("hidden", "(radius + 1)")
    assert (unseen.verdict, unseen.change) == (run.UNCHANGED, None)
    endless = verdict("steps", "left += 1")
    assert endless.verdict == run.TIMED_OUT
    assert "in time" in endless.change.now


@pytest.mark.slow
def test_a_project_whose_tests_fail_or_whose_figures_are_errors_is_refused(project, tmp_path):
    tests = project.root / "tests" / "bounds" / "test_sums.py"
    tests.write_text("def test_nothing():\n    assert False\n")
    with pytest.raises(run.ProbeError, match=r"must pass without a mutant, got: .*test_nothing"):
        run.measured(project, Workspace(project, tmp_path / "copy"), ["bounds"])
    (project.root / "probe.py").write_text("raise SystemExit('no figures')")
    with pytest.raises(run.ProbeError, match="no figures"):
        run.measured(project, Workspace(project, tmp_path / "copy"), ["bounds"])


def test_compiled_code_is_made_anew_for_what_may_be_inside_it(project, tmp_path):
    folder = project.source / "bounds"
    (folder / "constants.py").write_text("UNIT = 2.0\n")
    (folder / "loops.py").write_text(
        "from fake.bounds.constants import UNIT\n\n@compiled\ndef loop():\n    return UNIT + 1\n"
    )
    space = Workspace(project, tmp_path / "copy")
    warm = tmp_path / "copy" / ".numba"
    places = {}
    for name, path in project.files():
        for site in sites_of(path, name):
            with space.cache(site.alternatives[0]) as cache:
                places[name] = cache == warm
    assert places == {
        "bounds/constants.py": False,
        "bounds/loops.py": False,
        "bounds/sums.py": True,
    }


# --- journal and report ---------------------------------------------------------------------------


def row(verdict, **values):
    plain = {"file": "bounds/sums.py", "line": 3, "function": "bound", "test": None}
    changed = {"figure": "ε", "was": 1.0, "now": 2.0, "relative": 0.5}
    texts = {"before": "a + b", "after": "a - b", "changed": changed}
    return plain | texts | {"verdict": verdict, "seconds": 1.0, "kind": "operator"} | values


def test_a_journal_goes_on_where_it_was_cut_off(project, tmp_path):
    path, header = tmp_path / "journal.jsonl", {"package": "abc", "seed": 1}
    mutant, other = (planted(project, "bound", text) for text in ("(2 / radius)", "(2 + radius)"))
    journal = Journal.opened(path, header)
    journal.set_unchanged({"suite_cpu": {"bounds": 1.0}})
    journal.add(mutant, row("survived"))
    with path.open("a") as file:
        file.write('{"mutant": "cut o')
    again = Journal.opened(path, header)
    assert again.row(mutant) == row("survived")
    assert again.survived(mutant)
    assert again.row(other) is None
    assert again.unchanged == {"suite_cpu": {"bounds": 1.0}}
    assert Journal.opened(path, header | {"seed": 2}).rows == {}
    assert Journal.opened(path, header).rows == {}, "it was begun anew"


def document(rows, reasons=None):
    return report.document_of(rows, {"bounds": 7}, seed=1, reasons=reasons or {})


def test_survivors_need_a_reason_and_are_few():
    rows = [row("killed", test="a test") for _ in range(37)] + [row("timed out"), row("survived")]
    document([*rows, row("figures unchanged")])
    assert report.share_of([*rows, row("figures unchanged")]) == pytest.approx(38 / 39)
    said, good = report.judgement(rows)
    assert not good
    assert said[-1] == "no reason for bounds/sums.py:3: a + b → a - b"
    kept = document(rows, {report.key_of(row("survived")): "costs tightness alone"})
    assert kept["mutants"][-1]["reason"] == "costs tightness alone"
    assert report.judgement(rows)[1]
    many = [*rows, *(row("survived", reason="a reason") for _ in range(3))]
    assert not report.judgement(many)[1], "38 of 42 is less than 95 %"


def test_the_file_has_the_form_of_the_other_results():
    kept = document([row("killed", test="a test"), row("survived"), row("figures unchanged")])
    totals, survivors = kept["tables"]
    assert totals["rows"][-1] == ["all", "7", "3", "2", "1", "0", "1", "50.0%"]
    for table in kept["tables"]:
        assert {len(cells) for cells in table["rows"]} == {len(table["columns"])}
    assert survivors["rows"][0][:3] == ["bounds/sums.py:3", "`a + b`", "`a - b`"]
    assert len(document([row("killed")])["tables"]) == 1


def test_reasons_in_the_repository_are_whole(tmp_path):
    entries = tomllib.loads(report.REASONS.read_text(encoding="utf-8")).get("survivor", [])
    names = {"file", "function", "before", "after", "reason"}
    assert all(set(entry) == names and all(entry.values()) for entry in entries)
    assert len(report.reasons_of(report.REASONS)) == len(entries)
    path = tmp_path / "survivors.toml"
    texts = {name: row("survived")[name] for name in ("file", "function", "before", "after")}
    lines = [f"{key} = {json.dumps(value)}" for key, value in texts.items()]
    path.write_text("\n".join(["[[survivor]]", *lines, 'reason = "why"']))
    assert report.reasons_of(path) == {report.key_of(row("survived")): "why"}
