"""Form posts."""

import pytest

from rookery.web.faults import MalformedForm
from rookery.web.scope import parse_form


def test_fields_are_read_with_their_spaces_and_accents() -> None:
    form = parse_form(b"name=ada+l%C3%B6w&empty=&box=1")
    assert form.text("name") == "ada löw"
    assert form.text("empty") == form.text("missing") == ""


def test_a_box_is_ticked_when_it_was_posted() -> None:
    form = parse_form(b"box=on&empty=")
    assert form.ticked("box")
    assert not form.ticked("empty")
    assert not form.ticked("missing")


def test_of_two_values_the_first_counts() -> None:
    assert parse_form(b"a=1&a=2").text("a") == "1"


@pytest.mark.parametrize("body", [b"a=%ff", b"\xff", b"a=%00", b"&".join([b"a=1"] * 2000)])
def test_what_is_no_form_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedForm):
        parse_form(body)
