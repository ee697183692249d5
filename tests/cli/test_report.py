"""``reticent report``: a document in, a page out."""

import json

import pytest

from reticent.cli.main import BAD_INPUT, run
from reticent.protect import save
from reticent.results import write_results
from tests.report.sample import certified, sample_results


@pytest.fixture
def command(capsys):
    def call(*arguments):
        capsys.readouterr()
        code = run(["report", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "results.json"
    results, release = certified(sample_results())
    write_results(results, path)
    save(release, path.parent / results.recommended.file)
    return path


@pytest.mark.slow
def test_the_page_stands_beside_the_document(command, document):
    code, out, err = command(document)
    assert (code, err) == (0, "")
    assert "9 figures, 12 tables" in " ".join(out.split())
    assert "internal" in out
    assert (document.parent / "report.html").is_file()


def test_a_public_page_goes_where_it_is_told(command, document, tmp_path):
    code, out, _ = command(document, "--public", "--out", tmp_path / "new", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["public"]
    assert found["page"] == str(tmp_path / "new" / "report-public.html")
    assert sorted(found["written"]) == sorted(
        str(path) for path in (tmp_path / "new").rglob("*") if path.is_file()
    )


def test_a_page_is_not_the_name_of_a_folder(command, tmp_path):
    code, _, err = command(tmp_path / "results.json", "--out", tmp_path / "page.html")
    assert (code, (tmp_path / "page.html").exists()) == (2, False)
    assert err.endswith("page.html: the page in it is report.html\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "must be a readable file"),
        ('{"version": 1, "version": 2}', "must name each field once, got one twice"),
        ("{", "a reticent-results/1 document, must be JSON"),
        ('{"version": "reticent-results/9"}', "where version is wrong"),
        ("[1]", "where the document is wrong"),
    ],
)
def test_a_bad_file_is_one_line_and_exit_2(command, tmp_path, content, message):
    path = tmp_path / "results.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    code, out, err = command(path)
    assert (code, out) == (BAD_INPUT, "")
    assert err.count("\n") == 1
    assert message in err
    assert {one.name for one in tmp_path.iterdir()} <= {"results.json"}


def test_a_folder_that_cannot_be_written_to_is_one_line_and_exit_2(command, document):
    code, out, err = command(document, "--public", "--out", "/proc/report")
    assert (code, out) == (BAD_INPUT, "")
    assert err.count("\n") == 1
    assert "must be a folder to write to" in err
