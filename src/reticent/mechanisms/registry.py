"""Mechanisms that a release can name: ``--mechanism``, certificates, calibration.

One of the package takes one line here, a plug-in ``MECHANISMS.register`` or an entry point in the
group ``reticent.mechanisms``: a subclass of ``AdditiveMechanism`` whose ``event`` an accountant
covers (``accounting``). Noise for values of one structure, which only some recipes release, says
that structure: a user is offered the others (``for_any_vector``).
"""

from typing import TYPE_CHECKING, Final

from reticent.registry import Lazy, Registry

if TYPE_CHECKING:
    from reticent.mechanisms.additive import AdditiveMechanism

DEFAULT_NOISE: Final = "gaussian"
"""Of releases where a user names none."""

MECHANISMS: "Final[Registry[type[AdditiveMechanism]]]" = Registry(
    "mechanism",
    {
        "gaussian": Lazy("reticent.mechanisms.gaussian:Gaussian"),
        "logistic": Lazy("reticent.mechanisms.pure:Logistic"),
        "laplace": Lazy("reticent.mechanisms.pure:Laplace"),
        "l2-laplace": Lazy("reticent.mechanisms.pure:L2Laplace"),
        "matrix-laplace": Lazy("reticent.mechanisms.structured:MatrixLaplace", group="matrix"),
        "block-l2-laplace": Lazy("reticent.mechanisms.structured:BlockL2Laplace", group="blocks"),
        "randomised-response": Lazy(
            "reticent.mechanisms.response:RandomisedResponse", group="labels"
        ),
    },
)


def for_any_vector() -> tuple[str, ...]:
    """The names of mechanisms that noise a vector of any structure, plug-ins last."""
    return tuple(name for name in MECHANISMS if not MECHANISMS.group(name, "structure"))
