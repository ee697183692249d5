"""Mechanisms that a release can name: ``--mechanism``, certificates, calibration.

One of the package takes one line here, a plug-in ``MECHANISMS.register`` or an entry point in the
group ``reticent.mechanisms``: a subclass of ``AdditiveMechanism`` whose ``event`` an accountant
covers (``accounting``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reticent.registry import Lazy, Registry
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.mechanisms.additive import AdditiveMechanism

MECHANISMS: Final[Registry[type[AdditiveMechanism]]] = Registry(
    "mechanism",
    {
        "gaussian": Lazy("reticent.mechanisms.gaussian:Gaussian"),
        "logistic": Lazy("reticent.mechanisms.pure:Logistic"),
        "laplace": Lazy("reticent.mechanisms.pure:Laplace"),
        "l2-laplace": Lazy("reticent.mechanisms.pure:L2Laplace"),
    },
)

STRUCTURED: Final[Registry[type[AdditiveMechanism]]] = Registry(
    "mechanism",
    {
        "matrix-laplace": Lazy("reticent.mechanisms.structured:MatrixLaplace"),
        "block-l2-laplace": Lazy("reticent.mechanisms.structured:BlockL2Laplace"),
    },
    entry_group="reticent.structured_mechanisms",
)
"""Noise for values of a structure that only some recipes have: a matrix, or blocks of a vector."""


def mechanism_named(name: object) -> type[AdditiveMechanism]:
    """The mechanism of this name, of either kind; another is refused with the list of all."""
    for registry in (MECHANISMS, STRUCTURED):
        if isinstance(name, str) and name in registry:
            return registry[name]
    known = ", ".join((*MECHANISMS, *STRUCTURED))
    raise InputError(f"mechanism must be one of {known}, got {name!r}")


def is_own_mechanism(name: str) -> bool:
    """Whether the package itself brings it."""
    return MECHANISMS.is_own(name) or STRUCTURED.is_own(name)
