"""Machines: list, read, block and unblock."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from msgspec import UNSET
from msgspec.structs import asdict, replace

from rookery.core.model.actor import Actor
from rookery.core.model.machine import Machine
from rookery.core.model.task import Task
from rookery.core.protocol import v1
from rookery.core.protocol.codec import to_finite
from rookery.server.engines.privacy import Privacy, may_see_machine_details, name_of, owns_machine
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.hosts import check_name
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.views import FleetViews, KnownMachine, UnknownMachine, UnknownRun
from rookery.server.http.endpoint import LOOP, THREAD, Endpoints, Work
from rookery.server.http.signatures import Parts
from rookery.server.identity.bearers import Caller, actor_of
from rookery.server.identity.users import Scope
from rookery.server.log.api import select_machine_actions

BLOCKERS = (Scope.SUBMIT, Scope.APPROVE)
CHANGE = "changes memory and awaits the commit"
MOST_WORDS = 20
LONGEST_CPU = 200

api = Endpoints("/api/v1")
commands = Endpoints("/api/v1", scope=BLOCKERS, needs_primary=True)


@dataclass(frozen=True, slots=True)
class SeenMachines(Parts):
    """Where the data of a machine is read."""

    fleet: Fleet
    visible: VisibleRuns
    reads: FleetReads
    privacy: Privacy

    async def load_details(self, name: str, reader: Actor | None) -> v1.WorkerDetails | None:
        """The details of a machine; None if it is unknown or the reader may not see it."""
        blocks, known = await self.fleet.views.blocks(), await self.fleet.views.machine(name)
        tasks = await self._load_visible_task(known, reader)
        concerned = may_see_machine_details(reader, name)
        if not (tasks or name in blocks or (known and concerned)):
            return None
        block = {name: blocks[name]} if name in blocks else {}
        entry = next(make_worker_entries(tasks, block, reader), _away(name))
        if known and not tasks and concerned and (not known.run or owns_machine(reader, name)):
            entry = replace(entry, **_shown_fields(known.machine))
        sight, wanted = self.privacy.sight(reader), select_machine_actions(name)
        words = await self.reads.actions(wanted, limit=MOST_WORDS, sight=sight)
        asked = known.asked if known and concerned else UNSET
        return v1.WorkerDetails(**asdict(entry), words=words, asked=asked)

    async def _load_visible_task(
        self, known: KnownMachine | None, reader: Actor | None
    ) -> tuple[Task, ...]:
        """What the machine plays, if the reader may see the run."""
        if known is None or known.task is None:
            return ()
        try:
            await self.visible.find(known.run, name_of(reader))
        except UnknownRun:
            return ()
        return (known.task,)


# What a machine plays of a private engine is visible to the engine's team only.


@api("GET /workers", THREAD, "the list is made in a thread")
async def list_machines(
    visible: VisibleRuns, views: FleetViews, caller: Caller | None
) -> Work[v1.WorkerList]:
    """Machines that are playing, and blocked ones."""
    reader = actor_of(caller)
    tasks, blocks = await visible.tasks_at_play(name_of(reader)), await views.blocks()
    return partial(_make_list, tasks, blocks, reader)


@api("GET /workers/{worker}", LOOP, "awaits one query")
async def get_machine(
    seen: SeenMachines, caller: Caller | None, worker: v1.MachineName
) -> v1.WorkerDetails:
    """A machine and its latest log entries."""
    check_name(worker)
    shown = await seen.load_details(worker, actor_of(caller))
    if shown is None:
        raise UnknownMachine(machine=worker)
    return shown


@commands("POST /workers/{worker}/block", LOOP, CHANGE)
async def block_machine(
    seen: SeenMachines, caller: Caller, worker: v1.MachineName, wish: v1.BlockBody
) -> v1.WorkerDetails:
    """Block a machine."""
    check_name(worker)
    await seen.fleet.commands.block(worker, wish.message, caller.actor)
    return await seen.load_details(worker, caller.actor) or _unseen(worker)


@commands("POST /workers/{worker}/unblock", LOOP, CHANGE)
async def unblock_machine(
    seen: SeenMachines, caller: Caller, worker: v1.MachineName
) -> v1.WorkerDetails:
    """Unblock a machine."""
    check_name(worker)
    await seen.fleet.commands.block(worker, None, caller.actor)
    return await seen.load_details(worker, caller.actor) or _unseen(worker)


def make_worker_entries(
    tasks: Iterable[Task], blocks: Mapping[str, str], reader: Actor | None
) -> Iterator[v1.WorkerEntry]:
    """The machines that play, and blocked machines. Only their owner and approvers see the reason
    of a block."""
    at_play = {task.machine.short_name: task for task in tasks}
    for name in sorted({*at_play, *blocks}):
        entry = _at_play(at_play[name]) if name in at_play else _away(name)
        if name in blocks:
            told = may_see_machine_details(reader, name)
            entry = replace(entry, blocked=True, message=blocks[name] if told else "")
        yield entry


def _make_list(
    tasks: Iterable[Task], blocks: Mapping[str, str], reader: Actor | None
) -> v1.WorkerList:
    return v1.WorkerList(workers=tuple(make_worker_entries(tasks, blocks, reader)))


def _away(name: str) -> v1.WorkerEntry:
    return v1.WorkerEntry(name=name, user=name.partition("-")[0])


def _unseen(name: str) -> v1.WorkerDetails:
    return v1.WorkerDetails(**asdict(_away(name)), words=())


def _at_play(task: Task) -> v1.WorkerEntry:
    entry = replace(_away(task.machine.short_name), **_shown_fields(task.machine))
    return replace(entry, run=task.run, task=task.id, reported=task.reported)


def _shown_fields(machine: Machine) -> dict[str, object]:
    """The properties that a machine reports and everybody may see."""
    return {
        "cores": machine.cores,
        "memory": machine.memory,
        "arch": machine.arch,
        "compiler": machine.compiler,
        "cpu": " ".join(machine.claimed.cpu.split())[:LONGEST_CPU],
        "system": machine.uname,
        "nps": to_finite(machine.nps),
        "country": machine.country,
        "modified": machine.modified,
    }
