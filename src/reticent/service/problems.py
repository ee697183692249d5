"""What a service refuses with: problem+json (RFC 9457) of fixed texts, which repeat no input."""

import json
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import Response

MEDIA_TYPE: Final = "application/problem+json"


@dataclass(frozen=True)
class Problem:
    """A kind of refusal: its name, its HTTP status, one sentence."""

    type: str
    status: int
    title: str

    def response(self, headers: dict[str, str] | None = None) -> Response:
        """The HTTP response with this problem as JSON (RFC 9457); 401 names the scheme."""
        document = {"type": self.type, "status": self.status, "title": self.title}
        content = json.dumps(document, ensure_ascii=False).encode()
        more = {"WWW-Authenticate": "Bearer"} if self.status == 401 else {}
        return Response(content, self.status, {**more, **(headers or {})}, MEDIA_TYPE)


class Refused(Exception):  # noqa: N818 - an answer, not an error of the program
    """Raised by a handler; the application answers with its problem."""

    def __init__(self, problem: Problem, headers: dict[str, str] | None = None) -> None:
        super().__init__(problem.type)
        self.problem = problem
        self.headers = headers


UNAUTHORIZED: Final = Problem(
    "unauthorized", 401, "Authorization must be 'Bearer' and a key that holds."
)
FORBIDDEN: Final = Problem("forbidden", 403, "The key must have the scope that this needs.")
NOT_FOUND: Final = Problem("not-found", 404, "There is nothing at this path.")
WRONG_METHOD: Final = Problem("method-not-allowed", 405, "The path does not take this method.")
KEY_REUSED: Final = Problem(
    "key-reused", 409, "The Idempotency-Key was used for another request; nothing was charged."
)
REPLY_GONE: Final = Problem(
    "reply-gone", 410, "The reply to this Idempotency-Key is not kept any more; it stays paid for."
)
TOO_LARGE: Final = Problem("too-large", 413, "The body is longer than any valid request.")
NOT_JSON: Final = Problem(
    "invalid-json",
    422,
    "The body must be one JSON object in UTF-8 of finite numbers, no key twice.",
)
WRONG_FIELDS: Final = Problem(
    "invalid-fields", 422, "The fields must be those that /openapi.json lists, of these types."
)
WRONG_ROWS: Final = Problem(
    "invalid-rows", 422, "Rows must be 1 to 64 lists of numbers, as many as the model has features."
)
WRONG_RAW: Final = Problem(
    "invalid-raw",
    422,
    "Raw inputs must be 1 to 64 texts of 1 to 2000 characters, or images of the model's shape.",
)
WRONG_RECORDS: Final = Problem(
    "invalid-records",
    422,
    "Records must be 1 to 64 objects with a valid cell in each column of the model's schema.",
)
WRONG_KEY: Final = Problem(
    "invalid-idempotency-key", 422, "Idempotency-Key must be 1 to 255 visible ASCII characters."
)
WRONG_QUERY: Final = Problem(
    "invalid-query", 422, "answers must be a whole number from 1 to 10^9, and nothing else."
)
RATE_LIMIT: Final = Problem(
    "rate-limit", 429, "Too many requests at once; nothing was charged, try again later."
)
EXHAUSTED: Final = Problem(
    "budget-exhausted", 429, "The budget has no room for so many answers; nothing was charged."
)
INTERNAL: Final = Problem("internal", 500, "The service failed; nothing was answered.")
OVERLOADED: Final = Problem("overloaded", 503, "Too many questions wait; nothing was charged.")
NOT_READY: Final = Problem(
    "not-ready",
    503,
    "The ledger could not be used. Whether this was charged is open: retry with the same"
    " Idempotency-Key.",
)

PROBLEMS: Final = tuple(value for value in globals().values() if isinstance(value, Problem))


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The responses of these statuses for the OpenAPI document."""
    return {
        status: {
            "description": "; ".join(one.type for one in PROBLEMS if one.status == status),
            "content": {MEDIA_TYPE: {"schema": PROBLEM_SCHEMA}},
        }
        for status in statuses
    }


PROBLEM_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["type", "status", "title"],
    "additionalProperties": False,
    "properties": {
        "type": {"type": "string"},
        "status": {"type": "integer"},
        "title": {"type": "string"},
    },
}
