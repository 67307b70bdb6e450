"""Calls over HTTP: where they may go, and why they failed, in words."""

import urllib.error

import pytest

from rookery.over_http import cause_of, is_web_address, reason_of


@pytest.mark.parametrize("address", ["http://farm.example.org", "https://farm.example.org/x"])
def test_the_web_may_be_called(address: str) -> None:
    assert is_web_address(address)


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://farm.example.org", "farm", ""])
def test_nothing_else_may(address: str) -> None:
    assert not is_web_address(address)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TimeoutError("timed out"), "it takes too long"),
        (urllib.error.URLError(TimeoutError()), "it takes too long"),
        (urllib.error.URLError(ConnectionRefusedError(111, "Connection refused")),
         "Connection refused"),
        (ValueError("no such address"), "no such address"),
        (ValueError(), "ValueError"),
    ],
)  # fmt: skip
def test_a_failure_has_a_reason_in_words(error: Exception, words: str) -> None:
    assert reason_of(error) == words


def test_the_cause_is_what_the_librarys_error_is_about() -> None:
    inner = BrokenPipeError(32, "Broken pipe")
    assert cause_of(urllib.error.URLError(inner)) is inner
    assert cause_of(inner) is inner
