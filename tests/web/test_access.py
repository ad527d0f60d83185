"""Who may ask the server, and where it may listen."""

from __future__ import annotations

import pytest

from grebe.errors import ConfigError
from grebe.web.access import LOOPBACK, address, check_token
from grebe.web.server import bind
from web.conftest import Serve

TOKEN = "t" * 32


@pytest.mark.parametrize(
    "listen", ["8765", "host", "127.0.0.1:", "127.0.0.1:99999", "h:x", "::1:٣"]
)
def test_what_is_no_address(listen: str) -> None:
    with pytest.raises(ConfigError) as caught:
        address(listen)
    assert caught.value.code == "bad-address"


@pytest.mark.parametrize(
    ("host", "token", "allowed"),
    [
        ("127.0.0.1", None, True), ("localhost", None, True), ("::1", None, True), ("127.9.9.9", None, True),
        ("0.0.0.0", None, False), ("10.0.0.1", None, False), ("example.com", None, False), ("::", None, False),
        ("0.0.0.0", TOKEN, True), ("0.0.0.0", "short", False), ("127.0.0.1", "short", False),
    ],
)  # fmt: skip
def test_others_need_a_token(host: str, token: str | None, allowed: bool) -> None:
    if allowed:
        assert check_token(host, token) == token
        return
    with pytest.raises(ConfigError) as caught:
        check_token(host, token)
    assert caught.value.code == "token-needed"


def test_a_port_that_somebody_has(serve: Serve) -> None:
    port = serve().base_url.port
    assert port is not None
    with pytest.raises(ConfigError) as caught:
        bind("127.0.0.1", port)
    assert caught.value.code == "port-in-use"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "[::2]", "LOCALHOST.evil"]
)
def test_under_another_name_nobody_is_answered(serve: Serve, host: str) -> None:
    """A page whose name was bound to this machine asks under that name."""
    said = serve().get("/api/v1/views", headers={"host": host})
    assert (said.status_code, said.json()["error"]["code"]) == (421, "wrong-host")


@pytest.mark.parametrize("host", sorted(LOOPBACK - {"::1"}))
def test_this_machine_is_answered(serve: Serve, host: str) -> None:
    client = serve()
    own = f"{host}:{client.base_url.port}"
    assert client.get("/api/v1/views", headers={"host": own}).status_code == 200
    same = client.get("/api/v1/views", headers={"host": own, "origin": f"http://{own}"})
    assert same.status_code == 200


def test_a_page_of_another_site_may_not_ask(serve: Serve) -> None:
    said = serve().get("/api/v1/views", headers={"origin": "https://evil.example"})
    assert (said.status_code, said.json()["error"]["code"]) == (403, "wrong-origin")
    assert serve().get("/readyz", headers={"origin": "null"}).status_code == 403


@pytest.mark.parametrize(
    "shown", [None, "", "Bearer", "Bearer x", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer ü"]
)
def test_without_the_token_nothing_is_said(serve: Serve, shown: str | None) -> None:
    client = serve(token=TOKEN)
    headers = {} if shown is None else {b"authorization": shown.encode()}
    for path in ("/api/v1/views", "/metrics", "/api/v1/runs", "/nothing"):
        said = client.get(path, headers=headers)  # type: ignore[arg-type]
        assert (said.status_code, said.json()["error"]["code"]) == (401, "wrong-token")
    assert client.get("/healthz").json() == {"alive": True}  # for whoever watches processes
    assert client.get("/api/v1/views", headers={"authorization": f"bearer {TOKEN}"}).is_success
