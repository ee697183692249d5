"""The privacy section of a model card: figures of the document, graded, and nothing unpaid."""

import re

import pytest

from reticent.audit import ceiling
from reticent.guarantee.rounding import scale_text
from reticent.report.annex import annex
from reticent.report.card import card
from reticent.report.evidence import of_results
from reticent.report.markdown import escaped
from reticent.validation import InputError
from tests.report.documents import SAMPLE, recommending, rendered, ungraded, with_release
from tests.report.sample import certified, facts, interval, too_few

AUDITED = "weights gaussian proven ε=1"
REFUTED = "weights gaussian published ε=1"
WRITERS = [card, annex]
HOSTILE = "<script>alert(1)</script>[x](javascript:a)\n# heading | `"


def cells(text):
    """The first cell of each row of a table, and the others."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: row[1:] for row in rows}


@pytest.mark.parametrize("protected", [False, True])
def test_every_figure_of_every_attack_is_that_of_the_document(protected):
    results = SAMPLE()
    parts = card(of_results(results)).split("\nOn ")
    model = results.recommended if protected else results.unprotected
    shown = cells(parts[2 if protected else 1].split("###")[0])
    for attack in model.attacks:
        assert shown[attack.name] == [
            attack.threat, f"{attack.members:,}", f"{attack.others:,}",
            str(attack.auc), str(attack.balanced_accuracy), str(attack.leakage),
            *(str(rate.tpr) for rate in attack.rates), "yes" if attack.leaks else "no",
        ]  # fmt: skip
    assert set(shown) - {"attack", "---"} == {attack.name for attack in model.attacks}


def test_claim_noise_assumptions_and_cost_are_those_of_the_document():
    results = SAMPLE()
    release, text = results.recommended, card(of_results(results))
    assert f"- **{results.title}:** {release.claim.text}\n" in text
    assert f"- **Noise:** {release.mechanism}," in text
    assert all(f"{name} {scale_text(scale)}" in text for name, scale in release.scales.items())
    for assumption in (*release.claim.checked, *release.claim.stated):
        assert f"- {escaped(assumption)}\n" in text
    last, first = (escaped(line) for line in (release.claim.checked[-1], release.claim.stated[0]))
    assert text.index(last) < text.index(first)
    for figure in (release.accuracy, results.unprotected.accuracy, release.loss):
        assert f" {figure} (95 %)" in text
    assert "those of one column hold together at 95 %" in text  # five attacks at 99 % each


def utility(results):
    return card(of_results(results)).split("### Utility")[1].split("###")[0]


def test_the_accuracy_of_the_released_model_is_that_of_the_file():
    kept = interval(0.765, 0.02)
    results = with_release(SAMPLE(), draws=5, kept_accuracy=kept)
    mean = results.recommended.accuracy
    assert f"- **Accuracy of the released model:** {kept} (95 %)\n" in utility(results)
    assert (
        "- **Mean accuracy over 5 draws of the noise**, not that of the released file:"
        f" {mean} (95 %)\n"
    ) in utility(results)
    assert "of the released model:" not in utility(with_release(results, kept_accuracy=None))
    alone = utility(with_release(results, draws=1, kept_accuracy=None))
    assert f"**Accuracy of the released model:** {mean} (95 %)" in alone
    assert "Mean accuracy" not in alone


def test_a_confidence_is_rounded_down_to_few_digits():
    results = recommending(AUDITED)
    audit, seventh = results.recommended.audit, 1 - 0.05 / 7
    bound = audit.measured.model_copy(update={"confidence": seventh})
    attacks = tuple(
        one.model_copy(update={"auc": one.auc.model_copy(update={"confidence": seventh})})
        for one in results.recommended.attacks
    )
    changes = {"audit": audit.model_copy(update={"measured": bound}), "attacks": attacks}
    text = card(of_results(with_release(results, **changes)))
    assert "(measured, 99.285 % confidence, at" in text
    assert "Intervals are of 99.285 % confidence each" in text
    assert "99.29" not in text


def test_what_an_attack_may_reach_is_the_ceiling_of_the_claim():
    claim = SAMPLE().recommended.claim
    power = 100 * ceiling([0.01], epsilon=claim.epsilon, delta=claim.delta)[0]
    text = card(of_results(SAMPLE()))
    (shown,) = re.findall(r"finds at most ([\d.]+) % of the members", text)
    assert power <= float(shown) <= power + 0.01


def test_the_audit_is_that_of_the_document():
    results = recommending(AUDITED)
    audit, text = results.recommended.audit, card(of_results(results))
    assert f"**Lower bound:** ε ≥ {audit.measured.epsilon:g} (measured, 95 % confidence" in text
    assert f"**Worst pair found:** ε = {audit.analytic:g} (this pair): {audit.pair}" in text
    assert "**Verdict:** not refuted." in text
    assert "was not audited" in card(of_results(SAMPLE()))


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("write", WRITERS)
def test_every_epsilon_is_followed_by_its_grade(write, public):
    for release in SAMPLE().releases:
        results = recommending(release.name)
        if public and release.claim.grade != "proven":
            continue
        evidence = of_results(*certified(results)) if public else of_results(results)
        text = write(evidence, public=public)
        assert ungraded(text) == []
        assert f"({release.claim.grade}" in text


def test_the_search_for_an_epsilon_without_a_grade_finds_one():
    for wrong in ("ε ≤ 2", "ε = 2 holds (proven", "with ε=2.", "ε ≤ 1, δ ≤ 1e-5 | (proven)"):
        assert len(ungraded(wrong)) == ("holds" not in wrong)
    assert ungraded("ε ≤ 1, δ ≤ 1e-5 (proven; x) and ε ≥ 0.3 (measured, 95 %)") == []


@pytest.mark.parametrize("write", WRITERS)
def test_a_public_text_holds_nothing_that_no_guarantee_covers(write):
    results, release = certified(with_release(recommending(AUDITED), draws=1))
    inner = write(of_results(results))
    outer = write(of_results(results, release), public=True)
    release = results.recommended
    unpaid = [
        results.title, results.made.command, "1,500", str(release.accuracy), str(release.loss),
        str(results.unprotected.accuracy), "tightness", "not refuted", "leak found",
        *(str(attack.auc) for attack in (*release.attacks, *results.unprotected.attacks)),
        *(attack.name for attack in release.attacks if attack.name not in ("gap", "loss", "alm")),
    ]  # fmt: skip
    assert [words for words in unpaid if words in outer] == []
    assert sum(words in inner for words in unpaid) > 10
    assert "Internal" in inner
    assert "Internal" not in outer
    assert "are left out" in outer
    assert release.claim.text in outer
    assert all(stated in outer for stated in release.claim.stated)


@pytest.mark.parametrize(
    ("is_public", "draws", "shown"), [(True, 1, True), (True, 10, False), (False, 1, False)]
)
def test_a_public_accuracy_is_one_draw_on_public_records(is_public, draws, shown):
    results = with_release(
        SAMPLE().model_copy(update={"facts": facts(test_is_public=is_public)}), draws=draws
    )
    results, release = certified(results)
    text = card(of_results(results, release), public=True)
    assert (str(results.recommended.accuracy) in text) is shown
    kept = with_release(results, kept_accuracy=interval(0.87, 0.02))
    alone = "0.870 [0.850, 0.890]" in card(of_results(kept, release), public=True)
    assert alone is (is_public and draws > 1)
    assert str(results.recommended.loss) not in text  # it compares with the unprotected head
    assert str(results.unprotected.accuracy) not in text


@pytest.mark.parametrize("write", WRITERS)
def test_a_refuted_claim_is_said_first_and_never_public(write):
    evidence = of_results(recommending(REFUTED))
    head = write(evidence).split("##")[1 if write is card else 0]
    assert "The audit refuted this claim" in head + write(evidence)[:600]
    results, release = certified(recommending(AUDITED))
    fallen = results.recommended.audit.model_copy(update={"verdict": "refuted"})
    with pytest.raises(InputError, match="got one that its audit refuted"):
        write(of_results(with_release(results, audit=fallen), release), public=True)


@pytest.mark.parametrize(
    ("name", "words"),
    [("weights gaussian sampled ε=2", "nothing about the worst case"),
     ("weights gaussian published ε=2", "known not to hold")],
)  # fmt: skip
def test_a_weak_grade_promises_nothing(name, words):
    evidence = of_results(recommending(name))
    assert words in card(evidence)
    assert "What it means" not in card(evidence)
    assert "Nothing: ε ≤ 2 (" in annex(evidence)


def test_too_few_records_are_said_with_the_number_needed():
    text = card(of_results(too_few()))
    assert "**Too few records**" in text
    assert "At least 712 on each side" in text
    assert "Too few records" not in card(of_results(SAMPLE()))


def test_headings_are_those_of_a_model_card():
    text = card(of_results(SAMPLE()))
    assert re.findall(r"^## .*", text, re.MULTILINE) == [
        "## Privacy", "## Bias, Risks, and Limitations",
    ]  # fmt: skip
    assert not text.startswith("---")
    for words in ("pre-trained on", "Other releases", "Side outputs", "Properties of groups",
                  "Records of the same person", "reticent verify head"):  # fmt: skip
        assert words in text


def hostile():
    """Every text of the document that somebody else writes."""
    results = recommending(AUDITED, title=HOSTILE, facts=facts(feature_kind=HOSTILE))
    release = results.recommended
    bad = {"name": HOSTILE, "threat": HOSTILE, "verdict": HOSTILE, "notes": (HOSTILE,)}
    attacks = tuple(one.model_copy(update=bad) for one in release.attacks)
    claim = release.claim.model_copy(
        update={"text": HOSTILE, "unit": HOSTILE, "relation": HOSTILE, "checked": (HOSTILE,),
                "stated": (HOSTILE,)}
    )  # fmt: skip
    bound = release.audit.measured.model_copy(update={"method": HOSTILE, "text": HOSTILE})
    audit = release.audit.model_copy(
        update={"pair": HOSTILE, "measured": bound, "notes": (HOSTILE,), "refuted_by": HOSTILE}
    )
    changed = with_release(
        results, attacks=attacks, claim=claim, audit=audit, mechanism=HOSTILE, learner=HOSTILE,
        scales={HOSTILE: 1.0}, file=HOSTILE,
    )  # fmt: skip
    made = changed.made.model_copy(
        update={"command": HOSTILE, "created": HOSTILE, "versions": {HOSTILE: HOSTILE},
                "settings": {HOSTILE: HOSTILE}}
    )  # fmt: skip
    verdict = changed.conclusion.model_copy(update={"attack": HOSTILE})
    return changed.model_copy(update={"made": made, "conclusion": verdict})


@pytest.mark.parametrize("write", WRITERS)
def test_no_text_of_the_document_becomes_markup(write):
    safe, bad = (of_results(results) for results in (recommending(AUDITED), hostile()))
    page = rendered(write(bad))
    assert page.count("&lt;script&gt;") >= 20
    assert not re.search(r"<(script|img|a)\b", page)
    headings = [re.findall(r"<h\d>.*", rendered(write(one))) for one in (safe, bad)]
    assert headings[0] == headings[1]


@pytest.mark.parametrize("write", WRITERS)
def test_a_public_text_has_no_word_of_the_document(write):
    """Whatever stands in one: the certificate is written out, and nothing else."""
    results, release = certified(recommending(AUDITED))
    wild = hostile()
    same = {name: getattr(results.recommended, name) for name in
            ("claim", "scales", "learner", "mechanism")}  # fmt: skip
    bad = with_release(wild, **same, file=None)
    plain = with_release(results, file=None)
    texts = [write(of_results(one, release), public=True) for one in (plain, bad)]
    assert texts[0] == texts[1]


def test_an_annex_answers_its_questions_and_claims_no_compliance():
    results = recommending(AUDITED)
    text = annex(of_results(results))
    assert "**This annex claims no compliance**" in text
    questions = re.findall(r"^## \d\. (.*)", text, re.MULTILINE)
    assert len(questions) == 8
    white, black = text.split("## 2.")[1].split("## 3.")
    exact = next(one for one in results.recommended.attacks if not one.black_box)
    assert f"| {exact.name} | {exact.auc} | {exact.leakage} |" in white
    for attack in results.recommended.attacks:
        if attack.black_box:
            assert f"| {attack.name} | {attack.auc} | {attack.leakage} |" in black.split("## 4")[0]
    assert text.count("**not tested** by this program") == 4
    assert "**A leak was found on the released model** by released-weights." in text
    assert f"leaks below an AUC of {exact.smallest_auc:.3f}" in text


def test_an_annex_says_what_was_not_tested():
    text = annex(of_results(with_release(SAMPLE(), attacks=())))
    assert text.count("**Not tested:**") == 2
