"""What git and cargo tell the gateway, and what becomes of it."""

import pytest

from rookery.worker.engines.gateway import ConnectionNotAllowed, ProxyTarget, read_head


def test_a_tunnel_is_for_the_host_and_port_it_names() -> None:
    head = b"CONNECT github.com:443 HTTP/1.1\r\nHost: github.com:443\r\n\r\n"
    assert read_head(head) == ProxyTarget("github.com", 443)
    assert read_head(b"CONNECT [2606:50c0::1]:443 HTTP/1.1\r\n\r\n") == ProxyTarget(
        "2606:50c0::1", 443
    )


def test_a_plain_request_is_handed_on_without_what_was_meant_for_the_proxy() -> None:
    head = (
        b"GET http://example.org:8080/a/b?c=d HTTP/1.1\r\nHost: example.org:8080\r\n"
        b"Proxy-Connection: Keep-Alive\r\nConnection: keep-alive\r\nAccept: */*\r\n\r\n"
    )
    wanted = read_head(head)
    assert (wanted.host, wanted.port) == ("example.org", 8080)
    assert wanted.head == (
        b"GET /a/b?c=d HTTP/1.1\r\nConnection: close\r\n"
        b"Host: example.org:8080\r\nAccept: */*\r\n\r\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        *("GET /etc/passwd HTTP/1.1", "GET file:///etc/passwd HTTP/1.1", "CONNECT host HTTP/1.1"),
        *(
            "CONNECT :443 HTTP/1.1",
            "CONNECT host:99999 HTTP/1.1",
            "nonsense",
            "",
            "GET ftp://a/b x",
        ),
    ],
)
def test_whatever_else_is_refused(line: str) -> None:
    with pytest.raises(ConnectionNotAllowed):
        read_head(f"{line}\r\n\r\n".encode())
