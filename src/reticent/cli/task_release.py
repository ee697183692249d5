"""``reticent protect`` on a number to predict, or on several labels at once."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reticent.cli import private_table, table_form
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect import ReleaseRequest, Terms

DEFAULTS = {"regression": "adassp-regression", "multilabel": "weights"}


@dataclass(frozen=True, kw_only=True)
class TaskRequest:
    """What is said of such a release on the command line; ``options`` by their names."""

    form: table_form.TableForm
    terms: "Terms"
    learner: str | None
    mechanism: str | None
    options: dict[str, Any]

    def of(self, records: int | None, other_options: dict[str, Any]) -> "ReleaseRequest":
        """As the library takes it; what was said and only classes have a use for is refused."""
        from reticent.protect import ReleaseRequest, public_facts, registry

        name = self.learner or DEFAULTS[self.form.task]
        taken = (*registry.learner_named(name, self.form.task).options, "bound")
        for option, value in other_options.items():
            if value is not None and option not in taken:
                raise InputError(
                    f"--{option.replace('_', '-')} must not be given for {self.form.task}, which"
                    " has no use for it"
                )
        private_table.required_option("--bound", self.options["bound"])
        many = private_table.required_records(self.form.records_or(records), self.terms.relation)
        target = {} if self.form.target is None else public_facts.target_options(*self.form.target)
        noise = self.mechanism or ("gaussian" if self.terms.delta > 0 else "laplace")
        request = ReleaseRequest(
            terms=self.terms, records=many, mechanism=noise, options=self.options | target
        )
        return request.by(name)
