"""What the operator sees, with the scope admin: metrics, overview, OpenAPI document, a page.

The page is one file without other assets and holds no number. What it shows it asks for with the
admin's key, which stays in its memory: there is no cookie, so no other site can act in the
operator's name.
"""

import base64
import hashlib
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from reticent.ledger.clients import Scope
from reticent.service.detector import Detector
from reticent.service.door import Door
from reticent.service.metrics import CONTENT_TYPE, Metrics
from reticent.service.models import Model

NO_DETECTOR = "No detector watches the queries."


def operators_routes(
    app: FastAPI, model: Model, door: Door, *, metrics: Metrics, detector: Detector | None
) -> None:
    """Routes that are not in the OpenAPI document: they are no part of what clients rely on."""

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi(request: Request) -> Response:
        """The OpenAPI document."""
        await door.caller(request, Scope.ADMIN)
        return json_response(app.openapi())

    @app.get("/metrics", include_in_schema=False)
    async def prometheus(request: Request) -> Response:
        """Counts and times for Prometheus."""
        await door.caller(request, Scope.ADMIN)
        usage = await model.overview()
        gauges = {}
        if usage["queries"] is not None:
            gauges = {"budget_answers": usage["queries"], "budget_answers_used": usage["used"]}
        return Response(metrics.text(gauges), media_type=CONTENT_TYPE)

    @app.get("/v1/overview", include_in_schema=False)
    async def overview(request: Request) -> Response:
        """What the page shows."""
        await door.caller(request, Scope.ADMIN)
        return json_response(
            {
                **await model.overview(),
                "promise": str(model.guarantee),
                "each": None if model.each is None else str(model.each),
                "certificate": model.certificate,
                "alarms": [] if detector is None else [str(one) for one in detector.alarms],
                "detector": NO_DETECTOR if detector is None else f"None; {detector.says}",
            }
        )

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        """The operator's page, which holds nothing before it is given a key."""
        return operators_page()


def json_response(document: Any) -> Response:
    """A document without NaN or infinities."""
    content = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(content.encode(), media_type="application/json")


@cache
def _document() -> tuple[bytes, str]:
    content = files("reticent.service").joinpath("page.html").read_text(encoding="utf-8")
    sources = {}
    for tag in ("script", "style"):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", content, re.DOTALL)
        assert inside is not None
        digest = base64.b64encode(hashlib.sha256(inside[1].encode()).digest()).decode()
        sources[tag] = f"{tag}-src 'sha256-{digest}'"
    policy = "; ".join(
        (
            "default-src 'none'", *sources.values(), "connect-src 'self'", "base-uri 'none'",
            "form-action 'none'", "frame-ancestors 'none'",
        )
    )  # fmt: skip
    return content.encode(), policy


def operators_page() -> Response:
    """The page, with a policy that lets nothing else in."""
    content, policy = _document()
    headers = {"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"}
    return Response(content, headers=headers, media_type="text/html; charset=utf-8")
