"""Every way to something that is called proven, from a file to what leaves.

One entry for each recipe of the registry (a plug-in is there with its registration), and for
answers per query, which stand beside the recipes. The end-to-end audit goes through all of them.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from reticent import protect
from reticent.arrays import Floats
from reticent.audit.end_to_end import adversarial
from reticent.audit.end_to_end.replay import Covered, Published, Release
from reticent.audit.end_to_end.settings import Settings
from reticent.data import Dataset, dataset, read_by_schema, read_table
from reticent.files import partial_folder
from reticent.protect import AnswerPlan, Recipe
from reticent.training import SigmoidHead, SoftmaxHead

QUERIES: Final = 3
_BY_SCHEMA: Final = ("weights", "class-means")
"""Recipes that raw tables go through: one that clips to the schema's bound, one that scales."""
_OTHER_LABELS: Final[tuple[tuple[dataset.LabelTask, str], ...]] = (
    ("regression", "adassp-regression"),
    ("regression", "functional-regression"),
    ("multilabel", "weights"),
)
"""Recipes for raw tables whose label is a number, or that have several labels."""


@dataclass(frozen=True, kw_only=True)
class Audited:
    """One way to a release: how it is built for some settings, and what tables it takes."""

    build: Callable[[Settings], Release]
    targets: bool = False
    embedded: bool = True
    fewest: int = 0
    hostile: bool = False
    """A way around the noise: it must be refused, on every table."""
    raw: bool = False
    """Raw tables with a schema of their own."""
    labels: dataset.LabelTask = "classification"
    """What the labels of raw tables are."""
    texts: bool = False
    """Tables whose records are texts."""
    records_alone: bool = False
    """Of single records: no person is named."""
    replaced_alone: bool = False
    """Covered under replace-one and for single records alone: other questions are refused."""
    tame: bool = False
    """Ordinary numbers alone: beside the release it attacks and audits, which odd tables end."""


def table_of(path: Path, settings: Settings) -> Dataset:
    """As every command reads it, with the classes that were declared."""
    if settings.schema is not None:
        return read_by_schema(path, settings.schema)
    embedding = settings.shape.features[0] if settings.shape.embedded else None
    return read_table(
        path,
        label=adversarial.LABEL,
        person=settings.person,
        embedding=embedding,
        classes=settings.shape.classes,
    )


def published(released: protect.Release) -> Published:
    """All bytes of a released model: weights and certificate."""
    with partial_folder("reticent-") as folder:
        files = protect.save(released, Path(folder) / "released")
        content = b"".join(path.read_bytes() for path in files)
    return Published(claims=(Covered(released.guarantee),), outputs=content)


def _of_table(recipe: str) -> Callable[[Settings], Release]:
    """A classifier on a table with labels."""

    def build(settings: Settings) -> Release:
        def run(path: Path) -> Published:
            data = table_of(path, settings)
            return published(protect.release_table(data, settings.request(recipe)))

        return run

    return build


def of_numbers(
    name: str, more: Callable[[Settings], dict[str, Any]] = lambda _: {}
) -> Callable[[Settings], Release]:
    """A regression, a statistic or an encoder on a table of numbers alone.

    ``more`` gives options in place of those of the settings.
    """
    kind: type[Recipe] = protect.RECIPES[name]

    def build(settings: Settings) -> Release:
        def run(path: Path) -> Published:
            rows, targets = _numbers(path, settings)
            covered = settings.covered_by(name)
            recipe = kind.planned(
                covered.terms,
                records=settings.records,
                features=rows.shape[1],
                classes=1 if kind.task == "regression" else 0,
                mechanism=covered.mechanism,
                **settings.options(name) | more(settings),
            )
            return published(protect.release_records(recipe, covered.terms, rows, targets))

        return run

    return build


def _numbers(path: Path, settings: Settings) -> tuple[Floats, Floats]:
    """Features and targets of a table of numbers alone, each person's rows capped."""
    data = read_table(path, label=None, person=settings.person)
    kept = np.arange(len(data))
    if data.persons is not None and settings.max_records_per_person is not None:
        kept = protect.table.cap_rows_per_person(data.persons, settings.max_records_per_person)
    rows = data.features[kept].astype(np.float64)
    place = data.columns.index(adversarial.TARGET)
    return np.delete(rows, place, axis=1), rows[:, place]


def _several_labels(settings: Settings) -> Release:
    """A sigmoid head: two labels, each of which is a question about the target."""

    def release(path: Path) -> Published:
        rows, targets = _numbers(path, settings)
        labels = np.column_stack([targets > 0, targets > 1]).astype(np.int64)
        head = SigmoidHead(
            classes=("positive", "large"),
            records=settings.records,
            bound=settings.bound,
            penalty=settings.penalty,
            norms=settings.norms,
            intercept=settings.intercept,
        )
        return published(protect.release_weights(head.fit(rows, labels), **settings.budget))

    return release


def _answers(settings: Settings) -> Release:
    """Some answers of a head, centred by a noisy mean or not, and what is claimed of each."""

    def release(path: Path) -> Published:
        head, mean, plan = _answering(path, settings, centred=settings.centred)
        answers = protect.private_answers(head, plan, mean=mean)
        answered = answers.ask(questions(plan.public.features))
        ahead = (0,) if mean is not None else ()
        each = tuple(
            Covered(answered.guarantee, (*ahead, len(ahead) + place)) for place in range(QUERIES)
        )
        return Published(
            claims=(Covered(answers.guarantee), *each), outputs=answered.released.tobytes()
        )

    return release


def _served_answers(settings: Settings) -> Release:
    """The same as a service gives them: drawn in the transaction of a ledger that charges them."""
    from reticent.ledger import Ledger
    from reticent.protect.answers import set_answer_budget
    from reticent.protect.answers.served import ServedAnswers

    def release(path: Path) -> Published:
        kind = (
            ("gdp" if settings.mechanism == "gaussian" else "zcdp") if settings.delta else "basic"
        )
        head, _, plan = _answering(path, settings, centred=False, filter=kind)
        with (
            tempfile.TemporaryDirectory() as folder,
            Ledger.open(str(Path(folder) / "ledger.sqlite"), create=True) as ledger,
        ):
            set_answer_budget(ledger, "data", plan)
            served = ServedAnswers(protect.private_answers(head, plan), ledger, account="data")
            client = served.book.clients.add("client", data_set="data", limit=None)
            reply = served.ask(client.id, questions(plan.public.features)).result()
        each = tuple(Covered(served.each, (place,)) for place in range(QUERIES))
        return Published(claims=(Covered(served.guarantee), *each), outputs=b"".join(reply.bodies))

    return release


def _answering(
    path: Path, settings: Settings, *, centred: bool, filter: str | None = None
) -> tuple[SoftmaxHead, protect.Release | None, AnswerPlan]:
    """The certified head of a file, the mean that centres it, and the plan of its answers."""
    request = settings.request("weights").for_rows_of(data := table_of(path, settings))
    terms = request.terms
    rows, labels = protect.table.private_rows(data, terms.max_records_per_person)
    recipe = request.planned(rows.shape[1], len(data.classes))
    head, mean = protect.table.HeadSpec.of(recipe, terms).unfitted(data.classes), None
    if centred:
        share = recipe.to_dict()["mean_share"]
        mean = protect.release_mean(
            rows, records=request.records, bound=settings.bound, share=share, **settings.budget
        )
        head.set_params(centre=mean.tensors["mean"])
    head.fit(rows, labels)
    kept = terms.max_records_per_person
    plan = protect.calibrated_answers(
        protect.numbers_of(head, max_records_per_person=kept, mean=mean),
        epsilon=terms.epsilon,
        delta=terms.delta,
        relation=terms.relation,
        queries=QUERIES,
        mechanism=answer_mechanism(settings),
        before=None if mean is None else mean.event,
        filter=filter,
    )
    return head, mean, plan


def answer_mechanism(settings: Settings) -> str:
    """Also the two that answer with a label alone, where no δ is spent."""
    labels = {"laplace": "exponential", "l2-laplace": "permute-and-flip"}
    return labels.get(settings.mechanism, settings.mechanism)


def questions(width: int) -> Any:
    """Public rows to ask about: far beyond every bound, in one direction, and nothing."""
    first = np.zeros(width)
    first[0] = 1e6
    return np.stack([first, np.full(width, -3.0), np.zeros(width)])


def releases() -> dict[str, Audited]:
    """Every recipe that is registered now, and what stands beside them."""
    by_recipe = {
        name: Audited(build=_of_table(name))
        if kind.task == "classification"
        else Audited(build=of_numbers(name), targets=True, embedded=False)
        for name, kind in protect.RECIPES.items()
    }
    return {
        **by_recipe,
        **{
            f"schema, {name}": Audited(build=_of_table(name), raw=True, embedded=False)
            for name in _BY_SCHEMA
        },
        **{
            f"schema, {task}, {name}": Audited(
                build=_of_table(name), raw=True, embedded=False, labels=task
            )
            for task, name in _OTHER_LABELS
        },
        "several labels": Audited(build=_several_labels, targets=True, embedded=False),
        "answers": Audited(build=_answers),
        "served answers": Audited(build=_served_answers),
    }
