"""Every attack by name, cheap ones first; those on shadow models next, then those on weights.

An attack of the package takes one line here (its builder stands at the end of its file), a plug-in
``ATTACKS.register`` or an entry point in the group ``reticent.attacks``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reticent.registry import Lazy, Registry
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.attacks import attack, context


def _in(module: str, builder: str) -> Lazy:
    return Lazy(f"reticent.attacks.{module}:{builder}")


ATTACKS: Final[Registry[attack.AttackBuilder]] = Registry(
    "attack",
    {
        "gap": _in("label_only", "GAP"),
        "loss": _in("metric", "LOSS"),
        "confidence": _in("metric", "CONFIDENCE"),
        "entropy": _in("metric", "ENTROPY"),
        "modified-entropy": _in("metric", "MODIFIED_ENTROPY"),
        "modified-entropy-per-class": _in("metric", "MODIFIED_ENTROPY_PER_CLASS"),
        "label-noise": _in("label_only", "LABEL_NOISE"),
        "label-boundary": _in("label_only", "LABEL_BOUNDARY"),
        "shokri": _in("shadow_network", "SHOKRI_ATTACK"),
        "alm": _in("shadow_network", "ALM_ATTACK"),
        "salem": _in("salem", "SALEM_ATTACK"),
        "reference": _in("reference", "REFERENCE"),
        "lira-offline": _in("lira", "LIRA_OFFLINE"),
        "lira-online": _in("lira", "LIRA_ONLINE"),
        "rmia-offline": _in("rmia", "RMIA_OFFLINE"),
        "rmia-online": _in("rmia", "RMIA_ONLINE"),
        "gradient-norm": _in("gradients", "GRADIENT_NORM"),
        "gradient-network": _in("gradients", "GRADIENT_NETWORK"),
        "displacement": _in("displacement", "DISPLACEMENT"),
        "released-means": _in("released_means", "RELEASED_MEANS"),
        "released-weights": _in("released_weights", "RELEASED_WEIGHTS"),
    },
)


def build_attack(name: str, known: context.AttackContext) -> attack.Attack[Any]:
    """The attack of this name; one that trains on offline shadows is built once for all targets."""
    builder = ATTACKS.named(name)
    if lacking := builder.lacks(known):
        raise InputError(f"it needs {lacking}")
    if builder.online:
        return builder.build(known)
    if name not in known.offline_attacks:
        known.offline_attacks[name] = builder.build(known)
    return known.offline_attacks[name]
