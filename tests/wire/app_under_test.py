"""A real server process with in-memory twins: python -m tests.wire.app_under_test PORT [TROUBLE]"""

import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import anyio

from rookery.bootstrap.app import create_app
from rookery.boundary.domains import Declaration, Domain
from rookery.errors import Complaint
from rookery.logs import logger, start_logs
from rookery.people.users import ORDINARY, mint
from rookery.settings import Settings, from_process
from rookery.web.house import House, Limits
from rookery.web.steps import Step
from tests.carried import carrier, serve_in_memory
from tests.twins.people import MemoryTokens, MemoryUsers
from tests.wire.houses import make_house, make_user
from tests.wire.slow_routes import slow_routes

LOOP = Declaration(Domain.LOOP, "for the test")
KNOWN_TOKEN = mint("ada", ORDINARY, now=datetime(2020, 1, 1, tzinfo=UTC), chance=bytes)
"""A token that tests of this process may show."""


async def never() -> None:
    logger().info("waiting_for_ever")
    await anyio.sleep_forever()


async def fail() -> None:
    raise ValueError("no disk")


async def block() -> None:
    time.sleep(600)  # noqa: ASYNC251 - the worst that a stop can do


STEPS = {
    "": (),
    "slow-start": (Step("slow", LOOP, start=never),),
    "failing-start": (Step("failing", LOOP, start=fail),),
    "failing-stop": (Step("failing", LOOP, stop=fail),),
    "blocking-stop": (Step("blocking", LOOP, stop=block),),
}


async def run(house: House, tokens: MemoryTokens, port: int, farewell: Callable[[], None]) -> int:
    app = create_app(house, slow_routes())
    await make_user(house)
    await tokens.add(KNOWN_TOKEN.token)
    return await serve_in_memory(app, house, port, farewell)


def patient(limits: Limits, settings: Settings) -> Limits:
    """As patient with slow clients as the settings of this process say."""
    return replace(limits, head_seconds=settings.head_seconds, body_seconds=settings.body_seconds)


def main(port: int, trouble: str = "") -> int:
    writer = start_logs(style="json")
    users = MemoryUsers()
    tokens = MemoryTokens(users)
    house = make_house(log=logger(), steps=STEPS[trouble], users=users, tokens=tokens)
    house = replace(house, limits=patient(house.limits, from_process()))
    try:
        with asyncio.Runner(loop_factory=carrier().new_loop) as runner:
            return runner.run(run(house, tokens, port, writer.stop))
    except Complaint as complaint:
        print(complaint, file=sys.stderr)
        return complaint.exit_code
    finally:
        writer.stop()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
