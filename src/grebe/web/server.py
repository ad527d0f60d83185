"""The server itself, in a thread beside the loop; its socket is taken before anything else begins."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

from grebe.errors import ConfigError, MissingExtraError
from grebe.web.served import Served

if TYPE_CHECKING:
    import uvicorn

WAITING = 128
"""Connections that may wait to be accepted."""


def bind(host: str, port: int) -> socket.socket:
    """A socket at an address that nobody else has.

    Raises:
        ConfigError: somebody has it, or it is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((host, port))
        taken.listen(WAITING)
    except OSError as error:
        taken.close()
        raise ConfigError(
            f"cannot listen at {host}:{port}",
            detail=error.strerror,
            hint="give another address: --listen 127.0.0.1:8766",
            code="port-in-use",
        ) from error
    return taken


class Server:
    """Answers in a thread until it is told to stop."""

    def __init__(self, served: Served, taken: socket.socket) -> None:
        self.taken = taken
        self.server = _server(served)
        self.served = served
        self.thread = threading.Thread(target=self._run, name="grebe-web", daemon=True)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        host, port = self.taken.getsockname()[:2]
        return host, port

    def __enter__(self) -> Server:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join(timeout=10)
        self.served.closing.close()
        self.taken.close()

    def _run(self) -> None:
        self.server.run(sockets=[self.taken])


def _server(served: Served) -> uvicorn.Server:
    try:
        import uvicorn

        from grebe.web.application import application
    except ModuleNotFoundError as error:
        raise MissingExtraError.of(error.name or "starlette", "web") from error
    config = uvicorn.Config(
        application(served), log_config=None, access_log=False, server_header=False, lifespan="off",
        timeout_graceful_shutdown=5,
    )  # fmt: skip
    return uvicorn.Server(config)
