"""Public facts about the labels of a table: how rare the rarest class is, how labels were made.

No feature follows from them. ``plan`` says with them what a release will cost.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reticent.validation import InputError, describe, line, open_probability


@dataclass(frozen=True, kw_only=True)
class LabelFacts:
    """``[labels]`` of a schema file.

    ``rarest_share`` is about the share of the rarest class among all records. ``clusters`` says
    that the labels were made by the nearest of some prototypes: clusters of the features.
    """

    rarest_share: float | None = None
    clusters: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        """A share in (0, 1/2], and a source where anything is said."""
        if (
            self.rarest_share is not None
            and open_probability("rarest_share", self.rarest_share) > 0.5
        ):
            raise InputError(f"rarest_share must be <= 0.5, got {self.rarest_share}")
        if not isinstance(self.clusters, bool):
            raise InputError(f"clusters must be true or false, got {describe(self.clusters)}")
        if self.is_stated and not self.source.strip():
            raise InputError("labels must say where it comes from, got no source: [labels] source")
        if self.source:
            line("source of labels", self.source)

    @property
    def is_stated(self) -> bool:
        """Whether there is any fact."""
        return self.rarest_share is not None or self.clusters

    @property
    def facts(self) -> tuple[str, ...]:
        """In words, for the list of what is stated."""
        share = self.rarest_share
        rarest = () if share is None else (f"the rarest class has a share of about {share:g}",)
        return (*rarest, *(("the labels are clusters of the features",) if self.clusters else ()))

    def to_dict(self) -> dict[str, Any]:
        """Plain values: empty where nothing is said, as in schemas before there were such facts."""
        if not self.is_stated:
            return {}
        facts = {
            "rarest_share": self.rarest_share,
            "clusters": self.clusters,
            "source": self.source,
        }
        return {"labels": {name: one for name, one in facts.items() if one is not None}}


def label_facts_of(values: Mapping[str, Any], usual: str) -> LabelFacts:
    """From the table of a schema; ``usual`` is the source where it names none."""
    known = ("rarest_share", "clusters", "source")
    if unknown := [name for name in values if name not in known]:
        raise InputError(
            f"labels must have known fields only, got {unknown[0]!r}: {', '.join(known)}"
        )
    return LabelFacts(**({"source": usual} if values else {}) | dict(values))
