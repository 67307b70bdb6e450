"""Columns as parameters."""

from datetime import UTC, datetime

import pytest

from rookery.server.db.target import Target
from rookery.server.farm.packing import array_text, packed
from tests.database import pool_on


def test_numbers_go_as_text_where_the_query_says_so() -> None:
    sql = "SELECT * FROM unnest($1::text[], $2::text::bigint[], $3::text::boolean[])"
    rows = [("a", 1, True), ("b", -2, False)]
    assert list(packed(sql, rows)) == [("a", "b"), "{1,-2}", "{True,False}"]


def test_rows_go_as_one_text_where_the_query_says_so() -> None:
    sql = "SELECT * FROM jsonb_array_elements($1::text::jsonb)"
    assert list(packed(sql, [("a", 1, True), ("b", -2, None)])) == ['[["a",1,true],["b",-2,null]]']


def test_times_go_as_text_without_blanks() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
    assert list(packed("$1::text::timestamptz[]", [(at,)])) == [
        "{2026-01-02T03:04:05.000006+00:00}"
    ]


def test_texts_are_in_quotes() -> None:
    assert list(packed("$1::text::text[]", [("null",), ("",)])) == ['{"null",""}']


def test_no_texts_are_an_empty_array() -> None:
    assert array_text([]) == "{}"


def test_what_means_something_within_quotes_is_escaped() -> None:
    assert list(packed("$1::text::text[]", [('"',), ("\\",), (None,)])) == [r'{"\"","\\",NULL}']


@pytest.mark.anyio
@pytest.mark.parametrize(
    "column",
    [
        ("plain", "null", "NULL", "", " "),
        ("{a,b}", "tab\t", "line\n", "é", "\N{GRINNING FACE}"),
        ('"', '","', '"",""', "'", "$1"),
        ("\\", "\\\\", '\\"', "\\N", "\\0"),
        ("a", None, '{"llr": 1.0}'),
        ('","',),
    ],
)
async def test_the_database_reads_any_text_as_it_was(
    database: Target, column: tuple[str | None, ...]
) -> None:
    (text,) = packed("$1::text::text[]", [(each,) for each in column])
    async with pool_on(database) as pool:
        assert await pool.fetchval("SELECT $1::text::text[]", text) == list(column)
