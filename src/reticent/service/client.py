"""A client in a few functions: ask a service, see what is left, read what it promises."""

import http.client
import json
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import ArrayLike

from reticent.strict_json import parsed_object
from reticent.validation import InputError, float_rows

TRIES: Final = 5


class ServiceError(Exception):
    """A service's refusal: its problem's ``type``, HTTP ``status`` and sentence."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.type = str(problem.get("type", "unknown"))
        super().__init__(f"{self.type} ({status}): {problem.get('title', '')}")


class Service:
    """A service at an address, asked with one key; a connection for each call."""

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise InputError(f"url must begin with http:// or https://, got {url!r}")
        kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
        self._connect = kinds[parts.scheme]
        self._at = (parts.hostname, parts.port)
        self._base = parts.path.rstrip("/")
        self._key = key
        self._timeout = timeout

    def ask(self, rows: ArrayLike, *, idempotency_key: str | None = None) -> dict[str, Any]:
        """Answers to 1 to 64 rows, charged once however often the connection breaks."""
        return self._ask({"inputs": float_rows("rows", rows).tolist()}, idempotency_key)

    def ask_texts(
        self, texts: Sequence[str], *, idempotency_key: str | None = None
    ) -> dict[str, Any]:
        """The same of raw texts, where the service holds an encoder for them."""
        return self._ask({"texts": list(texts)}, idempotency_key)

    def ask_images(
        self, images: ArrayLike, *, idempotency_key: str | None = None
    ) -> dict[str, Any]:
        """The same of raw images: whole numbers 0 to 255, height × width × channels."""
        return self._ask({"images": np.asarray(images).tolist()}, idempotency_key)

    def ask_records(
        self, records: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None
    ) -> dict[str, Any]:
        """Answers to 1 to 64 raw records, where the service has a schema for them.

        Each is a mapping from the names of columns to cells: texts as a file has them, numbers,
        truth values, None for a gap.
        """
        return self._ask({"records": [dict(record) for record in records]}, idempotency_key)

    def _ask(self, document: dict[str, Any], idempotency_key: str | None) -> dict[str, Any]:
        headers = {"Idempotency-Key": idempotency_key or secrets.token_urlsafe(24)}
        body = json.dumps(document, allow_nan=False).encode()
        for attempt in range(TRIES):
            try:
                return self.call("POST", "/v1/answers", body, headers)
            except (OSError, http.client.HTTPException):
                if attempt == TRIES - 1:
                    raise
            except ServiceError as refusal:
                if refusal.status != 503 or attempt == TRIES - 1:
                    raise
            time.sleep(0.1 * 2**attempt)
        raise AssertionError("unreachable")

    def budget(self, answers: int | None = None) -> dict[str, Any]:
        """What was used and is left; with ``answers``, whether so many more would fit."""
        return self.call("GET", "/v1/budget" + ("" if answers is None else f"?answers={answers}"))

    def guarantee(self) -> dict[str, Any]:
        """What is promised, with both lists of assumptions."""
        return self.call("GET", "/v1/guarantee")

    def certificate(self) -> dict[str, Any]:
        """The public numbers that it follows from."""
        return self.call("GET", "/v1/certificate")

    def call(
        self, method: str, path: str, body: bytes | None = None, headers: Any = None
    ) -> dict[str, Any]:
        """One request; ServiceError where it is refused."""
        connection = self._connect(*self._at, timeout=self._timeout)
        sent = {"Content-Type": "application/json", **(headers or {})}
        if self._key is not None:
            sent["Authorization"] = f"Bearer {self._key}"
        try:
            connection.request(method, self._base + path, body, sent)
            response = connection.getresponse()
            document = parsed_object(response.read(), source="response")
        finally:
            connection.close()
        if response.status != 200:
            raise ServiceError(response.status, document)
        return document
