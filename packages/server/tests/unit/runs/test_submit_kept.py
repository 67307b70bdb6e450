"""A form that outlived its session."""

from rookery.server.runs.submit.kept import keep_form

POSTED = (
    ("csrf_token", "secret"),
    ("tc", "60+0.6"),
    ("new_tag", "idea"),
    ("base_tag", ""),
    ("preset", "LTC"),
    ("do", "submit"),
)


def test_everything_is_posted_again_but_the_token_and_the_button() -> None:
    assert [name for name, _ in keep_form(POSTED).fields] == ["tc", "new_tag", "base_tag", "preset"]


def test_what_was_filled_in_is_shown_and_what_matters_first() -> None:
    assert keep_form(POSTED).shown == (("New", "idea"), ("Time control", "60+0.6"))


def test_of_a_name_that_comes_twice_the_first_counts() -> None:
    assert keep_form([("new_tag", "one"), ("new_tag", "two")]).shown == (("New", "one"),)
