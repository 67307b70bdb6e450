"""`rookery serve` that kills itself at a moment, for tests: dying_serve.py MOMENT[:TIMES] WORDS

A moment is one of our test points, or one of those below; with TIMES it kills itself at that
passage, counted from 1. Nothing of this is in the server itself.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import asyncpg.transaction

from rookery.cli.main import main
from rookery.server.db.target import set_hook
from rookery.server.farm.rules.reception import Reception
from rookery.server.http.primary_link import Reply
from rookery.server.worker_api.short_path import ShortCall, ShortPath

Passage = Callable[[], None]


def passages(times: int) -> Passage:
    """Kills the process at the last of `times` calls."""
    left = times

    def passed() -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return passed


def before_the_change(passed: Passage) -> None:
    """Dies when a result has been read but nothing changed yet."""
    update = Reception.update

    def dying(self: Reception, *words: Any) -> Any:
        passed()
        return update(self, *words)

    setattr(Reception, "update", dying)  # noqa: B010 - this process is made to die there


def after_the_change(passed: Passage) -> None:
    """Dies when a result is in memory only."""
    update = Reception.update

    def dying(self: Reception, *words: Any) -> Any:
        outcome = update(self, *words)
        passed()
        return outcome

    setattr(Reception, "update", dying)  # noqa: B010 - as above


def during_commit(passed: Passage) -> None:
    """Dies when COMMIT has been sent to the database but not answered."""
    transaction = asyncpg.transaction.Transaction
    commit = transaction.commit

    async def dying(self: Any) -> None:
        sent = asyncio.ensure_future(commit(self))
        await asyncio.sleep(0)
        passed()
        await sent

    setattr(transaction, "commit", dying)  # noqa: B010 - as above


def before_the_answer(passed: Passage) -> None:
    """Dies when a result is committed but the worker has no answer."""
    finish = ShortPath.finish

    def dying(self: ShortPath, call: ShortCall) -> bytes | Reply | None:
        body = finish(self, call)
        if body is not None and call.endpoint.route.path == "/api/update_task":
            passed()
        return body

    setattr(ShortPath, "finish", dying)  # noqa: B010 - as above


MOMENTS = {
    made.__name__: made
    for made in (before_the_change, after_the_change, during_commit, before_the_answer)
}


def die_at(moment: str) -> None:
    name, _, times = moment.partition(":")
    passed = passages(int(times or 1))
    if name in MOMENTS:
        MOMENTS[name](passed)
    else:
        set_hook(lambda reached: passed() if reached == name else None)


if __name__ == "__main__":
    die_at(sys.argv[1])
    sys.exit(main(sys.argv[2:]))
