"""Somebody else's words stay words."""

import html
import re

import pytest

from reticent.report.markdown import bullets, code, escaped, plain, table
from tests.report.documents import rendered

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "![x](http://evil.example/pixel.png)",
    "<http://evil.example>",
    "see http://evil.example or www.evil.example or a@evil.example",
    "# heading",
    "- item",
    "+ item",
    "1. item",
    "2) item",
    "=====",
    "-----",
    "> quote",
    "``` fence",
    "~~~ fence",
    "`code` *emphasis* **strong** _emphasis_ ~~struck~~",
    "a | b | c",
    "a\n\n# heading\n\n<b>bold</b>",
    "\\[a](b)",
    "&lt;b&gt; &amp; &#60;",
    "[a]: http://evil.example",
    "$$x$$",
    "    indented",
]


def text_of(page):
    return html.unescape(re.sub(r"<[^>]*>", "", page)).strip()


@pytest.mark.parametrize("words", HOSTILE)
def test_a_list_shows_the_words_and_nothing_else(words):
    page = rendered(bullets([escaped(words)]))
    assert set(re.findall(r"<(\w+)", page)) == {"ul", "li"}
    assert text_of(page) == plain(words)


@pytest.mark.parametrize("words", HOSTILE)
def test_a_cell_stays_one_cell(words):
    page = rendered(table(("a", "b"), [(escaped(words), "end")]))
    assert set(re.findall(r"<(\w+)", page)) == {"table", "thead", "tbody", "tr", "th", "td"}
    assert [text_of(cell) for cell in re.findall(r"<td>.*?</td>", page)] == [plain(words), "end"]


@pytest.mark.parametrize("words", ["http://evil.example", "www.evil.example", "a@evil.example"])
def test_an_address_has_no_form_that_links_by_itself(words):
    assert not re.search(r"://|www\.|@", escaped(words))


def test_a_text_becomes_one_line_without_hidden_signs():
    assert plain("a\r\n\u202eb\u2028c\x00d\ud800") == "a �b c�d�"


@pytest.mark.parametrize("words", ["x\n```\n# heading", "x `````y", "$ `a`"])
def test_a_code_block_is_closed_by_nothing_in_it(words):
    page = rendered(code(words))
    assert set(re.findall(r"<(\w+)", page)) == {"pre", "code"}


def test_numbers_and_dates_stay_readable():
    for words in ("2.4.6", "2026-01-02", "0.5", "a - b", "(x)", "ε ≤ 1, δ ≤ 1e-5"):
        assert escaped(words) == words
