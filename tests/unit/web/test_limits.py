"""Which host names are answered."""

import pytest

from rookery.web.limits import hosts


@pytest.mark.parametrize(
    "header",
    ["localhost", "localhost:8000", "LOCALHOST.", "a.localhost:1", "127.0.0.1:80", "[::1]:8000"],
)
def test_this_machine_and_plain_addresses_are_always_welcome(header: str) -> None:
    assert hosts(None).allow(header)


@pytest.mark.parametrize(
    "header",
    ["evil.example", "", "localhost:port", "local host", "user@localhost", "localhost/x", "[x]"],
)
def test_other_names_are_not(header: str) -> None:
    assert not hosts(None).allow(header)


def test_the_base_urls_name_is_welcome_with_any_port() -> None:
    rule = hosts("https://tests.example.org")
    assert rule.allow("Tests.Example.org")
    assert rule.allow("tests.example.org:8443")
    assert not rule.allow("eviltests.example.org")


def test_a_star_stands_for_any_name_below() -> None:
    rule = hosts(None, ["*.example.org"])
    assert rule.allow("a.b.example.org")
    assert not rule.allow("example.org")
    assert hosts(None, ["*"]).allow("anything.example")
