"""A service as what a command asks: its address, its classes, the key of one of its clients."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from reticent.cli import private_table, table_form
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.attacks import Records
    from reticent.audit.one_training import TrainingAudit
    from reticent.guarantee import Guarantee
    from reticent.service.client import Service
    from reticent.service.endpoint import EndpointTarget

KEY_VARIABLE: Final = "RETICENT_API_KEY"
Top = Annotated[int | None, typer.Option(help="Show the adversary the K largest probabilities.")]
Decimals = Annotated[int | None, typer.Option(help="Show it probabilities of so many decimals.")]
LabelsOnly = Annotated[bool, typer.Option("--labels-only", help="Show it labels alone.")]


def service_at(url: str) -> Service:
    """The service, asked with the key of the environment."""
    from reticent.service.client import Service

    return Service(url, os.environ.get(KEY_VARIABLE))


def open_endpoint(url: str, classes: str | None, *, labels_only: bool) -> EndpointTarget:
    """A service as the target of attacks; its classes in the order of its logits."""
    from reticent.service.endpoint import EndpointTarget

    return EndpointTarget(service_at(url), private_table.listed(classes), labels_only=labels_only)


class CoinFiles(NamedTuple):
    """Records that a fair coin put into the training, those that it left out, how both are read."""

    members: Path
    others: Path
    form: table_form.TableForm

    def read(self, classes: list[str]) -> tuple[Records, Any]:
        """All records in one order, and the coin of each."""
        import numpy as np

        from reticent.attacks import Records

        parts = [
            Records.of(self.form.read(path, classes=classes))
            for path in (self.members, self.others)
        ]
        if parts[0].inputs.shape[1:] != parts[1].inputs.shape[1:]:
            raise InputError("--members and --nonmembers must have the same features, got others")
        both = Records(
            np.concatenate([part.inputs for part in parts]),
            np.concatenate([part.labels for part in parts]),
        )
        return both, np.arange(len(both)) < len(parts[0])


def audit_endpoint(
    url: str, files: CoinFiles, *, classes: str | None, view: Any, delta: float | None, beta: float
) -> tuple[TrainingAudit, int]:
    """The audit of what a service promises, through its own door; how many answers it charged."""
    from reticent.audit.one_training import audit_answers

    target = open_endpoint(url, classes, labels_only=view.labels_only)
    claim = promised_at(url)
    records, inside = files.read([str(name) for name in target.classes])
    audit = audit_answers(view(target), records, inside, claim=claim, delta=delta, beta=beta)
    return audit, target.charged


def promised_at(url: str) -> Guarantee:
    """What a service says that it promises: a claim to be tried, at most declared here."""
    from reticent.guarantee import Guarantee
    from reticent.service.client import ServiceError

    try:
        return Guarantee.from_dict(service_at(url).guarantee()["guarantee"])
    except ServiceError as refusal:
        raise InputError(f"the service must tell its guarantee, got {refusal}") from None
    except OSError as fault:
        raise InputError(f"the service must be reachable, got {type(fault).__name__}") from None
    except KeyError:
        raise InputError("the service must tell its guarantee, got another document") from None
