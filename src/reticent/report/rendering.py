"""The page: one file with its figures, tables and style inside; it loads and runs nothing.

Names and labels in the document are untrusted text: Jinja escapes all that is not marked as ours,
and the page's own policy forbids scripts and requests.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from reticent.guarantee.rounding import upper_text
from reticent.report import drawing, numbers, palette, publication, wording
from reticent.report.evidence import Evidence
from reticent.report.tables import public_tables, tables
from reticent.report.verdict import verdict
from reticent.results import VERSION, Claim, Results
from reticent.validation import printable

_MARKS: Final = re.compile(r"\*\*|`")
_SAID: Final = (
    "allowed_of", "analytic_of", "decimal_range", "decimals", "delta_of", "epsilon_alone",
    "epsilon_of", "grade_of", "meter", "meter_place", "share", "share_range", "surety",
)  # fmt: skip


def rendered(results: Results, figures: Mapping[str, drawing.Drawing]) -> str:
    """The internal page around figures that are drawn already."""
    claim = results.recommended.claim
    return page_from(
        "internal.html.j2",
        claim,
        figures,
        results=results,
        release=results.recommended,
        tables=tables(results),
        verdict=verdict(results),
    )


def rendered_public(evidence: Evidence, figures: Mapping[str, drawing.Drawing]) -> str:
    """The page that goes out with a model, of what ``publishable`` has left of the evidence.

    No part of a document is at hand here, so none can be shown.
    """
    return page_from(
        "public.html.j2",
        evidence.claim,
        figures,
        evidence=evidence,
        accuracy=evidence.covered,
        anybody=_plain(wording.ON_PUBLIC_RECORDS),
        signature=publication.signature_of(evidence),
        tables=public_tables(evidence),
        version=VERSION,
    )


def page_from(
    template: str, claim: Claim, figures: Mapping[str, drawing.Drawing], **more: Any
) -> str:
    """A template around a claim and its figures."""
    context = {
        "claim": claim,
        "figures": figures,
        "light": palette.declarations(palette.LIGHT),
        "dark": palette.declarations(palette.DARK),
        "neighbours": _plain(wording.NEIGHBOURS.get(claim.relation, "")),
        "not_covered": [_plain(line) for line in wording.NOT_COVERED],
    }
    return environment().get_template(template).render(context | more)


@cache
def environment() -> Environment:
    """Templates of the package, in which all texts are escaped."""
    templates = Environment(
        loader=PackageLoader("reticent.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {name: getattr(numbers, name) for name in _SAID}
    templates.filters["upper_text"] = upper_text
    return templates


def _shown(value: Any) -> Any:
    """Of a text that is not ours, no character that could turn a line round or hide it."""
    return printable(value) if type(value) is str else value


def _plain(line: str) -> str:
    """Without the marks of Markdown."""
    return _MARKS.sub("", line)
