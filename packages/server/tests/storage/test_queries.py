"""Named queries in files."""

from pathlib import Path

import pytest

from rookery.server.db.pool import Queries, parse_queries
from rookery.server.db.target import Problem

HERE = Path("some.sql")


def test_a_query_has_a_name_a_purpose_and_its_text() -> None:
    (query,) = parse_queries("-- name: one\n-- The first.\nSELECT 1;\n", HERE)
    assert (query.name, query.purpose, query.sql) == ("one", "The first.", "SELECT 1;")


def test_a_file_may_hold_several_queries() -> None:
    text = "-- name: one\n-- First.\nSELECT 1;\n\n-- name: two\n-- Second.\nSELECT 2;\n"
    assert [query.sql for query in parse_queries(text, HERE)] == ["SELECT 1;", "SELECT 2;"]


def test_a_query_without_a_purpose_is_refused() -> None:
    with pytest.raises(Problem, match="purpose"):
        parse_queries("-- name: one\nSELECT 1;\n", HERE)


def test_a_name_in_two_files_is_refused(tmp_path: Path) -> None:
    for name in ("a.sql", "b.sql"):
        (tmp_path / name).write_text("-- name: one\n-- Twice.\nSELECT 1;\n")
    with pytest.raises(Problem, match="one exists twice"):
        Queries.load(tmp_path)


def test_every_query_of_ours_loads() -> None:
    assert all(query.sql.endswith(";") for query in Queries.load())
