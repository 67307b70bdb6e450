"""New runs, from forms and the API alike: decoded, looked up, checked, and then submitted or
previewed with their expected duration on the present machines."""

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from msgspec import UNSET

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.model.engine import STOCKFISH
from rookery.core.model.events import run_name
from rookery.core.model.machine import Machine
from rookery.core.model.plan import Plan
from rookery.core.model.run import DisplayState, Run, core_hours, machines_pace
from rookery.core.protocol import v1
from rookery.core.protocol.checks import Checks
from rookery.core.protocol.runs import PREFIXES, Submission, read_submission, side_key
from rookery.core.protocol.user_documents import args_document
from rookery.server.engines.engines import Engines
from rookery.server.engines.grants import GrantedRepositories
from rookery.server.engines.privacy import Privacy
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.hosts import FleetSnapshot, MachineRoster
from rookery.server.farm.statistics import Speeds
from rookery.server.farm.submission import (
    SubmissionContext,
    add_commits,
    make_run,
    plan_submission,
)
from rookery.server.files.access import FileAccess
from rookery.server.files.books import BookStore
from rookery.server.files.engine_files import NetStore, ProgramStore
from rookery.server.http.signatures import Parts
from rookery.server.identity.bearers import Caller
from rookery.server.identity.users import User
from rookery.server.settings import Settings
from rookery.server.sources.commits import Archives, Commits
from rookery.server.sources.submission_checks import (
    SubmissionLookup,
    find_able_machines,
    list_remarks,
    needs_lookup,
)

LARGE_SUBMISSION = 4 * 1024
"""A submission of this size has dozens of tuned parameters and takes about a millisecond. Larger
ones are handled in a thread."""
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MadeRun:
    """A new run, and warnings for its author."""

    run: Run
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Submissions(Parts):
    """Makes runs from submissions. Lookups are awaited; the rest is quick or done in a thread."""

    archives: Archives
    books: BookStore
    clock: Clock
    commits: Commits
    engines: Engines
    file_access: FileAccess
    fleet: Fleet
    nets: NetStore
    privacy: Privacy
    programs: ProgramStore
    repositories: GrantedRepositories
    roster: MachineRoster
    settings: Settings
    speeds: Speeds
    threads: Threads
    visible_runs: VisibleRuns

    async def read_posted(self, body: bytes) -> Submission:
        """The submission in the body of an API call. Raises WireFault."""
        return await self._aside(len(body) > LARGE_SUBMISSION, read_submission, body)

    async def submit(self, asked: Submission, bearer: Caller) -> v1.CreatedRun:
        """Create a run, for a form or an API call. Raises WireFault, with all faults."""
        made = await self.prepare_run(asked, bearer)
        approver = self._approver_of(bearer)
        taken = await self.fleet.commands.submit(made.run, approver=approver)
        state = DisplayState.PAUSED if approver else DisplayState.PENDING
        return v1.CreatedRun(id=taken, state=state, warnings=made.warnings)

    async def list_machines_now(self, viewer: str) -> tuple[Machine, ...]:
        """The machines that play runs visible to the viewer, and those that wait for work, as they
        were a few seconds ago."""
        seen = {run.id for run in await self.visible_runs.list_active(viewer)}
        picture = (await self.roster.load()).picture
        return await self.threads.cpu(_list_machines, picture, seen)

    async def prepare_run(self, asked: Submission, bearer: Caller) -> MadeRun:
        """Make a run for submission. Raises WireFault, with all faults."""
        lookup = self._prepare_for(bearer)
        made = await self._prepare(lookup, asked, bearer.user, is_uploaded=True)
        await self._claim_programs(made.run)
        warnings = await lookup.fetch_sources(made.run)
        return MadeRun(self.engines.with_records(made.run), (*made.warnings, *warnings))

    async def prepare_preview(
        self, asked: Submission, bearer: Caller, *, ask_outside: bool = True
    ) -> MadeRun:
        """Make a run for a preview: programs need not be uploaded, and sources are not fetched.
        Without `ask_outside` branches are not looked up either, for a form that is still being
        filled in."""
        lookup = self._prepare_for(bearer)
        return await self._prepare(lookup, asked, bearer.user, ask_outside=ask_outside)

    def _approver_of(self, bearer: Caller) -> str:
        """The name of the approver of a new run. An approver's own run is approved at once, unless
        the settings require another approver."""
        own = bearer.actor.approver and not self.settings.cross_approval
        return bearer.user.name if own else ""

    def _prepare_for(self, bearer: Caller) -> SubmissionLookup:
        name = bearer.user.name
        return SubmissionLookup(
            self.books,
            self.programs,
            self.commits,
            self.archives,
            self.privacy.catalogue(name),
            self.repositories.list_granted(name),
        )

    async def _prepare(
        self,
        lookup: SubmissionLookup,
        asked: Submission,
        user: User,
        *,
        is_uploaded: bool = False,
        ask_outside: bool = True,
    ) -> MadeRun:
        """Plan a submission once. No other server is asked for one that would be refused anyway."""
        asked, checks = _from_own_repository(asked, user), Checks(asked.faults)
        _check_seen(asked.plan, user.name, self.file_access, checks)
        context = await self._find_context(lookup, asked.plan.book)
        large = asked.size > LARGE_SUBMISSION
        plan, kind = await self._aside(large, plan_submission, asked, user.name, context, checks)
        if is_uploaded:
            await lookup.check_binaries(plan, checks)
        checks.settle()
        if ask_outside and needs_lookup(asked):
            asked = await lookup.find_commits(asked, plan, checks)
            checks.settle()
            plan = add_commits(plan, asked, context, checks)
            checks.settle()
        now, chance = self.clock.now(), secrets.token_bytes
        run = await self._aside(large, make_run, asked, plan, kind, context, now=now, chance=chance)
        remarks = await self._aside(large, list_remarks, run, context.book)
        return MadeRun(run, (*remarks, *await self._find_missing_nets(plan)))

    async def _find_context(self, lookup: SubmissionLookup, book: str) -> SubmissionContext:
        return SubmissionContext(
            catalogue=lookup.catalogue,
            speed_of=self.speeds.median,
            schemes=frozenset(self.settings.git_schemes),
            credentials=self.settings.git_credentials is not None,
            mirroring=self.settings.mirror_sources,
            book=await lookup.find_book(book),
        )

    async def _find_missing_nets(self, plan: Plan) -> list[str]:
        """Warnings for nets that workers will not find on this server."""
        names = dict.fromkeys(net for side in plan.sides for net in side.nets)
        if self.settings.nets_url:
            return []
        kept = self.nets.rows
        return [f"nets: {name} is not kept here" for name in names if await kept.get(name) is None]

    async def _claim_programs(self, run: Run) -> None:
        """Add the submitter's own programs to the files of a private engine, so that they are as
        private as the engine."""
        for side in run.plan.sides:
            if side.binary and self.engines.catalogue.record(side.engine).private:
                binary = await self.programs.rows.get(side.binary)
                if binary is not None and binary.user == run.plan.owner:
                    await self.file_access.add(side.binary, side.engine)

    async def _aside(
        self, large: bool, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        if large:
            return await self.threads.cpu(work, *args, **kwargs)
        return work(*args, **kwargs)


def _list_machines(picture: FleetSnapshot, runs: Collection[str]) -> tuple[Machine, ...]:
    return tuple(
        each.machine
        for each in picture.known
        if (each.run in runs if each.task else each.activity(picture.now) == "waiting")
    )


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


def _check_seen(plan: Plan, owner: str, file_access: FileAccess, checks: Checks) -> None:
    """Refuse files of other teams' private engines as if they did not exist."""
    for prefix, side in zip(PREFIXES, plan.sides, strict=True):
        seen = not side.binary or file_access.may_see(owner, side.binary)
        checks.require(
            seen, side_key("binary", prefix), "no program of this hash was uploaded here"
        )
        nets = all(file_access.may_see(owner, net) for net in side.nets)
        checks.require(nets, side_key("nets", prefix), "there is no such net here")
    checks.require(file_access.may_see(owner, plan.book), "book", "there is no such book here")


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
