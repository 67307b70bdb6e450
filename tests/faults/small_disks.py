"""A farm whose database and files are on separate small disks, under an active fleet."""

import asyncio
import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rookery.server.db.embedded.folder import PORT, Layout, recorded
from rookery.server.db.target import socket_target
from tests.faults.processes import Owner
from tests.faults.serving import end_servers, made_account, start_server, wait_for_port
from tests.fleet.audit import Audit
from tests.fleet.connections import Connections
from tests.fleet.fleet import SimulatedFleet
from tests.fleet.worker import Faults
from tests.rookery_process import COMMAND, LIMIT_SECONDS, SIMULATED, RookeryProcess
from tests.wire.test_authorisation import OPENING
from tests.wire.worker.farm import worker_info

MOUNT = """
for disk in database:260m blobs:120m; do
    mkdir -p "$0/${disk%:*}" && mount -t tmpfs -o "size=${disk#*:}" none "$0/${disk%:*}" || exit 1
done
echo mounted; exec sleep 100000
"""
USER = ("--user", "--map-user=1000", "--map-group=1000", "--keep-caps", "--mount")
DATABASE, FILES = "database", "blobs"
RESERVE_MB = 64
SETTINGS = SIMULATED | {"ROOKERY_DISK_RESERVE_MB": str(RESERVE_MB)}
LOOK_SECONDS = 0.05
FEW_UPLOADS = Faults(games=0.01)
"""A low rate of uploads: a simulated worker repeats an upload until it is accepted, and most
workers should keep reporting."""


@asynccontextmanager
async def small_disks(data: Path) -> AsyncIterator[int]:
    """Mounts small disks below the data folder in a separate namespace; yields the id of the
    process that holds it."""
    holder = await asyncio.create_subprocess_exec(
        *("unshare", *USER, "sh", "-c", MOUNT, str(data)), stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert await holder.stdout.readline() == b"mounted\n"
        yield holder.pid
    finally:
        holder.kill()
        await holder.wait()


def beside(holder: int) -> tuple[str, ...]:
    """The prefix that makes a command see the small disks."""
    joined = (f"--target={holder}", "--user", "--mount", "--preserve-credentials")
    return ("nsenter", *joined)


@dataclass(frozen=True, slots=True)
class Serving:
    """The way the server is started."""

    data: Path
    command: tuple[str, ...]
    settings: dict[str, str]

    async def start(self) -> RookeryProcess:
        return await start_server(self.data, self.settings, self.command)


@dataclass(slots=True)
class SmallDiskFarm:
    """A server that is restarted when it ends, as by a service manager."""

    data: Path
    holder: int
    fleet: SimulatedFleet
    serving: Serving
    server: RookeryProcess
    restarts: int = 0
    seen: list[RookeryProcess] = field(default_factory=list)

    def disk(self, name: str) -> Path:
        """The folder of a disk as seen by this process."""
        return Path(f"/proc/{self.holder}/root{self.data}/{name}")

    async def fill(self, name: str, *, leave: int = 0) -> None:
        """Fills a disk until only `leave` bytes are free."""
        await asyncio.to_thread(self._fill, name, leave)

    def _fill(self, name: str, leave: int) -> None:
        with (self.disk(name) / "filling").open("ab", buffering=0) as file, suppress(OSError):
            while (free := self._free(name)) > leave:
                file.write(bytes(min(2**20, max(4096, free - leave))))

    async def empty(self, name: str) -> None:
        await asyncio.to_thread((self.disk(name) / "filling").unlink)

    def _free(self, name: str) -> int:
        disk = os.statvfs(self.disk(name))
        return disk.f_bavail * disk.f_frsize

    async def ready(self) -> tuple[int, str]:
        """The status and text of /readyz; 0 if nothing answers."""
        status, text = await self.call("GET", "/readyz")
        told = json.loads(text) if status else {}
        return status, str(told.get("reason") or told.get("warning") or "")

    async def put_book(self, name: str) -> int:
        bearer = {"authorization": f"Bearer {self.fleet.account.token}"}
        status, _ = await self.call("PUT", f"/api/v1/books/{name}.epd", OPENING, bearer)
        return status

    async def ask_for_a_task(self) -> tuple[int, str]:
        """Asks for a task as another worker."""
        info = worker_info(self.fleet.account.name, "feedfeed", concurrency=8, nps=600_000.0)
        body = {"password": self.fleet.account.password, "worker_info": info}
        kind = {"content-type": "application/json"}
        return await self.call("POST", "/api/request_task", json.dumps(body).encode(), kind)

    async def call(
        self, method: str, path: str, body: bytes | None = None, head: dict[str, str] | None = None
    ) -> tuple[int, str]:
        address = f"http://127.0.0.1:{self.fleet.lines.port}{path}"
        request = urllib.request.Request(address, body, head or {}, method=method)
        return await asyncio.to_thread(_answer_to, request)

    async def until(self, holds: Callable[[int, str], bool]) -> None:
        """Waits until the answer of /readyz fulfils a condition."""
        deadline, found = time.monotonic() + LIMIT_SECONDS, (0, "")
        while not holds(*found):
            assert time.monotonic() < deadline, found
            await asyncio.sleep(LOOK_SECONDS)
            found = await self.ready()

    async def audit(self) -> Audit:
        """Audits the server, while no worker is active. The data folder's name is not allowed for
        sockets, so the database's socket is elsewhere, where this process can see it."""
        return await self.fleet.audit(self.disk(DATABASE).parent)

    async def keep_serving(self) -> None:
        """Restarts the server until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self.server.process.poll() is not None:
                self.restarts += 1
                await self.start_again()

    async def start_again(self) -> None:
        self.seen.append(self.server)
        self.server = await self.serving.start()
        with suppress(AssertionError):  # it has ended because of the full disk
            self.fleet.lines.move(await wait_for_port(self.server))


def _answer_to(request: urllib.request.Request) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(request, timeout=LIMIT_SECONDS) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()
    except OSError:
        return 0, ""


@asynccontextmanager
async def farm_on_small_disks(
    folder: Path, *, runs: int, external: bool = False
) -> AsyncIterator[SmallDiskFarm]:
    """Runs a farm with its database and files on small disks, or with only an external database on
    one, whose disk the server can't see."""
    data = folder / "small, full"
    async with small_disks(data) as holder, AsyncExitStack() as stack:
        serving = Serving(data, (*beside(holder), *COMMAND), SETTINGS)
        if external:
            owner = await asyncio.to_thread(Owner, data, "hold", prefix=beside(holder))
            stack.push_async_callback(asyncio.to_thread, owner.end)
            await asyncio.to_thread(owner.until, "open")
            seen = Path(f"/proc/{holder}/root{data}")
            address = {"ROOKERY_DATABASE_URL": await asyncio.to_thread(_find_database, seen)}
            serving = Serving(folder / "server", COMMAND, SETTINGS | address)
        yield await stack.enter_async_context(_farm(data, holder, serving, runs))


@asynccontextmanager
async def _farm(
    data: Path, holder: int, serving: Serving, runs: int
) -> AsyncIterator[SmallDiskFarm]:
    make = partial(made_account, serving.data, settings=serving.settings, command=serving.command)
    account = await asyncio.to_thread(make)
    lines = Connections(token=account.token)
    fleet = SimulatedFleet(account, lines, faults=FEW_UPLOADS)
    server = await serving.start()
    farm = SmallDiskFarm(data, holder, fleet, serving, server)
    keeping = asyncio.create_task(farm.keep_serving())
    try:
        lines.move(await wait_for_port(server))
        await fleet.submit(runs)
        yield farm
    finally:
        keeping.cancel()
        lines.close()
        await end_servers((*farm.seen, farm.server))


def _find_database(data: Path) -> str:
    """The address of an embedded server in the form of an external one's."""
    return socket_target(str(recorded(Layout(data))), PORT, "rookery", "rookery").dsn
