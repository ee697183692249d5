"""``reticent serve`` and ``plan-answers``: predictions over HTTP, free or under a budget."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reticent.cli.options import Delta, Epsilon, Json, Pure, RelationName, delta_of, relation_of
from reticent.cli.output import print_json, print_line
from reticent.cli.private_table import Embedding, EncoderName, Person, required_option
from reticent.guarantee.rounding import upper_text
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect.answers import AnswerPlan
    from reticent.service.listening import Listen
    from reticent.service.serving import ServeSpec

ReleasedModel = Annotated[
    Path | None, typer.Argument(help="A released model: OUT of protect or train.")
]
Answers = Annotated[
    Path | None,
    typer.Option(
        "--answers",
        metavar="PLAN",
        help="Serve protected answers of a head that stays private, by this plan: OUT of"
        " plan-answers.",
    ),
]
FitFile = Annotated[
    Path | None,
    typer.Option(help="OUT of fit: the private head, which only its owner may be able to read."),
]
PrivateRecords = Annotated[
    Path | None,
    typer.Option(
        "--private",
        help="The private records: the head is certified anew in this process, and its answers are"
        " proven. Without, they are declared.",
    ),
]
LabelColumn = Annotated[str | None, typer.Option(help="The column of labels.")]
AnswerLedger = Annotated[
    str | None, typer.Option("--ledger", help="The ledger that is charged, with clients and keys.")
]
AnswerDataSet = Annotated[
    str | None, typer.Option("--data-set", help="The name of the data set in the ledger.")
]
Keys = Annotated[
    str | None, typer.Option(help="For a released model: the database of clients and keys.")
]
NoKeys = Annotated[
    bool, typer.Option("--no-keys", help="For a released model: let anybody ask, without a key.")
]
ModelName = Annotated[
    str, typer.Option("--name", help="The model's name in paths: letters, digits, . _ and -.")
]
Host = Annotated[str, typer.Option(help="Where to listen.")]
Port = Annotated[int, typer.Option(help="0 takes a free one.")]
Workers = Annotated[int, typer.Option(help="Processes that answer.")]
Rate = Annotated[
    float,
    typer.Option(help="Requests a second of one client, in each process; twice as many at once."),
]
PublicRows = Annotated[
    Path | None,
    typer.Option(
        "--public",
        help="Public rows: .npz, .csv or .parquet. The detector learns from them which queries are"
        " near repeats or far from what is usual.",
    ),
]
Augments = Annotated[
    list[str] | None,
    typer.Option(
        "--augments",
        metavar="CLIENT",
        help="A client that sends several versions of a row, as it may. May be repeated.",
    ),
]
Raw = Annotated[
    str | None,
    typer.Option(
        help="Take raw inputs, too, which the --encoder makes features of: texts, or images of one"
        " shape, such as 28x28x1."
    ),
]
TlsCert = Annotated[Path | None, typer.Option(help="The certificate, for HTTPS.")]
TlsKey = Annotated[Path | None, typer.Option(help="Its key.")]
BehindProxy = Annotated[
    bool, typer.Option("--behind-proxy", help="A proxy in front of this has the certificate.")
]


def serve(
    released: ReleasedModel = None,
    answers: Answers = None,
    fit: FitFile = None,
    private: PrivateRecords = None,
    label: LabelColumn = None,
    person: Person = None,
    embedding: Embedding = None,
    encoder: EncoderName = None,
    raw: Raw = None,
    ledger: AnswerLedger = None,
    data_set: AnswerDataSet = None,
    keys: Keys = None,
    no_keys: NoKeys = False,
    name: ModelName = "model",
    host: Host = "127.0.0.1",
    port: Port = 8600,
    workers: Workers = 1,
    rate: Rate = 100.0,
    public: PublicRows = None,
    augments: Augments = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    behind_proxy: BehindProxy = False,
) -> None:
    """Serve a released model freely, or protected answers under a budget, over HTTP.

    Native routes under /v1 and the Open Inference Protocol under /v2. API keys are demanded; they
    are made by ``reticent client``.
    """
    _need_service()
    from reticent.service import listening, serving

    if (released is None) == (answers is None):
        raise InputError("serve must be given a released model or --answers PLAN, got both or none")
    listen = listening.Listen(
        host=host, port=port, workers=workers, tls_cert=tls_cert, tls_key=tls_key,
        behind_proxy=behind_proxy,
    )  # fmt: skip
    table = None
    if private is not None:
        table = serving.PrivateTable(
            path=private, label=label, person=person, embedding=embedding, encoder=encoder
        )
    spec = serving.ServeSpec(
        name=name, released=released, keys=keys, plan=answers, fit=fit, private=table,
        ledger=ledger, data_set=data_set, rate=rate, public=public,
        augmenting=tuple(augments or ()), raw=raw, encoder=encoder,
    )  # fmt: skip
    if released is not None:
        _refuse_beside_released(spec, no_keys, label)
    else:
        _refuse_beside_answers(spec, no_keys)
    _start(spec, listen)


def _refuse_beside_released(spec: ServeSpec, no_keys: bool, label: str | None) -> None:
    given = {
        "--fit": spec.fit, "--private": spec.private, "--ledger": spec.ledger,
        "--data-set": spec.data_set, "--label": label,
    }  # fmt: skip
    if spec.encoder is not None and spec.raw is None:
        raise InputError("--encoder must be said with --raw for a released model, got it alone")
    for option, value in given.items():
        if value is not None:
            raise InputError(f"{option} must be said with --answers, got it for a released model")
    if (spec.keys is None) == (not no_keys):
        raise InputError(
            "--keys must name a database of `reticent client`, or --no-keys let anybody ask; got "
            "both or neither"
        )


def _refuse_beside_answers(spec: ServeSpec, no_keys: bool) -> None:
    for option, value in (("--fit", spec.fit), ("--ledger", spec.ledger)):
        required_option(option, value)
    required_option("--data-set", spec.data_set)
    if no_keys or spec.keys is not None:
        raise InputError("--keys and --no-keys must be said for a released model, got --answers")


def _start(spec: ServeSpec, listen: Listen) -> None:
    from reticent.service import listening, serving

    if spec.released is not None:
        print_line(f"{spec.released}: {serving.released_model(spec.released, spec.name).guarantee}")
        print_line("the model is public: asking costs nothing and is not charged")
    else:
        _say_plan(spec)
    print_line(f"detector: {spec.detector().says}")
    scheme = "http" if listen.tls_cert is None else "https"
    with listen.bound() as socket:
        made = serving.prepared(spec, listen)
        at = socket.getsockname()
        print_line(f"listening on {scheme}://{at[0]}:{at[1]}, processes: {listen.workers}")
        sys.stdout.flush()  # whoever started it may wait for the address
        listening.run(made, listen, socket)


def _say_plan(spec: ServeSpec) -> None:
    """What will be promised, and whether a released head would serve better."""
    from reticent.protect.answers.files import FROM_FILE, load_plan
    from reticent.protect.plan import Situation
    from reticent.protect.plan_queries import EACH, ONCE, plan_queries

    assert spec.plan is not None
    plan, _, schema = load_plan(spec.plan)
    print_line(_plan_line(plan))
    if schema is not None:
        print_line(f"raw records are prepared by the plan's schema: {len(schema.features)} columns")
    numbers = plan.public
    advice = plan_queries(
        Situation(
            records=numbers.records, features=numbers.features, classes=numbers.classes,
            epsilon=plan.epsilon, delta=plan.delta, relation=plan.relation, bound=numbers.bound,
            max_records_per_person=numbers.max_records_per_person,
        ),
        plan.queries,
    )  # fmt: skip
    best = advice.for_labels if plan.space == "label" else advice.for_logits
    ours = next(
        way for way in advice.ways if (way.release, way.mechanism) == (EACH, plan.mechanism)
    )
    print_line(
        f"noise on a logit for {plan.queries} queries, at one head: std {ours.logit_noise:.3g} as "
        f"planned; the least is {best.logit_noise:.3g}, {best.release}, {best.mechanism}"
    )
    if best.release == ONCE:
        for line in advice.why:
            print_line(f"why: {line}")
        print_line("a released head serves better here: reticent protect, then reticent serve OUT")
    if spec.private is None:
        print_line(f"declared: {FROM_FILE}; with --private the answers are proven")
    else:
        print_line("proven: the head is certified in this process, from the records")


def _plan_line(plan: AnswerPlan) -> str:
    return (
        f"{plan.queries} answers, {plan.mechanism} noise: ε ≤ {upper_text(plan.epsilon)}, δ ≤ "
        f"{upper_text(plan.delta)} in all (neighbours: {plan.relation}; unit: {plan.public.unit}); "
        f"one answer: ε ≤ {upper_text(plan.one_answer_epsilon)}"
    )


PlanOut = Annotated[Path, typer.Option("--out", help="Where to write the plan, a JSON file.")]
FitOfPlan = Annotated[Path, typer.Option("--fit", help="OUT of fit: the private head.")]
HowMany = Annotated[int, typer.Option("--queries", help="How many answers there will be at most.")]
AnswerMechanism = Annotated[
    str,
    typer.Option(
        "--mechanism",
        help="gaussian, logistic, laplace or l2-laplace noise on logits; or the label alone by"
        " exponential or permute-and-flip.",
    ),
]
AnswerFilter = Annotated[
    str, typer.Option("--filter", help="The ledger's sum that is limited: zcdp, rdp, gdp or basic.")
]
PlanSchema = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        help="The schema that the fit was made by: raw records are prepared by it, the private ones"
        " and those of clients.",
    ),
]
PlanEach = Annotated[
    int | None,
    typer.Option(
        "--max-records-per-person",
        help="The most records of one person, where the fit named persons.",
    ),
]


def plan_answers(
    fit: FitOfPlan,
    queries: HowMany,
    epsilon: Epsilon,
    out: PlanOut,
    delta: Delta = None,
    pure: Pure = False,
    relation: RelationName = None,
    mechanism: AnswerMechanism = "exponential",
    filter: AnswerFilter = "zcdp",
    schema: PlanSchema = None,
    max_records_per_person: PlanEach = None,
    ledger: AnswerLedger = None,
    data_set: AnswerDataSet = None,
    json: Json = False,
) -> None:
    """Plan protected answers of a private head; with --ledger, open the account that pays.

    The noise of each answer is fixed here, for so many of them, from the public numbers of the fit.
    """
    from reticent.data import Schema
    from reticent.files import writable_file
    from reticent.ledger import Ledger
    from reticent.protect.answers import calibrated_answers, files, set_answer_budget
    from reticent.protect.answers.answers import refuse_other_schema

    chosen, neighbours = delta_of(delta, pure), relation_of(relation)
    if (ledger is None) != (data_set is None):
        raise InputError("--ledger and --data-set must be said together, got one of them")
    numbers, classes = files.fit_numbers(fit, max_records_per_person)
    plan = calibrated_answers(
        numbers, epsilon=epsilon, delta=chosen, relation=neighbours, queries=queries,
        mechanism=mechanism, filter=filter,
    )  # fmt: skip
    facts = None if schema is None else Schema.load(schema)
    refuse_other_schema(facts, plan, classes)
    writable_file(out)
    if ledger is not None and data_set is not None:
        with Ledger.open(ledger, create=True) as book:
            set_answer_budget(book, data_set, plan)
    files.save_plan(plan, classes, out, schema=facts)
    if json:
        print_json({"plan": str(out), "scale": plan.scale, "each": plan.one_answer_epsilon})
        return
    print_line(_plan_line(plan))
    print_line(f"written to {out}; noise on a logit: std {plan.logit_noise:.3g}")
    if ledger is not None:
        print_line(f"account {data_set}: its budget takes {plan.queries} answers")


def _need_service() -> None:
    try:
        import fastapi
        import uvicorn
    except ImportError:
        raise InputError(
            "serving needs FastAPI and uvicorn, got none; pip install 'reticent[service]'"
        ) from None
    del fastapi, uvicorn
