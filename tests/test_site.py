"""The site: its list of public names is whole, its links are checked, nothing comes from afar.

Nothing is built here: ``make site`` does that, and CI runs it.
"""

import ast
import importlib
import inspect
import tomllib
from functools import cache
from pathlib import Path

import pytest
import yaml

from tools.docs_site.links import broken_in_site
from tools.docs_site.markdown_links import anchors_of, broken_in_pages
from tools.docs_site.public_names import (
    MARK,
    PublicName,
    names_page,
    packages,
    public_names,
    read_package,
    undocumented,
)
from tools.docs_site.reference import Reference, prose
from tools.docs_site.staging import stage

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

WORDS = 4
"""A docstring that is not longer says nothing."""


@cache
def package():
    return read_package("reticent", SOURCES)


@cache
def names():
    return public_names(package())


def listed(init):
    """``__all__`` as the file says it, read by other means than the generator's."""
    for node in ast.parse(init.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "__all__":
            return ast.literal_eval(node.value)
    return None


INITS = {
    ".".join(init.parent.relative_to(SOURCES).parts): listed(init)
    for init in sorted(SOURCES.rglob("__init__.py"))
    if listed(init) is not None
}


@pytest.fixture
def project(tmp_path):
    """A small package that hides its names as ours does: late imports, a module like a function."""
    files = {
        "tiny/__init__.py": '"""Tiny."""\n'
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from tiny.work import work\n"
        '__all__ = ["Tool", "Worker", "work"]\n'
        "from tiny.parts import Tool\n"
        "from tiny.people import Worker\n"
        "def __getattr__(name): ...\n",
        "tiny/work.py": '"""A module of the same name."""\n'
        "from tiny.people import Worker\n"
        'def work(one: int, *, by: Worker) -> Worker:\n    """Work a | b on <one>. Then rest."""\n',
        "tiny/people.py": '"""People."""\nclass Worker:\n    """Somebody."""\n',
        "tiny/parts/__init__.py": '"""Parts."""\n'
        'from tiny.parts.tool import Tool\n__all__ = ["Tool"]\n',
        "tiny/parts/tool.py": 'class Tool:\n    """What a worker holds in one hand."""\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return read_package("tiny", tmp_path)


def test_each_name_of_each_all_is_listed():
    found = {}
    for each in names():
        found.setdefault(each.package, []).append(each.name)
    assert found == INITS
    assert len(INITS) > 10


@pytest.mark.parametrize("package_name", INITS)
def test_each_name_of_the_page_is_there_in_python(package_name):
    module = importlib.import_module(package_name)
    page = names_page([each for each in names() if each.package == package_name], MARK)
    for each in names():
        if each.package == package_name:
            assert hasattr(module, each.name)
            assert f"| {{py:obj}}`{each.name} <{each.address}>` |" in page


def test_what_is_listed_is_what_python_imports():
    for each in names():
        meant = getattr(importlib.import_module(each.package), each.name)
        if isinstance(meant, type) or inspect.isfunction(meant):
            assert each.defined.path == f"{meant.__module__}.{meant.__qualname__}"


def test_public_names_say_what_they_are():
    short = undocumented(names(), words=WORDS)
    assert short == [], f"give these a docstring: {', '.join(short)}"


def test_a_name_that_says_nothing_is_counted(project):
    assert undocumented(public_names(project), words=WORDS) == ["tiny.Worker"]


def test_names_are_followed_to_where_they_are_written(project):
    found = {f"{each.package}.{each.name}": each for each in public_names(project)}
    assert list(found) == ["tiny.Tool", "tiny.Worker", "tiny.work", "tiny.parts.Tool"]
    assert found["tiny.work"].defined.path == "tiny.work.work"
    assert found["tiny.parts.Tool"].address == "tiny.Tool"
    assert found["tiny.work"].first_sentence == "Work a | b on <one>."


def test_a_name_without_a_definition_is_listed_and_undocumented():
    lost = PublicName(package="tiny", name="lost", defined=None, address="tiny.lost")
    assert "`lost <tiny.lost>`" in names_page([lost], MARK)
    assert undocumented([lost], words=WORDS) == ["tiny.lost"]


def test_the_page_needs_its_mark(project):
    with pytest.raises(ValueError, match="must hold"):
        names_page(public_names(project), "# Public names\n")


def test_a_definition_is_described_once_with_types_that_lead_on(project):
    reference = Reference(root=project, names=public_names(project))
    top, parts = (reference.page(each) for each in packages(project))
    assert "```{py:function} tiny.work(one: int, *, by: ~tiny.Worker) -> ~tiny.Worker\n" in top
    assert "Work a | b on &lt;one>. Then rest." in top
    assert "```{py:class} tiny.Tool\n" in top
    assert "`Tool` is {py:obj}`tiny.Tool`." in parts
    assert "{py:class}" not in parts


def test_sections_and_examples_of_a_docstring_become_markdown():
    text = (
        "One.\n\n>>> 1 + 1\n2\n\nArgs:\n    n: how many\n        there are.\n\n"
        "Raises:\n    KeyError: never.\n"
    )
    assert prose(text) == (
        "One.\n\n```pycon\n>>> 1 + 1\n2\n```\n\n"
        "**Arguments:**\n\n- `n`: how many\n  there are.\n\n**Raises:**\n\n- `KeyError`: never."
    )


def test_every_page_is_staged_and_in_a_menu(tmp_path):
    stage(ROOT, tmp_path / "pages")
    staged = {path.relative_to(tmp_path / "pages") for path in (tmp_path / "pages").rglob("*.md")}
    assert {path.relative_to(ROOT) for path in ROOT.glob("docs/**/*.md")} < staged
    menus = (tmp_path / "pages" / "README.md").read_text(encoding="utf-8")
    menus = {line for line in menus.splitlines() if line and "```" not in line}
    docs = {path.with_suffix("").as_posix() for path in staged if path.parts[0] == "docs"}
    assert docs <= menus
    text = (tmp_path / "pages" / "docs" / "public-names.md").read_text(encoding="utf-8")
    assert MARK not in text
    assert "<reticent.Guarantee>`" in text


def test_links_between_pages_lead_to_files_and_headings():
    assert broken_in_pages(ROOT) == []


def test_a_broken_link_between_pages_is_found(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "b.md").write_text("# The `b` page: *one*, two\n", encoding="utf-8")
    page = tmp_path / "a.md"
    page.write_text("[b](docs/b.md#the-b-page-one-two) [a](#a)\n\n# A\n", encoding="utf-8")
    assert broken_in_pages(tmp_path) == []
    page.write_text("[c](c.md) [b](docs/b.md#three) `[not](one.md)`\n", encoding="utf-8")
    assert broken_in_pages(tmp_path) == [
        "a.md: link to c.md, which is not there",
        "a.md: link to docs/b.md#three, which has no anchor three",
    ]


def test_headings_have_the_anchors_of_a_forge():
    text = "# One, two\n## ε – it\n## One, two\n```text\n# no\n```\n### [A](b.md) `c_d`\n"
    assert anchors_of(text) == {"one-two", "ε--it", "one-two-1", "a-c_d"}


SOUND = '<link rel="stylesheet" href="s.css"><h1 id="top">A</h1><a href="b.html#two">b</a>\
<a href="#top">up</a><a href="https://example.org">away</a>'


@pytest.fixture
def site(tmp_path):
    (tmp_path / "a.html").write_text(SOUND, encoding="utf-8")
    (tmp_path / "b.html").write_text('<p id="two"></p>', encoding="utf-8")
    (tmp_path / "s.css").write_text('p { background: url("data:,") }', encoding="utf-8")
    assert broken_in_site(tmp_path) == []
    return tmp_path


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ('<a href="c.html">', "link to c.html, which is not there"),
        ('<a href="b.html#three">', "link to b.html#three, which has no anchor three"),
        ('<a href="#three">', "link to #three, which has no anchor three"),
        ('<img src="picture.png">', "loads picture.png, which is not there"),
        ('<script src="https://example.org/x.js"></script>', "loads https://example.org/x.js"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "loads //example.org/x.css"),
        ('<style>@import "https://example.org/x.css";</style>', "loads https://example.org/x.css"),
        ("<style>@import url(//example.org/x.css)</style>", "loads //example.org/x.css"),
    ],
)
def test_a_planted_fault_of_the_site_is_found(site, planted, said):
    (site / "a.html").write_text(SOUND + planted, encoding="utf-8")
    assert broken_in_site(site) == [f"a.html: {said}"]


def test_a_font_from_afar_is_found(site):
    (site / "s.css").write_text("@font-face { src: url(https://example.org/f.woff2) }", "utf-8")
    assert broken_in_site(site) == ["s.css: loads https://example.org/f.woff2"]


def test_the_citation_has_the_version_and_licence_of_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])
    assert citation["title"] == PROJECT["name"]


def test_ci_runs_on_each_python_that_the_package_names():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    prefix = "Programming Language :: Python :: 3."
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if line.startswith(prefix)]
    for job in ("check", "test"):
        assert workflow["jobs"][job]["strategy"]["matrix"]["python"] == named


def test_ci_reproduces_one_item_of_every_paper():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    commands = [step.get("run", "") for step in workflow["jobs"]["reproduce"]["steps"]]
    assert any(command.startswith("make reproduce-quick") for command in commands)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "reproduce-quick: $(VENV)/.demo\n\t@$(BIN)/reticent reproduce --quick\n" in makefile


def test_hooks_before_a_commit_need_no_network():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [repo["repo"] for repo in hooks["repos"]] == ["local"]
    for hook in hooks["repos"][0]["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].startswith(".venv/bin/")
