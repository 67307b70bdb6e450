"""New runs, from forms and the API alike: decoded, looked up, checked, and then submitted or
previewed with their expected duration on the present machines."""

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar

from msgspec import UNSET

from rookery.core.model.engine import STOCKFISH
from rookery.core.model.events import run_name
from rookery.core.model.machine import Machine
from rookery.core.model.plan import Plan
from rookery.core.model.run import DisplayState, Run, core_hours, machines_pace
from rookery.core.protocol import v1
from rookery.core.protocol.codec import require
from rookery.core.protocol.runs import PREFIXES, Submission, read_submission, side_key
from rookery.core.protocol.user_documents import args_document
from rookery.server.app.site import Site
from rookery.server.farm.submission import SubmissionContext, created, planned
from rookery.server.files.access import FileAccess
from rookery.server.people.bearers import Caller
from rookery.server.people.users import User
from rookery.server.sources.submission_checks import (
    SubmissionLookup,
    fill_placeholders,
    find_able_machines,
    list_remarks,
    needs_lookup,
)


async def submit_run(site: Site, body: bytes, bearer: Caller) -> v1.CreatedRun:
    """Create a run, for a form or an API call. Raises WireFault."""
    made = await prepare_run(site, body, bearer)
    run, approver = made.run, _approver_of(site, bearer)
    taken = await site.fleet.commands.submit(run, approver=approver)
    state = DisplayState.PAUSED if approver else DisplayState.PENDING
    return v1.CreatedRun(id=taken, state=state, warnings=made.warnings)


async def list_machines_now(site: Site, viewer: str) -> tuple[Machine, ...]:
    """The machines that play runs visible to the viewer, and those that wait for work."""
    playing = await site.visible_runs.tasks_at_play(viewer)
    waiting = await site.fleet.views.waiting_machines()
    return (*(task.machine for task in playing), *waiting)


def _approver_of(site: Site, bearer: Caller) -> str:
    """The name of the approver of a new run. An approver's own run is approved at once, unless the
    settings require another approver."""
    own = bearer.actor.approver and not site.settings.cross_approval
    return bearer.user.name if own else ""


# The preview of a run in the JSON API: its expected duration and cost.


def make_preview(run: Run, warnings: tuple[str, ...], machines: Iterable[Machine]) -> v1.Preview:
    """The preview of a run on the machines that play or wait now. It computes, so call it in a
    thread."""
    games = run.kind.expected_games(run.plan.games)
    return v1.Preview(
        name=run_name(run),
        kind=run.kind.name,
        games=games,
        lengths=tuple(_lengths(run)),
        core_hours=core_hours(run, round(games)),
        fleet=_fleet(run, games, find_able_machines(run, machines)),
        needs=tuple(map(str, run.demands.needs)),
        warnings=warnings,
        args=args_document(run),
    )


def _lengths(run: Run) -> Iterator[v1.ExpectedLength]:
    for length in run.kind.expected_lengths(run.plan.games):
        yield v1.ExpectedLength(
            elo=length.elo,
            pass_chance=length.pass_chance,
            mean_games=length.mean_games,
            early_games=length.games.early,
            late_games=length.games.late,
        )


def _fleet(run: Run, games: float, machines: Sequence[Machine]) -> v1.FleetNow:
    """The duration if all these machines, each at its speed, played nothing else."""
    pace = machines_pace(run, machines)
    hours = games / pace / 60 if pace else UNSET
    cores = sum(machine.cores for machine in machines)
    return v1.FleetNow(machines=len(machines), cores=cores, hours=hours)


# Makes a new run from the body of a submission.

P = ParamSpec("P")
T = TypeVar("T")
LARGE_SUBMISSION = 4 * 1024
"""A body of this size has dozens of tuned parameters and takes about a millisecond. Larger ones are
handled in a thread."""


@dataclass(frozen=True, slots=True)
class MadeRun:
    """A new run, and warnings for its author."""

    run: Run
    warnings: tuple[str, ...]


# Lookups are awaited; the rest is quick or done in a thread.


async def prepare_run(site: Site, body: bytes, bearer: Caller) -> MadeRun:
    """Make a run for submission. Raises WireFault."""
    lookup = _prepare_for(site, bearer)
    made = await _prepare(site, lookup, body, bearer.user)
    await lookup.check_binaries(made.run)
    await _claim_programs(site, made.run)
    warnings = await lookup.fetch_sources(made.run)
    run = site.engines.with_records(made.run)
    return MadeRun(run, (*made.warnings, *warnings))


async def prepare_preview(
    site: Site, body: bytes, bearer: Caller, *, ask_outside: bool = True
) -> MadeRun:
    """Make a run for a preview: programs need not be uploaded, and sources are not fetched. Without
    `ask_outside` branches are not looked up either, for a form that is still being filled in."""
    lookup = _prepare_for(site, bearer)
    return await _prepare(site, lookup, body, bearer.user, ask_outside=ask_outside)


def _prepare_for(site: Site, bearer: Caller) -> SubmissionLookup:
    name = bearer.user.name
    granted = site.repositories.list_granted(name)
    return SubmissionLookup(
        site.books,
        site.programs,
        site.commits,
        site.archives,
        site.privacy.catalogue(name),
        granted,
    )


async def _prepare(
    site: Site, lookup: SubmissionLookup, body: bytes, user: User, *, ask_outside: bool = True
) -> MadeRun:
    owner, large = user.name, len(body) > LARGE_SUBMISSION
    asked = _from_own_repository(await _aside(site, large, read_submission, body), user)
    _check_seen(asked.plan, owner, site.file_access)
    book = await lookup.find_book(asked.plan.book)
    context = SubmissionContext(
        catalogue=lookup.catalogue,
        speed_of=site.speeds.median,
        schemes=frozenset(site.settings.git_schemes),
        credentials=site.settings.git_credentials is not None,
        mirroring=site.settings.mirror_sources,
        book=book,
    )
    if needs_lookup(asked):
        # Check first, so that no other server is asked for a submission that would be refused
        # anyway.
        await _aside(site, large, planned, fill_placeholders(asked), owner, context)
        asked = await lookup.find_commits(asked) if ask_outside else fill_placeholders(asked)
    made = await _aside(site, large, partial(_create, site), asked, owner, context)
    return MadeRun(made.run, (*made.warnings, *await _find_missing_nets(site, asked.plan)))


async def _find_missing_nets(site: Site, plan: Plan) -> list[str]:
    """Warnings for nets that workers will not find on this server."""
    names = dict.fromkeys(net for side in plan.sides for net in side.nets)
    if site.settings.nets_url:
        return []
    return [
        f"nets: {name} is not kept here" for name in names if await site.nets.rows.get(name) is None
    ]


async def _claim_programs(site: Site, run: Run) -> None:
    """Add the submitter's own programs to the files of a private engine, so that they are as
    private as the engine."""
    for side in run.plan.sides:
        if side.binary and site.engines.catalogue.record(side.engine).private:
            binary = await site.programs.rows.get(side.binary)
            if binary is not None and binary.user == run.plan.owner:
                await site.file_access.add(side.binary, side.engine)


def _create(site: Site, asked: Submission, owner: str, context: SubmissionContext) -> MadeRun:
    run = created(asked, owner, context, now=site.clock.now(), chance=secrets.token_bytes)
    return MadeRun(run, list_remarks(run, context.book))


async def _aside(
    site: Site, large: bool, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    if large:
        return await site.threads.cpu(work, *args, **kwargs)
    return work(*args, **kwargs)


def _from_own_repository(asked: Submission, user: User) -> Submission:
    """Look for a branch without a given repository in the author's own one. The base stays in the
    repository of the engine's record, except for a tune, which is one program."""
    new, base = asked.plan.sides
    own = user.repositories.get(new.engine or STOCKFISH.name)
    if not own or new.repository or new.binary:
        return asked
    asked = asked.with_side("new", repository=own)
    if asked.kind.kind.compares:
        return asked
    return asked.with_side("base", repository=base.repository or own)


def _check_seen(plan: Plan, owner: str, file_access: FileAccess) -> None:
    """Refuse files of other teams' private engines as if they did not exist."""
    for prefix, side in zip(PREFIXES, plan.sides, strict=True):
        seen = not side.binary or file_access.may_see(owner, side.binary)
        require(seen, side_key("binary", prefix), "no program of this hash was uploaded here")
        nets = all(file_access.may_see(owner, net) for net in side.nets)
        require(nets, side_key("nets", prefix), "there is no such net here")
    require(file_access.may_see(owner, plan.book), "book", "there is no such book here")
