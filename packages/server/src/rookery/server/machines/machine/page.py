"""The page of a machine: its hardware, what it plays and played, its failures, and its block."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.events import BY_WORKERS, Event
from rookery.core.model.machine import SHORT_NAME, Machine
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.core.stats.residuals import Colour
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.privacy import may_see_machine_details, name_of, owns_machine
from rookery.server.farm.commands import LONGEST_BLOCK_MESSAGE
from rookery.server.farm.rules.answers import MachineBlock
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.show.run_description import name_test
from rookery.server.farm.show.run_row import StatusLabel
from rookery.server.farm.views import KnownMachine, UnknownMachine
from rookery.server.files.worker_logs import StoredLog
from rookery.server.http.answers import site_of
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.pages.formatting import (
    Moment,
    format_ago,
    format_count,
    format_nps,
    format_plural,
)
from rookery.server.http.pages.page import redirect_to, render_page_in_thread, viewer_of
from rookery.server.http.scope import request_info_of, session_of
from rookery.server.log.action_rows import ActionRow, list_readable, make_action_rows
from rookery.server.log.api import select_machine_actions
from rookery.server.machines.hosts import identify_host
from rookery.server.machines.list.rows import BLOCKED, RESIDUALS, compare_speed, label_machine

MOST_TASKS = 30
MOST_WORDS = 50
NO_REASON = "Enter a reason. Its owner and other users can see it."


@dataclass(frozen=True, slots=True)
class MachineData:
    """The data for the page, without what this visitor may not see."""

    now: datetime
    name: str
    viewer: Actor | None
    known: KnownMachine | None
    """The machine; None if it was not seen lately, or this visitor may not see it."""
    block: MachineBlock | None
    """The block; None if the machine is not blocked."""
    tasks: tuple[Task, ...]
    runs: Mapping[str, Run]
    """The runs of its tasks and of messages, as far as this visitor may see them."""
    words: tuple[Event, ...]
    logs: tuple[StoredLog, ...]
    games: Collection[tuple[str, int]] = ()
    """Tasks whose games are still stored."""
    colour: Colour | None = None
    """How its present results compare with those of others; None if there are too few."""
    others: tuple[str, ...] = ()
    """Other names of the same computer."""


@dataclass(frozen=True, slots=True)
class PlayedTask:
    """A task and its run."""

    task: Task
    run_name: str
    games_file: str
    """The address of its games, if they are stored here."""


@dataclass(frozen=True, slots=True)
class MachineView:
    now: datetime
    name: str
    user: str
    title: str
    status: StatusLabel
    residual: StatusLabel | None
    speed: str
    heard: Moment | None
    run: str
    run_name: str
    facts: tuple[tuple[str, str], ...]
    tasks: tuple[PlayedTask, ...]
    failures: tuple[ActionRow, ...]
    others: tuple[str, ...]
    blocked: bool
    message: str
    may_block: bool
    is_approvers: bool
    """Whether an approver has blocked it, so that only an approver may unblock it."""
    longest_message: int = LONGEST_BLOCK_MESSAGE


@runs(Domain.THREAD, "awaits five queries, rendered in a thread")
async def machine_page(request: Request) -> Response:
    data = await _load(request)
    return await render_page_in_thread(request, "machine.html", make_machine_view, data)


@runs(Domain.LOOP, "changes memory and awaits the commit", needs_primary=True)
async def block_machine(request: Request) -> Response:
    return await _set_block(request, request_info_of(request.scope).form.text("message").strip())


@runs(Domain.LOOP, "changes memory and awaits the commit", needs_primary=True)
async def unblock_machine(request: Request) -> Response:
    return await _set_block(request, None)


async def _set_block(request: Request, message: str | None) -> Response:
    """Block or unblock the machine as the JSON API does, and show the outcome on the next page."""
    name, actor = str(request.path_params["worker"]), await viewer_of(request)
    here, session = f"/machines/{name}", session_of(request.scope)
    if actor is None:
        return redirect_to(f"/login?next={here}")
    try:
        _check_name(name)
        if message == "":
            session.flash(NO_REASON, "error")
            return redirect_to(here)
        await site_of(request).fleet.commands.block(name, message, actor)
    except REFUSALS as refused:
        session.flash(text_of(refused), "error")
        return redirect_to("/machines")
    session.flash(f"{name} is unblocked." if message is None else f"{name} is blocked.")
    return redirect_to(here)


def _check_name(name: str) -> None:
    if not SHORT_NAME.fullmatch(name):
        raise UnknownMachine(machine=name[:100])


async def _load(request: Request) -> MachineData:
    site, name, viewer = (
        site_of(request),
        str(request.path_params["worker"]),
        await viewer_of(request),
    )
    _check_name(name)
    blocks = await site.fleet.views.whole_blocks()
    known = await site.fleet.views.machine(name)
    tasks = await site.reads.tasks_of_machine(name, MOST_TASKS)
    sight = site.privacy.sight(viewer)
    words = await site.reads.actions(
        select_machine_actions(name, BY_WORKERS), limit=MOST_WORDS, sight=sight
    )
    runs = await _load_runs(
        site, viewer, {task.run for task in tasks} | {word.run for word in words}, known
    )
    shown = _select_known(known, name, viewer, runs)
    tasks = tuple(task for task in tasks if task.run in runs)
    if not (tasks or shown or name in blocks):
        raise UnknownMachine(machine=name)
    task = shown.task if shown else None
    return MachineData(
        now=site.clock.now(),
        name=name,
        viewer=viewer,
        known=shown,
        block=blocks.get(name),
        tasks=tasks,
        runs=runs,
        words=words,
        logs=await site.logs.rows.of_tasks(list_readable(words, runs, viewer)),
        games=await site.games.rows.find_present([(task.run, task.id) for task in tasks]),
        colour=site.fleet.activity.residual_colours.get((task.run, task.id)) if task else None,
        others=_find_other_names(shown, await site.fleet.views.machines())
        if may_see_machine_details(viewer, name)
        else (),
    )


async def _load_runs(
    site: Site, viewer: Actor | None, ids: set[str], known: KnownMachine | None
) -> dict[str, Run]:
    wanted = {run_id for run_id in (*ids, known.run if known else "") if run_id}
    found = await site.reads.runs(wanted)
    return {run.id: run for run in found if site.privacy.may_see(name_of(viewer), run)}


def _select_known(
    known: KnownMachine | None, name: str, viewer: Actor | None, runs: Mapping[str, Run]
) -> KnownMachine | None:
    """The machine if the viewer may see it. A waiting one is visible to its owner and to approvers,
    a playing one to all who may see its run."""
    if known is None:
        return None
    seen = known.run in runs if known.task else may_see_machine_details(viewer, name)
    return known if seen or owns_machine(viewer, name) else None


def _find_other_names(
    known: KnownMachine | None, machines: Iterable[KnownMachine]
) -> tuple[str, ...]:
    """Other names under which the same computer is or was connected."""
    if known is None or not known.machine.claimed.host:
        return ()
    key = identify_host(known.machine)
    return tuple(
        sorted(
            each.machine.short_name
            for each in machines
            if identify_host(each.machine) == key
            and each.machine.short_name != known.machine.short_name
        )
    )


def make_machine_view(data: MachineData) -> MachineView:
    machine = _find_description(data)
    known, task = data.known, data.known.task if data.known else None
    run = data.runs.get(task.run) if task else None
    user = data.name.partition("-")[0]
    return MachineView(
        now=data.now,
        name=data.name,
        user=user,
        title=(machine.claimed.host if machine else "") or data.name,
        status=BLOCKED if data.block else label_machine(known, data.now),
        residual=RESIDUALS.get(data.colour),
        speed=_describe_speed(machine, run or _find_last_run(data)),
        heard=format_ago(known.heard, data.now) if known else _find_last_report(data),
        run=run.id if run else "",
        run_name=name_test(run) if run else "",
        facts=tuple(_list_facts(machine)) if machine else (),
        tasks=tuple(_list_tasks(data)),
        failures=tuple(make_action_rows(data.words, data.logs, data.now)),
        others=data.others,
        blocked=data.block is not None,
        message=_tell_reason(data),
        may_block=_may_block(data),
        is_approvers=data.block is not None and data.block.is_approvers,
    )


def _tell_reason(data: MachineData) -> str:
    told = data.block is not None and may_see_machine_details(data.viewer, data.name)
    return (data.block.message or "") if data.block and told else ""


def _may_block(data: MachineData) -> bool:
    """Whether the viewer may block or unblock this machine."""
    if data.viewer is None or not may_see_machine_details(data.viewer, data.name):
        return False
    return data.viewer.approver or data.block is None or not data.block.is_approvers


def _find_description(data: MachineData) -> Machine | None:
    """The machine as it described itself last."""
    if data.known:
        return data.known.machine
    return data.tasks[0].machine if data.tasks else None


def _find_last_run(data: MachineData) -> Run | None:
    """The run that it played last. The speed of a waiting machine refers to it."""
    return data.runs.get(data.tasks[0].run) if data.tasks else None


def _find_last_report(data: MachineData) -> Moment | None:
    return format_ago(max(task.reported for task in data.tasks), data.now) if data.tasks else None


def _describe_speed(machine: Machine | None, run: Run | None) -> str:
    if machine is None or machine.nps <= 0:
        return ""
    ratio = compare_speed(machine.nps, run)
    return format_nps(machine.nps) + (f", {ratio} of the reference" if ratio else "")


def _list_facts(machine: Machine) -> Iterator[tuple[str, str]]:
    """The properties that the machine reports and everybody may see."""
    claimed = machine.claimed
    yield "Processor", " ".join(claimed.cpu.split())[:200]
    yield "Architecture", machine.arch
    yield "Cores", format_count(machine.cores)
    yield "Memory", f"{format_count(machine.memory)} MB"
    yield "System", machine.uname
    yield "Compiler", f"{machine.compiler} {'.'.join(map(str, machine.gcc_version))}"
    yield "Python", ".".join(map(str, machine.python_version))
    yield "Worker", _name_worker(machine)
    yield "Country", machine.country if machine.country != "?" else ""
    if claimed.noisy:
        yield "Noisy", "other programs use it; it plays no tests that need exact times"
    if claimed.syzygy_men:
        yield "Tablebases", format_plural(claimed.syzygy_men, "man", "men")


def _name_worker(machine: Machine) -> str:
    kind = "Rookery" if machine.abilities.rookery else "fishtest"
    version = machine.claimed.version or str(machine.version)
    changed = ", with changed files" if machine.modified else ""
    return f"{kind} {version}{changed}"


def _list_tasks(data: MachineData) -> Iterator[PlayedTask]:
    for task in data.tasks:
        name, here = name_test(data.runs[task.run]), (task.run, task.id) in data.games
        games = f"/api/pgn/{task.run}-{task.id}.pgn" if here else ""
        yield PlayedTask(task, name, games)


def routes() -> list[BaseRoute]:
    here = "/machines/{worker}"
    return [
        Route(here, machine_page, methods=["GET"]),
        Route(f"{here}/block", block_machine, methods=["POST"]),
        Route(f"{here}/unblock", unblock_machine, methods=["POST"]),
    ]
