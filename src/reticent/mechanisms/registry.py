"""Mechanisms that a release can name: ``--mechanism``, certificates, calibration.

One of the package takes one line here, a plug-in ``MECHANISMS.register`` or an entry point in the
group ``reticent.mechanisms``: a subclass of ``AdditiveMechanism`` whose ``event`` an accountant
covers (``accounting``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reticent.registry import Lazy, Registry

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
