"""A real server process with in-memory twins: python -m tests.wire.app_under_test PORT [TROUBLE]"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

import anyio

from rookery.core.errors import Complaint
from rookery.server.boundary.domains import Domain
from rookery.server.http.steps import Step
from rookery.server.identity.users import ORDINARY, mint
from rookery.server.logs import logger, start_logs
from rookery.server.settings import read_settings
from tests.http_servers import http_backend, serve_in_memory
from tests.people import BORIS
from tests.twins.sites import SETTINGS, MemorySite, Trouble, make_site, make_user
from tests.wire.slow_routes import slow_routes

KNOWN_TOKEN = mint("ada", ORDINARY, now=datetime(2020, 1, 1, tzinfo=UTC), chance=bytes)
"""A token that tests of this process may show."""
APPROVER_TOKEN = mint("boris", ORDINARY, now=datetime(2020, 1, 1, tzinfo=UTC), chance=b"b".__mul__)
"""The same of an approver."""


async def wait_for_ever() -> None:
    logger().info("waiting_for_ever")
    await anyio.sleep_forever()


async def fail() -> None:
    raise ValueError("no disk")


async def block() -> None:
    time.sleep(600)  # noqa: ASYNC251 - the worst that a stop can do


async def nothing() -> None:
    """A start or stop that gives no trouble."""


@asynccontextmanager
async def troubled(
    start: Callable[[], Awaitable[None]] = nothing, stop: Callable[[], Awaitable[None]] = nothing
) -> AsyncIterator[None]:
    await start()
    yield
    await stop()


def trouble_of(word: str) -> tuple[Trouble, ...]:
    def step(name: str) -> Step:
        return Step(name, Domain.LOOP, "for the test")

    troubles: dict[str, tuple[Trouble, ...]] = {
        "": (),
        "slow-start": ((step("slow"), troubled(start=wait_for_ever)),),
        "failing-start": ((step("failing"), troubled(start=fail)),),
        "failing-stop": ((step("failing"), troubled(stop=fail)),),
        "blocking-stop": ((step("blocking"), troubled(stop=block)),),
    }
    return troubles[word]


async def run(site: MemorySite, port: int, farewell: Callable[[], None], trouble: str) -> int:
    await make_user(site)
    await site.tokens.add(KNOWN_TOKEN.token)
    await site.users.add(BORIS)
    await site.tokens.add(APPROVER_TOKEN.token)
    return await serve_in_memory(site, port, farewell, slow_routes(), *trouble_of(trouble))


def main(port: int, trouble: str = "") -> int:
    given = read_settings()
    writer = start_logs(style="json", level=given.log_level)
    # As patient with slow clients as the test wants, behind the proxies of its settings.
    settings = replace(
        SETTINGS,
        head_seconds=int(os.environ.get("HEAD_SECONDS", SETTINGS.head_seconds)),
        body_seconds=int(os.environ.get("BODY_SECONDS", SETTINGS.body_seconds)),
        trusted_proxies=given.trusted_proxies,
    )
    site = make_site(settings, log=logger())
    try:
        with asyncio.Runner(loop_factory=http_backend().new_loop) as runner:
            return runner.run(run(site, port, writer.stop, trouble))
    except Complaint as complaint:
        print(complaint, file=sys.stderr)
        return complaint.exit_code
    finally:
        writer.stop()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
