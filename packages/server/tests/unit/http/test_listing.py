"""Lists by their address: filters, order and pages."""

import pytest

from rookery.server.http.pages.listing import (
    ListAddress,
    Pager,
    make_open_pager,
    make_pager,
    read_page,
)
from tests.rendered import read_words, render_macro

HERE = ListAddress("/tests", {"user": "olga", "sort": "-games", "page": "3"})


def render_pager(pager: Pager) -> str:
    return render_macro("macros.html", "pages", pager)


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
    assert pager.numbers == (1, 0, 8, 9, 10, 11, 12, 0, 20)
    shown = render_pager(pager)
    assert read_words(shown) == "451 to 500 of 1,000 Previous 1 … 8 9 10 11 12 … 20 Next"
    assert '<span aria-current="page">10</span>' in shown
    assert 'href="/tests?user=olga&amp;sort=-games&amp;page=11" rel="next"' in shown


def test_one_page_needs_no_pager() -> None:
    for pager in (
        make_pager(HERE, page=1, size=50, total=50),
        make_open_pager(HERE, 1, more=False),
    ):
        assert not pager.needed
        assert not render_pager(pager).strip()


def test_a_list_that_is_not_counted_tells_the_page_alone() -> None:
    shown = render_pager(make_open_pager(HERE, 2, more=True))
    assert read_words(shown) == "page 2 Previous Next"


def test_a_page_beyond_the_end_leads_back() -> None:
    pager = make_pager(HERE, page=5, size=50, total=60)
    assert read_words(render_pager(pager)) == "none of 60 Previous 1 2"
