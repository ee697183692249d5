"""Raw inputs of any kind, released and protected: no failure, nothing repeated, nothing logged."""

import json
import logging
import warnings

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import GenerationMode

from tests.service.conftest import running
from tests.service.raw_services import KINDS, SIDE, STARTED, record
from tests.service.test_strict import CANARY, sent

PATHS = ("/v1/answers", "/v2/models/model/infer")
GOOD = {
    "texts": '"a text"',
    "images": json.dumps([[[0]] * SIDE] * SIDE),
    "records": json.dumps(record(3)),
}
CELL = '{"age": %s, "city": "Bern", "smoker": true, "born": "1979-01-01", "dose": [1, 2]}'
VALUES = [
    "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 400, "9" * 5000, "1e308", "null",
    "true", "[]", "{}", "[[]]", f'"{CANARY}"', '"\\ud800"', f'{{"{CANARY}": 1}}', '""',
    f'[["{CANARY}"]]', '"\\u0000"', "0.5", "-1", "256", '{"a": 1, "a": 2}',
    "[" * 70 + "]" * 70, "[" * 100_000,
]  # fmt: skip
TAKEN = {("records", value) for value in ("1e308", "0.5", "-1", "256")}
"""Numbers of a column that are cut to its range."""


@pytest.fixture(scope="module", params=[(name, kind) for name in STARTED for kind in KINDS],
                ids="-".join)  # fmt: skip
def service(request, tmp_path_factory):
    name, kind = request.param
    made = STARTED[name](kind, tmp_path_factory.mktemp("strict"))
    with running(made.app) as url:
        yield made.begin(url)


def native(kind, value):
    """A native request with this value somewhere in it."""
    if kind == "texts":
        return f'{{"texts": [{value}]}}'
    if kind == "images":
        pixels = [["[0]"] * SIDE for _ in range(SIDE)]
        pixels[3][4] = f"[{value}]"
        lines = ",".join("[" + ",".join(line) + "]" for line in pixels)
        return f'{{"images": [[{lines}]]}}'
    return f'{{"records": [{CELL % value}]}}'


def as_tensors(kind, value):
    """The same as tensors."""
    if kind == "texts":
        inputs = f'{{"name": "texts", "datatype": "BYTES", "shape": [1], "data": [{value}]}}'
    elif kind == "images":
        data = ",".join(["0"] * (SIDE * SIDE - 1) + [value])
        shape = f"[1, {SIDE}, {SIDE}, 1]"
        inputs = f'{{"name": "images", "datatype": "FP32", "shape": {shape}, "data": [{data}]}}'
    else:
        cells = {
            "age": ("FP64", value), "city": ("BYTES", '"Bern"'), "smoker": ("BOOL", "true"),
            "born": ("BYTES", '"1979-01-01"'), "dose": ("FP64", "1, 2"),
        }  # fmt: skip
        inputs = ",".join(
            f'{{"name": "{name}", "datatype": "{datatype}", "shape":'
            f' [1{", 2" if name == "dose" else ""}], "data": [{data}]}}'
            for name, (datatype, data) in cells.items()
        )
    return f'{{"inputs": [{inputs}]}}'


def large(kind):
    """Bodies that are too long, of many inputs, of wrong lengths, or of two forms at once."""
    field, good = kind, GOOD[kind]
    yield f'{{"{field}": ["{"x" * 10_000_000}"]}}'
    yield f'{{"{field}": [{", ".join([good] * 65)}]}}'
    yield f'{{"{field}": [{",".join(["0"] * 1_000_000)}]}}'
    yield f'{{"{field}": []}}'
    yield f'{{"{field}": {good}}}' if kind != "images" else f'{{"{field}": 7}}'
    yield f'{{"{field}": [{good}], "inputs": [[0, 0, 0, 0, 0]]}}'
    yield f'{{"{field}": [{good}], "{field}": [{good}]}}'
    yield f'{{"{field}": [{good}], "{CANARY}": 1}}'
    yield json.dumps({"images": [[[[0]] * (SIDE - 1)] * SIDE]})
    yield json.dumps({"images": [[[[0, 0, 0]] * SIDE] * SIDE]})


def test_corpus(service, caplog):
    """Every body is refused in fixed words, or has an answer; nothing of a refused one is paid."""
    bodies = [(path, make(service.kind, value), value)
              for path, make in zip(PATHS, (native, as_tensors), strict=True)
              for value in VALUES]  # fmt: skip
    bodies += [(PATHS[0], body, None) for body in large(service.kind)]
    with caplog.at_level(logging.DEBUG):
        for path, body, value in bodies:
            before = service.charges()
            status, told, headers = sent(service, "POST", path, body.encode())
            assert CANARY.encode() not in told
            if (service.kind, value) in TAKEN or (
                service.kind == "texts" and value == f'"{CANARY}"'
            ):
                assert status == 200, value
                continue
            assert status in (413, 422), (path, value or body[:100])
            assert headers["content-type"] == "application/problem+json"
            assert set(json.loads(told)) == {"type", "status", "title"}
            assert service.charges() == before
    assert CANARY not in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=str)
def test_schemathesis(service, mode, caplog):
    """What the OpenAPI document allows is answered or refused as it says; nothing fails."""
    document = service.asker.call("GET", "/openapi.json")
    document["paths"] = {path: document["paths"][path] for path in PATHS}
    headers = {"Authorization": f"Bearer {service.asker._key}"}
    statuses = set()

    def check(case):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            response = case.call(base_url=service.url, headers=headers)
        statuses.add(response.status_code)
        assert response.status_code < 500
        documented = case.operation.definition.raw["responses"]
        assert str(response.status_code) in documented or response.status_code == 405
        assert response.headers["content-type"][0].startswith("application/")

    for found in schemathesis.openapi.from_dict(document).get_all_operations():
        settings(max_examples=6, suppress_health_check=list(HealthCheck), deadline=None)(
            hypothesis.given(case=found.ok().as_strategy(generation_mode=mode))(check)
        )()
    assert statuses & ({200} if mode is GenerationMode.POSITIVE else {422})
