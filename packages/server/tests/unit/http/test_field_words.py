"""Messages of the wire formats in words for people: those that records really give."""

import json

import pytest

from rookery.core.protocol.codec import BadField
from rookery.core.protocol.v1 import ENGINE_RECORD
from rookery.server.http.pages.field_words import say_plainly


def said(record: dict[str, object]) -> str:
    with pytest.raises(BadField) as fault:
        ENGINE_RECORD.read(json.dumps({"name": "x"} | record).encode())
    fields = fault.value.fields
    return say_plainly(str(fields["field"]), str(fields["text"]))


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"name": "a/b"}, "A name starts with a letter or digit"),
        ({"name": ""}, "This is required."),
        ({"name": "x" * 200}, "Expected 111 characters at most."),
        ({"branch": "-f"}, "A branch name starts with"),
        ({"share": -1}, "Expected a number above 0."),
        ({"speed": {"reference": "fast"}}, "Expected a number."),
        ({"recipe": {"kind": "magic"}}, "'magic' is not one of the choices."),
    ],
)
def test_a_fault_of_a_record_is_told_in_words(record: dict[str, object], words: str) -> None:
    assert said(record).startswith(words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("expected int <= 65536", "Expected a whole number up to 65,536."),
        ("expected str matching regex '^x'", "This does not have the right format."),
        ("an option is named twice", "an option is named twice"),
        ("is missing", "This is required."),
        ("expected a whole number", "Expected a whole number."),
    ],
)
def test_other_messages(text: str, words: str) -> None:
    assert say_plainly("info", text) == words
