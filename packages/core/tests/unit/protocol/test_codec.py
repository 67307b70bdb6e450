"""Bytes become values or named faults, and values become JSON without null."""

import json
import math

import pytest
from msgspec import UNSET, Struct, UnsetType

from rookery.core.model.task import Results
from rookery.core.protocol import codec
from rookery.core.protocol.codec import LARGEST, Reader, encode, encode_timed, to_finite
from tests.unit.protocol.samples import STATS, body, changed

READER = Reader(Results, most_bytes=1_000_000)
TEXTS = Reader(dict[str, str])


def test_unknown_keys_are_passed_over() -> None:
    assert READER.read(changed(STATS, "surprise", {"a": [None]})) == READER.read(body(STATS))


@pytest.mark.parametrize("value", [1.0, 1e2, True, "1", None, [1], -1, 2**31, 10**30])
def test_an_int_is_a_small_json_integer(value: object) -> None:
    with pytest.raises(codec.BadField, match=r"^wins: expected int"):
        READER.read(changed(STATS, "wins", value))


def test_an_int_of_thousands_of_digits_is_out_of_range() -> None:
    with pytest.raises(codec.BadField, match="wins"):
        READER.read(body(STATS).replace(b'"wins": 8', b'"wins": ' + b"9" * 5000))


def test_the_field_of_a_fault_is_named_by_its_path() -> None:
    with pytest.raises(codec.BadField, match=r"^pentanomial\[2\]: expected int, got str$"):
        READER.read(changed(STATS, "pentanomial", [0, 0, "x", 0, 0]))


def test_a_missing_field_is_named() -> None:
    with pytest.raises(codec.BadField, match=r"^losses: is missing$"):
        READER.read(b'{"wins":1}')


@pytest.mark.parametrize("text", [b"[]", b"null", b"1", b'"x"', b"[" * 100_000])
def test_only_an_object_will_do(text: bytes) -> None:
    with pytest.raises(codec.NotAnObject):
        READER.read(text)


@pytest.mark.parametrize("text", [b"", b"{", b"NaN", b"\xff", b'{"wins":NaN}', b"\x00"])
def test_what_is_not_json_is_said_to_be_so(text: bytes) -> None:
    with pytest.raises(codec.NotJson):
        READER.read(text)


def test_nothing_may_follow_the_object() -> None:
    with pytest.raises(codec.NotJson):
        READER.read(body(STATS) + b"x")


def test_bad_utf8_is_not_json() -> None:
    with pytest.raises(codec.NotJson):
        TEXTS.read(b'{"a":"\xff"}')


def test_deep_nesting_is_a_fault_also_under_an_unknown_key() -> None:
    with pytest.raises(codec.TooDeep):
        READER.read(b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}")


def test_a_body_has_a_largest_size() -> None:
    with pytest.raises(codec.TooLarge, match="10 bytes"):
        Reader(Results, most_bytes=10).read(body(STATS))


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (rb"\u0000", "\ufffd"),
        (rb"\ud800", "\ufffd"),
        (rb"\uDFFFx", "\ufffdx"),
        (rb"\ud83d\ude00", "\U0001f600"),
        (rb"\\u0000", r"\u0000"),
        (rb"\\\u0000", "\\\ufffd"),
        (rb"\ude00\ude00\ud83d", "\ufffd\ufffd\ufffd"),
        (rb"\ud83d\ude00\ude00", "\U0001f600\ufffd"),
        (rb"\\\\ud800", "\\\\ud800"),
        (rb"\ud800\ud83d\ude00", "\ufffd\U0001f600"),
        (rb"\n\u00e9", "\n\xe9"),
        (rb"\u0000\u0000 \\\\ \u0000", "\ufffd\ufffd \\\\ \ufffd"),
    ],
)
def test_what_a_database_cannot_hold_is_replaced(sent: bytes, kept: str) -> None:
    assert TEXTS.read(b'{"a":"' + sent + b'"}') == {"a": kept}


def test_a_fault_is_answered_with_the_path_first() -> None:
    assert codec.BadField(field="stats", text="is missing").at("/api/update_task") == (
        "/api/update_task: stats: is missing"
    )


def test_texts_with_braces_do_not_confuse_a_message() -> None:
    assert str(codec.BadField(field="{x}", text="{0}")) == "{x}: {0}"
    assert str(codec.WireFault()) == "the message cannot be used"


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
    assert to_finite(number) == sent


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
