"""Values become JSON without null."""

import json
import math

import pytest
from msgspec import UNSET, Struct, UnsetType

from rookery.protocol.codec import LARGEST, encode, encode_timed, finite


class Note(Struct):
    """Something to encode."""

    number: float | UnsetType = UNSET
    text: str | UnsetType = UNSET


def test_what_is_not_set_is_not_sent() -> None:
    assert encode(Note()) == b"{}"


@pytest.mark.parametrize(
    ("number", "sent"), [(math.nan, 0.0), (math.inf, LARGEST), (-math.inf, -LARGEST), (1.5, 1.5)]
)
def test_numbers_that_json_lacks_become_the_nearest(number: float, sent: float) -> None:
    assert json.loads(encode([Note(number=number)])) == [{"number": sent}]
    assert finite(number) == sent


def test_a_nothing_deep_inside_is_left_out() -> None:
    assert encode({"a": None, "b": [None, {"c": None}]}) == b'{"b":[{}]}'


def test_the_word_null_in_a_text_is_kept() -> None:
    assert encode(Note(text="null and void")) == b'{"text":"null and void"}'


def test_lone_surrogates_are_replaced() -> None:
    assert encode(Note(text="a\ud800")) == b'{"text":"a?"}'


def test_every_timed_answer_carries_its_duration() -> None:
    assert encode_timed(Note(), seconds=0.0012) == b'{"duration":0.001200}'
    assert encode_timed(Note(text="x"), seconds=2) == b'{"text":"x","duration":2.000000}'


@pytest.mark.parametrize("seconds", [math.nan, -1.0])
def test_a_senseless_duration_is_zero(seconds: float) -> None:
    assert encode_timed(Note(), seconds=seconds) == b'{"duration":0.000000}'
