"""Whose word counts for the client's address."""

import pytest

from rookery.web.limits import BadProxy, proxies

NEAR = proxies(["10.0.0.0/8", "127.0.0.1"])


def test_without_trusted_proxies_only_the_peer_counts() -> None:
    assert proxies([]).client("192.0.2.1", ["198.51.100.9"]) == "192.0.2.1"


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
        proxies(["proxy.local"])
