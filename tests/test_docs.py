"""The generated parts of the documentation are fresh, and the check can tell when they are not."""

import json
import re
import shutil
from pathlib import Path

import pytest
import typer

from conftest import PAGES as PAGE_EXAMPLES
from tools import refresh_docs

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "results" / "README.md",
    *sorted(ROOT.glob("docs/**/*.md")),
]
FENCE = re.compile(r"^```(?P<language>\S*)\n(?P<body>.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
EXECUTED = {"python", "console"}
NOT_CODE = {"text", "json", "bibtex", "mermaid"}

RESULT = {
    "title": "Noise per second",
    "date": "2026-01-31",
    "machine": {"cpu": "Some CPU", "cores": 2, "memory": "8 GiB"},
    "versions": {"numpy": "2.4.6"},
    "columns": ["mechanism", "ns", "ratio"],
    "rows": [["logistic", 41, 1.23456], ["a|b", 7, 2.0]],
    "note": "Lower is better.",
}
PAGE = "# Reticent\n\n<!-- begin generated: noise -->\n<!-- end generated -->\n\nThe end.\n"


def unexecuted_examples(text):
    """Fenced examples that look as if they were run and are not, because of their language."""
    return [
        fence["body"]
        for fence in FENCE.finditer(text)
        if fence["language"] not in EXECUTED | NOT_CODE
        and re.search(r"^(\$ ?)?reticent |^>>> ", fence["body"], re.MULTILINE)
    ]


@pytest.fixture
def app():
    app = typer.Typer()
    app.callback()(lambda: None)

    @app.command()
    def calibrate(epsilon: float):
        """The noise for one ε."""

    return app


@pytest.fixture
def project(tmp_path, app):
    """A small project whose documentation is fresh."""
    results = tmp_path / "benchmarks" / "results"
    results.mkdir(parents=True)
    (results / "noise.json").write_text(json.dumps(RESULT), encoding="utf-8")
    (tmp_path / "README.md").write_text(PAGE, encoding="utf-8")
    refresh_docs.rewrite(tmp_path, app)
    assert refresh_docs.stale(tmp_path, app) == ""
    return tmp_path


def test_the_documentation_is_fresh(capsys):
    code = refresh_docs.main(["--check"])
    assert code == 0, capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_example_is_executed(page):
    assert unexecuted_examples(page.read_text(encoding="utf-8")) == []
    assert PAGE_EXAMPLES.should_parse(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_to_a_file_leads_to_one(page):
    targets = [target.partition("#")[0] for target in LINK.findall(page.read_text("utf-8"))]
    files = [target for target in targets if target and "://" not in target]
    assert [target for target in files if not (page.parent / target).exists()] == []


def test_the_list_of_pages_names_each_of_them():
    index = ROOT / "docs" / "README.md"
    named = {(index.parent / target).resolve() for target in LINK.findall(index.read_text("utf-8"))}
    assert {page for page in PAGES if ROOT / "docs" in page.parents} - {index} <= named


@pytest.mark.parametrize("language", ["", "bash", "pycon"])
@pytest.mark.parametrize("line", ["reticent plan", "$ reticent plan", ">>> import reticent"])
def test_an_example_in_another_language_is_found(language, line):
    assert unexecuted_examples(f"```{language}\n{line}\n```\n") == [f"{line}\n"]


def test_a_block_becomes_a_table_that_names_machine_and_date(project):
    text = (project / "README.md").read_text(encoding="utf-8")
    assert "2026-01-31: Some CPU, 2 cores, 8 GiB; numpy 2.4.6" in text
    assert "| :-- | --: | --: |\n| logistic | 41 | 1.235 |\n| a\\|b | 7 | 2 |\n" in text
    assert text.endswith("Lower is better.\n<!-- end generated -->\n\nThe end.\n")


def test_a_typed_over_figure_is_stale(project, app):
    page = project / "README.md"
    page.write_text(page.read_text(encoding="utf-8").replace("1.235", "9.9"), encoding="utf-8")
    difference = refresh_docs.stale(project, app)
    assert "-| logistic | 41 | 9.9 |" in difference
    assert "+| logistic | 41 | 1.235 |" in difference


def test_a_new_measurement_is_stale_until_it_is_written(project, app):
    changed = RESULT | {"rows": [["logistic", 12, 1.0]]}
    source = project / "benchmarks" / "results" / "noise.json"
    source.write_text(json.dumps(changed), encoding="utf-8")
    assert refresh_docs.stale(project, app)
    assert refresh_docs.rewrite(project, app) == [project / "README.md"]
    assert not refresh_docs.stale(project, app)


def test_an_undocumented_command_is_stale(project, app):
    @app.command()
    def audit():
        """Claims against attacks."""

    assert "+## reticent audit" in refresh_docs.stale(project, app)


def test_a_removed_command_is_stale(project):
    empty = typer.Typer()
    empty.callback()(lambda: None)
    empty.command("other")(lambda: None)
    assert "-## reticent calibrate" in refresh_docs.stale(project, empty)


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (PAGE.replace("noise", "absent"), r"README.md: .*'absent' must have absent.json"),
        (PAGE.replace("<!-- end generated -->", ""), "README.md: .*must have its end"),
    ],
)
def test_a_block_that_cannot_be_filled_is_refused(project, app, page, message):
    (project / "README.md").write_text(page, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        refresh_docs.stale(project, app)


def test_help_does_not_depend_on_the_terminal(app, monkeypatch):
    page = refresh_docs.cli_page(app)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert refresh_docs.cli_page(app) == page
    assert "\n\n  The noise for one ε.\n\n" in page
    assert max(map(len, page.splitlines())) <= refresh_docs.WIDTH
    assert "\x1b" not in page


def test_the_check_exits_1_on_the_real_pages_with_one_line_changed(tmp_path, capsys):
    for folder in (Path("docs"), Path("benchmarks", "results"), Path("results")):
        if (ROOT / folder).is_dir():
            shutil.copytree(ROOT / folder, tmp_path / folder)
    page = tmp_path / "docs" / "cli.md"
    page.write_text(page.read_text(encoding="utf-8") + "typed\n", encoding="utf-8")
    assert refresh_docs.main(["--check"], root=tmp_path) == 1
    assert "-typed" in capsys.readouterr().out
