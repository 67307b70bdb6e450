"""Columns as parameters."""

from rookery.storage.fleet.packing import packed


def test_numbers_go_as_text_where_the_query_says_so() -> None:
    sql = "SELECT * FROM unnest($1::text[], $2::text::bigint[], $3::text::boolean[])"
    columns = [("a", "b"), (1, -2), (True, False)]
    assert list(packed(sql, columns)) == [("a", "b"), "{1,-2}", "{True,False}"]
