"""The verdict on the page: one rule for a leak and one limit, in headline, answers and tables."""

import pytest

from reticent.audit.lower_bound import LowerBound
from reticent.guarantee import Grade
from reticent.report.card import attack_summary
from reticent.report.evidence import of_results
from reticent.report.numbers import surety
from reticent.report.rendering import rendered
from reticent.run.conclusion import concluded
from tests.report.documents import with_release as changed
from tests.report.parsed import parsed
from tests.report.sample import attack, audit, interval, too_few


def words(results):
    """The page without its figures, which take most of the time."""
    return parsed(rendered(results, {}))


def showing(results, auc, *, leaks=None, alone=False):
    """The document where the chosen attack on the recommended release has this AUC."""
    found = {"auc": auc, "leaks": auc.low > 0.5 if leaks is None else leaks}
    if leaks:
        found["verdict"] = "leak found by it"
    made = tuple(
        one.model_copy(
            update=found if one.name == results.conclusion.attack else {"leaks": False} if alone
            else {}
        )
        for one in results.recommended.attacks
    )  # fmt: skip
    return changed(results, attacks=made)


def test_too_few_records_are_said_with_the_number_that_is_needed():
    verdict = words(too_few()).by_id("verdict")
    text, answers = verdict.text, [one.text for one in verdict.all("dd")]
    assert all(answer.startswith("Too few records to say: ") for answer in answers[:2])
    assert "Too few records: 40 private and 40 others" in text
    assert "At least 712 are needed on each side" in text
    assert "told apart" not in text


def test_what_would_help_stands_beside_the_loss(sample):
    told = "What would help, by public numbers alone: more records (predicted loss 2 %)."
    verdict = sample.conclusion.model_copy(update={"would_help": told})
    text = words(sample.model_copy(update={"conclusion": verdict})).by_id("verdict").text
    assert f"of its accuracy. {told}" in text
    assert "would help" not in words(sample).by_id("verdict").text


def test_a_leak_that_few_records_show_is_a_leak(sample):
    verdict = sample.conclusion.model_copy(update={"enough": False})
    results = showing(sample, interval(0.52, 0.05)).model_copy(update={"conclusion": verdict})
    answers = [one.text for one in words(results).all("dd")]
    assert answers[0].startswith("Members are told apart: ")
    assert answers[1].startswith("Too few records to say: ")


def test_enough_records_are_not_called_too_few(internal):
    assert "oo few" not in internal


def test_a_refuted_recommendation_is_a_warning(sample):
    refuted = audit(2.0, 1e-5, ratio=3.0, pair="the worst")
    text = words(changed(sample, audit=refuted)).by_id("verdict").text
    assert "The audit refuted the claim of the recommended release" in text
    assert "Do not publish it under this ε" in text


def test_a_release_that_nobody_attacked_is_not_judged(sample):
    verdict = words(changed(sample, attacks=())).by_id("verdict")
    assert verdict.all("dd")[1].text.startswith("The document does not hold this attack's verdict:")


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("name", ["lira-offline", "loss"])
@pytest.mark.parametrize("value", [0.64, 0.7, 0.99])
def test_the_page_and_the_headline_judge_by_one_limit(sample, relation, name, value):
    """0.639 for one step of ε = 2, 0.761 for two; the sides of add-remove are two apart."""
    claim = sample.recommended.claim.model_copy(update={"relation": relation})
    made = tuple(
        one.model_copy(update={"auc": interval(value, 0.005)} if one.name == name else {})
        for one in sample.recommended.attacks
    )
    results = changed(sample, claim=claim, attacks=made)
    found = concluded(results.unprotected, results.recommended, (), {sample.conclusion.attack: 0.7})
    verdict = words(results.model_copy(update={"conclusion": found})).by_id("verdict")
    notes = [one.text for one in verdict.all("p") if one.attributes.get("role") == "note"]
    note = "".join(notes).removeprefix("! ")
    broken = found.headline.startswith("Do not publish")
    assert broken == ("Do not publish it" in note) == (value > (0.75, 0.65)[relation[0] == "r"])
    between = value == 0.7 and not broken
    assert between == (note in found.sentences) == ("not drawn alike" in note)
    tile = verdict.by_id("tile-leak").text
    assert ("0.639 for one record added or removed, and 0.761 for one" in tile) == (
        value > 0.65 and relation == "add-remove"
    )


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "claim not refuted."),
        ({"finds_half": True, "could_refute": True}, "claim not refuted."),
        (
            {"finds_half": False},
            "claim not refuted; 20 runs in each world would not find noise of half the scale: they"
            " find grosser errors alone.",
        ),
        (
            {"finds_half": False, "could_refute": False},
            "claim not refuted; 20 runs in each world are too few to refute the claim by what is"
            " measured, whatever they show.",
        ),
    ],
)
def test_an_audit_says_what_so_few_runs_cannot_find(sample, known, said):
    made = audit(2.0, 1e-5, ratio=0.5, pair="p")
    bound = made.measured.model_copy(update={"confidence": 1 - 0.05 / 7})
    made = made.model_copy(update={"runs": 20, "measured": bound} | known)
    results = changed(sample, audit=made)
    answer = words(results).by_id("verdict").all("dd")[3].text
    assert answer.endswith(f"with 99.285 % confidence, {said}")
    found = concluded(results.unprotected, results.recommended, (), {"lira-offline": 0.7})
    (line,) = (one for one in found.sentences if one.startswith("Audit of"))
    assert ("20 runs" in line) == ("20 runs" in said)
    assert line.endswith(said.removeprefix("claim not refuted"))


@pytest.mark.parametrize("beta", [0.05, 0.07, 0.05 / 7, 1e-3 / 3, 1e-6])
def test_a_confidence_has_the_digits_of_the_audit_itself(beta):
    bound = LowerBound(epsilon=1.0, delta=0.0, confidence=1 - beta, method="m", evidence={})
    assert f" with {surety(1 - beta)} confidence" in str(bound)
    assert surety(1.0) == "100 %"


def test_more_than_the_guarantee_allows_is_a_warning(sample):
    strong = sample.recommended.attacks[0].model_copy(update={"auc": interval(0.99, 0.005)})
    text = words(changed(sample, attacks=(strong, *sample.recommended.attacks[1:])))
    assert (
        "than ε ≤ 2 (proven) allows: gap has AUC 0.990 [0.985, 0.995], and at most 0.761 for one"
        " record in place of another is allowed. Do not publish it."
    ) in text.by_id("verdict").text


@pytest.mark.parametrize("grade", [Grade.SAMPLED, Grade.PUBLISHED])
def test_a_grade_that_promises_less_is_a_warning(sample, grade):
    claim = sample.recommended.claim.model_copy(update={"grade": grade})
    tree = words(changed(sample, claim=claim))
    assert any(
        node.attributes.get("role") == "note" and f"Grade {grade}" in node.text
        for node in tree.all("p")
    )


def test_a_stronger_attack_than_the_chosen_one_is_named(sample):
    strong = attack("released-weights", 1.5, threat="white box: weights")
    made = (*sample.recommended.attacks, strong)
    answers = [one.text for one in words(changed(sample, attacks=made)).all("dd")]
    assert "Most is found by released-weights (white box: weights): AUC 0.856" in answers[1]


def test_what_no_attack_tells_is_not_called_a_leak(sample):
    answers = [one.text for one in words(showing(sample, interval(0.5, 0.03))).all("dd")]
    assert answers[1].startswith("Members are not told apart by this attack")


@pytest.mark.parametrize("leaks", [False, True])
@pytest.mark.parametrize("value", [0.4, 0.51, 0.55])
def test_headline_sentences_answer_table_and_card_call_the_same_a_leak(sample, value, leaks):
    """An attack's own verdict, which an interval beyond ½ alone does not make."""
    results = showing(sample, interval(value, 0.029), leaks=leaks, alone=True)
    strengths = {sample.conclusion.attack: 0.7}
    found = concluded(results.unprotected, results.recommended, (), strengths)
    tree = words(results.model_copy(update={"conclusion": found}))
    answer = tree.by_id("verdict").all("dd")[1].text
    assert found.headline.endswith("no attack that was tried could tell.") != leaks
    (sentence,) = (one for one in found.sentences if one.startswith("The recommended release: "))
    assert ("tells members from others" in sentence) == leaks
    assert answer.startswith("Members are still told apart") == leaks
    rows = {row[0]: row for row in tree.by_id("table-attacks").rows()}
    assert (rows[found.attack][6] == "leaks") == leaks
    summary = attack_summary(of_results(results))
    assert f"On the released model, {int(leaks)} of " in summary
    # A leak that the AUC does not show is named by what shows it, and the other way round.
    assert ("leak found by it" in answer) == ("leak found by it" in sentence)
    assert ("leak found by it" in answer) == (leaks and value == 0.51)
    assert ("no leak once corrected" in answer) == (not leaks and value != 0.51)


def test_a_document_that_does_not_say_whether_it_forbids_is_refused(sample):
    """A gate would take silence for leave to publish."""
    old = sample.conclusion.model_dump()
    del old["forbids"]
    with pytest.raises(ValueError, match="forbids"):
        type(sample.conclusion)(**old)


def test_the_field_decides_and_no_text(sample):
    """Words of a headline may change: a gate reads the field."""
    said = sample.conclusion.model_dump() | {"headline": "Keep it here.", "forbids": True}
    assert type(sample.conclusion)(**said).forbids
