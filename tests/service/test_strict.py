"""Whatever is sent: no failure of the service, nothing of it repeated, nothing of it in a log."""

import contextlib
import http.client
import json
import logging
import time
import warnings
from urllib.parse import urlsplit

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import GenerationMode

from tests.service.conftest import rows

CANARY = "zqxjkv"
NUMBERS = "[[0.1, 0.2, 0.3, 0.4, %s]]"
BODIES = [
    "",
    "null",
    "[]",
    "{",
    CANARY,
    '{"inputs": ' + NUMBERS % "NaN" + "}",
    '{"inputs": ' + NUMBERS % "Infinity" + "}",
    '{"inputs": ' + NUMBERS % "-Infinity" + "}",
    '{"inputs": ' + NUMBERS % "1e999" + "}",
    '{"inputs": ' + NUMBERS % ("9" * 5000) + "}",
    '{"inputs": ' + NUMBERS % "true" + "}",
    '{"inputs": ' + NUMBERS % "null" + "}",
    '{"inputs": ' + NUMBERS % '"0.1"' + "}",
    '{"inputs": ' + NUMBERS % f'"{CANARY}"' + "}",
    '{"inputs": ' + NUMBERS % '"\\ud800"' + "}",
    '{"inputs": ' + NUMBERS % "[1]" + "}",
    '{"inputs": []}',
    '{"inputs": [[]]}',
    '{"inputs": [[0.1]]}',
    '{"inputs": {}}',
    f'{{"{CANARY}": 1}}',
    f'{{"inputs": [[0, 0, 0, 0, 0]], "{CANARY}": 1}}',
    '{"inputs": [[0, 0, 0, 0, 0]], "inputs": [[0, 0, 0, 0, 1]]}',
    '{"\\ud800": 1}',
    "[" * 100_000,
    '{"inputs": [' + ",".join(["[0, 0, 0, 0, 0]"] * 65) + "]}",
    '{"inputs": [[' + ",".join(["0"] * 2_000_000) + "]]}",
]


@pytest.fixture(scope="module")
def service(tmp_path_factory, head):
    from tests.service.conftest import Protected, running

    found = Protected(str(tmp_path_factory.mktemp("strict") / "l.sqlite"), head, queries=100_000)
    with running(found.app) as url:
        found.url = url
        found.asker = found.client("asker", scopes=("ask", "read", "admin"))
        yield found


@pytest.fixture
def logged(caplog):
    with caplog.at_level(logging.DEBUG):
        yield caplog


def sent(service, method, path, body=b"", headers=()):
    at = urlsplit(service.url)
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=30)
    try:
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in (("Authorization", f"Bearer {service.asker._key}"), *headers):
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.send(body)  # it may be refused before it was all read
        response = connection.getresponse()
        return response.status, response.read(), response.headers
    finally:
        connection.close()


@pytest.mark.parametrize("path", ["/v1/answers", "/v2/models/model/infer"])
@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_corpus(service, logged, body, path):
    before = service.ledger.account("patients").charges
    status, told, headers = sent(service, "POST", path, body.encode())
    assert status in (413, 422)
    assert headers["content-type"] == "application/problem+json"
    assert set(json.loads(told)) == {"type", "status", "title"}
    assert CANARY.encode() not in told
    assert CANARY not in logged.text
    assert service.ledger.account("patients").charges == before


def test_a_body_of_unknown_length_is_bounded_too(service):
    at = urlsplit(service.url)
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=30)
    headers = {"Authorization": f"Bearer {service.asker._key}", "Transfer-Encoding": "chunked"}
    parts = (b"10000\r\n" + b" " * 0x10000 + b"\r\n" for _ in range(200))
    connection.putrequest("POST", "/v1/answers")
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for part in parts:
            connection.send(part)
    response = connection.getresponse()
    assert (response.status, json.loads(response.read())["type"]) == (413, "too-large")
    connection.close()


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", f"/{CANARY}", (), 404),
        ("GET", f"/v2/models/{CANARY}", (), 404),
        ("POST", f"/v2/models/{CANARY}/infer", (), 404),
        ("DELETE", "/v1/answers", (), 405),
        ("OPTIONS", "/v1/answers", (("Origin", f"https://{CANARY}.example"),), 405),
        ("GET", f"/v1/budget?answers={CANARY}", (), 422),
        ("GET", "/v1/budget?answers=0", (), 422),
        ("GET", "/v1/budget?answers=1&answers=2", (), 422),
        ("GET", f"/v1/budget?{CANARY}=1", (), 422),
        ("GET", "/v1/budget?answers=%D9%A1", (), 422),
        ("POST", "/v1/answers", (("Idempotency-Key", f"{CANARY} {CANARY}"),), 422),
        ("POST", "/v1/answers", (("Idempotency-Key", "a"), ("Idempotency-Key", "b")), 422),
        ("POST", "/v1/answers", (("Idempotency-Key", "k" * 256),), 422),
    ],
)
def test_paths_methods_and_headers(service, logged, method, path, headers, status):
    found, told, given = sent(service, method, path, b"", headers)
    assert found == status
    assert CANARY.encode() not in told
    assert CANARY not in logged.text
    assert not any(name.lower().startswith("access-control") for name in given)


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer ", f"Basic {CANARY}", f"Bearer {CANARY}", "Bearer " + "k" * 300]
)
def test_wrong_keys(service, logged, given):
    at = urlsplit(service.url)
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=30)
    connection.request("POST", "/v1/answers", b"{}", {"Authorization": given})
    response = connection.getresponse()
    told = response.read()
    connection.close()
    assert (response.status, response.headers["www-authenticate"]) == (401, "Bearer")
    assert CANARY.encode() not in told
    assert CANARY not in logged.text


def test_a_fault_is_one_fixed_answer(service, logged, monkeypatch):
    def broken(*_arguments, **_options):
        raise RuntimeError(CANARY)

    monkeypatch.setattr(type(service.served), "ask", broken)
    body = json.dumps({"inputs": rows(1).tolist()}).encode()
    status, told, _ = sent(service, "POST", "/v1/answers", body)
    assert (status, json.loads(told)["type"]) == (500, "internal")
    until = time.monotonic() + 10  # it is logged after the answer has left
    while "RuntimeError" not in logged.text and time.monotonic() < until:
        time.sleep(0.01)
    assert "RuntimeError" in logged.text
    assert CANARY not in logged.text


@pytest.mark.slow
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=str)
def test_schemathesis(service, mode):
    """What the OpenAPI document allows is answered or refused as it says; nothing fails."""
    schema = schemathesis.openapi.from_dict(service.asker.call("GET", "/openapi.json"))
    headers = {"Authorization": f"Bearer {service.asker._key}"}
    statuses = set()

    def check(case):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            response = case.call(base_url=service.url, headers=headers)
        statuses.add(response.status_code)
        assert response.status_code < 500
        documented = case.operation.definition.raw["responses"]
        assert str(response.status_code) in documented or response.status_code in (404, 405)
        assert response.headers["content-type"][0].startswith("application/")

    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) == 9
    for operation in operations:
        run = settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)(
            hypothesis.given(case=operation.as_strategy(generation_mode=mode))(check)
        )
        try:
            run()
        except hypothesis.errors.Unsatisfiable:
            assert mode is GenerationMode.NEGATIVE  # nothing can be wrong with a request of no part
    assert statuses & ({200} if mode is GenerationMode.POSITIVE else {422})
