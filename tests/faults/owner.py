"""Run by tests as a process of its own: owns an embedded server and says what happens, in JSON.

owner.py DATA hold              opens the server until standard input ends
owner.py DATA write             and writes rows through the fence, saying each acknowledged one
owner.py DATA migrate MOMENT    and migrates, but kills itself at a fault point
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from rookery.server.db import migrations
from rookery.server.db.embedded.server import EmbeddedServer, open_server
from rookery.server.db.fence import Fence, OutcomeUnknown
from rookery.server.db.lease import Lease
from rookery.server.db.pool import AWAY, Pool, Queries, open_pool
from rookery.server.db.target import Problem, set_hook

TABLE = "CREATE TABLE IF NOT EXISTS kept (n bigint PRIMARY KEY)"
LAST = "SELECT coalesce(max(n), 0) AS last, count(*) AS rows FROM kept"


def say(event: str, /, **fields: object) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


def tell(event: str, /, **fields: object) -> None:
    """Reports an event of the server's log."""
    say(event, **{key: str(value) for key, value in fields.items()})


async def owner_is_gone() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


async def hold(server: EmbeddedServer) -> None:
    gone = asyncio.create_task(owner_is_gone())
    failed = asyncio.create_task(server.wait_failed())
    await asyncio.wait({gone, failed}, return_when=asyncio.FIRST_COMPLETED)
    failed.cancel()
    if not gone.done():
        gone.cancel()
        raise failed.result()


async def migrate(server: EmbeddedServer, queries: Queries, moment: str = "") -> None:
    def hook(reached: str) -> None:
        if reached == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    set_hook(hook)
    done = await migrations.migrate(server.target, queries, migrations.load_migrations())
    say("migrated", numbers=[migration.number for migration in done])


async def write(server: EmbeddedServer, queries: Queries) -> None:
    await migrate(server, queries)
    async with open_pool(server.target, instance=f"writer-{os.getpid()}", size=3) as pool:
        await pool.execute(TABLE)
        lease = Lease(pool, queries, instance=f"writer-{os.getpid()}", address="")
        gone = asyncio.create_task(owner_is_gone())
        while not gone.done():
            try:
                await write_on(pool, await lease.take(force=True), gone)
            except (*AWAY, OutcomeUnknown) as error:
                say("interrupted", reason=repr(error))
                await asyncio.sleep(0.05)


async def write_on(pool: Pool, fence: Fence, gone: "asyncio.Task[None]") -> None:
    row = await pool.fetchrow(LAST)
    assert row is not None
    number = row["last"]
    say("resumed", last=number, rows=row["rows"])
    while not gone.done():
        number += 1
        async with fence.write() as connection:
            await connection.execute("INSERT INTO kept (n) VALUES ($1)", number)
        say("kept", n=number)


async def main(data: Path, work: str, *words: str) -> int:
    queries = Queries.load()
    try:
        async with open_server(data, log=tell) as server:
            say("open")
            if work == "write":
                await write(server, queries)
            elif work == "migrate":
                await migrate(server, queries, *words)
            else:
                await hold(server)
    except Problem as problem:
        say("problem", name=type(problem).__name__, sentence=str(problem))
        return problem.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:])))
