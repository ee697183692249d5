"""Figures are drawn for every document that is valid, and say their values."""

import re
from xml.etree import ElementTree

import pytest
from matplotlib import rcParams

from reticent.report.drawing import printable
from reticent.report.figures import INTERNAL, drawings
from reticent.report.palette import DARK, LIGHT, SERIES
from tests.report.sample import attack, audit, claim, interval, release, sample_results

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawn(sample):
    return drawings(sample)


def tree(drawing):
    return ElementTree.fromstring(drawing.inline)


def hovers(drawing):
    return [one.text for one in tree(drawing).iter(f"{SVG}title")][1:]  # the first is its own


def minimal(**changes):
    """One release, not attacked, not audited."""
    one = release("weights", "gaussian", "proven", 1.0)
    only = one.model_copy(update={"attacks": (), "audit": None} | changes)
    verdict = sample_results().conclusion.model_copy(update={"recommended": only.name})
    return sample_results(
        releases=(only,), conclusion=verdict, sensitivities=(), features=(), exposure=None,
        outlier=None, protections=None,
    )  # fmt: skip


def test_every_figure_is_drawn(drawn):
    assert list(drawn) == list(INTERNAL)
    for drawing in drawn.values():
        assert len(list(tree(drawing).iter(f"{SVG}path"))) > 10


def test_every_point_says_what_it_is(drawn, sample):
    shown = hovers(drawn["epsilon-loss"])
    assert len(shown) == len(sample.releases)
    for one in sample.releases:
        (text,) = (hover for hover in shown if hover.startswith(f"{one.name}: "))
        assert f"ε ≤ {one.claim.epsilon:g} ({one.claim.grade}" in text
        assert f"utility loss {100 * one.loss.value:.1f} %" in text


def test_points_of_attacks_say_the_accuracy_of_the_attack(drawn, sample):
    for name in ("epsilon-attack", "attack-loss"):
        for one in sample.releases:
            found = next(made for made in one.attacks if made.name == sample.conclusion.attack)
            (text,) = (hover for hover in hovers(drawn[name]) if hover.startswith(f"{one.name}: "))
            assert f"balanced accuracy {found.balanced_accuracy}" in text


def test_refuted_claims_are_seen_and_come_first(drawn, sample):
    texts = [one.text for one in tree(drawn["audits"]).iter(f"{SVG}text")]
    verdicts = [text for text in texts if text and text.endswith("refuted")]
    refuted = [text for text in verdicts if "✗" in text]
    wanted = [one for one in sample.releases if one.audit and one.audit.verdict == "refuted"]
    assert len(refuted) == len(wanted) + 1  # and the outlier
    assert verdicts[: len(refuted)] == refuted


def test_text_stays_text_and_colours_are_those_of_the_theme(drawn):
    for drawing in drawn.values():
        assert len(list(tree(drawing).iter(f"{SVG}text"))) > 5
        assert not re.search(r"#[0-9a-f]{6}\b", re.sub(r'(id|href)="[^"]*"', "", drawing.inline))
        used = set(re.findall(r"var\(--(\w+)\)", drawing.inline))
        assert {"ink", "surface"} <= used <= set(LIGHT) == set(DARK)
        assert "var(" not in drawing.svg
        assert "<style" not in drawing.inline


def test_figures_are_named_and_described(drawn):
    for drawing in drawn.values():
        root = tree(drawing)
        names = root.get("aria-labelledby").split()
        assert root.get("role") == "img"
        parts = {one.get("id"): one.text for one in root if one.get("id") in names}
        assert [parts[name] for name in names] == [drawing.title, drawing.alt]
        assert len(drawing.alt) > 40


def test_no_two_parts_of_a_page_have_one_name(drawn):
    names = [one.get("id") for drawing in drawn.values() for one in tree(drawing).iter()]
    names = [name for name in names if name]
    assert len(names) == len(set(names)) > 100
    for drawing in drawn.values():
        own = {one.get("id") for one in tree(drawing).iter()}
        assert set(re.findall(r'href="#([^"]+)"', drawing.inline)) <= own
        assert set(re.findall(r"url\(#([^)]+)\)", drawing.inline)) <= own


def test_nothing_global_is_left_changed(sample):
    before = dict(rcParams)
    drawings(sample, public=True)["ceiling"].png  # noqa: B018 - it is made when it is asked for
    assert dict(rcParams) == before


def test_a_document_of_little_draws_little():
    assert list(drawings(minimal())) == ["epsilon-loss", "roc"]


@pytest.mark.parametrize(
    "changes",
    [
        {"claim": claim(0.0)},
        {"claim": claim(1e-9), "audit": audit(1e-9, 0.0, ratio=0.5, pair="p")},
        {"claim": claim(1e6), "audit": audit(1e6, 0.0, ratio=2.0, pair="p", exact=False)},
        {"claim": claim(1.0, delta=1.0)},
        {"loss": interval(-0.2, 0.1, low=-1.0)},
        {"attacks": (attack("lira-offline", 9.0, records=2),)},
        {"attacks": (attack("lira-offline", 0.5).model_copy(update={"rates": ()}),)},
        {"mechanism": "$\\frac{1}{x$ <b>&\x00\x1b 漢字 مرحبا" + "x" * 400},
        {"audit": audit(1.0, 0.0, ratio=0.0, pair="p")},
    ],
    ids=["zero", "tiny", "huge", "delta", "gain", "sure", "no rates", "label", "nothing found"],
)
def test_every_valid_document_is_drawn_without_a_warning(changes):
    for drawing in drawings(minimal(**changes)).values():
        ElementTree.fromstring(drawing.inline)
        assert drawing.png[:4] == b"\x89PNG"


def test_many_kinds_have_looks_that_differ():
    kinds = [release("weights", "gaussian", "proven", 1.0).model_copy(
        update={"name": f"r{place}", "mechanism": f"m{place}", "attacks": (), "audit": None})
        for place in range(20)]  # fmt: skip
    verdict = sample_results().conclusion.model_copy(update={"recommended": "r0"})
    drawing = drawings(sample_results(releases=tuple(kinds), conclusion=verdict))["epsilon-loss"]
    assert len(hovers(drawing)) == 20


def test_a_long_list_of_audits_is_cut_and_says_so(sample):
    made = tuple(
        one.model_copy(update={"audit": audit(one.claim.epsilon, 0.0, ratio=0.5, pair="p")})
        for one in sample.releases
    )
    drawing = drawings(sample.model_copy(update={"releases": made}))["audits"]
    assert (
        "25 more are in the table" in drawing.caption
    )  # 40 and the outlier, of which 16 are shown


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_has_contrast_and_series_are_seen(theme):
    def luminance(colour):
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    def contrast(one, other):
        high, low = sorted((luminance(theme[one]), luminance(theme[other])), reverse=True)
        return (high + 0.05) / (low + 0.05)

    assert all(contrast(name, "surface") >= 4.5 for name in ("ink", "muted", "bad"))
    assert all(contrast(name, "surface") >= 2 for name in SERIES)  # and by marker and dash
    assert all(contrast(name, "surface") >= 2.9 for name in SERIES[:4])


def test_control_characters_and_lines_are_gone():
    assert printable("a\x00\tb\nc\x1b") == "a� b c�"
