"""What is counted for monitoring, in rows."""

from datetime import timedelta

import pytest

from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.farm.figures import CountedRows, FigureRows
from tests.database import pool_on

pytestmark = pytest.mark.anyio

ROWS = """
INSERT INTO actions (at, action, username) VALUES
    (now(), 'dead_task', 'a'),
    (now(), 'dead_task', 'b'),
    (now() - interval '2 hours', 'dead_task', 'a'),
    (now(), 'crash_or_time', 'a');
INSERT INTO users (name, email, password_hash, pending, machine_limit, created) VALUES
    ('waiting', '', '', false, 1, now()), ('failed', '', '', true, 1, now());
INSERT INTO channels (user_name, form, address, secret, kinds, active, created, next_at)
SELECT name, 'json', 'https://example.org', '', '{}', true, now(), now() FROM users;
INSERT INTO outbox (at, kind, actor, run, title, message, subject, spread) VALUES
    (now() - interval '10 minutes', 'finished', '', '', '', '', '', true),
    (now(), 'finished', '', '', '', '', '', false);
INSERT INTO deliveries (notification, channel, state)
SELECT (SELECT min(id) FROM outbox), id, user_name FROM channels;
"""


async def test_what_failed_and_what_waits_is_counted(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        await pool.execute(ROWS)
        found = await FigureRows(pool, queries).count()
    assert (found.dead_tasks, found.crashed_tasks, found.failed_tasks) == (2, 1, 0)
    assert (found.undelivered, found.given_up, found.pending_accounts) == (2, 1, 1)
    assert found.undelivered_seconds == pytest.approx(timedelta(minutes=10).total_seconds(), abs=60)


async def test_an_empty_farm_has_nothing_to_count(database: Target, queries: Queries) -> None:
    async with pool_on(database) as pool:
        assert await FigureRows(pool, queries).count() == CountedRows()
