"""The page of a machine: its hardware, what it plays and played, its failures, and its block."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from starlette.responses import Response

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.events import BY_WORKERS
from rookery.core.model.machine import SHORT_NAME, Machine
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.server.boundary.domains import Domain
from rookery.server.engines.privacy import Privacy, may_see_machine_details, name_of, owns_machine
from rookery.server.farm.commands import LONGEST_BLOCK_MESSAGE
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.hosts import MachineRoster, check_name, identify_host
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.rules.answers import MachineBlock
from rookery.server.farm.views import KnownMachine, UnknownMachine
from rookery.server.files.games import GameStore
from rookery.server.files.worker_logs import LogStore
from rookery.server.http.pages.page import redirect_to, tell_outcome
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import Form
from rookery.server.http.session import Session
from rookery.server.http.signatures import Parts
from rookery.server.log.action_rows import index_logs, list_readable
from rookery.server.log.api import select_machine_actions

MOST_TASKS = 30
MOST_WORDS = 50
NO_REASON = "Enter a reason. Its owner and other users can see it."


CHANGE = "changes memory and awaits the commit"
HERE = "/machines/{worker}"
pages = Pages(HERE)
routes = pages.make_routes


@dataclass(frozen=True, slots=True)
class MachineParts(Parts):
    """Where the data of a machine's page is read."""

    fleet: Fleet
    reads: FleetReads
    privacy: Privacy
    logs: LogStore
    games: GameStore
    clock: Clock
    roster: MachineRoster
    threads: Threads

    async def load_other_names(self, machine: Machine | None) -> tuple[str, ...]:
        """Searched for in a thread, among what may be ten thousand machines."""
        known = (await self.roster.load()).picture.known
        return await self.threads.cpu(find_other_names, machine, known)


@pages(f"GET {HERE}", "awaits five queries, rendered in a thread")
async def machine_page(worker: str, viewer: Actor | None, parts: MachineParts) -> Page:
    return Page("machine.html", await _load(parts, worker, viewer))


@pages(f"POST {HERE}/block", CHANGE, where=Domain.LOOP, needs_primary=True)
async def block_machine(
    worker: str, viewer: Actor, fleet: Fleet, form: Form, session: Session
) -> Response:
    return await set_block(worker, form.text("message").strip(), viewer, fleet, session)


@pages(f"POST {HERE}/unblock", CHANGE, where=Domain.LOOP, needs_primary=True)
async def unblock_machine(worker: str, viewer: Actor, fleet: Fleet, session: Session) -> Response:
    return await set_block(worker, None, viewer, fleet, session)


async def set_block(
    name: str, message: str | None, actor: Actor, fleet: Fleet, session: Session
) -> Response:
    """Block or unblock the machine as the JSON API does, and show the outcome on the next page."""
    here = f"/machines/{name}"
    if message == "" and SHORT_NAME.fullmatch(name):
        session.flash(NO_REASON, "error")
        return redirect_to(here)

    async def block() -> str:
        check_name(name)
        await fleet.commands.block(name, message, actor)
        return f"{name} is {'unblocked' if message is None else 'blocked'}."

    return redirect_to(here if await tell_outcome(session, block()) else "/machines")


async def _load(parts: MachineParts, name: str, viewer: Actor | None) -> Mapping[str, object]:
    """What the page shows, without what this visitor may not see."""
    check_name(name)
    views, reads = parts.fleet.views, parts.reads
    blocks, known = await views.whole_blocks(), await views.machine(name)
    tasks = await reads.tasks_of_machine(name, MOST_TASKS)
    selected, sight = select_machine_actions(name, BY_WORKERS), parts.privacy.sight(viewer)
    words = await reads.actions(selected, limit=MOST_WORDS, sight=sight)
    wanted = {task.run for task in tasks} | {word.run for word in words}
    runs = await _load_runs(parts, viewer, wanted, known)
    shown = _select_known(known, name, viewer, runs)
    tasks = tuple(task for task in tasks if task.run in runs)
    if not (tasks or shown or name in blocks):
        raise UnknownMachine(machine=name)
    machine, task = _find_description(shown, tasks), shown.task if shown else None
    block, concerned = blocks.get(name), may_see_machine_details(viewer, name)
    at_play = runs.get(task.run) if task else None
    return {
        "now": parts.clock.now(),
        "name": name,
        "machine": machine,
        "known": shown,
        "run": at_play,
        # The speed of a waiting machine refers to the run that it played last.
        "reference": at_play or (runs[tasks[0].run] if tasks else None),
        "heard": shown.heard if shown else max((each.reported for each in tasks), default=None),
        # How its present results compare with those of others; None if there are too few.
        "colour": parts.fleet.activity.residual_colours.get((task.run, task.id)) if task else None,
        "tasks": tasks,
        "runs": runs,
        "events": words,
        "logs": index_logs(await parts.logs.rows.of_tasks(list_readable(words, runs, viewer))),
        "games": await parts.games.rows.find_present([(task.run, task.id) for task in tasks]),
        "others": await parts.load_other_names(machine) if shown and concerned else (),
        "block": block,
        "reason": block.message if block and concerned else "",
        "may_block": may_block(viewer, name, block),
        "longest_message": LONGEST_BLOCK_MESSAGE,
    }


async def _load_runs(
    parts: MachineParts, viewer: Actor | None, ids: set[str], known: KnownMachine | None
) -> dict[str, Run]:
    wanted = {run_id for run_id in (*ids, known.run if known else "") if run_id}
    found = await parts.reads.runs(wanted)
    return {run.id: run for run in found if parts.privacy.may_see(name_of(viewer), run)}


def _select_known(
    known: KnownMachine | None, name: str, viewer: Actor | None, runs: Mapping[str, Run]
) -> KnownMachine | None:
    """The machine if the viewer may see it. A waiting one is visible to its owner and to approvers,
    a playing one to all who may see its run."""
    if known is None:
        return None
    seen = known.run in runs if known.task else may_see_machine_details(viewer, name)
    return known if seen or owns_machine(viewer, name) else None


def find_other_names(machine: Machine | None, known: Iterable[KnownMachine]) -> tuple[str, ...]:
    """Other names under which the same computer is or was connected."""
    if machine is None or not machine.claimed.host:
        return ()
    key = identify_host(machine)
    names = {each.machine.short_name for each in known if identify_host(each.machine) == key}
    return tuple(sorted(names - {machine.short_name}))


def may_block(viewer: Actor | None, name: str, block: MachineBlock | None) -> bool:
    """Whether the viewer may block or unblock this machine. Only an approver may undo an approver's
    block."""
    if viewer is None or not may_see_machine_details(viewer, name):
        return False
    return viewer.approver or block is None or not block.is_approvers


def _find_description(known: KnownMachine | None, tasks: Sequence[Task]) -> Machine | None:
    """The machine as it described itself last."""
    if known:
        return known.machine
    return tasks[0].machine if tasks else None
