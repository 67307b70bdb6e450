"""Lists by their address: filters, order and pages."""

import pytest

from rookery.server.http.pages.listing import ListAddress, make_open_pager, make_pager, read_page

HERE = ListAddress("/tests", {"user": "olga", "sort": "-games", "page": "3"})


def test_a_changed_filter_leads_to_the_first_page() -> None:
    assert HERE.change(user="sven") == "/tests?user=sven&sort=-games"


def test_an_empty_filter_is_taken_away() -> None:
    assert HERE.change(user="", sort="") == "/tests"


def test_a_column_is_sorted_downwards_first_and_then_the_other_way() -> None:
    assert HERE.sort_by("elo") == "/tests?user=olga&sort=-elo"
    assert HERE.sort_by("games") == "/tests?user=olga&sort=games"
    assert (HERE.direction("games"), HERE.direction("elo")) == ("descending", "")


@pytest.mark.parametrize(
    ("text", "page"), [("", 1), ("7", 7), ("-1", 1), ("x", 1), ("9" * 5000, 100_000)]
)
def test_a_page_is_read_from_whatever_people_type(text: str, page: int) -> None:
    assert read_page({"page": text}) == page


def test_a_pager_leads_to_the_ends_and_the_neighbours() -> None:
    pager = make_pager(HERE, page=10, size=50, total=1000)
    assert [one.word for one in pager.numbers] == ["1", "…", "8", "9", "10", "11", "12", "…", "20"]
    assert [one.word for one in pager.numbers if one.current] == ["10"]
    assert pager.text == "451 to 500 of 1,000"
    assert pager.later == "/tests?user=olga&sort=-games&page=11"


def test_one_page_needs_no_pager() -> None:
    assert not make_pager(HERE, page=1, size=50, total=50).needed
    assert not make_open_pager(HERE, 1, more=False).needed


def test_a_page_beyond_the_end_leads_back() -> None:
    pager = make_pager(HERE, page=5, size=50, total=60)
    assert (pager.text, pager.later) == ("none of 60", "")
