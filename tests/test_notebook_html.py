"""What notebooks show: one piece of HTML that loads and runs nothing, whatever names there are."""

import dataclasses
from html.parser import HTMLParser

import numpy as np
import pytest

from reticent import Guarantee, plot
from reticent.protect import release_weights
from reticent.run.job import Finished
from reticent.training import SoftmaxHead
from tests.report.sample import sample_results

EVIL = '"><script>alert(1)</script><img src=x onerror=alert(2)>\u202e'
VOID = {"br", "img", "link", "meta", "input"}


class Reader(HTMLParser):
    """Tags and attributes; every tag that is opened is closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text += data


def read(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def released():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    labels = np.where(rows[:, 0] > 0, EVIL, "other")
    head = SoftmaxHead(records=60, bound=2.0, penalty=0.1, classes=[EVIL, "other"]).fit(
        rows, labels
    )
    made = release_weights(head, epsilon=1.0, delta=1e-5, relation="add-remove")
    return dataclasses.replace(made, columns=("age", EVIL.replace("\u202e", ""), "height"))


@pytest.fixture(scope="module")
def results():
    found = sample_results()
    said = found.conclusion.model_copy(update={"headline": f"{EVIL} is told"})
    return found.model_copy(update={"title": EVIL, "conclusion": said})


def shown(released, results):
    guarantee = Guarantee(epsilon=1.0, delta=1e-5, relation="add-remove", stated=("a <b>fact</b>",))
    return {
        "guarantee": guarantee,
        "release": released,
        "results": results,
        "run": Finished(results=results, released=released),
    }


@pytest.mark.parametrize("kind", ["guarantee", "release", "results", "run"])
def test_nothing_is_loaded_or_run(kind, released, results):
    html = shown(released, results)[kind]._repr_html_()
    reader = read(html)
    assert {"script", "img", "iframe", "link"}.isdisjoint(reader.tags)
    assert {name for name, _ in reader.attributes} == {"class"}
    assert "url(" not in html
    assert "@import" not in html
    assert "\u202e" not in html
    for theme in ("prefers-color-scheme:dark", 'data-jp-theme-light="false"'):
        assert theme in html


def test_what_a_reader_is_told(released, results):
    values = shown(released, results)
    assert str(values["guarantee"]) in read(values["guarantee"]._repr_html_()).text
    assert "a <b>fact</b>" in read(values["guarantee"]._repr_html_()).text
    told = read(released._repr_html_()).text
    assert str(released.guarantee) in told
    assert "age" in told
    whole = read(values["run"]._repr_html_()).text
    assert results.conclusion.headline.replace("\u202e", "\ufffd") in whole
    assert f"{results.recommended.name} ← recommended" in whole
    assert "as private as the records" in whole


def test_a_page_is_in_a_frame_that_runs_nothing(results):
    reader = read(plot.page(results, height=300)._repr_html_())
    assert reader.tags == ["iframe"]
    attributes = dict(reader.attributes)
    assert attributes["sandbox"] is None  # nothing is allowed
    assert attributes["srcdoc"].lower().startswith("<!doctype html>")
    assert "src" not in attributes
    assert "<script>alert" not in attributes["srcdoc"]
