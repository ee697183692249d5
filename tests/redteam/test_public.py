"""Attacks on what a stranger may believe of a page or a card, and on who reads a terminal.

Each was made on the product or on one of its defences; each goes red when its defence is taken out.
"""

import json
import pickle
import re

import numpy as np
import pytest

from reticent.cli.output import print_json
from reticent.protect import RECIPES, Terms, release_weights, save
from reticent.protect.release import release_records
from reticent.protect.sealed_pair import read_pair, write_pair
from reticent.protect.terms import TELLS_RECORDS, inferred_sources
from reticent.report import page
from reticent.report.rendering import rendered
from reticent.results import write_results
from reticent.results.conversions import claim_of
from reticent.training import SoftmaxHead
from reticent.validation import InputError
from tests.redteam.forging import LIE, MISMATCH, one_line, problems, public_texts, rows
from tests.report.documents import with_release
from tests.report.sample import attack, certified, sample_results, short_results

TYPED = re.compile(r"\(proven|>\s*proven\b|: proven\b|<dd>proven")
"""A grade as pages and cards type it."""
HIDDEN = "\x1b]0;owned\x07\x1b[2J\u202e\u2066\u200b\x9b31m\r\n"
"""An escape sequence, marks that turn the direction, no width, C1 and a line of its own."""


# --- a document cannot type what a certificate does not say -------------------------------------


def edited(folder, change):
    path = folder / "results.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    name = document["conclusion"]["recommended"]
    change(document, next(one for one in document["releases"] if one["name"] == name))
    path.write_text(json.dumps(document), encoding="utf-8")


EDITS = {
    "a smaller epsilon": lambda _, row: row["claim"].update(epsilon=0.0123),
    "a smaller delta": lambda _, row: row["claim"].update(delta=1.23e-30),
    "more checked lines": lambda _, row: row["claim"]["checked"].append(LIE),
    "other stated lines": lambda _, row: row["claim"].update(stated=[LIE]),
    "another unit": lambda _, row: row["claim"].update(unit=LIE),
    "another relation": lambda _, row: row["claim"].update(relation=LIE),
    "more noise": lambda _, row: row.update(scales=dict.fromkeys(row["scales"], 123.0)),
    "another learner": lambda _, row: row.update(learner=LIE),
    "another mechanism": lambda _, row: row.update(mechanism=LIE),
    "a false file": lambda _, row: row.update(file=f"../{LIE}"),
}
SILENT_EDITS = {
    "the grade proven": lambda _, row: row["claim"].update(grade="proven"),
    "another text": lambda _, row: row["claim"].update(text=f"ε ≤ 0.0123 (proven), {LIE}"),
    "another name": lambda document, row: (
        row.update(name=LIE),
        document["conclusion"].update(recommended=LIE),
    ),
    "another title": lambda document, _: document.update(title=f"ε ≤ 0.0123 (proven), {LIE}"),
    "other features": lambda document, _: document["facts"].update(feature_kind=LIE),
    "other versions": lambda document, _: document["made"].update(versions={LIE: LIE}),
    "another folder": lambda _, row: row.update(file="../elsewhere/head"),
    "another headline": lambda document, _: document["conclusion"].update(headline=LIE),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_document_that_is_not_of_its_certificate_is_refused(command, folder, edit):
    edited(folder, EDITS[edit])
    for text in public_texts(command, folder):
        assert "must be the release of" in text
    assert {one.name for one in folder.iterdir()} == {"head.json", "head.safetensors",
                                                      "results.json"}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("edit", SILENT_EDITS)
def test_no_other_word_of_a_document_reaches_a_public_text(command, folder, edit):
    before = public_texts(command, folder)
    edited(folder, SILENT_EDITS[edit])
    assert public_texts(command, folder) == before


def test_a_grade_from_a_file_is_declared_and_the_texts_say_what_that_means(command, folder):
    for text in public_texts(command, folder):
        assert not TYPED.search(text)
        assert "(declared; neighbours: add-remove; unit: one record)" in text
        assert "a certificate read from a file has this grade at most" in text
        assert "nsigned: the files say what is promised" in text


def test_only_a_release_of_this_process_is_proven_on_a_public_page(folder):
    results, release = certified(short_results())
    shown = page(results, public=True, released=release)
    assert "(proven; neighbours: add-remove" in shown
    assert TYPED.search(shown)
    for other in (folder / "head", pickle.loads(pickle.dumps(release))):
        assert not TYPED.search(page(results, public=True, released=other))


def test_a_public_page_without_its_release_is_refused(command, folder):
    with pytest.raises(InputError, match="must be written from a certificate, got none"):
        page(short_results(), public=True)
    (folder / "head.json").unlink()
    for text in public_texts(command, folder):
        assert "with its certificate, got none" in text


def test_a_release_that_was_put_together_by_hand_has_no_public_page():
    results, release = certified(short_results())
    forged = pickle.loads(pickle.dumps(release))
    claim = claim_of(forged.guarantee).model_copy(update={"epsilon": 0.01})
    object.__setattr__(forged, "scales", dict.fromkeys(forged.scales, 1e-06))
    with pytest.raises(InputError, match="must be what it claims, got: the noise gives epsilon"):
        page(with_release(results, claim=claim), public=True, released=forged)


@pytest.mark.slow
def test_the_internal_page_of_a_file_types_no_proven_epsilon_either(command, folder):
    edited(folder, SILENT_EDITS["another text"])
    assert command("report", folder / "results.json")[0] == 0
    text = (folder / "report.html").read_text("utf-8")
    assert "(declared" in text
    assert not TYPED.search(text)
    _, out, _ = command("compare", folder / "results.json", folder / "results.json", "--json")
    assert "(declared" in out
    assert "(proven" not in out
    assert LIE not in text + out


# --- what is never published --------------------------------------------------------------------


def inferred_release(*names, relation="add-remove"):
    terms = Terms(epsilon=2.0, delta=1e-5, relation=relation, sources=inferred_sources(names))
    recipe = RECIPES["class-means"].planned(terms, records=60, features=3, classes=2)
    return release_records(recipe, terms, *rows(), classes=["no", "yes"])


@pytest.mark.parametrize("number", ["records", "classes", "bound"])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_number_that_was_read_off_is_not_published(command, folder, number, relation):
    release = inferred_release(number, relation=relation)
    row = {"claim": claim_of(release.guarantee), "scales": dict(release.scales),
           "learner": "class-means"}  # fmt: skip
    write_results(with_release(short_results(), **row), folder / "results.json")
    save(release, folder / "head")
    told = "; N tells the number of records" if number == "records" else ""
    for text in public_texts(command, folder):
        assert f"got {number} read off the private data{told}\n" in text
    assert f"got {number} read off" in one_line(
        command, "card", "--released", folder / "head", "--public"
    )
    certificate = json.loads((folder / "head.json").read_text())
    assert (TELLS_RECORDS in certificate["guarantee"]["stated"]) is (number == "records")


def test_a_certificate_that_hides_what_n_tells_does_not_hold(folder):
    save(inferred_release("records"), folder / "head")

    def hide(claims):
        claims["guarantee"]["stated"].remove(TELLS_RECORDS)

    assert "lack: N, which was read off" in "".join(problems(folder / "head", hide))


def fallen(results, name):
    """The document in which the audit of this release refuted it."""
    audit = next(one.audit for one in results.releases if one.audit is not None)
    bad = audit.model_copy(update={"verdict": "refuted", "refuted_by": "measured bound"})
    changed = tuple(
        one.model_copy(update={"audit": bad}) if one.name == name else one
        for one in results.releases
    )
    return results.model_copy(update={"releases": changed})


@pytest.mark.parametrize("which", ["the recommended one", "another on the same theorems"])
def test_a_claim_that_an_audit_refuted_is_not_published(command, folder, which):
    results, _ = certified(sample_results())
    own = results.recommended.name
    name = own if which == "the recommended one" else "weights laplace proven ε=2"
    write_results(fallen(results, name), folder / "results.json")
    for text in public_texts(command, folder):
        assert "got one that its audit refuted" in text


@pytest.mark.parametrize("how", ["by its verdict", "by its figures"])
def test_what_must_not_be_published_is_not(command, folder, how):
    results, _ = certified(short_results())
    if how != "by its figures":
        headline = "Do not publish: an attack gets more out of it than it allows."
        verdict = results.conclusion.model_copy(update={"headline": headline, "forbids": True})
        results = results.model_copy(update={"conclusion": verdict})
    else:
        results = with_release(results, attacks=(attack("strong", 3.0),))
    write_results(results, folder / "results.json")
    for text in public_texts(command, folder):
        assert "got the verdict: do not publish" in text


def test_under_add_remove_the_commands_ask_for_the_number_of_records(command, tmp_path):
    X, y = rows()
    np.savez(tmp_path / "t.npz", features=X, y=np.array(["a", "b"])[y])
    asked = ["--private", tmp_path / "t.npz", "--label", "y", "--classes", "a,b", "--bound", "1",
             "--epsilon", "1", "--delta", "1e-5", "--out", tmp_path / "out"]  # fmt: skip
    why = "read off the data N would tell the number of records, which add-remove is to hide"
    hides = ["--relation", "add-remove"]
    run_it = ["run", "--test", tmp_path / "t.npz", *asked]
    assert why in one_line(command, "protect", *asked, *hides)
    assert why in one_line(command, *run_it, *hides)
    line = one_line(command, *run_it, *hides, "--records", 60, "--records-from-data")
    assert "--records must be said once" in line
    assert {one.name for one in tmp_path.iterdir()} == {"t.npz"}


# --- nothing of a file moves a cursor -----------------------------------------------------------


def is_clean(text):
    return all(sign.isprintable() for sign in text.replace("\n", ""))


def test_no_character_of_a_certificate_reaches_the_terminal(command, tmp_path):
    X, y = rows()
    names = [f"ill{HIDDEN}holds: ε ≤ 0.01", "well"]
    head = SoftmaxHead(penalty=0.1, classes=names, records=60).fit(X, np.array(names)[y])
    release = release_weights(head, epsilon=2.0, delta=1e-6, relation="add-remove")
    save(release, tmp_path / "own")
    np.savez(tmp_path / "q.npz", features=X)
    for arguments in (
        ("verify", tmp_path / "own"),
        ("verify", tmp_path / "own", "--json"),
        ("predict", tmp_path / "own", "--queries", tmp_path / "q.npz"),
        ("predict", tmp_path / "own", "--queries", tmp_path / "q.npz", "--json"),
        ("card", "--released", tmp_path / "own", "--public"),
    ):
        code, out, error = command(*arguments)
        assert (code, error) == (0, "")
        assert is_clean(out)
        assert not [line for line in out.splitlines() if line.startswith("holds: ε ≤ 0.01")]
    printed = command("predict", tmp_path / "own", "--queries", tmp_path / "q.npz", "--json")[1]
    assert set(json.loads(printed)["predictions"]) <= set(names)  # escaped, not changed


def test_no_character_of_a_tensor_or_an_error_reaches_the_terminal(command, released):
    pair = read_pair(released)
    forged = {**pair.tensors, f"x{HIDDEN}holds: ε ≤ 0.01": np.array([np.nan])}
    write_pair(released, dict(pair.claims), forged)
    code, out, error = command("verify", released)
    assert (code, error) == (MISMATCH, "")
    assert is_clean(out)
    assert not [line for line in out.splitlines() if line.startswith("holds")]
    assert is_clean(one_line(command, "card", "--released", released))


def test_no_character_of_a_text_reaches_who_reads_json(capsys):
    """It leaves as an escape, so that a program reads what was there."""
    print_json({"name": HIDDEN, HIDDEN: ["é"]})
    out = capsys.readouterr().out
    assert is_clean(out)
    assert json.loads(out) == {"name": HIDDEN, HIDDEN: ["é"]}
    assert "é" in out


def dirty(value, key=None):
    """The same document with hidden characters in front of every free text."""
    if isinstance(value, dict):
        free = key in {"versions", "settings"}
        return {(HIDDEN + k if free else k): dirty(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [dirty(item, key) for item in value]
    literal = key in {"version", "grade", "verdict"}
    return HIDDEN + value if isinstance(value, str) and not literal else value


@pytest.mark.slow
def test_no_character_of_a_document_reaches_a_page_a_card_or_the_terminal(command, folder):
    path = folder / "results.json"
    document = dirty(json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(document), encoding="utf-8")
    assert HIDDEN in json.loads(path.read_text(encoding="utf-8"))["title"]
    for arguments in (
        ("report", path),
        ("card", path),
        ("card", path, "--out", folder / "card.md", "--annex", folder / "annex.md"),
        ("compare", path, path),
        ("compare", path, path, "--json"),
    ):
        code, out, _ = command(*arguments)
        assert code == 0
        assert is_clean(out)
    written = [one for one in folder.rglob("*") if one.suffix in {".html", ".md", ".svg", ".csv"}]
    assert len(written) > 20
    for one in written:
        assert is_clean(one.read_text("utf-8-sig").replace("\t", " ")), one.name


def test_no_character_of_a_label_reaches_the_page_of_a_run_that_just_ended():
    results = sample_results(title=f"ill{HIDDEN}", exposure=None)
    assert is_clean(rendered(results, {}).replace("\t", " "))
