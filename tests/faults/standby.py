"""Two PostgreSQL servers for a test: a primary and its synchronous standby, which is promoted when
the primary was killed. The killed one returns as the standby of the other.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg

from rookery.server.db.embedded import folder
from tests.process_table import command_line_of, parent_of, pids

AS_ACCOUNT = Path(__file__).with_name("as_account.py")
USER = DATABASE = "rookery"
PORT = 5432
LIMIT_SECONDS = 60.0
SETTINGS = """
listen_addresses = ''
unix_socket_permissions = 0700
wal_level = replica
max_wal_senders = 5
hot_standby = on
wal_receiver_status_interval = 1s
wal_retrieve_retry_interval = 100ms
shared_buffers = 32MB
io_method = sync
dynamic_shared_memory_type = mmap
max_connections = 60
include_if_exists 'role.conf'
"""
ACCESS = """
local all all trust
local replication all trust
host all all 10.77.0.0/24 trust
host replication all 10.77.0.0/24 trust
"""
IN_STEP = "SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')"


class Node:
    """One of the two servers, on its own folder."""

    def __init__(
        self, home: Path, name: str, prefix: tuple[str, ...] = (), address: str = ""
    ) -> None:
        """`prefix` are words before the command, which run it on another host; it listens there at
        `address`."""
        self.name = name
        self._prefix = prefix
        self._address = address
        self.data = home / name
        self.socket = home / f"s{name}"
        self.socket.mkdir(mode=0o700)
        self._log = home / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        """Creates an empty cluster that allows replication."""
        words = ("--username", USER, "--auth=trust", "--locale=C", "--encoding=UTF8")
        run("initdb", "--pgdata", str(self.data), *words, "--no-instructions")
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(SETTINGS)
        (self.data / "pg_hba.conf").write_text(ACCESS)

    def copy(self, primary: "Node") -> None:
        """Creates a standby as a new copy of another server."""
        shutil.rmtree(self.data, ignore_errors=True)
        source = ("--host", str(primary.socket), "--port", str(PORT), "--username", USER)
        words = ("--write-recovery-conf", "--checkpoint=fast", "--wal-method=stream")
        run("pg_basebackup", "--pgdata", str(self.data), *source, *words)
        self.wait_for_standby(False)

    def start(self) -> None:
        words = ["-c", f"unix_socket_directories={self.socket}", "-c", f"port={PORT}"]
        if self._address:
            words += ["-c", f"listen_addresses={self._address}"]
        program = str(folder.find() / "postgres")
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._prefix, *as_account(program, "-D", str(self.data), *words)],
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + LIMIT_SECONDS
        ask = [str(folder.find() / "pg_isready"), "-q", "-h", str(self.socket)]
        while subprocess.run(ask, check=False).returncode != 0:
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(0.05)

    def wait_for_standby(self, wanted: bool) -> None:
        """Sets whether commits wait for a standby; takes effect at the next start or reload."""
        names = "*" if wanted else ""
        (self.data / "role.conf").write_text(f"synchronous_standby_names = '{names}'\n")
        if self._process is not None:
            self._process.send_signal(signal.SIGHUP)

    def find_sender(self) -> int:
        """The process of a primary that sends changes to the standby."""
        assert self._process is not None
        children = [each for each in pids() if parent_of(each) == self._process.pid]
        return next(each for each in children if "walsender" in command_line_of(each))

    def promote(self) -> None:
        run("pg_ctl", "promote", "--pgdata", str(self.data), "--wait")

    def kill(self) -> None:
        """Kills all its processes at once, as if its machine failed."""
        if self._process is None:
            return
        postmaster = self._process.pid
        for pid in (postmaster, *(each for each in pids() if parent_of(each) == postmaster)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._process = None


class Pair:
    """A primary, its synchronous standby, and an address with both hosts."""

    def __init__(self, home: Path) -> None:
        self.primary, self.standby = Node(home, "a"), Node(home, "b")
        places = ",".join(quote(str(node.socket)) for node in (self.primary, self.standby))
        self.url = f"postgresql://{USER}@/{DATABASE}?host={places}&port={PORT},{PORT}"

    async def open(self) -> None:
        await asyncio.to_thread(self.primary.make)
        await asyncio.to_thread(self.primary.start)
        await self.ask(f"CREATE DATABASE {DATABASE}", database="postgres")
        await self.attach_standby()

    async def attach_standby(self) -> None:
        """Attaches the standby; returns when every commit waits for it."""
        await asyncio.to_thread(self.standby.copy, self.primary)
        await asyncio.to_thread(self.standby.start)
        await asyncio.to_thread(self.primary.wait_for_standby, True)
        deadline = time.monotonic() + LIMIT_SECONDS
        while not await self.ask(IN_STEP):
            assert time.monotonic() < deadline, "the standby is not in step"
            await asyncio.sleep(0.05)

    async def fail_over(self, *, cut_seconds: float = 0.0) -> float:
        """Kills the primary and promotes the standby; returns the seconds in between. With
        `cut_seconds` the standby receives nothing for that time before, so that the primary has
        commits that the standby never gets; none of these may have been acknowledged."""
        if cut_seconds:
            os.kill(await asyncio.to_thread(self.primary.find_sender), signal.SIGSTOP)
            await asyncio.sleep(cut_seconds)
        began = time.monotonic()
        await asyncio.to_thread(self.primary.kill)
        await asyncio.to_thread(self.standby.promote)
        self.primary, self.standby = self.standby, self.primary
        return time.monotonic() - began

    @property
    def connect_args(self) -> dict[str, Any]:
        """The connection arguments of the present primary."""
        place = {"host": str(self.primary.socket), "port": PORT}
        return place | {"user": USER, "database": DATABASE, "password": ""}

    async def ask(self, sql: str, *, database: str = DATABASE) -> object:
        connection = await asyncpg.connect(**self.connect_args | {"database": database})
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()

    def end(self) -> None:
        self.primary.kill()
        self.standby.kill()


@asynccontextmanager
async def standby_pair() -> AsyncIterator[Pair]:
    """Runs both servers with an empty database, in a folder with a short path for the sockets."""
    home = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="rookery-pair-"))
    pair = await asyncio.to_thread(Pair, home)
    try:
        await pair.open()
        yield pair
    finally:
        await asyncio.to_thread(pair.end)
        await asyncio.to_thread(shutil.rmtree, home)


def run(program: str, *words: str) -> None:
    """Runs one of PostgreSQL's programs to its end."""
    command = as_account(str(folder.find() / program), *words)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def as_account(*command: str) -> list[str]:
    """A command under an account that PostgreSQL accepts, since it refuses root."""
    return [sys.executable, str(AS_ACCOUNT), *command]
