"""Which hosts and proxies are believed, and how patient the server is with slow clients."""

import pytest

from rookery.server.http.bodies import BODY_SECONDS
from rookery.server.http.limits import (
    BadProxy,
    RequestBounds,
    hosts_of_site,
    is_ipv4,
    read_hosts,
    read_proxies,
)
from rookery.server.settings import Settings


@pytest.mark.parametrize(
    "header",
    ["localhost", "localhost:8000", "LOCALHOST.", "a.localhost:1", "127.0.0.1:80", "[::1]:8000"],
)
def test_this_machine_and_plain_addresses_are_always_welcome(header: str) -> None:
    assert read_hosts(None).allow(header)


@pytest.mark.parametrize(
    "header",
    ["evil.example", "", "localhost:port", "local host", "user@localhost", "localhost/x", "[x]"],
)
def test_other_names_are_not(header: str) -> None:
    assert not read_hosts(None).allow(header)


def test_the_base_urls_name_is_welcome_with_any_port() -> None:
    rule = read_hosts("https://tests.example.org")
    assert rule.allow("Tests.Example.org")
    assert rule.allow("tests.example.org:8443")
    assert not rule.allow("eviltests.example.org")


def test_a_star_stands_for_any_name_below() -> None:
    rule = read_hosts(None, ["*.example.org"])
    assert rule.allow("a.b.example.org")
    assert not rule.allow("example.org")
    assert read_hosts(None, ["*"]).allow("anything.example")


def test_a_server_answers_to_its_public_name_and_to_that_for_other_servers() -> None:
    told = {
        "ROOKERY_BASE_URL": "https://tests.example.org",
        "ROOKERY_INTERNAL_URL": "http://rookery-a:8000",
        "ROOKERY_ALLOWED_HOSTS": "old.example.org",
    }
    rule = hosts_of_site(Settings.read(told))
    names = ("tests.example.org", "rookery-a:8000", "old.example.org", "rookery-b:8000")
    assert [rule.allow(name) for name in names] == [True, True, True, False]


NEAR = read_proxies(["10.0.0.0/8", "127.0.0.1"])


def test_without_trusted_proxies_only_the_peer_counts() -> None:
    assert read_proxies([]).client("192.0.2.1", ["198.51.100.9"]) == "192.0.2.1"


def test_a_stranger_cannot_choose_his_address() -> None:
    assert NEAR.client("192.0.2.1", ["198.51.100.9"]) == "192.0.2.1"


def test_a_trusted_proxy_names_its_client() -> None:
    assert NEAR.client("127.0.0.1", ["198.51.100.9"]) == "198.51.100.9"


def test_what_a_client_wrote_before_the_proxies_is_not_believed() -> None:
    assert NEAR.client("10.0.0.1", ["203.0.113.5, 198.51.100.9, 10.0.0.2"]) == "198.51.100.9"


def test_junk_ends_the_chain() -> None:
    assert NEAR.client("10.0.0.1", ["nonsense"]) == "10.0.0.1"
    assert NEAR.client("10.0.0.1", []) == "10.0.0.1"


def test_several_header_lines_are_one_chain() -> None:
    assert NEAR.client("10.0.0.1", ["198.51.100.9", "10.0.0.2"]) == "198.51.100.9"


def test_a_proxy_that_is_no_address_is_named() -> None:
    with pytest.raises(BadProxy, match=r"'proxy\.local'"):
        read_proxies(["proxy.local"])


def test_the_settings_say_how_long_a_request_may_take_to_come() -> None:
    limits = RequestBounds.of_settings(Settings(head_seconds=7, body_seconds=9))
    assert (limits.head_seconds, limits.body_seconds) == (7, 9)


def test_nobody_waits_longer_for_a_body_than_the_app_does() -> None:
    assert RequestBounds.of_settings(Settings()).body_seconds <= BODY_SECONDS


@pytest.mark.parametrize(
    "text",
    [
        "203.0.113.09",
        "203.0.113",
        "203.0.113.9, 10.0.0.1",
        " 203.0.113.9",
        "2001:db8::1",
        "1\0",
        "",
    ],
)
def test_what_is_not_one_plain_address_is_read_with_care(text: str) -> None:
    assert is_ipv4("203.0.113.9")
    assert not is_ipv4(text)
