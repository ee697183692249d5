"""The routes: native ones and the Open Inference Protocol v2, over one way to an answer.

The order of one request: its key, its rate, its body, all from the request and public numbers
alone; then the model. FastAPI writes the OpenAPI document; bodies are read by ``bodies``, because
its own reading takes NaN, 1e999 and half characters into a failure, and texts for numbers.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, NamedTuple

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from reticent.arrays import Floats
from reticent.guarantee import Guarantee
from reticent.ledger.clients import Scope
from reticent.service import bodies, problems, schemas, tensors
from reticent.service.detector import Detector
from reticent.service.door import Door
from reticent.service.metrics import Metrics
from reticent.service.models import Model, Prediction
from reticent.service.operators import json_response, operators_routes
from reticent.service.problems import Refused, documented
from reticent.service.raw import EncodingQueue
from reticent.validation import InputError
from reticent.version import INSTALLED

Message = MutableMapping[str, Any]
ASGI = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
    Awaitable[None],
]
LOG: Final = logging.getLogger("reticent.service")
_HEADERS: Final = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
_REFUSED: Final = documented(401, 403, 405, 429, 503)
_BODY_REFUSED: Final = documented(401, 403, 405, 409, 410, 413, 422, 429, 503)


def application(model: Model, door: Door, detector: Detector | None = None) -> ASGI:
    """The service of one model, as an ASGI application; the detector alarms its operator."""
    if detector is not None and detector.features not in (None, model.features):
        raise InputError(
            f"public rows must have the {model.features} features of the model, got "
            f"{detector.features}"
        )
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        model.close()

    app = FastAPI(
        title="reticent",
        version=INSTALLED,
        summary=f"{model.name}: {model.guarantee}",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(HTTPException, _unrouted)
    app.add_exception_handler(Exception, _failed)
    handler = RequestHandler(model, door, metrics, detector, EncodingQueue())
    _native(app, handler)
    _inference_protocol(app, handler)
    operators_routes(app, model, door, metrics=metrics, detector=detector)
    return Guard(app, metrics)


class RequestHandler(NamedTuple):
    """What the routes ask: a model, who may, and what is counted."""

    model: Model
    door: Door
    metrics: Metrics
    detector: Detector | None
    encoding: EncodingQueue

    async def answer(
        self, request: Request, inputs_of: Callable[[dict[str, Any]], bodies.Inputs]
    ) -> Prediction:
        """The one way to an answer: key, rate, body, model."""
        caller = await self.door.caller(request, Scope.ASK)
        key = bodies.idempotency_key(request)
        inputs = inputs_of(await bodies.read_object(request, self.model))
        rows, names = await self._prepared(inputs)
        answer = await self.model.answer(caller, rows, key=key, names=names)
        self.metrics.answers(answer.charged, len(rows) - answer.charged)
        if self.detector is not None and caller.client is not None:
            # After the reply has left: how long that takes does not tell what the detector found.
            asyncio.get_running_loop().call_soon(self._watched, caller.client.name, rows)
        return answer

    async def _prepared(self, inputs: bodies.Inputs) -> tuple[Floats, list[bytes] | None]:
        """Rows of numbers as they were sent, or of raw inputs by the model's schema or encoder.

        Names, where there are any, tell apart what the encoder was given.
        """
        schema, raw = self.model.schema, self.model.raw
        if inputs.records is not None and schema is not None:
            return await self.encoding.run(
                partial(bodies.prepared_rows, inputs.records, schema)
            ), None
        if inputs.raw is not None and raw is not None:
            return await self.encoding.run(partial(raw.encoded, inputs.raw)), raw.names(inputs.raw)
        assert inputs.rows is not None
        return inputs.rows, None

    def _watched(self, client: str, rows: Floats) -> None:
        """The operator is told of an alarm, the client is not."""
        assert self.detector is not None
        try:
            alarm = self.detector.see(client, rows)
        except Exception as fault:  # noqa: BLE001 - a log of it would hold the rows
            LOG.error("detector failed: %s", type(fault).__name__)
            return
        if alarm is not None:
            self.metrics.alarm(alarm.kind)
            LOG.warning("alarm: %s", alarm)


def _native(app: FastAPI, handler: RequestHandler) -> None:
    model, door = handler.model, handler.door

    @app.post(
        "/v1/answers",
        responses={
            **schemas.answered_with(schemas.native_answer(), "An answer for each row"),
            **_BODY_REFUSED,
        },
        openapi_extra={
            "requestBody": schemas.body_of(schemas.native_request(model)),
            "parameters": [schemas.IDEMPOTENCY_KEY],
        },
    )
    async def answers(request: Request) -> Response:
        """One answer for each row, all or none of them."""
        answer = await handler.answer(request, partial(bodies.native_inputs, model=model))
        return json_response(_native_document(answer, model.each))

    @app.get(
        "/v1/budget",
        responses={
            **schemas.answered_with(schemas.budget(), "What the caller used and has left"),
            **_REFUSED,
            **documented(422),
        },
        openapi_extra={"parameters": [schemas.ANSWERS]},
    )
    async def budget(request: Request) -> Response:
        """What the caller has used and has left; with ?answers=n, whether n more would fit."""
        caller = await door.caller(request, Scope.READ)
        return json_response(await model.budget(caller, bodies.asked_answers(request)))

    @app.get(
        "/v1/certificate",
        responses={**schemas.answered_with({"type": "object"}, "The certificate"), **_REFUSED},
    )
    async def certificate(request: Request) -> Response:
        """What is promised of the model, from which public numbers."""
        await door.caller(request, Scope.READ)
        return json_response(model.certificate)

    @app.get(
        "/v1/guarantee",
        responses={**schemas.answered_with({"type": "object"}, "The guarantee"), **_REFUSED},
    )
    async def guarantee(request: Request) -> Response:
        """ε, δ and grade with both lists of assumptions; of one answer, where answers have them."""
        await door.caller(request, Scope.READ)
        each = {} if model.each is None else {"each": model.each.to_dict()}
        return json_response(
            {"line": str(model.guarantee), "guarantee": model.guarantee.to_dict(), **each}
        )


def _inference_protocol(app: FastAPI, handler: RequestHandler) -> None:
    model, door = handler.model, handler.door
    here = f"/v2/models/{model.name}"

    @app.get("/v2/health/live", responses=documented(405))
    async def live() -> Response:
        """The process answers."""
        return json_response({"live": True})

    @app.get("/v2/health/ready", responses=documented(405, 503))
    async def ready() -> Response:
        """The ledger can be used, holds what it held before, and has the plan's budget."""
        await door.current()
        return json_response({"ready": True})

    @app.get(f"{here}/ready", responses=documented(405, 503))
    async def model_ready() -> Response:
        """As /v2/health/ready: there is one model."""
        await door.current()
        return json_response({"name": model.name, "ready": True})

    @app.get(here, responses={**schemas.answered_with({"type": "object"}, "The model"), **_REFUSED})
    async def metadata(request: Request) -> Response:
        """Names, types and shapes of what goes in and out; a request has one form of inputs."""
        await door.caller(request, Scope.READ)
        return json_response(_metadata(model))

    @app.post(
        f"{here}/infer",
        responses={
            **schemas.answered_with(schemas.infer_answer(), "Labels, logits or values"),
            **_BODY_REFUSED,
        },
        openapi_extra={
            "requestBody": schemas.body_of(schemas.infer_request(model)),
            "parameters": [schemas.IDEMPOTENCY_KEY],
        },
    )
    async def infer(request: Request) -> Response:
        """One answer for each row of the tensors, all or none of them."""
        requests: list[tensors.InferRequest] = []

        def inputs_of(document: dict[str, Any]) -> bodies.Inputs:
            requests.append(tensors.infer_request(document, model))
            return requests[0].inputs

        answer = await handler.answer(request, inputs_of)
        named = {} if requests[0].id is None else {"id": requests[0].id}
        outputs = _outputs(answer, requests[0].outputs or model.gives)
        return json_response(
            {
                "model_name": model.name, **named, "outputs": outputs,
                "parameters": _parameters(answer),
            }
        )  # fmt: skip


def _native_document(answer: Prediction, each: Guarantee | None) -> dict[str, Any]:
    receipt = answer.receipt
    return {
        "labels": answer.labels,
        "values": answer.values,
        "logits": answer.logits,
        "each": None
        if each is None
        else {"epsilon": each.epsilon, "delta": each.delta, "grade": str(each.grade)},
        "charged": answer.charged,
        "receipt": None if receipt is None else {"number": receipt[0], "hash": receipt[1]},
        "left": answer.left,
        "replayed": answer.replayed,
    }


def _metadata(model: Model) -> dict[str, Any]:
    labels = ("BYTES", [-1]) if model.labels is None else ("INT64", [-1, model.labels])
    types = {"labels": labels, "values": ("FP64", [-1]), "logits": ("FP64", [-1, -1])}
    return {
        "name": model.name,
        "platform": "reticent",
        "inputs": [
            slot.described() for slots in tensors.forms_of(model).values() for slot in slots
        ],
        "outputs": [
            {"name": name, "datatype": types[name][0], "shape": types[name][1]}
            for name in sorted(model.gives)
        ],
    }


def _outputs(answer: Prediction, names: frozenset[str]) -> list[dict[str, Any]]:
    outputs: list[dict[str, Any]] = []
    if "labels" in names and answer.labels is not None:
        if isinstance(answer.labels[0], list):  # several labels, 0 or 1 each
            flat = [label for row in answer.labels for label in row]
            shape = [len(answer.labels), len(answer.labels[0])]
            outputs.append(_output("labels", "INT64", shape, flat))
        else:
            data = [str(label) for label in answer.labels]
            outputs.append(_output("labels", "BYTES", [len(data)], data))
    if "values" in names and answer.values is not None:
        outputs.append(_output("values", "FP64", [len(answer.values)], answer.values))
    if "logits" in names and answer.logits is not None:
        flat = [value for row in answer.logits for value in row]
        shape = [len(answer.logits), len(answer.logits[0])]
        outputs.append(_output("logits", "FP64", shape, flat))
    return outputs


def _output(name: str, datatype: str, shape: list[int], data: list[Any]) -> dict[str, Any]:
    return {"name": name, "datatype": datatype, "shape": shape, "data": data}


def _parameters(answer: Prediction) -> dict[str, Any]:
    """The protocol takes texts, numbers and truth values here."""
    parameters: dict[str, Any] = {"charged": answer.charged, "replayed": answer.replayed}
    if answer.receipt is not None:
        parameters |= {"receipt_number": answer.receipt[0], "receipt_hash": answer.receipt[1]}
    if answer.left is not None:
        parameters["left"] = answer.left
    return parameters


async def _refused(_: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, Refused)
    return refusal.problem.response(refusal.headers)


async def _unrouted(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow")
        return problems.WRONG_METHOD.response({"Allow": allowed} if allowed else None)
    return problems.NOT_FOUND.response()


async def _failed(_: Request, __: Exception) -> Response:
    """What is sent; the framework raises the failure again after it, up to the guard."""
    return problems.INTERNAL.response()


class Guard:
    """Around everything: a failure is one fixed answer and the name of its type in the log.

    Servers log whole tracebacks, whose last line may hold what was sent.
    """

    def __init__(self, app: Any, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """One request, or the start and the end of the server."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, started = 0, time.monotonic()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message["headers"], *_HEADERS]}
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as fault:  # noqa: BLE001 - the last resort: nothing of it may be shown
            LOG.error("request failed: %s", type(fault).__name__)
            if not status:
                await problems.INTERNAL.response()(scope, receive, sending)
        route = getattr(scope.get("route"), "path", "other")  # never what a client typed
        self._metrics.request(route, status, time.monotonic() - started)
