"""Columns of runs and tasks, declared by name."""

from typing import NamedTuple

import pytest

from rookery.server.db.pool import Queries
from rookery.server.farm import row_types
from rookery.server.farm.row_types import ROUND_ROWS, columns_of, fill_places
from rookery.server.farm.rows import all_run_columns
from tests.makers import make_run

RUN = make_run("a")


class Bird(NamedTuple):
    """A row with a column of each sort."""

    id: row_types.TextKey
    born: row_types.FirstTime
    song: row_types.Document
    eggs: row_types.GrowingNumber


@pytest.fixture
def birds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_types, "ROUND_ROWS", {"birds_put": columns_of(Bird)})


@pytest.mark.usefixtures("birds")
@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("names", "id, born, song, eggs"),
        ("values", "id, born, song::jsonb, eggs"),
        (
            "arrays",
            "$1::text::text[], $2::text::timestamptz[], $3::text::text[], $4::text::integer[]",
        ),
        (
            "entries",
            (
                "(r ->> 0) AS id, (r ->> 1)::timestamptz AS born, (r ->> 2) AS song,"
                " (r ->> 3)::integer AS eggs"
            ),
        ),
        ("replaced", "song = excluded.song, eggs = greatest(birds.eggs, excluded.eggs)"),
        ("moved", "song = m.song::jsonb, eggs = greatest(birds.eggs, m.eggs)"),
    ],
)
def test_a_place_of_a_query_is_filled_from_the_declaration(place: str, text: str) -> None:
    assert fill_places("birds_put", f"/* {place} */") == text


def test_a_query_with_other_rows_stays_as_it_is() -> None:
    assert fill_places("samples_put", "SELECT 1;") == "SELECT 1;"


def test_a_round_has_a_value_for_every_column() -> None:
    assert len(all_run_columns(RUN, 7, 0)) == len(ROUND_ROWS["runs_put"])


def test_no_place_is_left_in_a_query_of_a_round() -> None:
    queries = Queries.load()
    assert not [name for name in ROUND_ROWS if "/*" in fill_places(name, queries[name])]
