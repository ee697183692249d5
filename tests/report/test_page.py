"""What the page prints is what the document says, and nothing in a document becomes markup."""

import re

import pytest

from reticent.report import page
from reticent.report.evidence import of_results
from reticent.report.publication import publishable
from reticent.report.rendering import rendered, rendered_public
from reticent.results import Results
from tests.report.parsed import parsed
from tests.report.sample import attack, audit, certified, facts, interval, sample_results

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
EPSILON = re.compile(
    r"ε ≤ [\d.e+-]+(?:, δ ≤ [\d.e+-]+)? ?(?:\(this pair|\(?(?:proven|declared|sampled|published))"
)
PAYLOAD = "</title></style><script>alert(1)</script><img src=x onerror=alert(1)>\"'{{ 7*7 }}&"


def figures(text):
    return [float(number) for number in NUMBER.findall(text.replace(",", " "))]


def in_percent(found):
    return [100 * found.value, 100 * found.low, 100 * found.high]


def plain(found):
    return [found.value, found.low, found.high]


def words(results, public=False):
    """The page without its figures, which take most of the time."""
    if public:
        return parsed(rendered_public(publishable(of_results(*certified(results))), {}))
    return parsed(rendered(results, {}))


def changed(results, **release):
    """The document with another recommended release."""
    best = results.recommended.model_copy(update=release)
    others = [one for one in results.releases if one.name != best.name]
    return results.model_copy(update={"releases": (best, *others)})


def test_the_three_numbers_are_those_of_the_document(sample, internal):
    tree = parsed(internal)
    best, verdict = sample.recommended, sample.conclusion
    wanted = {
        "tile-leak": [verdict.before.value, verdict.after.value, verdict.allowed],
        "tile-accuracy": [sample.unprotected.accuracy.value, best.accuracy.value, best.loss.value],
        "tile-promise": [best.claim.epsilon, best.claim.delta],
    }
    for name, values in wanted.items():
        found = [float(data.attributes["value"]) for data in tree.by_id(name).all("data")]
        assert found == values
    for name, scale in (("tile-leak", 1), ("tile-accuracy", 100), ("tile-promise", 1)):
        for data in tree.by_id(name).all("data"):
            value, shown = float(data.attributes["value"]), figures(data.text)[0]
            assert shown == pytest.approx(scale * value, abs=0.0501 if scale == 100 else 1e-3)


def test_the_headline_is_the_only_first_heading(sample, internal):
    (heading,) = parsed(internal).all("h1")
    assert heading.text == sample.conclusion.headline


def test_the_page_is_marked_internal_before_anything_else(internal):
    body = parsed(internal).all("body")[0].text.removeprefix("Skip to the verdict ")
    assert body.startswith("Internal Accuracies, attacks and audits")


def test_the_verdict_says_how_often_members_are_named(sample, internal):
    answers = [one.text for one in parsed(internal).by_id("verdict").all("dd")]
    before, after = sample.conclusion.before, sample.conclusion.after
    assert "Members are told apart" in answers[0]
    assert "Members are still told apart" in answers[1]
    for answer, found in zip(answers, (before, after), strict=False):
        assert figures(answer)[:4] == [round(100 * found.value), 100, *(
            round(100 * limit) for limit in (found.low, found.high))]  # fmt: skip
    assert sample.recommended.claim.text in answers[3]
    assert "not audited" in answers[3]


def test_all_attacks_stand_before_and_after(sample, internal):
    rows = parsed(internal).by_id("table-attacks").rows()
    before = {one.name: one for one in sample.unprotected.attacks}
    after = {one.name: one for one in sample.recommended.attacks}
    assert [row[0] for row in rows] == list(before)
    for name, *cells in rows:
        for cell, found in zip(cells[:2], (before[name].auc, after[name].auc), strict=True):
            assert figures(cell) == pytest.approx(plain(found), abs=5.01e-4)
        for cell, one in zip(cells[2:4], (before[name], after[name]), strict=True):
            (rate,) = (rate.tpr for rate in one.rates if rate.fpr == 0.01)
            assert figures(cell) == pytest.approx(in_percent(rate), abs=0.0501)
        assert [cell == "leaks" for cell in cells[4:6]] == [before[name].leaks, after[name].leaks]
        assert cells[6] == f"sees and knows {before[name].threat}"


def test_attacks_on_few_records_stand_without_a_low_false_alarm_rate(sample):
    made = tuple(one.model_copy(update={"rates": ()}) for one in sample.unprotected.attacks)
    plain_head = sample.unprotected.model_copy(update={"attacks": made})
    results = changed(sample_results(unprotected=plain_head), attacks=made)
    for row, one in zip(words(results).by_id("table-attacks").rows(), made, strict=True):
        assert figures(row[3]) == pytest.approx(in_percent(one.leakage), abs=0.0501)


def test_all_releases_stand_with_claim_accuracy_loss_and_audit(sample, internal):
    rows = parsed(internal).by_id("table-releases").rows()
    assert [row[0] for row in rows] == [one.name for one in sample.releases]
    for row, one in zip(rows, sample.releases, strict=True):
        found = next(made.auc for made in one.attacks if made.name == sample.conclusion.attack)
        assert figures(row[1])[0] == one.claim.epsilon
        assert f"({one.claim.grade}" in row[1]
        assert float(row[2]) == one.claim.delta
        assert figures(row[3]) == pytest.approx(in_percent(one.accuracy), abs=0.0501)
        assert figures(row[4]) == pytest.approx(in_percent(one.loss), abs=0.0501)
        assert figures(row[5]) == pytest.approx(plain(found), abs=5.01e-4)
        assert row[6] == ("not audited" if one.audit is None else one.audit.verdict)
        file = "" if one.file is None else f" file {one.file}"
        words = f"learner {one.learner} mechanism {one.mechanism} draws {one.draws}{file}"
        assert row[7:] == [words]


def test_the_recommended_release_and_refuted_ones_stand_out(sample, internal):
    table = parsed(internal).by_id("table-releases")
    rows = {row.all("th")[0].text: row.attributes.get("class") for row in table.all("tr")[1:]
            if row.all("th")}  # fmt: skip
    refuted = {one.name for one in sample.releases if one.audit and one.audit.refuted_by}
    assert refuted
    assert {name for name, kind in rows.items() if kind == "bad"} == refuted
    assert {name for name, kind in rows.items() if kind == "marked"} == {sample.recommended.name}


def test_all_audits_stand_rounded_to_the_safe_side(sample, internal):
    rows = {row[0]: row for row in parsed(internal).by_id("table-audits").rows()}
    made = {one.name: one for one in sample.releases if one.audit}
    assert set(rows) == {*made, sample.outlier.title}
    for name, one in made.items():
        low, pair = figures(rows[name][2])[0], figures(rows[name][4])[0]
        assert 0 <= one.audit.measured.epsilon - low <= 1e-3
        assert pair == pytest.approx(one.audit.analytic, rel=1e-3)
        assert rows[name][5] == one.audit.verdict


def test_sensitivities_features_and_exposed_records_stand(sample, internal):
    tree = parsed(internal)
    for row, one in zip(
        tree.by_id("table-sensitivities").rows(), sample.sensitivities, strict=True
    ):
        assert row[0] == one.grade
        for cell, value in zip(row[1:4], (one.l1, one.l2, one.gamma), strict=True):
            assert cell == "–" if value is None else float(cell) == pytest.approx(value, rel=1e-3)
    for row, one in zip(tree.by_id("table-features").rows(), sample.features, strict=True):
        assert row[:2] == [one.name, str(one.width)]
        for cell, found in zip(row[2:5], (one.unprotected, one.released, one.loss), strict=True):
            assert figures(cell) == pytest.approx(in_percent(found), abs=0.0501)
        assert figures(row[5]) == pytest.approx(plain(one.strongest), abs=5.01e-4)
    for row, one in zip(tree.by_id("table-exposed").rows(), sample.exposure.most, strict=True):
        assert row[:2] == [str(one.row), one.label]
        assert figures(row[2]) == pytest.approx([100 * one.power], abs=0.0501)


def test_both_checklists_the_outlier_and_the_command_stand(sample, internal):
    tree = parsed(internal)
    lists = [node for node in tree.all("ul") if "checks" in (node.attributes.get("class") or "")]
    claim = sample.recommended.claim
    assert [[item.text for item in one.all("li")] for one in lists] == [
        list(claim.checked),
        list(claim.stated),
    ]
    box = tree.by_id("outlier").text
    assert all(line in box for line in sample.outlier.text)
    assert sample.outlier.claim.text in box
    assert sample.outlier.audit.measured.text in box
    assert "refuted" in box
    how = tree.by_id("reproduce").text
    assert sample.made.command in how
    assert f"seed {sample.made.seed}" in how
    assert all(line in how for line in sample.made.random)
    versions = dict(tree.by_id("table-versions").rows())
    assert versions == sample.made.versions


@pytest.mark.parametrize("kind", ["internal", "public"])
def test_no_epsilon_stands_without_its_grade(kind, request):
    text = parsed(request.getfixturevalue(kind)).text
    assert len(EPSILON.findall(text)) == text.count("ε ≤") > 3


def test_all_choices_are_called_all(sample, internal):
    table = parsed(internal).by_id("table-settings")
    assert table.all("caption")[0].text == "All choices of the run."
    assert dict(table.rows()) == sample.made.settings


@pytest.mark.parametrize(
    ("plain", "released", "said"),
    [
        (0.95, 0.93, ""),
        (0.95, 0.7, "70.0 % against 74.1 % released."),
        (0.85, 0.93, "85.0 % against 90.2 % without protection."),
        (0.85, 0.7, "85.0 % against 90.2 % without protection, 70.0 % against 74.1 % released."),
    ],
)
def test_features_that_are_worse_than_pixels_are_called_so(sample, plain, released, said):
    pixels, encoded = sample.features
    accuracies = {"unprotected": interval(plain, 0.01), "released": interval(released, 0.01)}
    results = sample_results(features=(pixels, encoded.model_copy(update=accuracies)))
    caption = words(results).by_id("table-features").all("caption")[0].text
    start = " SimCLR features are worse than pixels here: accuracy " if said else ""
    assert caption == f"The same job on each kind of features.{start}{said}"


@pytest.mark.parametrize("kind", ["internal", "public"])
def test_the_page_runs_and_loads_nothing(kind, request):
    tree = parsed(request.getfixturevalue(kind))
    tags = {node.tag for node in tree.walk()}
    assert not tags & {
        "script",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
        "foreignobject",
    }
    for node in tree.walk():
        for name, value in node.attributes.items():
            assert not name.startswith("on")
            if name in {"href", "src", "xlink:href"}:
                assert value.startswith(("#", "data:,")), value
            assert "url(" not in (value or "") or "url(#" in value
    text = request.getfixturevalue(kind).replace("http://www.w3.org/", "")
    assert "http:" not in text
    assert "https:" not in text
    assert len(text) < 6_000_000


def poisoned(value, key=None):
    """The same document with a payload in front of every free text."""
    if isinstance(value, dict):
        free = key in {"versions", "settings", "scales"}
        return {(PAYLOAD + k if free else k): poisoned(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [poisoned(item, key) for item in value]
    literal = key in {"version", "grade"} or value in {"refuted", "not refuted"}
    return PAYLOAD + value if isinstance(value, str) and not literal else value


def test_no_text_of_a_document_becomes_markup(sample):
    evil = Results.model_validate_json(
        Results(**poisoned(sample.model_dump(mode="json"))).model_dump_json()
    )
    tree = parsed(page(evil))
    assert not {node.tag for node in tree.walk()} & {"script", "img"}
    assert not [name for node in tree.walk() for name in node.attributes if name.startswith("on")]
    assert tree.text.count("<script>alert(1)</script>") > 100
    assert "{{ 7*7 }}" in tree.text


@pytest.mark.slow
def test_the_same_document_gives_the_same_page(sample, internal):
    assert page(sample) == internal


def private_parts_changed(results):
    """Another run under the same claim: all that is private differs."""
    best = results.recommended.model_copy(
        update={
            "accuracy": interval(0.111, 0.01),
            "loss": interval(0.777, 0.01),
            "attacks": (attack("other", 0.2),),
            "audit": audit(2.0, 1e-5, ratio=0.9, pair="secret"),
            "draws": 3,
        }
    )
    other = sample_results(
        title="Another title",
        facts=facts(private=77, others=78, test=79, name="another"),
        releases=(best,),
        exposure=None,
        outlier=None,
        features=(),
        sensitivities=(),
    )
    return other.model_copy(
        update={
            "conclusion": other.conclusion.model_copy(
                update={"headline": "Other words", "sentences": (), "enough": False}
            ),
            "made": other.made.model_copy(
                update={"seconds": 1.5, "command": "another", "seed": 1, "settings": {"a": "b"},
                        "created": "2000-01-01T00:00:00Z", "random": ()}
            ),
            "unprotected": other.unprotected.model_copy(update={"accuracy": interval(0.3, 0.01)}),
        }
    )  # fmt: skip


def test_a_public_page_does_not_depend_on_anything_private(sample, public):
    other, release = certified(private_parts_changed(sample))
    assert page(other, public=True, released=release) == public
    assert words(private_parts_changed(sample)).text != words(sample).text


def test_a_public_page_has_claim_noise_assumptions_and_how_to_verify(sample, public):
    tree = parsed(public)
    claim = sample.recommended.claim
    assert claim.text in tree.text
    assert all(line in tree.text for line in (*claim.checked, *claim.stated))
    assert f"reticent verify {sample.recommended.file}" in tree.text
    shown = {name: float(scale) for name, scale in tree.by_id("table-noise").rows()}
    assert shown == pytest.approx(sample.recommended.scales, rel=1e-4)
    assert "Unsigned: " in tree.text
    assert "When this page was written, it held" in tree.text
    assert "no guarantee would cover them" in tree.by_id("left-out").text
    assert "ternal" not in tree.all("body")[0].text


@pytest.mark.parametrize(
    ("is_public", "draws", "kept", "shown"),
    [
        (False, 1, None, None),
        (True, 10, None, None),  # a mean over draws that were not released
        (True, 1, None, 93.1),
        (True, 10, interval(0.925, 0.01), 92.5),
        (False, 10, interval(0.925, 0.01), None),
    ],
)
def test_an_accuracy_is_public_only_where_it_follows_from_the_release(
    sample, is_public, draws, kept, shown
):
    results = changed(sample, draws=draws, kept_accuracy=kept)
    results = results.model_copy(update={"facts": facts(test_is_public=is_public)})
    tree = words(results, public=True)
    tiles = [node for node in tree.walk() if node.attributes.get("id") == "tile-accuracy"]
    assert [figures(tile.all("data")[0].text)[0] for tile in tiles] == ([shown] if shown else [])
