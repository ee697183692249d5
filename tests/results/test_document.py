"""results.json: what is written is read, and what is no such document is refused in one line."""

import json
import stat

import pytest

from reticent.results import VERSION, read_results, write_results
from reticent.validation import InputError
from tests.report.sample import sample_results


@pytest.fixture(scope="module")
def results():
    return sample_results()


@pytest.fixture
def changed(results, tmp_path):
    """The sample in a file, after a change of its plain values."""

    def write(change):
        plain = json.loads(results.model_dump_json())
        change(plain)
        path = tmp_path / "changed.json"
        path.write_text(json.dumps(plain), encoding="utf-8")  # which writes NaN as NaN
        return path

    return write


def refusal(path):
    with pytest.raises(InputError) as refused:
        read_results(path)
    (line,) = str(refused.value).splitlines()
    return line


def test_it_is_read_as_it_was_written_but_for_grades(results, tmp_path):
    """A file proves nothing: what was proven when it was written is declared for its reader."""
    path, again = tmp_path / "results.json", tmp_path / "again.json"
    write_results(results, path)
    found = read_results(path)
    assert {one.claim.grade for one in results.releases} == {"proven", "published", "sampled"}
    assert {one.claim.grade for one in found.releases} == {"declared", "published", "sampled"}
    assert "(proven" not in found.model_dump_json()
    assert "(proven" in path.read_text(encoding="utf-8")
    text = results.model_dump_json().replace('"proven"', '"declared"')
    assert found.model_dump_json() == text.replace("(proven", "(declared")
    write_results(found, again)
    assert read_results(again) == found


def test_its_owner_alone_reads_it(results, tmp_path):
    path = tmp_path / "results.json"
    path.write_text("older, and open to all")
    path.chmod(0o644)
    write_results(results, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["results.json"]


def test_nothing_is_left_of_a_document_that_cannot_be_written(results, tmp_path):
    (tmp_path / "results.json").mkdir()
    with pytest.raises(InputError, match="must be writable"):
        write_results(results, tmp_path / "results.json")
    assert [one.name for one in tmp_path.iterdir()] == ["results.json"]


@pytest.mark.parametrize(
    ("number", "got"),
    [(float("nan"), "NaN"), (float("inf"), "Infinity"), (float("-inf"), "-Infinity")],
)
def test_numbers_are_finite(changed, number, got):
    line = refusal(changed(lambda plain: plain["conclusion"]["before"].update(value=number)))
    assert f"a {VERSION} document, must hold finite numbers, got {got}" in line


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda plain: plain.update(verdict="fine"), "verdict"),
        (lambda plain: plain["releases"][0].update(secret=1), "releases.0.secret"),
        (lambda plain: plain["releases"][0]["claim"].update(grade="certain"), "claim.grade"),
        (lambda plain: plain["conclusion"].update(allowed=0.4), "conclusion.allowed"),
        (lambda plain: plain["unprotected"].pop("accuracy"), "unprotected.accuracy"),
        (lambda plain: plain.update(version="reticent-results/2"), "version"),
        (lambda plain: plain.update(releases=[]), "releases"),
        (lambda plain: plain["unprotected"]["attacks"][0]["roc"]["fpr"].append(1.0), "as many"),
    ],
)
def test_another_document_is_refused(changed, change, where):
    line = refusal(changed(change))
    assert VERSION in line
    assert where in line


def test_a_document_names_its_version(changed):
    assert "names no version" in refusal(changed(lambda plain: plain.pop("version")))


def test_releases_have_names_that_differ(changed):
    def twice(plain):
        plain["releases"][1]["name"] = plain["releases"][0]["name"]

    assert "releases must have names that differ" in refusal(changed(twice))


def test_one_of_the_releases_is_recommended(changed):
    line = refusal(changed(lambda plain: plain["conclusion"].update(recommended="another")))
    assert "conclusion must recommend one of the releases" in line


def test_a_refusal_quotes_no_figure(changed):
    line = refusal(changed(lambda plain: plain["exposure"]["most"][0].update(row="Ada Lovelace")))
    assert "Ada" not in line


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"null", b"[" * 100_000])
def test_no_json_is_refused(tmp_path, content):
    path = tmp_path / "results.json"
    path.write_bytes(content)
    assert VERSION in refusal(path)


def test_no_file_is_refused(tmp_path):
    assert "must be a readable file" in refusal(tmp_path / "nowhere.json")
    assert "must be a readable file" in refusal(tmp_path)
    (tmp_path / "results.json").touch()
    assert f"got a folder: name {tmp_path / 'results.json'}" in refusal(tmp_path)


def test_refuted_claims_are_found_by_their_grade(results):
    refuted = {one.name for one in results.releases if one.audit and one.audit.refuted_by}
    assert refuted
    assert set(results.refuted(grades=("published", "sampled", "proven", "declared"))) == refuted
    assert results.refuted(grades=("proven",)) == ()
    assert set(results.refuted(grades=("published",))) <= refuted


def test_a_value_stays_as_it_is(results):
    with pytest.raises(ValueError, match="frozen"):
        results.title = "another"
