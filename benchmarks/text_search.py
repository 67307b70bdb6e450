"""What searching for words costs in ended tests and in the log of actions, with the indexes that
there are, with one for the log that there is not, and with none:
`python -m benchmarks.text_search [--rows 100000]`.

Rows are made up in the database, as many runs as lines of the log. Each search is the one that a
page sends; the median of five after one that does not count is printed, and what a thousand new
lines of the log cost.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg

from rookery.core.protocol.actions import Mentions
from rookery.server.db import migrations
from rookery.server.db.embedded.server import open_server
from rookery.server.db.lease import Lease
from rookery.server.db.pool import Queries, open_pool
from rookery.server.farm import action_log, run_filters
from rookery.server.farm.read_values import STRANGER, FinishedRunsQuery
from rookery.server.farm.rules.answers import Changes
from rookery.server.farm.run_filters import Selection
from rookery.server.farm.store import FleetStore
from tests.storage.farm.stores import finished, kept

WORDS = ["quiet", "endgame", "pruning", "history", "aspiration", "contempt", "razoring", "nnue"]
ADD_ACTIONS = """
INSERT INTO actions (at, action, username, worker, run_id, run, message)
SELECT now() - n * interval '1 minute', 'failed_task', 'user' || n % 500,
    'user' || n % 500 || '-8cores-' || md5(n::text), left(md5((n % 5000)::text), 24),
    ($1::text[])[1 + n % 8] || '-' || n % 5000,
    'Task ' || n || ': ' || md5((n * 7)::text) || ' with ' || ($1::text[])[1 + n / 9 % 8]
FROM generate_series($2::integer, $3::integer) AS n
"""
COLUMNS = """
SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
WHERE table_name = 'runs' AND is_generated = 'NEVER' AND column_name NOT IN ('id', 'plan')
"""
ADD_RUNS = """
INSERT INTO runs (id, plan, {columns})
SELECT lpad(to_hex(n), 24, '0'),
    jsonb_set(
        jsonb_set(plan, '{{sides,0,tag}}', to_jsonb(($1::text[])[1 + n % 8] || '-' || n)),
        '{{info}}', to_jsonb(md5(n::text) || ' tried again with ' || ($1::text[])[1 + n / 9 % 8])
    ), {columns}
FROM runs, generate_series(1, $2::integer) AS n
"""
LOG_INDEX = """
CREATE INDEX actions_by_words ON actions USING gin (
    message gin_trgm_ops, run gin_trgm_ops, worker gin_trgm_ops, username gin_trgm_ops,
    subject gin_trgm_ops, nn gin_trgm_ops, engine gin_trgm_ops
) WITH (fastupdate = off)
"""
SEARCHES = {"one": "aspiration-4212", "many": "pruning", "none": "zugzwang"}
TIMES = 5


async def measure(connection: asyncpg.Connection, asked: Selection) -> float:
    """The median in milliseconds."""
    taken = []
    for _ in range(TIMES + 1):
        begun = time.perf_counter()
        await connection.fetch(asked.sql, *asked.values)
        taken.append(1000 * (time.perf_counter() - begun))
    return statistics.median(taken[1:])


def list_searches(queries: Queries) -> Iterator[tuple[str, str, Selection]]:
    for name, words in SEARCHES.items():
        log = action_log.actions(queries["actions_filtered"], Mentions(words), 51, STRANGER)
        yield "the log", name, log
    for name, words in SEARCHES.items():
        wanted = FinishedRunsQuery(page_size=26, text=words)
        yield "ended tests", name, run_filters.finished(queries["runs_finished"], wanted)


async def fill(connection: asyncpg.Connection, rows: int) -> None:
    columns = await connection.fetchval(COLUMNS)
    await connection.execute(ADD_ACTIONS, WORDS, 1, rows)
    await connection.execute(ADD_RUNS.format(columns=columns), WORDS, rows)
    await connection.execute("ANALYZE")


async def print_figures(connection: asyncpg.Connection, queries: Queries, rows: int) -> None:
    for where, name, asked in list_searches(queries):
        print(f"  {where}, {name}: {await measure(connection, asked):.1f} ms")
    begun = time.perf_counter()
    await connection.execute(ADD_ACTIONS, WORDS, rows + 1, rows + 1000)
    print(f"  1,000 new lines: {1000 * (time.perf_counter() - begun):.0f} ms")


async def main(rows: int, folder: Path) -> None:
    queries, known = Queries.load(), migrations.load_migrations()
    async with open_server(folder) as server:
        await migrations.migrate(server.target, queries, known)
        async with open_pool(server.target, instance="benchmark") as pool:
            lease = Lease(pool, queries, instance="benchmark", address="")
            await lease.take(force=True)
            store = FleetStore(pool, queries, lease)
            await kept(store, Changes(runs=(finished("a"),)))
            await store.close()
        connection = await asyncpg.connect(**server.target.connect_args)
        await fill(connection, rows)
        print(f"{rows:,} rows, with the indexes that there are:")
        await print_figures(connection, queries, rows)
        await connection.execute(LOG_INDEX)
        print("with one for the log:")
        await print_figures(connection, queries, rows)
        sizes = "SELECT pg_size_pretty(pg_relation_size($1::regclass))"
        for index in ("actions_by_words", "runs_by_words"):
            print(f"  {index}: {await connection.fetchval(sizes, index)}")
            await connection.execute(f"DROP INDEX {index}")
        print("with none:")
        await print_figures(connection, queries, rows)
        await connection.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    with tempfile.TemporaryDirectory(prefix="rookery-search-") as place:
        asyncio.run(main(parser.parse_args().rows, Path(place) / "data"))
