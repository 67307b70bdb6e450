"""Proxy headers count when, and only when, the peer is trusted."""

import pytest

from rookery_asgi.proxy import ProxyHeaders, Trust, bare_host
from rookery_asgi.types import Scope


def apply(trust: str, client: tuple[str, int] | None, **headers: str) -> Scope:
    pairs = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
    scope: Scope = {"type": "http", "scheme": "http", "client": client, "headers": pairs}
    ProxyHeaders(Trust.parse(trust))(scope)
    return scope


LOCAL = ("127.0.0.1", 1)


def test_a_trusted_proxy_names_client_and_scheme() -> None:
    scope = apply("127.0.0.1", LOCAL, x_forwarded_for="1.2.3.4", x_forwarded_proto="https")
    assert scope["client"] == ("1.2.3.4", 0)
    assert scope["scheme"] == "https"


def test_a_stranger_is_not_believed() -> None:
    scope = apply("127.0.0.1", ("6.6.6.6", 1), x_forwarded_for="1.2.3.4", x_forwarded_proto="https")
    assert scope["client"] == ("6.6.6.6", 1)
    assert scope["scheme"] == "http"


def test_what_a_client_adds_in_front_of_the_chain_is_not_believed() -> None:
    scope = apply("127.0.0.1, 10.0.0.0/8", LOCAL, x_forwarded_for="9.9.9.9, 1.2.3.4, 10.0.0.7")
    assert scope["client"] == ("1.2.3.4", 0)


def test_a_chain_of_proxies_alone_ends_at_its_first() -> None:
    scope = apply("10.0.0.0/8", ("10.0.0.1", 1), x_forwarded_for="10.0.0.5, 10.0.0.6")
    assert scope["client"] == ("10.0.0.5", 0)


def test_everyone_can_be_trusted() -> None:
    scope = apply("*", ("6.6.6.6", 1), x_forwarded_for="1.2.3.4, 5.6.7.8")
    assert scope["client"] == ("1.2.3.4", 0)


def test_a_peer_on_a_unix_socket_is_local() -> None:
    assert apply("127.0.0.1", None, x_forwarded_for="1.2.3.4")["client"] == ("1.2.3.4", 0)
    assert apply("10.0.0.1", None, x_forwarded_for="1.2.3.4")["client"] is None


def test_an_unknown_scheme_changes_nothing() -> None:
    assert apply("*", LOCAL, x_forwarded_proto="gopher")["scheme"] == "http"


@pytest.mark.parametrize(
    ("text", "host"),
    [("1.2.3.4", "1.2.3.4"), ("1.2.3.4:80", "1.2.3.4"), ("[::1]:80", "::1"), ("::1", "::1")],
)
def test_ports_are_taken_off(text: str, host: str) -> None:
    assert bare_host(text) == host


def test_mapped_addresses_match_their_ipv4_network() -> None:
    assert "::ffff:10.0.0.1" in Trust.parse("10.0.0.0/8")
    assert "not an address" not in Trust.parse("10.0.0.0/8")
