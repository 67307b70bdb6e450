"""Who a path is for, where a visitor may be sent, and form posts."""

import pytest

from rookery.server.http.faults import MalformedForm
from rookery.server.http.scope import (
    WORKER_PATHS,
    Audience,
    audience_of,
    comes_from_another_site,
    is_local,
    parse_form,
)


def test_there_are_nine_worker_paths() -> None:
    assert len(WORKER_PATHS) == 9


@pytest.mark.parametrize(
    ("path", "audience"),
    [
        ("/api/beat", Audience.WORKER),
        ("/api/beat/", Audience.PROGRAM),
        ("/api", Audience.PERSON),
        ("/healthz", Audience.PROGRAM),
        ("/", Audience.PERSON),
        ("/apiary", Audience.PERSON),
    ],
)
def test_the_path_tells_who_asks(path: str, audience: Audience) -> None:
    assert audience_of(path) is audience


@pytest.mark.parametrize(
    ("told", "another"),
    [
        ({}, False),
        ({"sec-fetch-site": "same-origin", "origin": "null"}, False),
        ({"sec-fetch-site": "same-site", "origin": "https://farm.example"}, True),
        ({"sec-fetch-site": "cross-site"}, True),
        ({"origin": "http://farm.example"}, False),
        ({"origin": "http://farm.example:8080"}, True),
        ({"origin": "null"}, True),
    ],
)
def test_a_browser_tells_whether_a_post_comes_from_here(
    told: dict[str, str], another: bool
) -> None:
    headers = {"host": "farm.example", **told}
    scope = {"headers": [(name.encode(), value.encode()) for name, value in headers.items()]}
    assert comes_from_another_site(scope) is another


@pytest.mark.parametrize("path", ["/", "/tests?page=2", "/a/b#c"])
def test_places_on_this_site_are_local(path: str) -> None:
    assert is_local(path)


@pytest.mark.parametrize(
    "path",
    ["", "tests", "//evil.example", "/\\evil.example", "https://x.example", "/a\nb", "/é"],
)
def test_anything_a_browser_might_take_elsewhere_is_not(path: str) -> None:
    assert not is_local(path)


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
