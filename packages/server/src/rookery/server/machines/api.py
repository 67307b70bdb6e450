"""Machines: list, read, block and unblock."""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import UNSET
from msgspec.structs import asdict, replace
from starlette.requests import Request
from starlette.responses import Response

from rookery.core.model.machine import SHORT_NAME, Machine
from rookery.core.model.task import Task
from rookery.core.protocol import v1
from rookery.core.protocol.codec import Reader, to_finite
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.privacy import name_of
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.views import UnknownMachine
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import json_answer, read_body
from rookery.server.http.callers import (
    find_reader,
    find_tasks_at_play,
    may_see_machine_details,
    owns_machine,
    require_bearer,
    translated_errors,
)
from rookery.server.http.openapi import Operation, described
from rookery.server.log.api import select_machine_actions
from rookery.server.people.users import Scope

BLOCK = Reader(v1.BlockBody)
BY_NAME = {"worker": v1.MachineName}
BLOCKERS = (Scope.SUBMIT, Scope.APPROVE)
DETAILS: dict[int, type | str] = {200: v1.WorkerDetails}
MOST_WORDS = 20
LONGEST_CPU = 200


# What a machine plays of a private engine is visible to the engine's team only.


@described(Operation("Machines that are playing, and blocked ones", {200: v1.WorkerList}))
@runs(Domain.THREAD, "the list is made in a thread")
async def list_machines(request: Request) -> Response:
    site = site_of(request)
    reader = await find_reader(request, site)
    with translated_errors():
        tasks = await find_tasks_at_play(site, name_of(reader))
        blocks = await site.fleet.views.blocks()
    return await site.threads.cpu(_list_answer, tasks, blocks, reader)


@described(Operation("A machine and its latest log entries", DETAILS, path=BY_NAME))
@runs(Domain.LOOP, "awaits one query")
async def get_machine(request: Request) -> Response:
    site = site_of(request)
    reader = await find_reader(request, site)
    with translated_errors():
        name = _name(request)
        shown = await _load_details(site, name, reader)
        if shown is None:
            raise UnknownMachine(machine=name)
    return json_answer(shown)


@described(Operation("Block a machine", DETAILS, path=BY_NAME, body=v1.BlockBody, bearer=True))
@runs(Domain.LOOP, "changes memory and awaits the commit", needs_primary=True)
async def block_machine(request: Request) -> Response:
    actor = await _require_blocker(request)
    body = await read_body(request.receive)
    with translated_errors():
        return await _set_block(request, _name(request), BLOCK.read(body).message, actor)


@described(Operation("Unblock a machine", DETAILS, path=BY_NAME, bearer=True))
@runs(Domain.LOOP, "changes memory and awaits the commit", needs_primary=True)
async def unblock_machine(request: Request) -> Response:
    actor = await _require_blocker(request)
    with translated_errors():
        return await _set_block(request, _name(request), None, actor)


async def _set_block(request: Request, name: str, message: str | None, actor: Actor) -> Response:
    site = site_of(request)
    await site.fleet.commands.block(name, message, actor)
    return json_answer(await _load_details(site, name, actor) or _unseen(name))


async def _require_blocker(request: Request) -> Actor:
    site = site_of(request)
    return (await require_bearer(request, site.bearers, *BLOCKERS)).actor


async def _load_details(site: Site, name: str, reader: Actor | None) -> v1.WorkerDetails | None:
    """The details of a machine; None if it is unknown or the reader may not see it."""
    blocks, known = await site.fleet.views.blocks(), await site.fleet.views.machine(name)
    at_play = await find_tasks_at_play(site, name_of(reader))
    tasks = [task for task in at_play if task.machine.short_name == name]
    concerned = may_see_machine_details(reader, name)
    if not (tasks or name in blocks or (known and concerned)):
        return None
    block = {name: blocks[name]} if name in blocks else {}
    entry = next(make_worker_entries(tasks, block, reader), _away(name))
    if known and not tasks and concerned and (not known.run or owns_machine(reader, name)):
        entry = replace(entry, **_shown_fields(known.machine))
    sight = site.privacy.sight(reader)
    words = await site.reads.actions(select_machine_actions(name), limit=MOST_WORDS, sight=sight)
    return v1.WorkerDetails(
        **asdict(entry),
        words=words,
        asked=known.asked if known and concerned else UNSET,
    )


def _name(request: Request) -> str:
    name = str(request.path_params["worker"])
    if not SHORT_NAME.fullmatch(name):
        raise UnknownMachine(machine=name[:100])
    return name


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


def _list_answer(
    tasks: Iterable[Task], blocks: Mapping[str, str], reader: Actor | None
) -> Response:
    return json_answer(v1.WorkerList(workers=tuple(make_worker_entries(tasks, blocks, reader))))


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
