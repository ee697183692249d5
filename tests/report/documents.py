"""Cards and annexes for tests, and what is found in their Markdown."""

import functools
import re

from markdown_it import MarkdownIt

from tests.report.sample import sample_results

EPSILON = re.compile(r"ε\s*[=≤≥]\s*[\d.]+(?:e-?\d+)?(?P<after>[^\n|]{0,60})")
GRADED = re.compile(r"^[^()]{0,30}\((?:proven|declared|sampled|published|measured|this pair)\b")


def ungraded(text):
    """Each ε with a number that no grade follows."""
    return [found[0] for found in EPSILON.finditer(text) if not GRADED.match(found["after"])]


def rendered(text):
    """As a careless page shows it: tags are let through, tables and struck text are known."""
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)


SAMPLE = functools.cache(sample_results)


def recommending(name, **changes):
    """The sample, with another release recommended."""
    results = SAMPLE().model_copy(update=changes)
    verdict = results.conclusion.model_copy(update={"recommended": name})
    return results.model_copy(update={"conclusion": verdict})


def with_release(results, **changes):
    """The document with a changed recommended release."""
    name = results.conclusion.recommended
    releases = tuple(
        one.model_copy(update=changes) if one.name == name else one for one in results.releases
    )
    return results.model_copy(update={"releases": releases})
