"""The server processes on one database: each writes every few seconds that it lives and how it
does, for operators and for whoever needs to know whether somebody stands by.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

import msgspec

from rookery.db.lease import LeaseRow
from rookery.db.pool import AWAY, EventLog, Pool, Queries, quiet
from rookery.errors import Complaint

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
    reads_form: int = 1
    """The newest form of calls between instances that it reads."""


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
class OtherInstances:
    """What a process learns when it says that it lives: how many others do, the newest form of
    forwarded calls that all of these read (None without others), and the last commit."""

    others: int = 0
    sequence: int = 0
    reads_form: int | None = None


class StepDown(msgspec.Struct, frozen=True):
    """Asks the holder of the lease to let it go, to a process of that name or to any."""

    holder: str
    to: str = ""


class NoStepDown(Complaint):
    """Nobody can step down, or nobody has taken over."""


def check_step_down(lease: LeaseRow, found: Sequence[Instance], to: str) -> None:
    """Raises NoStepDown where there is nobody to step down, or nobody to take over."""
    others = [each.name for each in found if each.is_alive and each.name != lease.holder]
    if not lease.live:
        raise NoStepDown("Nobody is primary just now.")
    if to == lease.holder:
        raise NoStepDown(f"{to} is primary already.")
    if not others:
        raise NoStepDown("There is no other server on this database that could take over.")
    if to and to not in others:
        raise NoStepDown(f"There is no server {to}; those that live are: {', '.join(others)}.")


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

    async def put(self, instance: Instance) -> OtherInstances:
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
        return OtherInstances(**row)

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
        self,
        rows: InstanceRows,
        describe: Callable[[], Instance],
        log: EventLog = quiet,
        learn: Callable[[OtherInstances], object] = lambda _others: None,
    ) -> None:
        """`learn` is told of the others each time."""
        self._rows = rows
        self._describe = describe
        self._log = log
        self._learn = learn
        self.other_instances = OtherInstances()

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
            self.other_instances = await self._rows.put(self._describe())
            self._learn(self.other_instances)
        except AWAY as error:
            self._log("presence_not_told", reason=repr(error))
