"""From a specification to a running service: what each worker process builds, and how they run.

A specification is plain values, so that worker processes, which are started afresh, build the model
by themselves: a head whose answers are *proven* is fitted in the process that answers.
"""

from __future__ import annotations

import functools
import re
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reticent.ledger.clients import Clients
from reticent.service.detector import Detector
from reticent.service.door import Door, RateLimit
from reticent.service.listening import Listen, run
from reticent.service.models import Model, ProtectedModel, ReleasedModel
from reticent.validation import InputError, positive

if TYPE_CHECKING:
    from reticent.data import Dataset, Schema
    from reticent.protect.answers import PrivateAnswers
    from reticent.protect.answers.files import PlanFile
    from reticent.service.asgi import ASGI
    from reticent.service.raw import RawInputs
    from reticent.training.encoders.base import Encoder

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, kw_only=True)
class PrivateTable:
    """Where the private records are, for a head that is fitted when the service starts.

    Of a plan with a schema they are a raw table, and nothing else is said of them.
    """

    path: Path
    label: str | None = None
    person: str | None = None
    embedding: str | None = None
    encoder: str | None = None

    def read(self, classes: tuple[str, ...], schema: Schema | None = None) -> Dataset:
        """The records with their features, prepared by the plan's schema where it has one."""
        if schema is not None:
            return self._read_raw(schema)
        from reticent.data import read_table

        if self.label is None:
            raise InputError("--label must be said with --private, unless the plan has a schema")
        data = read_table(
            self.path,
            label=self.label,
            person=self.person,
            embedding=self.embedding,
            classes=list(classes),
        )
        if self.encoder is None:
            return data
        from reticent.training.encoders.cache import cached_features
        from reticent.training.encoders.named import encoder_of

        return cached_features(data, encoder_of(self.encoder), record_by_record=True)

    def _read_raw(self, schema: Schema) -> Dataset:
        from reticent.training.encoders.schema_texts import read_with_schema

        for name in ("label", "person", "embedding", "encoder"):
            if getattr(self, name) is not None:
                raise InputError(f"--{name} must not be given: the plan's schema says it all")
        return read_with_schema(self.path, schema)


@dataclass(frozen=True, kw_only=True)
class ServeSpec:
    """What to serve, to whom and where.

    Either ``released``, the OUT of protect, with the database of ``keys`` or None for anybody; or
    ``plan`` with the head's ``fit``, a ``ledger`` with the account ``data_set``, and ``private``
    where the head is to be fitted here.
    """

    name: str
    released: Path | None = None
    keys: str | None = None
    plan: Path | None = None
    fit: Path | None = None
    private: PrivateTable | None = None
    ledger: str | None = None
    data_set: str | None = None
    rate: float = 100.0
    public: Path | None = None
    """Public rows, from which the detector learns what benign queries look like."""
    augmenting: tuple[str, ...] = ()
    """Clients that send several versions of a row."""
    raw: str | None = None
    """Raw inputs that are taken: "texts", or the shape of images; with ``encoder``."""
    encoder: str | None = None

    def __post_init__(self) -> None:
        """Names that fit into a path, a rate above zero."""
        positive("rate", self.rate)
        if not _NAME.fullmatch(self.name) or set(self.name) <= {"."}:
            raise InputError("name must be 1 to 64 letters, digits, '.', '_' and '-', got other")

    def model(self) -> tuple[Model, Door]:
        """The model and who may ask it, built in this process."""
        model, door = self._model()
        if self.raw is not None:
            model.raw = self._raw_inputs(model)
        return model, door

    def _raw_inputs(self, model: Model) -> RawInputs:
        from reticent.service.raw import RawInputs, RawKind

        if self.encoder is None:
            raise InputError("--raw must be said with the --encoder of the features, got it alone")
        assert self.raw is not None
        kind = RawKind.named(self.raw)
        encoder = packaged_encoder(self.encoder, self.released)
        return RawInputs(kind, encoder, features=model.features)

    def _model(self) -> tuple[Model, Door]:
        rate = RateLimit(self.rate)
        if self.released is not None:
            model = released_model(self.released, self.name)
            _load_encoders(model.schema)
            if self.keys is None:
                return model, Door(None, rate=rate)
            return model, Door(_key_database(self.keys), rate=rate)
        return self._protected(rate)

    def detector(self) -> Detector:
        """What watches the queries of this process."""
        rows = None
        if self.public is not None:
            from reticent.data import read_table

            rows = read_table(self.public, label=None).features.astype(np.float64)
        return Detector(rows, augmenting=frozenset(self.augmenting))

    def _protected(self, rate: RateLimit) -> tuple[Model, Door]:
        from reticent.ledger import Ledger
        from reticent.protect.answers.files import load_plan
        from reticent.protect.answers.served import ServedAnswers

        if self.plan is None or self.fit is None or self.ledger is None or self.data_set is None:
            raise InputError("answers must have a plan, a fit, a ledger and a data set, got fewer")
        file = load_plan(self.plan)
        plan = file.plan
        answers = private_head(file, self.fit, self.private)
        ledger = Ledger.open(self.ledger)
        try:
            served = ServedAnswers(answers, ledger, account=self.data_set)
        except BaseException:
            ledger.close()
            raise
        plan.noise.release(np.zeros((1, plan.public.classes)))  # compiled now, on no one's values
        _load_encoders(file.schema)
        model = ProtectedModel(served, self.name, ledger=ledger, schema=file.schema)
        clients = model.book.clients
        return model, Door(clients, rate=rate, data_set=self.data_set, also=model.refresh)


def released_model(path: Path, name: str) -> ReleasedModel:
    """A released model whose certificate holds."""
    from reticent.protect.certificate import load_verified

    release, verification = load_verified(path)
    if not verification.holds:
        raise InputError(
            f"{path} must have a certificate that holds, got: {verification.problems[0]}"
        )
    if release.recipe.task not in ("classification", "regression"):
        raise InputError(
            f"{path} must be a model that predicts, got one of {release.recipe.name}; an encoder is"
            " served with a head on it: --raw and --encoder"
        )
    return ReleasedModel(release, name)


def _key_database(where: str) -> Clients:
    from reticent.ledger.errors import LedgerError
    from reticent.ledger.storage import Storage

    try:
        return Clients(Storage.open(where, create=False))
    except LedgerError as error:
        reason = str(error).partition(";")[0].replace("ledger must", "it must")
        raise InputError(
            f"--keys must be a database of `reticent client add --create`: {reason}"
        ) from None


def packaged_encoder(name: str, released: Path | None) -> Encoder:
    """The encoder that a model's features came from.

    A released one must be the one that the head's certificate holds, because both claims add up;
    under protected answers the encoder must be public.
    """
    from reticent.protect import load
    from reticent.protect.released_encoder import encoder_from, fingerprint_of, release_of
    from reticent.training.encoders.named import encoder_of

    if released is None:
        return encoder_of(name)
    encoder, used = encoder_from(name), load(released).terms.encoder
    held = release_of(encoder)
    own = None if held is None else fingerprint_of(held)
    if own != (None if used is None else used.fingerprint):
        raise InputError("--encoder must be the one that the model's features came from, got other")
    return encoder


def _load_encoders(schema: Schema | None) -> None:
    """Before anybody asks: the first text would wait for its encoder's weights."""
    from reticent.data.schema import Text
    from reticent.training.encoders.schema_texts import vectors_not_kept

    for column in () if schema is None else schema.features:
        if isinstance(column.kind, Text):
            vectors_not_kept(column.kind, ["text"])


def private_head(file: PlanFile, fit: Path, private: PrivateTable | None) -> PrivateAnswers:
    """A head that answers by a plan: fitted here and proven, or taken from a file and declared."""
    from reticent.protect.answers import private_answers
    from reticent.protect.answers.files import answers_from_file, refuse_readable_by_others
    from reticent.protect.table import HeadSpec, fit_head, kept_each
    from reticent.training.fit_file import fit_path, load_fit

    plan, classes, schema = file
    refuse_readable_by_others(fit_path(fit))
    if private is None:
        return answers_from_file(fit, plan, schema=schema)
    data = private.read(classes, schema)
    numbers = plan.public
    each = kept_each(data, numbers.max_records_per_person)
    if each != numbers.max_records_per_person:
        raise InputError(
            "plan must be made for the persons of the records: --max-records-per-person of "
            "plan-answers where --person names a column, and only there"
        )
    spec = HeadSpec(
        records=numbers.records,
        bound=numbers.bound,
        penalty=numbers.penalty,
        intercept=numbers.intercept,
        norms=numbers.norms,
        max_records_per_person=each,
    )
    _, start = load_fit(fit)
    width = data.features.shape[1] + (1 if numbers.intercept else 0)
    if start.shape != numbers.shape or width != numbers.shape[1]:
        raise InputError("plan, fit and records must have the same features and classes, got other")
    return private_answers(fit_head(data, spec, start=start), plan, schema=schema)


def built(spec: ServeSpec) -> ASGI:
    """The application of this process."""
    from reticent.service.asgi import application

    model, door = spec.model()
    return application(model, door, spec.detector())


def refuse_early(spec: ServeSpec) -> None:
    """What workers would refuse at their start and can be seen without fitting a head."""
    from reticent.ledger import Ledger
    from reticent.ledger.answer_book import AnswerBook
    from reticent.protect.answers.files import load_plan, refuse_readable_by_others
    from reticent.protect.answers.served import terms_of
    from reticent.training.fit_file import fit_path

    spec.detector()
    if spec.released is not None:
        spec.model()
        return
    assert spec.plan is not None
    assert spec.fit is not None
    assert spec.ledger is not None
    assert spec.data_set is not None
    plan = load_plan(spec.plan).plan
    refuse_readable_by_others(fit_path(spec.fit))
    with Ledger.open(spec.ledger) as ledger:
        AnswerBook(ledger, terms_of(plan, spec.data_set))


def _built_in_worker(spec: ServeSpec) -> ASGI:
    """The application of one worker of several; a fault of its start is one line."""
    try:
        return built(spec)
    except InputError as error:
        sys.stderr.write(f"reticent: {error}\n")
        sys.stderr.flush()
        raise SystemExit(3) from None


def prepared(spec: ServeSpec, listen: Listen) -> Callable[[], ASGI]:
    """What makes the application in a process; what it would refuse is refused here, before.

    One process builds it now. Several are started afresh and build it by themselves.
    """
    if listen.workers == 1:
        app = built(spec)
        return lambda: app
    refuse_early(spec)
    return functools.partial(_built_in_worker, spec)


def serve(spec: ServeSpec, listen: Listen, listening: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM; then finish what was begun."""
    run(prepared(spec, listen), listen, listening)
