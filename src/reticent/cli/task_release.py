"""``reticent protect`` on a number to predict, or on several labels at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.cli.options import warn_of_weakness
from reticent.cli.private_table import required_option, said_records
from reticent.cli.progress import progress_line
from reticent.cli.table_form import TableForm
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect import Release, ReleaseRequest
    from reticent.protect.terms import Terms

DEFAULTS = {"regression": "adassp-regression", "multilabel": "weights"}


@dataclass(frozen=True, kw_only=True)
class TaskRequest:
    """What is said of such a release on the command line; ``options`` are numbers by their names."""

    form: TableForm
    terms: Terms
    learner: str | None
    mechanism: str | None
    options: dict[str, Any]

    def without(self, idle: dict[str, Any]) -> TaskRequest:
        """The same, where nothing was said that only classes have a use for."""
        taken = self.learner_options
        more = {
            name: value for name, value in self.options.items() if name not in (*taken, "bound")
        }
        for name, value in (idle | more).items():
            if value is not None:
                option = name.replace("_", "-")
                raise InputError(
                    f"--{option} must not be given for {self.form.task}, which has no use for it"
                )
        return self

    @property
    def learner_name(self) -> str:
        """As said, or the one for such labels."""
        return self.learner or DEFAULTS[self.form.task]

    @property
    def learner_options(self) -> tuple[str, ...]:
        """The options that its learner takes."""
        from reticent.protect.registry import learner_named

        return learner_named(self.learner_name, self.form.task).options

    def request(self, records: int | None) -> ReleaseRequest:
        """As the library takes it: every number is public."""
        from reticent.protect import ReleaseRequest
        from reticent.protect.public_facts import target_options

        required_option("--bound", self.options["bound"])
        many = said_records(self.form.said_records(records), self.terms.relation)
        target = {} if self.form.target is None else target_options(*self.form.target)
        noise = self.mechanism or ("gaussian" if self.terms.delta > 0 else "laplace")
        request = ReleaseRequest(
            terms=self.terms, records=many, mechanism=noise, options=self.options | target
        )
        return request.by(self.learner_name)


def release_task(private: Path, said: TaskRequest, records: int | None, charged: Any) -> Release:
    """Read the table, charge, release once."""
    from reticent.protect import release_table

    request = said.request(records)
    data = said.form.read_private(private)
    terms = request.terms
    warn_of_weakness(epsilon=terms.epsilon, delta=terms.delta, records=request.records)
    purpose = f"{request.recipe}, {request.noise_name} noise"
    charge = None if charged is None else partial(charged, terms, purpose)
    with progress_line("release") as progress:
        progress(0, 1)
        return release_table(data, request, charge=charge)
