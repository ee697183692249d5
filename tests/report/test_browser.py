"""The pages in a real browser: drawn, readable by all, and silent on the network."""

import os
import shutil
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from reticent.report import page
from reticent.results import Results
from tests.report.sample import too_few
from tests.report.test_page import poisoned

pytestmark = pytest.mark.browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
VIEWS = [(size, scheme) for size in SIZES for scheme in ("light", "dark")]
KINDS = ("internal", "public")
OUTSIDE_OF_FIGURES = {"exclude": [["figure svg > *"]]}
"""A figure is one image to whoever does not see it: its parts are not looked at one by one."""


@pytest.fixture(scope="module")
def browser():
    """The Chromium of the machine; none is fetched."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert found, "no Chromium: install it (Debian: apt install chromium), or -m 'not browser'"
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=[*QUIET, *sandbox])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def files(internal, public, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, text in {"internal": internal, "public": public}.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


class Opened:
    """A page, and what happened while it was opened."""

    def __init__(self, browser, file: Path, size, scheme):
        self.context = browser.new_context(viewport=SIZES[size], color_scheme=scheme)
        self.page = self.context.new_page()
        self.said, self.asked, self.file = [], [], file.as_uri()
        for event in ("pageerror", "dialog"):
            self.page.on(event, lambda what, event=event: self.said.append((event, str(what))))
        self.page.on("console", lambda message: self.said.append(("console", message.text)))
        self.context.route("**/*", self._refuse)
        self.page.goto(self.file)

    def _refuse(self, route):
        if route.request.url == self.file:
            route.continue_()
        else:
            self.asked.append(route.request.url)
            route.abort()


@pytest.fixture
def opened(browser, files):
    made = []

    def open_(name, size="desktop", scheme="light"):
        made.append(Opened(browser, files / f"{name}.html", size, scheme))
        return made[-1]

    yield open_
    for one in made:
        one.context.close()


@pytest.mark.slow
@pytest.mark.parametrize(("size", "scheme"), VIEWS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_silent_whole_and_readable_by_all(opened, kind, size, scheme):
    """One opening for all of it: no error, no request, no side scroll, no barrier."""
    view = opened(kind, size, scheme)
    assert view.page.locator("h1").is_visible()
    assert view.page.locator("#tile-promise").is_visible()
    width = view.page.evaluate("document.documentElement.scrollWidth")
    assert width <= SIZES[size]["width"]
    _assert_drawn(view.page, 9 if kind == "internal" else 1)
    found = Axe().run(view.page, context=OUTSIDE_OF_FIGURES).response["violations"]
    barriers = [(one["id"], [node["html"] for node in one["nodes"]][:2]) for one in found
                if one["impact"] in {"serious", "critical"}]  # fmt: skip
    assert barriers == []
    assert view.said == []
    assert view.asked == []


def test_no_table_is_cut_off_on_a_desktop(opened):
    """A column beyond the edge is not seen, and its text makes rows tall that look empty."""
    wide = opened("internal").page.evaluate(
        """() => [...document.querySelectorAll('.scroll')]
             .filter(box => box.scrollWidth > box.clientWidth).map(box => box.id)"""
    )
    assert wide == []


def _assert_drawn(page_, count):
    boxes = page_.evaluate(
        """() => [...document.querySelectorAll('figure svg')].map(svg => {
             const box = svg.getBoundingClientRect();
             const paths = [...svg.querySelectorAll('path, use')].filter(path => {
               const one = path.getBoundingClientRect();
               return one.width + one.height > 0;
             });
             const texts = [...svg.querySelectorAll('text')].filter(
               text => text.getBoundingClientRect().width > 0);
             return [box.width, box.height, paths.length, texts.length];
           })"""
    )
    assert len(boxes) == count
    for width, height, paths, texts in boxes:
        assert width > 250
        assert height > 150
        assert paths > 10
        assert texts > 5


def test_the_theme_reaches_the_figures(opened):
    colours = [
        opened("internal", "desktop", scheme).page.evaluate(
            """() => {
              const style = name => getComputedStyle(document.querySelector(name));
              return [style('body').color, style('body').backgroundColor,
                      style('#figure-roc svg text').fill, style('#figure-roc svg path').fill];
            }"""
        )
        for scheme in ("light", "dark")
    ]
    assert all(light != dark for light, dark in zip(*colours, strict=True))


def test_on_paper_it_is_light_and_nothing_is_cut(opened):
    view = opened("internal", "desktop", "dark")
    view.page.emulate_media(media="print", color_scheme="dark")
    found = view.page.evaluate(
        """() => [getComputedStyle(document.body).backgroundColor,
                  getComputedStyle(document.querySelector('nav')).display,
                  getComputedStyle(document.querySelector('.scroll')).overflowX]"""
    )
    assert found == ["rgb(255, 255, 255)", "none", "visible"]


def test_the_keyboard_reaches_the_verdict_and_scrolls_tables(opened):
    view = opened("internal", "phone")
    view.page.keyboard.press("Tab")
    assert view.page.evaluate("document.activeElement.className") == "skip"
    view.page.keyboard.press("Enter")
    assert view.page.evaluate("document.activeElement.id") == "main"
    table = view.page.locator("#table-releases")
    table.focus()
    view.page.keyboard.press("ArrowRight")
    for _ in range(100):  # wait_for_function evaluates text: the page's policy forbids it
        if table.evaluate("found => found.scrollLeft") > 0:
            return
        view.page.wait_for_timeout(50)
    pytest.fail("the table did not scroll")


def test_links_of_the_page_lead_somewhere(opened):
    for kind in KINDS:
        missing = opened(kind).page.evaluate(
            """() => [...document.querySelectorAll('a')].map(link => link.getAttribute('href'))
                     .filter(target => !document.querySelector(target))"""
        )
        assert missing == []


@pytest.mark.slow
def test_too_few_records_are_the_first_thing_that_is_read(opened, files):
    (files / "few.html").write_text(page(too_few()), encoding="utf-8")
    view = opened("few", "phone")
    warning = view.page.locator(".callout").first
    assert "Too few records" in warning.inner_text()
    assert warning.bounding_box()["y"] < view.page.locator("#tile-leak").bounding_box()["y"]


@pytest.mark.slow
def test_no_text_of_a_document_runs(opened, files, sample):
    evil = Results(**poisoned(sample.model_dump(mode="json")))
    (files / "evil.html").write_text(page(evil), encoding="utf-8")
    view = opened("evil", "phone")
    assert view.said == []
    assert view.asked == []
    assert view.page.locator("script, img").count() == 0
    assert view.page.evaluate("document.documentElement.scrollWidth") <= SIZES["phone"]["width"]
