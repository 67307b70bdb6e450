"""A server with runs in every state: python -m tests.pages.scene; /scene/play plays on."""

import asyncio
import contextlib
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from rookery.core.boundary.offload import Threads
from rookery.core.clock import SystemClock
from rookery.core.model.kinds import Report
from rookery.server.app.front_end import (
    FrontEndUnavailable,
    fetch_front_end,
    find_folders,
    read_fetched,
)
from rookery.server.ask.passages import Document, PassageKind
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.rules.answers import HeldTask
from rookery.server.http.answers import site_of
from rookery.server.identity.users import APPROVERS
from rookery.server.logs import logger, start_logs
from tests.http_servers import http_backend, serve_in_memory
from tests.makers import run_id
from tests.pages.games import packed_games
from tests.pages.rows import drawn_pairs, filled
from tests.twins.farm import MemoryStore
from tests.twins.sites import MemorySite, make_site, make_user

CHANCE = random.Random(11)
DOCUMENTS = tuple(
    Document(
        key=f"commit/{name}",
        kind=PassageKind.COMMIT,
        title=f"<b>{name}</b> razoring margin",
        body="A bigger razoring margin at low depth, as <i>somebody</i> proposed.",
        url=f"https://example.org/{name}",
        commit=name * 40,
    )
    for name in "ab"
)
"""What questions find."""


@runs(Domain.LOOP, "for the test")
async def play(request: Request) -> Response:
    """A batch on every machine of every run."""
    fleet = site_of(request).fleet
    for task in await fleet.views.tasks_at_play():
        results = task.results + drawn_pairs(CHANCE, (20, 200, 560, 212, 22), 10)
        call = HeldTask(task.run, task.id, task.machine)
        await fleet.update_task(call, Report(results))
    return PlainTextResponse("played")


async def run(site: MemorySite, port: int, farewell: Callable[[], None]) -> int:
    user = await make_user(site, "boris")
    await site.users.save(replace(user, groups=frozenset({APPROVERS})))
    for name in ("late-move-pruning", "king-safety"):
        task = await site.reads.task(run_id(name), 0)
        assert task is not None
        await site.games.upload(task, packed_games(64))
    await site.passages.apply(DOCUMENTS, ())
    routes = [Route("/scene/play", play, methods=["GET"])]
    return await serve_in_memory(site, port, farewell, routes)


def get_front_end() -> Mapping[str, bytes]:
    """The charts and the board, fetched where no server of this environment has done so yet; none
    where they can't be had, which the test of charts tells."""
    folders = find_folders(Path("nowhere"))[:1]
    if found := read_fetched(folders):
        return found
    with contextlib.suppress(FrontEndUnavailable):
        return asyncio.run(fetch_front_end(folders, Threads()))
    return {}


def main(port: str = "0", _trouble: str = "") -> int:
    writer, clock = start_logs(style="json"), SystemClock()
    rows = filled(clock.now(), left="left-alone")
    site = make_site(log=logger(), clock=clock, store=MemoryStore(rows))
    site.assets.add(get_front_end())
    try:
        with asyncio.Runner(loop_factory=http_backend().new_loop) as runner:
            return runner.run(run(site, int(port), writer.stop))
    finally:
        writer.stop()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
