"""Calls over HTTP: where they may go, and why they failed, in words."""

import pytest
from urllib3 import HTTPConnectionPool
from urllib3.exceptions import ProtocolError, ReadTimeoutError, SSLError

from rookery.core.http_failures import cause_of, reason_of
from rookery.core.http_places import is_loopback, is_public, is_web_address

POOL = HTTPConnectionPool("farm.example.org")


@pytest.mark.parametrize("address", ["http://farm.example.org", "https://farm.example.org/x"])
def test_the_web_may_be_called(address: str) -> None:
    assert is_web_address(address)


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://farm.example.org", "farm", ""])
def test_nothing_else_may(address: str) -> None:
    assert not is_web_address(address)


@pytest.mark.parametrize("address", ["140.82.121.3", "2606:50c0:8000::154", "64:ff9b::8c52:7903"])
def test_an_address_for_everybody_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"),
        *("100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1%eth0", "fd00::1"),
        *("::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "ff02::1", "::127.0.0.1"),
        *("::ffff:0:127.0.0.1", "64:ff9b:1::7f00:1", "64:ff9b:1::8c52:7903", "fec0::1", "4000::1"),
        *("192.0.0.1", "192.0.0.192", "192.88.99.1", "2002:c000:c0::1", "::ffff:192.0.0.192"),
    ],
)
def test_an_address_of_this_machine_or_the_network_around_it_is_not(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "::1"])
def test_a_machine_knows_itself_by_these_names(host: str) -> None:
    assert is_loopback(host)
    assert not is_loopback(f"{host}.example.org")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TimeoutError("timed out"), "it takes too long"),
        (ReadTimeoutError(POOL, "/", "slow"), "it takes too long"),
        (SSLError(ConnectionRefusedError(111, "Connection refused")), "Connection refused"),
        (ValueError("no such address"), "no such address"),
        (ValueError(), "ValueError"),
    ],
)  # fmt: skip
def test_a_failure_has_a_reason_in_words(error: Exception, words: str) -> None:
    assert reason_of(error) == words


def test_the_cause_is_what_the_librarys_error_is_about() -> None:
    inner = BrokenPipeError(32, "Broken pipe")
    assert cause_of(ProtocolError("Connection aborted.", inner)) is inner
    assert cause_of(inner) is inner
