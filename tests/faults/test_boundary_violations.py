"""One violation of each kind is planted, and each is caught."""

import asyncio
import gzip
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, suppress
from pathlib import Path
from time import thread_time

import anyio
import pytest
from argon2 import PasswordHasher
from blockbuster import BlockingError

from rookery.core.boundary.bridge import open_bridge
from rookery.core.boundary.errors import OnTheLoop, Undeclared
from rookery.core.boundary.offload import Threads
from rookery.server.app.run import detection
from rookery.server.boundary.detect import SecondLoop
from rookery.server.boundary.domains import inventory
from rookery.server.settings import Settings
from tests.detection import Violations
from tests.fakes import RecordedLog


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def pair() -> Iterator[socket.socket]:
    """A blocking socket on which nothing ever arrives."""
    here, there = socket.socketpair()
    with here, there:
        yield here


def compute(seconds: float) -> None:
    """Use this thread's CPU for so long, however busy the machine is."""
    end = thread_time() + seconds
    while thread_time() < end:
        pass


def compress() -> None:
    """Compress until it has cost more than a callback may take."""
    end = thread_time() + 0.04
    while thread_time() < end:
        gzip.compress(bytes(range(256)) * 1000)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: time.sleep(0), "time.sleep"),
        (lambda: Path(__file__).read_bytes(), "io.BufferedReader.read"),
        (lambda: Path(__file__).stat(), "os.stat"),
        (lambda: socket.getaddrinfo("127.0.0.1", 80), "socket.getaddrinfo"),
        (lambda: Future[None]().result(1), "lock.acquire"),
        (
            lambda: PasswordHasher(time_cost=1, memory_cost=8).hash("x"),
            "argon2.PasswordHasher.hash",
        ),
    ],
)
async def test_a_blocking_call_on_the_loop_is_caught(
    call: Callable[[], object], name: str, violations: Violations
) -> None:
    with pytest.raises(BlockingError, match=name):
        call()
    found = violations.take()
    assert [(one.kind, one.what) for one in found] == [("blocking call", name)]
    assert __file__ in found[0].stack


@pytest.mark.anyio
async def test_a_blocking_socket_on_the_loop_is_caught(
    pair: socket.socket, violations: Violations
) -> None:
    with pytest.raises(BlockingError, match=r"socket\.socket\.recv"):
        pair.recv(1)
    assert violations.take()


@pytest.mark.anyio
async def test_a_violation_that_the_code_swallows_is_found_all_the_same(
    violations: Violations,
) -> None:
    with suppress(Exception):
        time.sleep(0)  # noqa: ASYNC251 - the violation itself
    assert [one.what for one in violations.take()] == ["time.sleep"]


@pytest.mark.anyio
async def test_the_same_call_in_a_thread_is_fine(violations: Violations) -> None:
    await Threads().io(time.sleep, 0)
    await Threads().cpu(compute, 0.04)
    assert violations.take() == []


@pytest.mark.usefixtures("may_block_the_loop")
@pytest.mark.parametrize(("said", "logged"), [("1", ["loop_violation"]), ("0", [])])
def test_a_server_tells_blocking_calls_where_its_settings_say_so(
    said: str, logged: list[str]
) -> None:
    async def the_culprit() -> None:
        with suppress(BlockingError):
            time.sleep(0)  # noqa: ASYNC251 - the violation itself

    log = RecordedLog()
    with detection(Settings.read({"ROOKERY_DETECT_BLOCKING": said}), log):
        asyncio.run(the_culprit())
    assert log.events() == logged


@pytest.mark.parametrize("work", [lambda: compute(0.05), compress])
def test_computing_on_the_loop_is_caught(work: Callable[[], None], violations: Violations) -> None:
    async def the_culprit() -> None:
        work()

    asyncio.run(the_culprit())
    (found,) = violations.take()
    assert (found.kind, found.seconds > 0.02) == ("long callback", True)
    assert "the_culprit" in found.what


def test_a_loop_in_a_pools_thread_is_caught(violations: Violations) -> None:
    async def query() -> None:
        """Would use a connection that belongs to another loop."""

    def broken_bridge() -> None:
        with closing(query()) as coroutine:
            asyncio.run(coroutine)

    async def main() -> None:
        with pytest.raises(SecondLoop):
            await Threads().io(broken_bridge)
        with pytest.raises(SecondLoop):
            await asyncio.get_running_loop().run_in_executor(None, broken_bridge)

    asyncio.run(main())
    assert [one.kind for one in violations.take()] == ["second loop", "second loop"]


@pytest.mark.anyio
async def test_the_bridge_on_the_loops_thread_is_caught() -> None:
    async with open_bridge() as bridge:
        with pytest.raises(OnTheLoop):
            bridge.call(anyio.sleep, 0, seconds=1)


def test_an_undeclared_route_is_caught() -> None:
    def route() -> None:
        """Does not say where it runs."""

    with pytest.raises(Undeclared, match="route GET /new"):
        inventory([("route", "GET /new", route)])


@pytest.mark.parametrize(
    "line",
    [
        "asyncio.run(query())",
        "asyncio.new_event_loop()",
        "asyncio.run_coroutine_threadsafe(query(), loop)",
        "asyncio.to_thread(query)",
    ],
)
def test_a_bridge_of_ones_own_is_caught_by_the_lint(line: str) -> None:
    ruff = [sys.executable, "-m", "ruff", "check", "--select", "TID251", "--stdin-filename"]
    source = f"import asyncio\n\n{line}\n"
    done = subprocess.run(
        [*ruff, "src/rookery/web/bridge.py", "-"],
        input=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "TID251" in done.stdout
