"""What an operator watches: counts and times of requests, and what is left; nothing of a record.

With several processes the numbers are added up over all of them: prometheus_client shares files in
the folder that ``serve`` names before they start.
"""

import os
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """The counters of one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "reticent_requests", "Requests by route and status", ("route", "status"),
            registry=self._registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "reticent_request_seconds", "From the first byte read to the last one sent",
            ("route",), buckets=_SECONDS, registry=self._registry,
        )  # fmt: skip
        self._answers = Counter(
            "reticent_answers", "Answers given: charged, or kept from earlier", ("cost",),
            registry=self._registry,
        )  # fmt: skip
        self._alarms = Counter(
            "reticent_alarms", "Alarms of the detector", ("kind",), registry=self._registry
        )

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count one answered request by its route and status, and its time."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def answers(self, charged: int, kept: int) -> None:
        """So many answers were given."""
        self._answers.labels("charged").inc(charged)
        self._answers.labels("kept").inc(kept)

    def alarm(self, kind: str) -> None:
        """The detector raised an alarm."""
        self._alarms.labels(kind).inc()

    def text(self, gauges: dict[str, float]) -> bytes:
        """All of it in Prometheus' text format, with some numbers of the moment."""
        registry = self._registry
        if os.environ.get(FOLDER):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        lines = [
            f"# TYPE reticent_{name} gauge\nreticent_{name} {value!r}\n"
            for name, value in gauges.items()
        ]
        return generate_latest(registry) + "".join(lines).encode()
