"""Run by a test as a process of its own: stops itself in the middle of a write, then goes on.

stopped_writer.py SOCKET-FOLDER DATABASE
"""

import asyncio
import json
import os
import signal
import sys

from rookery.server.db.embedded.cluster import USER
from rookery.server.db.embedded.folder import PORT
from rookery.server.db.fence import Fence
from rookery.server.db.lease import Lease
from rookery.server.db.pool import AWAY, Queries, open_pool
from rookery.server.db.target import Problem, set_hook, socket_target


def say(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


def stop_at_commit(moment: str) -> None:
    if moment == "write_before_commit":
        say("stopping")
        os.kill(os.getpid(), signal.SIGSTOP)


async def attempt(fence: Fence) -> str:
    try:
        async with fence.write() as connection:
            await connection.execute("INSERT INTO secrets VALUES ('late', 'x')")
    except (Problem, *AWAY) as error:
        return type(error).__name__
    return "committed"


async def main(folder: str, database: str) -> None:
    target = socket_target(folder, PORT, USER, database)
    async with open_pool(target, instance="old") as pool:
        lease = Lease(pool, Queries.load(), instance="old", address="")
        fence = await lease.take()
        set_hook(stop_at_commit)
        say("woken", outcome=await attempt(fence))
        say("again", outcome=await attempt(fence), held=lease.is_held())


asyncio.run(main(*sys.argv[1:]))
