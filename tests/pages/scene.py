"""A server with runs in every state: python -m tests.pages.scene; /scene/play plays on."""

import asyncio
import random
import sys
from collections.abc import Callable
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from rookery.bootstrap.app import create_app
from rookery.boundary.domains import Domain, runs
from rookery.clock import SystemClock
from rookery.farm.views import tasks_at_play
from rookery.logs import logger, start_logs
from rookery.model.kinds import Report
from rookery.people.users import APPROVERS
from rookery.rules.answers import HeldTask
from rookery.web.answers import kit_of
from rookery.web.house import House
from tests.carried import carrier, serve_in_memory
from tests.desks import make_back
from tests.pages.rows import drawn_pairs, filled
from tests.twins.farm import MemoryStore
from tests.twins.people import MemoryUsers
from tests.wire.houses import make_house, make_user

CHANCE = random.Random(11)


@runs(Domain.LOOP, "for the test")
async def play(request: Request) -> Response:
    """A batch on every machine of every run."""
    fleet = kit_of(request).house.fleet
    for task in await tasks_at_play(fleet):
        results = task.results + drawn_pairs(CHANCE, (20, 200, 560, 212, 22), 10)
        call = HeldTask(task.run, task.id, task.machine)
        await fleet.update_task(call, Report(results), None)
    return PlainTextResponse("played")


async def run(house: House, port: int, farewell: Callable[[], None]) -> int:
    app = create_app(house, [Route("/scene/play", play, methods=["GET"])])
    user = await make_user(house, "boris")
    await house.users.save(replace(user, groups=frozenset({APPROVERS})))
    return await serve_in_memory(app, house, port, farewell)


def main(port: str = "0", _trouble: str = "") -> int:
    writer, users, clock = start_logs(style="json"), MemoryUsers(), SystemClock()
    store = MemoryStore(filled(clock.now()))
    back = make_back(users=users, clock=clock, log=logger(), store=store)
    house = make_house(log=logger(), clock=clock, users=users, back=back)
    try:
        with asyncio.Runner(loop_factory=carrier().new_loop) as runner:
            return runner.run(run(house, int(port), writer.stop))
    finally:
        writer.stop()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
