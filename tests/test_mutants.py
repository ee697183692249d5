"""The tool behind ``make mutants`` plants what it says, sees what changes, and judges rightly."""

import json
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

from tools.mutation import calls, report, run
from tools.mutation.journal import Journal
from tools.mutation.sites import sites_of
from tools.mutation.workspace import Project, Workspace

ROOT = Path(__file__).resolve().parent.parent
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
NESTED = """
class Outer:
    def method(self):
        def inner(value):
            return value + bound
        return inner
"""
UNLUCKY = """
    from fake.bounds import sums

    draws = []

    def test_by_luck():
        draws.append(sums.slack(3.0))
        assert len(draws) > 1

    def test_the_bound():
        assert sums.bound(3.0) == 6.0
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
        calls=(),
        preloaded=("pytest", "no_such_library"),
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
def test_a_test_that_fails_once_by_bad_luck_finds_no_mutant(project, tmp_path):
    tests = project.root / "tests" / "bounds" / "test_sums.py"
    tests.write_text(textwrap.dedent(UNLUCKY))
    space = Workspace(project, tmp_path / "copy")
    judge = run.Judge(project, run.measured(project, space, ["bounds"]))
    survived = judge.verdict(planted(project, "slack", "(radius * 1)"), space)
    assert (survived.verdict, survived.test) == (run.SURVIVED, None)
    killed = judge.verdict(planted(project, "bound", "(2 / radius)"), space)
    assert (killed.verdict, killed.test) == (
        run.KILLED,
        "tests/bounds/test_sums.py::test_the_bound",
    )
    noted = (space.folder / ".unsteady.txt").read_text()
    assert "test_sums.py::test_by_luck" in noted
    assert "test_the_bound" not in noted


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


def test_calls_are_those_behind_the_figures(tmp_path):
    figures, both = tmp_path / "figures.json", tmp_path / "calls.json"
    for module, path in (("probe", figures), ("calls", both)):
        command = [sys.executable, "-m", f"tools.mutation.{module}", str(path), "bounds"]
        subprocess.run(command, check=True, cwd=ROOT)
    document = json.loads(both.read_text())
    called = document.pop("called")
    assert document == json.loads(figures.read_text())
    functions = {
        mutant.function
        for site in sites_of(ROOT / "src/reticent/bounds/sums.py", "bounds/sums.py")
        for mutant in site.alternatives
    }
    assert functions
    assert all(["bounds/sums.py", function] in called for function in functions)
    assert ["bounds/sums.py", "module"] in called
    assert not any(file.startswith("accounting/") for file, _ in called)


def test_functions_have_the_names_that_mutants_give_them(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(NESTED)
    (site,) = sites_of(path, "bounds/module.py")
    space = {}
    exec(compile(NESTED, str(path), "exec"), space)
    assert calls.named(space["Outer"]().method().__code__) == site.alternatives[0].function
    assert calls.named(compile(NESTED, str(path), "exec")) == calls.MODULE


def test_a_section_without_the_function_of_a_mutant_is_left_out(project):
    mutant = planted(project, "bound", "(2 / radius)")
    unchanged = run.Unchanged(
        called={
            "one": [["bounds/sums.py", "bound"]],
            "other": [["bounds/sums.py", "slack"], ["bounds/others.py", "bound"]],
            "unknown": [],
        }
    )
    shown = {name: unchanged.may_show(name, mutant) for name in (*unchanged.called, "missing")}
    assert shown == {"one": True, "other": False, "unknown": True, "missing": True}


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
