"""New runs, for the forms of people and the API alike: read, looked up and judged; then submitted,
or shown beforehand with their lengths on the machines of now."""

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar

from msgspec import UNSET

from rookery.farm.submission import SubmissionContext, created, planned
from rookery.files.access import FileAccess
from rookery.model.engine import STOCKFISH
from rookery.model.events import run_name
from rookery.model.machine import Machine
from rookery.model.plan import Plan
from rookery.model.run import DisplayState, Run, core_hours, machines_pace
from rookery.people.bearers import Bearer
from rookery.people.users import User
from rookery.protocol import v1
from rookery.protocol.codec import require
from rookery.protocol.runs import PREFIXES, Submission, read_submission, side_key
from rookery.protocol.user_documents import args_document
from rookery.sources.submission_checks import (
    SubmissionLookup,
    expected_games,
    expected_lengths,
    fill_placeholders,
    find_able_machines,
    list_remarks,
    needs_lookup,
)
from rookery.web.callers import find_tasks_at_play
from rookery.web.site import Site


async def submit_run(site: Site, body: bytes, bearer: Bearer) -> v1.CreatedRun:
    """Creates a run, for whoever asks in whichever way; raises WireFault."""
    made = await prepare_run(site, body, bearer)
    run, approver = made.run, _approver_of(site, bearer)
    taken = await site.fleet.commands.submit(run, approver=approver)
    state = DisplayState.PAUSED if approver else DisplayState.PENDING
    return v1.CreatedRun(id=taken, state=state, warnings=made.warnings)


async def list_machines_now(site: Site, viewer: str) -> tuple[Machine, ...]:
    """The machines that play what the viewer may know of, and those that wait for something."""
    playing = await find_tasks_at_play(site, viewer)
    waiting = await site.fleet.views.waiting_machines()
    return (*(task.machine for task in playing), *waiting)


def _approver_of(site: Site, bearer: Bearer) -> str:
    """An approver's own run is approved at once, unless another one has to look at it."""
    own = bearer.actor.approver and not site.settings.cross_approval
    return bearer.user.name if own else ""


# A run that was not made, as the JSON API shows it: how long it should take, and what it costs.


def make_preview(run: Run, warnings: tuple[str, ...], machines: Iterable[Machine]) -> v1.Preview:
    """What a run would be, with the machines that play or wait now; it computes, so that it
    belongs into a thread."""
    games = expected_games(run)
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
    for length in expected_lengths(run):
        yield v1.ExpectedLength(
            elo=length.elo,
            pass_chance=length.pass_chance,
            mean_games=length.mean_games,
            early_games=length.games.early,
            late_games=length.games.late,
        )


def _fleet(run: Run, games: float, machines: Sequence[Machine]) -> v1.FleetNow:
    """As if the machines, each at its speed, had nothing else to do."""
    pace = machines_pace(run, machines)
    hours = games / pace / 60 if pace else UNSET
    cores = sum(machine.cores for machine in machines)
    return v1.FleetNow(machines=len(machines), cores=cores, hours=hours)


# From the body of a submission to a run that nobody has taken up yet.

P = ParamSpec("P")
T = TypeVar("T")
LARGE_SUBMISSION = 4 * 1024
"""Some dozens of tuned parameters: about a millisecond."""


@dataclass(frozen=True, slots=True)
class MadeRun:
    """A run, and what its author should hear."""

    run: Run
    warnings: tuple[str, ...]


# What must be asked for is awaited; the rest is quick, or done in a thread.


async def prepare_run(site: Site, body: bytes, bearer: Bearer) -> MadeRun:
    """A run to be submitted; raises WireFault."""
    lookup = _prepare_for(site, bearer)
    made = await _prepare(site, lookup, body, bearer.user)
    await lookup.check_binaries(made.run)
    await _claim_programs(site, made.run)
    warnings = await lookup.fetch_sources(made.run)
    run = site.engines.with_records(made.run)
    return MadeRun(run, (*made.warnings, *warnings))


async def prepare_preview(
    site: Site, body: bytes, bearer: Bearer, *, ask_outside: bool = True
) -> MadeRun:
    """A run to be looked at: programs need not be uploaded, sources are not fetched. Without
    `ask_outside` its branches are not looked up either: somebody is still typing."""
    lookup = _prepare_for(site, bearer)
    return await _prepare(site, lookup, body, bearer.user, ask_outside=ask_outside)


def _prepare_for(site: Site, bearer: Bearer) -> SubmissionLookup:
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
        # Nobody outside is asked for a submission that would be refused all the same.
        await _aside(site, large, planned, fill_placeholders(asked), owner, context)
        asked = await lookup.find_commits(asked) if ask_outside else fill_placeholders(asked)
    made = await _aside(site, large, partial(_create, site), asked, owner, context)
    return MadeRun(made.run, (*made.warnings, *await _find_missing_nets(site, asked.plan)))


async def _find_missing_nets(site: Site, plan: Plan) -> list[str]:
    """Workers will look for them here, in vain."""
    names = dict.fromkeys(net for side in plan.sides for net in side.nets)
    if site.settings.nets_url:
        return []
    return [
        f"nets: {name} is not kept here" for name in names if await site.nets.rows.get(name) is None
    ]


async def _claim_programs(site: Site, run: Run) -> None:
    """The submitter's own programs become the engine's, and with that as private as it is."""
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
    """A branch that comes from nowhere in particular is looked for where its author keeps theirs;
    what it plays against stays where the engine's record says. A tune is one program."""
    new, base = asked.plan.sides
    own = user.repositories.get(new.engine or STOCKFISH.name)
    if not own or new.repository or new.binary:
        return asked
    asked = asked.with_side("new", repository=own)
    return asked.with_side("base", repository=base.repository or own) if asked.spsa else asked


def _check_seen(plan: Plan, owner: str, file_access: FileAccess) -> None:
    """A file of somebody else's private engine is to the submitter as if it were not there."""
    for prefix, side in zip(PREFIXES, plan.sides, strict=True):
        seen = not side.binary or file_access.may_see(owner, side.binary)
        require(seen, side_key("binary", prefix), "no program of this hash was uploaded here")
        nets = all(file_access.may_see(owner, net) for net in side.nets)
        require(nets, side_key("nets", prefix), "there is no such net here")
    require(file_access.may_see(owner, plan.book), "book", "there is no such book here")
