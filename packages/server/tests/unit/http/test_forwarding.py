"""What is sent to the next primary of a call that another one had for a while."""

import json

import pytest

from rookery.server.http.forwarding import LEAST_SECONDS, OutgoingCall, shorten_wait
from rookery.server.http.internal_calls import ForwardedCall
from rookery.server.http.waiting import LONGEST_SECONDS

WISH = b'{"password":"x","rookery":{"wait":45,"more":[1]}}'


def call_of(body: bytes, *, seconds: float = 65.0, held: bool = True) -> OutgoingCall:
    who = ForwardedCall("one", "192.0.2.7", secure=False)
    return OutgoingCall("POST", b"/", b"localhost", b"", body, who, seconds, held)


def test_a_machine_waits_for_the_rest_of_its_time_alone() -> None:
    said = json.loads(shorten_wait(WISH, 30.0))
    assert said == {"password": "x", "rookery": {"wait": 15.0, "more": [1]}}


def test_a_machine_that_has_waited_for_long_enough_waits_no_more() -> None:
    wish = b'{"rookery":{"wait":600}}'
    assert json.loads(shorten_wait(wish, LONGEST_SECONDS)) == {"rookery": {"wait": 0.0}}


@pytest.mark.parametrize(
    "body",
    [b"", b'"wait"', b"[1]", b'{"wait":1}', b'{"rookery":[]}', b'{"rookery":{"wait":"1"}}'],
)
def test_a_body_without_a_wait_stays_as_it_is(body: bytes) -> None:
    assert shorten_wait(body, 1.0) == body


def test_all_primaries_together_have_the_time_of_one() -> None:
    assert call_of(WISH).after(30.0).seconds == 35.0
    assert call_of(WISH).after(64.0).seconds == LEAST_SECONDS


def test_a_call_that_nobody_holds_keeps_its_body() -> None:
    assert call_of(WISH, held=False).after(30.0).body == WISH
