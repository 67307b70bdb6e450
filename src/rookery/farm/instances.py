"""The server processes on one database: each writes every few seconds that it lives and how it
does, for operators and for whoever needs to know whether somebody stands by.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

import msgspec

from rookery.db.pool import AWAY, EventLog, Pool, Queries, quiet

PRESENCE_SECONDS = 2.0
GONE_SECONDS = 10.0
"""A process that was silent for so long is taken for dead."""


class InstanceFigures(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a process does. Another version may tell more or less."""

    loop_lag_seconds: float = 0.0
    """The longest pause of its loop since it told last."""
    commits_behind: int = 0
    """Commits that its event bus has not heard of."""
    changes_waiting: int = 0
    """For their group commit."""
    requests: int = 0
    """Being answered now."""
    streams: int = 0
    connections: int = 0


@dataclass(frozen=True, slots=True)
class Instance:
    """A server process as it describes itself; `schema` is the last migration that it knows."""

    name: str
    address: str
    version: str
    schema: int
    role: str
    started: datetime
    figures: InstanceFigures
    silent_seconds: float = 0.0

    @property
    def is_alive(self) -> bool:
        return self.silent_seconds < GONE_SECONDS


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a process learns when it says that it lives: how many others do, and the last commit."""

    others: int = 0
    sequence: int = 0


class StepDown(msgspec.Struct, frozen=True):
    """Asks the holder of the lease to let it go, to a process of that name or to any."""

    holder: str
    to: str = ""


def read_step_down(text: str) -> StepDown | None:
    """None for anything else that is told of the lease."""
    try:
        return msgspec.json.decode(text, type=StepDown)
    except msgspec.MsgspecError:
        return None


class InstanceRows:
    """No write here goes through the fence: a process that is not primary must be known, too."""

    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries

    async def put(self, instance: Instance) -> Surroundings:
        row = await self._pool.fetchrow(
            self._queries["instances_put"],
            instance.name,
            instance.address,
            instance.version,
            instance.schema,
            instance.role,
            instance.started,
            msgspec.json.encode(instance.figures).decode(),
        )
        assert row is not None
        return Surroundings(**row)

    async def list_all(self) -> tuple[Instance, ...]:
        """Those that were heard of lately, dead ones included; the primary first."""
        rows = await self._pool.fetch(self._queries["instances_all"])
        return tuple(Instance(**{**row, "figures": _read_figures(row["figures"])}) for row in rows)

    async def ask_step_down(self, asked: StepDown) -> None:
        text = msgspec.json.encode(asked).decode()
        await self._pool.execute(self._queries["lease_tell"], text)

    async def remove(self, name: str) -> None:
        await self._pool.execute(self._queries["instances_remove"], name)


def _read_figures(text: str) -> InstanceFigures:
    return msgspec.json.decode(text, type=InstanceFigures)


class Presence:
    """One per process; the event loop alone uses it."""

    def __init__(
        self, rows: InstanceRows, describe: Callable[[], Instance], log: EventLog = quiet
    ) -> None:
        self._rows = rows
        self._describe = describe
        self._log = log
        self.around = Surroundings()

    @asynccontextmanager
    async def kept(self) -> AsyncIterator["Presence"]:
        """Says that this process lives for the length of the block, and then that it is gone."""
        await self._tell()
        task = asyncio.create_task(self._keep_telling(), name="presence")
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.wait([task])
            with contextlib.suppress(*AWAY):
                await self._rows.remove(self._describe().name)

    async def _keep_telling(self) -> None:
        while True:
            await asyncio.sleep(PRESENCE_SECONDS)
            await self._tell()

    async def _tell(self) -> None:
        try:
            self.around = await self._rows.put(self._describe())
        except AWAY as error:
            self._log("presence_not_told", reason=repr(error))
