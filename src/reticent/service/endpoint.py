"""A service as the target of attacks: what a client of it could find out, through its own door."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from reticent.arrays import Array, ArrayLike, Floats
from reticent.attacks.targets import Access, Target
from reticent.service.client import Service, ServiceError
from reticent.validation import InputError, float_rows

MOST_ROWS: Final = 64
_NOT_CHOSEN: Final = np.log(1e-300)


class EndpointTarget(Target):
    """A service that tells classes; each question is asked, and paid for, as a client asks it.

    Answers that were given are kept here: attacks ask for the same rows again and again.
    """

    access: ClassVar[Access] = Access.SCORES

    def __init__(self, service: Service, classes: Sequence[Any], *, labels_only: bool) -> None:
        self._service = service
        self._labels_only = labels_only
        self.classes: Array = np.asarray([str(name) for name in classes])
        self._places = {name: place for place, name in enumerate(self.classes.tolist())}
        self._kept: dict[bytes, Floats] = {}
        self.charged = 0

    def logits(self, inputs: ArrayLike) -> Floats:
        """As the service answers; of a label alone, 0 for it and a very low number elsewhere."""
        rows = float_rows("records", np.asarray(inputs, dtype=np.float64))
        keys = [row.tobytes() for row in rows]
        missing = [place for place, key in enumerate(keys) if key not in self._kept]
        for start in range(0, len(missing), MOST_ROWS):
            some = missing[start : start + MOST_ROWS]
            for place, answer in zip(some, self._asked(rows[some]), strict=True):
                self._kept[keys[place]] = answer
        return np.stack([self._kept[key] for key in keys])

    def _asked(self, rows: Floats) -> Floats:
        try:
            reply = self._service.ask(rows)
        except ServiceError as refusal:
            raise InputError(f"the service must answer, got {refusal}") from None
        except OSError as fault:
            raise InputError(f"the service must be reachable, got {type(fault).__name__}") from None
        self.charged += int(reply.get("charged", 0))
        if reply.get("logits") is not None and not self._labels_only:
            logits = np.asarray(reply["logits"], dtype=np.float64)
            if logits.shape != (len(rows), len(self.classes)):
                raise InputError("--classes must be those of the service, got another number")
            return logits
        if not self._labels_only:
            raise InputError("--labels-only must be said of a service that tells labels alone")
        try:
            places = [self._places[str(label)] for label in reply["labels"]]
        except (KeyError, TypeError):
            raise InputError("--classes must be those of the service, got others") from None
        return np.where(np.eye(len(self.classes))[places] > 0, 0.0, _NOT_CHOSEN)
