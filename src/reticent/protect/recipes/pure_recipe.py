"""What learners share whose noise is their own, made for pure ε."""

from dataclasses import dataclass
from typing import Any

from reticent.protect.recipes.linear import LinearRecipe
from reticent.protect.terms import Terms


@dataclass(frozen=True, kw_only=True, slots=True)
class PureRecipe(LinearRecipe):
    """Spends no δ, whatever the terms allow: what is (ε, 0) is (ε, δ)."""

    def public(self, terms: Terms) -> dict[str, Any]:
        """What every theorem asks for."""
        return {
            "records": self.records,
            "relation": terms.relation,
            "max_records_per_person": terms.records_touched,
        }
