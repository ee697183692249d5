"""The page: one file with its figures, tables and style inside; it loads and runs nothing.

Names and labels in the document are untrusted text: Jinja escapes all that is not marked as ours,
and the page's own policy forbids scripts and requests.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from reticent.report import numbers
from reticent.report.drawing import Drawing
from reticent.report.palette import DARK, LIGHT, declarations
from reticent.report.tables import tables
from reticent.report.verdict import verdict
from reticent.report.wording import NEIGHBOURS, NOT_COVERED
from reticent.results import Results

_MARKS: Final = re.compile(r"\*\*|`")
_SAID: Final = (
    "allowed_of", "analytic_of", "decimal_range", "decimals", "delta_of", "epsilon_alone",
    "epsilon_of", "grade_of", "meter", "meter_place", "share", "share_range", "surety",
)  # fmt: skip


def rendered(results: Results, figures: Mapping[str, Drawing], *, public: bool) -> str:
    """The page around figures that are drawn already."""
    context: dict[str, Any] = {
        "results": results,
        "release": results.recommended,
        "claim": results.recommended.claim,
        "tables": tables(results, public=public),
        "figures": figures,
        "light": declarations(LIGHT),
        "dark": declarations(DARK),
        "neighbours": _plain(NEIGHBOURS.get(results.recommended.claim.relation, "")),
        "not_covered": [_plain(line) for line in NOT_COVERED],
    }
    if public:
        context["accuracy"] = results.covered_accuracy
    else:
        context["verdict"] = verdict(results)
    name = "public.html.j2" if public else "internal.html.j2"
    return _environment().get_template(name).render(context)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("reticent.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {name: getattr(numbers, name) for name in _SAID}
    return environment


def _plain(line: str) -> str:
    """Without the marks of Markdown."""
    return _MARKS.sub("", line)
