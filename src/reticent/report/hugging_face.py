"""A README.md for a model repository: the YAML header that Hugging Face reads, and the card."""

from __future__ import annotations

from typing import Final

from reticent.report.card import card
from reticent.report.evidence import Evidence
from reticent.report.markdown import escaped
from reticent.report.publication import publishable

_PIPELINES: Final = {"regression": "tabular-regression"}
_TAGS: Final = ("differential-privacy", "privacy", "tabular", "safetensors")


def model_card(evidence: Evidence, *, utility: str | None = None) -> str:
    """The public card under a header; licence and data sets are for its publisher to add.

    Every word of the header is fixed: nothing of a document could become YAML. ``utility`` as in
    ``card``.
    """
    header, title = _header(evidence), escaped(publishable(evidence).title)
    section = card(evidence, public=True, utility=utility)
    return f"---\n{header}---\n\n# {title}\n\n{section}"


def _header(evidence: Evidence) -> str:
    pipeline = next(
        (name for kind, name in _PIPELINES.items() if kind in evidence.learner),
        "tabular-classification",
    )
    tags = "".join(f"- {tag}\n" for tag in _TAGS)
    return f"library_name: reticent\npipeline_tag: {pipeline}\ntags:\n{tags}"
