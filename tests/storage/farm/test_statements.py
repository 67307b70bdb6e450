"""A round as one statement."""

import pytest

from rookery.db.lease import Lease
from rookery.db.pool import Queries
from rookery.db.target import Target
from rookery.farm.action_log import action_columns
from rookery.farm.rows import Columns, changing_task_columns
from rookery.farm.statements import FIRST_PLACES, MOST_ROWS, Statements, expected, pieces
from rookery.farm.writing import PendingRows, Writer
from rookery.model.events import Action, about_run
from tests.database import pool_on
from tests.makers import NOW, make_run
from tests.storage.farm.stores import changed, make_task

RUN = make_run("a")


def test_a_round_without_rows_is_one_statement_since_it_has_a_number() -> None:
    assert list(pieces([])) == [{}]


def test_very_many_rows_go_in_pieces_and_keep_their_order() -> None:
    rows: list[Columns] = [(number,) for number in range(MOST_ROWS + 1)]
    found = list(pieces([("tasks_put", rows), ("actions_add", [("x",)])]))
    assert found[0] == {"tasks_put": rows[:MOST_ROWS], "actions_add": [("x",)]}
    assert found[1:] == [{"tasks_put": rows[MOST_ROWS:]}]


def test_only_rows_that_were_written_before_are_expected() -> None:
    assert expected({"tasks_put": [()], "tasks_move": [(), ()], "runs_move": [()]}) == 3


def test_parameters_of_a_part_come_after_those_of_the_parts_before(queries: Queries) -> None:
    moved = changing_task_columns(make_task(RUN))
    added = action_columns(about_run(Action.NEW_RUN, RUN, "ann", NOW))
    sql, columns = Statements(queries).joined({"tasks_move": [moved], "actions_add": [added]})
    assert len(columns) == len(moved) + len(added)
    assert f"$3::text::text[], ${FIRST_PLACES + 2}::text::integer[]" in sql
    assert f"${FIRST_PLACES + len(moved) + 1}::text::timestamptz[]" in sql


@pytest.mark.anyio
async def test_more_rows_than_go_with_a_statement_are_committed_together(
    database: Target, queries: Queries
) -> None:
    tasks = [make_task(RUN, number) for number in range(MOST_ROWS + 1)]
    async with pool_on(database) as pool:
        writer = Writer(await Lease(pool, queries, instance="test", address="").take(), queries)
        gathered = PendingRows()
        gathered.add(changed(RUN, *tasks))
        await writer.write(gathered, 7)
        (found,) = await pool.fetch("SELECT count(*), count(DISTINCT xmin::text) FROM tasks")
        assert tuple(found) == (len(tasks), 1)
        assert await pool.fetchval("SELECT sequence FROM commits") == 7
