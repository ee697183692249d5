"""What learners share whose noise is their own, made for pure ε."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from reticent.protect.recipes.linear import LinearRecipe
from reticent.protect.terms import Terms
from reticent.validation import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class PureRecipe(LinearRecipe):
    """Spends no δ, whatever the terms allow: what is (ε, 0) is (ε, δ)."""

    own_mechanism: ClassVar[str]

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """With its own noise; gaussian, the default of all releases, stands for nothing said."""
        if numbers["mechanism"] not in ("gaussian", cls.own_mechanism):
            raise InputError(
                f"mechanism must be {cls.own_mechanism} for {cls.name}, which has noise of its own,"
                f" got {numbers['mechanism']!r}: leave it out"
            )
        own = numbers | {"mechanism": cls.own_mechanism}
        return super(PureRecipe, cls)._planned(terms, own, options)

    def public(self, terms: Terms) -> dict[str, Any]:
        """What every theorem asks for."""
        return {
            "records": self.records,
            "relation": terms.relation,
            "max_records_per_person": terms.records_touched,
        }
