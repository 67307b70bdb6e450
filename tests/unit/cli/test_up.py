"""What `rookery up` says."""

import pytest

from rookery.cli.up import reachable


@pytest.mark.parametrize(
    ("listening", "reached"),
    [
        ("http://0.0.0.0:8000", "http://127.0.0.1:8000"),
        ("http://[::]:8000", "http://[::1]:8000"),
        ("http://192.0.2.1:8000", "http://192.0.2.1:8000"),
    ],
)
def test_an_address_can_be_opened_on_this_machine(listening: str, reached: str) -> None:
    assert reachable(listening) == reached
