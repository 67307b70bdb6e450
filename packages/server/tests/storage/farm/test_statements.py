"""A round as one statement."""

import pytest

from rookery.core.model.events import Action, about_run
from rookery.server.db.lease import Lease
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.farm.action_log import action_columns
from rookery.server.farm.rows import changing_task_row
from rookery.server.farm.statements import FIRST_PLACES, Statements, expected
from rookery.server.farm.writing import Writer
from tests.database import pool_on
from tests.makers import NOW, make_run
from tests.storage.farm.stores import make_task, pending

RUN = make_run("a")


def test_only_rows_that_were_written_before_are_expected() -> None:
    assert expected({"tasks_put": [()], "tasks_move": [(), ()], "runs_move": [()]}) == 3


def test_parameters_of_a_part_come_after_those_of_the_parts_before(queries: Queries) -> None:
    moved = changing_task_row(make_task(RUN))
    added = action_columns(about_run(Action.NEW_RUN, RUN, "ann", NOW))
    sql, columns = Statements(queries).joined({"tasks_move": [moved], "actions_add": [added]})
    assert len(columns) == 1 + len(added)
    assert f"jsonb_array_elements(${FIRST_PLACES + 1}::text::jsonb)" in sql
    assert f"${FIRST_PLACES + 2}::text::timestamptz[]" in sql


@pytest.mark.anyio
async def test_a_round_of_any_size_is_one_statement_and_one_transaction(
    database: Target, queries: Queries
) -> None:
    tasks = [make_task(RUN, number) for number in range(1_000)]
    async with pool_on(database) as pool:
        writer = Writer(await Lease(pool, queries, instance="test", address="").take(), queries)
        await writer.write(pending(RUN, *tasks), 7)
        await writer.close()
        (found,) = await pool.fetch("SELECT count(*), count(DISTINCT xmin::text) FROM tasks")
        assert tuple(found) == (len(tasks), 1)
        assert await pool.fetchval("SELECT sequence FROM commits") == 7
