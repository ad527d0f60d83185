"""Who may ask: only this machine, or whoever shows the token; never a page of another site."""

from __future__ import annotations

import hmac
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from grebe.errors import ConfigError, GrebeError
from grebe.web.answers import failed
from grebe.web.served import Served

SHORTEST: Final = 32
"""Characters of a token: a shorter one can be guessed."""
LARGEST_PORT: Final = 65535
OPEN: Final = ("/healthz", "/readyz")
"""Paths that say nothing but whether the server is well: for whoever watches processes."""
STREAMS: Final = "/streams/"
"""Paths that ask for a token of their own."""
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_UNKNOWN, _FORBIDDEN, _MISDIRECTED = 401, 403, 421


def address(listen: str) -> tuple[str, int]:
    """Host and port of a text such as `127.0.0.1:8765`.

    >>> address("127.0.0.1:8765"), address("[::1]:80"), address(":9000")
    (('127.0.0.1', 8765), ('::1', 80), ('127.0.0.1', 9000))

    Raises:
        ConfigError: it is none.
    """
    host, colon, port = listen.strip().rpartition(":")
    if not colon or not port.isascii() or not port.isdecimal() or int(port) > LARGEST_PORT:
        raise ConfigError(
            f'"{listen}" is not an address to listen at',
            hint="write host:port, such as 127.0.0.1:8765",
            code="bad-address",
        )
    return host.strip("[]") or "127.0.0.1", int(port)


def is_loopback(host: str) -> bool:
    """True when only this machine can reach it."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_token(host: str, token: str | None) -> str | None:
    """The token, where there is one.

    Raises:
        ConfigError: others could ask without one, or it is too short.
    """
    if token is not None and len(token) < SHORTEST:
        raise ConfigError(
            f"the token has {len(token)} characters",
            detail=f"a token has at least {SHORTEST}",
            hint='make one: python -c "import secrets; print(secrets.token_urlsafe(32))"',
            code="token-needed",
        )
    if token is None and not is_loopback(host):
        raise ConfigError(
            f"others can reach {host}, and no token is set",
            hint="set GREBE_WEB__TOKEN, give --token-file, or listen at 127.0.0.1",
            code="token-needed",
        )
    return token


class Guard:
    """Lets through who may ask, before any route sees the request."""

    def __init__(self, app: ASGIApp, served: Served) -> None:
        self.app = app
        self.served = served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(Request(scope))
        await (refusal or self.app)(scope, receive, send)

    def _refusal(self, request: Request) -> Response | None:
        if self.served.hosts and host_of(request) not in self.served.hosts:
            told = GrebeError(
                "the server is not asked under this name",
                hint="ask it under the name that it listens at, or add the name to [web] hosts",
                code="wrong-host",
            )
            return failed(told, _MISDIRECTED)
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != request.headers.get("host", ""):
            told = GrebeError(
                "a page of another site may not ask",
                hint="ask without a browser",
                code="wrong-origin",
            )
            return failed(told, _FORBIDDEN)
        if request.url.path.startswith(STREAMS):
            return None  # producers have tokens of their own
        if self.served.token is None or request.url.path in OPEN:
            return None
        if not hmac.compare_digest(shown_token(request).encode(), self.served.token.encode()):
            told = GrebeError(
                "the token is missing or wrong",
                hint="send it: Authorization: Bearer …",
                code="wrong-token",
            )
            return failed(told, _UNKNOWN)
        return None


def host_of(request: Request) -> str:
    """The name in the Host header, without its port."""
    host = request.headers.get("host", "")
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def shown_token(request: Request) -> str:
    """The token that a request shows; empty without one."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""
