"""The owner's side of the embedded PostgreSQL: starts its supervisor, and restarts it.

Everything here runs on the event loop and waits only for pipes; the supervisor process does
everything that blocks.
"""

import asyncio
import contextlib
import json
import os
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg

import rookery.core
from rookery.server.db.embedded import cluster, folder
from rookery.server.db.embedded.folder import START_FAILED, FolderBusy
from rookery.server.db.pool import AWAY, EventLog, quiet
from rookery.server.db.target import Problem, Target, other_database, socket_target

# Checks of a freshly started embedded server before it is used.

# Not among the named queries, because it runs before our database exists.
EXISTS = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)"
UNSAFE = """
SELECT name FROM pg_settings
WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes') AND setting <> 'on'
ORDER BY name
"""


async def ensure_database(target: Target, database: str, data: Path) -> None:
    """Create our database if it is missing, and check that commits reach the disk."""
    connection = await asyncpg.connect(**other_database(target, "postgres").connect_args)
    try:
        if not await connection.fetchval(EXISTS, database):
            await connection.execute(f'CREATE DATABASE "{database}"')
    finally:
        await connection.close()
    connection = await asyncpg.connect(**target.connect_args)
    try:
        unsafe = [f"{row['name']} off" for row in await connection.fetch(UNSAFE)]
    finally:
        await connection.close()
    if unsafe:
        raise Problem(
            "The database runs with {settings}, so a crash could lose results that were "
            "acknowledged: turn it on again (look into {path}).",
            settings=", ".join(unsafe),
            path=data / "database" / "postgres" / "local.conf",
        )


DATABASE = "rookery"
START_SECONDS = 300.0  # recovery after a crash may read much of the log again
STOP_SECONDS = 15.0
FAILED_SUPERVISORS = 5
LOOK_AGAIN_SECONDS = 0.1
SERVER = str(Path(__file__).parents[4])
CORE = str(Path(rookery.core.__path__[0]).parents[1])
"""The folders of the packages that the supervisor imports: the same one unless in a checkout."""
BOOT = (
    "import sys; sys.path += [sys.argv.pop(1), sys.argv.pop(1)]; "
    "from rookery.server.db.embedded.supervisor import main; sys.exit(main())"
)


@asynccontextmanager
async def open_server(data: Path, *, log: EventLog = quiet) -> AsyncIterator["EmbeddedServer"]:
    """Run PostgreSQL on a data folder for as long as the context lasts."""
    server = EmbeddedServer(data, log)
    keeper = asyncio.create_task(server.keep(), name="embedded-postgres")
    try:
        await _prepare(server, data)
        yield server
    finally:
        await asyncio.shield(server.stop())
        await keeper


async def _prepare(server: "EmbeddedServer", data: Path) -> None:
    """Create our database when the server is ready; try again if the server was killed in the
    meantime."""
    for attempt in range(FAILED_SUPERVISORS):
        await server.wait_ready(START_SECONDS)
        try:
            await ensure_database(server.target, DATABASE, data)
        except AWAY as error:
            if attempt == FAILED_SUPERVISORS - 1:
                raise Problem(START_FAILED, reason=repr(error), log=data / "database") from error
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        else:
            return


class EmbeddedServer:
    """A running PostgreSQL; it is down for a moment when one of its processes was killed."""

    def __init__(self, data: Path, log: EventLog) -> None:
        self._data = data
        self._log = log
        self._binaries = folder.find()
        self._ready = asyncio.Event()
        self._failed = asyncio.Event()
        self._closing = False
        self._process: Process | None = None
        self._socket = ""
        self._words = "it said nothing"
        self.failure: Problem | None = None
        self.postmaster_pid: int | None = None

    @property
    def target(self) -> Target:
        return socket_target(self._socket, folder.PORT, cluster.USER, DATABASE)

    @property
    def connect_args(self) -> Mapping[str, Any]:
        """Arguments of asyncpg.connect and asyncpg.create_pool."""
        return self.target.connect_args

    @property
    def dsn(self) -> str:
        """The connection string for psql and pg_dump."""
        return self.target.dsn

    @property
    def ready(self) -> bool:
        return self._ready.is_set()

    async def wait_ready(self, seconds: float) -> None:
        """Wait until connections are accepted; raise the problem if that fails."""
        waits = [asyncio.create_task(e.wait()) for e in (self._ready, self._failed)]
        try:
            done, _ = await asyncio.wait(
                waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for wait in waits:
                wait.cancel()
        if self.failure is not None:
            raise self.failure
        if not done:
            raise Problem(
                START_FAILED, reason=f"it is not ready after {seconds:g} s", log=self._log_file
            )

    async def wait_failed(self) -> Problem:
        """Wait until the database has failed for good, and return the reason."""
        await self._failed.wait()
        assert self.failure is not None
        return self.failure

    def _over(self) -> bool:
        return self._closing or self.failure is not None

    @property
    def _log_file(self) -> Path:
        return self._data / "database" / "postgres.log"

    async def keep(self) -> None:
        """Start the supervisor, and restart it when it was killed, until the context ends."""
        failures = 0
        while not self._over():
            was_ready = await self._try_to_live()
            failures = 0 if was_ready else failures + 1
            if self._over():
                break
            self._log("database_supervisor_lost", failures=failures)
            if failures >= FAILED_SUPERVISORS:
                self._fail(
                    Problem(
                        "The supervisor of the database ended {count} times before the database "
                        "was ready and is not started again: {reason}.",
                        count=failures,
                        reason=self._words,
                    )
                )
            else:
                await asyncio.sleep(0.2 * failures)

    async def stop(self) -> None:
        """Ask the supervisor to end and wait for it; kill it if it does not answer."""
        self._closing = True
        process = self._process
        if process is None or process.returncode is not None:
            return
        self._hang_up(process)
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            self._log("database_supervisor_stuck", pid=process.pid)
            process.kill()
            await process.wait()

    async def _try_to_live(self) -> bool:
        try:
            return await self._live()
        except OSError as error:  # no process could be started
            self._words = str(error)
            return False

    async def _live(self) -> bool:
        """Run a supervisor until it ends; return whether its database became ready."""
        process = self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-c", BOOT),
            *(SERVER, CORE, str(self._binaries), str(self._data), str(os.getpid())),
            stdin=PIPE,
            stdout=PIPE,
            stderr=STDOUT,
            start_new_session=True,  # Ctrl-C in a terminal must only reach the owner
        )
        self._log("database_supervisor_started", supervisor=process.pid)
        if self._closing:
            self._hang_up(process)
        assert process.stdout is not None
        was_ready = False
        while line := await process.stdout.readline():
            self._hear(line)
            was_ready = was_ready or self.ready
        self._ready.clear()
        await process.wait()
        return was_ready

    def _hang_up(self, process: Process) -> None:
        assert process.stdin is not None
        with contextlib.suppress(ConnectionError, RuntimeError):
            process.stdin.write(b"stop\n")
            process.stdin.close()

    def _hear(self, line: bytes) -> None:
        try:
            said: dict[str, Any] = json.loads(line)
            event = str(said.pop("event"))
        except (ValueError, KeyError, TypeError, AttributeError):
            self._words = line.decode("utf-8", errors="replace").strip()
            self._log("database_supervisor_said", words=self._words)
            return
        self._log(f"database_{event}", **said)
        if event == "ready":
            self._socket, self.postmaster_pid = said["socket"], int(said["postmaster"])
            self._ready.set()
        elif event == "down":
            self._ready.clear()
        elif event == "failed":
            kind = FolderBusy if said["kind"] == FolderBusy.__name__ else Problem
            self._fail(kind(said["problem"]))

    def _fail(self, problem: Problem) -> None:
        self.failure = problem
        self._failed.set()
