"""Where a service listens, and its server processes until they are told to end."""

import ipaddress
import os
import signal
import socket
import ssl
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reticent.validation import InputError, count

if TYPE_CHECKING:
    from reticent.service.asgi import ASGI

DRAIN_SECONDS: Final = 30
BACKLOG: Final = 2048


@dataclass(frozen=True, kw_only=True)
class Listen:
    """Where a service listens; beyond this machine only over TLS, or behind a proxy that has it."""

    host: str = "127.0.0.1"
    port: int = 8600
    workers: int = 1
    tls_cert: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False

    def __post_init__(self) -> None:
        """Refuse plain HTTP beyond this machine."""
        count("workers", self.workers)
        if not 0 <= self.port <= 65535:
            raise InputError(f"port must be 0 to 65535, got {self.port}")
        if (self.tls_cert is None) != (self.tls_key is None):
            raise InputError("--tls-cert and --tls-key must be said together, got one of them")
        if not _is_loopback(self.host) and self.tls_cert is None and not self.behind_proxy:
            raise InputError(
                f"host must be this machine's own without TLS, got {self.host}; give --tls-cert "
                "and --tls-key, or --behind-proxy where a proxy has the certificate"
            )
        self._refuse_wrong_certificate()

    def _refuse_wrong_certificate(self) -> None:
        """Now, in one line: the server would fail after it has said that it listens."""
        if self.tls_cert is None or self.tls_key is None:
            return
        for option, path in (("--tls-cert", self.tls_cert), ("--tls-key", self.tls_key)):
            try:
                path.read_bytes()
            except OSError as error:
                raise InputError(
                    f"{option} must be readable, got {error.strerror}: {path}"
                ) from None
        try:  # a key with a password would ask for it at the terminal
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
                self.tls_cert, self.tls_key, password=""
            )
        except (ssl.SSLError, ValueError):
            raise InputError(
                "--tls-cert and --tls-key must be a certificate and its key without a password, in"
                f" PEM, got others: {self.tls_cert}, {self.tls_key}"
            ) from None

    def bound(self) -> socket.socket:
        """A socket that waits for connections."""
        try:
            family, kind, number, _, address = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            listener = socket.socket(family, kind, number)
            try:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(address)
                listener.listen(BACKLOG)  # whoever connects before the workers are there waits
            except BaseException:
                listener.close()
                raise
        except OSError as error:
            raise InputError(
                f"{self.host} port {self.port} must be free to listen on, got: {error}"
            ) from None
        listener.set_inheritable(True)
        return listener


def run(made: "Callable[[], ASGI]", listen: Listen, listening: socket.socket) -> None:
    """Serve what was prepared until SIGINT or SIGTERM; then finish what was begun."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    config = uvicorn.Config(
        made,
        factory=True,
        log_level="warning",
        access_log=False,  # paths and queries are what clients typed
        server_header=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        ssl_certfile=None if listen.tls_cert is None else str(listen.tls_cert),
        ssl_keyfile=None if listen.tls_key is None else str(listen.tls_key),
        proxy_headers=False,
        workers=listen.workers,
    )
    # The command line ends slow programs at once. This one finishes what was begun, and that is its
    # end in good order: uvicorn raises the signals that it took again when it is done.
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _taken)
    if listen.workers == 1:
        uvicorn.Server(config).run(sockets=[listening])
        return
    with tempfile.TemporaryDirectory(prefix="reticent-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # workers add up what they count
        Multiprocess(config, sockets=[listening]).run()


def _taken(_number: int, _frame: object) -> None:
    """A signal that uvicorn has followed already."""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
