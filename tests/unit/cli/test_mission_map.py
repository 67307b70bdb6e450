"""The map from the fleet server's inventory to ours holds, and says what is still to come."""

import pytest

from rookery.boundary.domains import Domain, Entry
from rookery.cli.boundaries import BadRow, disagreements, markdown, parse, shipped
from rookery.web.app import create_app
from tests.wire.houses import make_house

HERE = "1 | middleware | `Head` | LOOP | middleware Head, route GET / | ours is smaller |"
LATER = "2 | 3 API, worker | `beat` | LOOP | route POST /api/beat | | the worker API"
HEAD = Entry("middleware", "Head", Domain.LOOP, "drops the body")
HOME = Entry("route", "GET /", Domain.THREAD, "renders a page")
BEAT = Entry("route", "POST /api/beat", Domain.LOOP, "from memory")


def complaints(text: str, *entries: Entry) -> list[str]:
    return [one.what for one in disagreements(parse(text), entries)]


def test_a_row_that_names_existing_entries_is_fine() -> None:
    assert complaints(HERE, HEAD, HOME) == []


def test_a_row_that_names_an_entry_that_does_not_exist_is_not() -> None:
    assert complaints(HERE, HEAD) == ["there is no route GET /"]


def test_a_row_may_wait_for_what_arrives_later_but_no_longer() -> None:
    assert complaints(LATER) == []
    assert complaints(LATER, BEAT) == ["it is here, no longer to arrive with the worker API"]


def test_a_group_stands_for_all_rows_of_its_section() -> None:
    whole = f"{LATER}\n1 | API | wrappers | LOOP | the worker routes | |"
    assert complaints(whole) == ["there is no route POST /api/beat"]


def test_a_row_without_its_columns_is_refused() -> None:
    with pytest.raises(BadRow, match="seven columns"):
        parse("1 | middleware | `Head` | LOOP")


def test_the_table_says_what_is_different_and_what_is_to_come() -> None:
    table = markdown(parse(f"{HERE}\n{LATER}")).splitlines()
    assert table[2].endswith("| `middleware Head`, `route GET /` | ours is smaller |")
    assert table[3].endswith("| `route POST /api/beat` | arrives with the worker API |")


def test_the_map_that_ships_agrees_with_the_app() -> None:
    inventory = create_app(make_house()).state.inventory
    found = [one for one in disagreements(shipped(), inventory) if "lifespan" not in one.what]
    assert found == []


def test_the_map_that_ships_covers_both_documents() -> None:
    assert {row.document for row in shipped()} == {1, 2}
    assert len(shipped()) > 70
