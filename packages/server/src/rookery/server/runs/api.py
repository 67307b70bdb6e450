"""Runs: list, read, and summarise."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from rookery.core.boundary.offload import Threads
from rookery.core.model.bounds import IdPrefix, RunId
from rookery.core.model.engine import EngineRecord
from rookery.core.model.events import run_name
from rookery.core.model.plan import Side
from rookery.core.model.run import Run
from rookery.core.protocol import v1
from rookery.core.protocol.codec import to_finite
from rookery.core.protocol.user_documents import args_document
from rookery.core.protocol.user_queries import FixedElo
from rookery.server.engines.engines import records_digest, submitted_record
from rookery.server.engines.privacy import Privacy
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.farm.read_values import FinishedRunsQuery
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.summaries import summary
from rookery.server.farm.views import FleetActivity, FleetViews, RunSpeed
from rookery.server.http.endpoint import THREAD, Endpoints, Work
from rookery.server.http.query_values import Paging, Query
from rookery.server.http.signatures import Parts
from rookery.server.identity.bearers import Caller, actor_of, name_of_caller
from rookery.server.runs.documents import fixed_elo, live_elo_of

api = Endpoints("/api/v1")


class RunSearch(Query, frozen=True):
    """Which runs are listed."""

    state: v1.ListedState = v1.ListedState.UNFINISHED
    owner: v1.Name = ""
    prefix: IdPrefix = ""


@dataclass(frozen=True, slots=True)
class RunFinder(Parts):
    """Finds runs for lists."""

    privacy: Privacy
    reads: FleetReads
    views: FleetViews
    visible: VisibleRuns

    async def find(
        self, viewer: str | None, search: RunSearch, paging: Paging
    ) -> tuple[Sequence[Run], bool]:
        """A page of the runs that the viewer may see, and whether there are more."""
        hidden = self.privacy.hidden(viewer)
        if search.prefix:
            # Runs of any state whose id starts with the prefix.
            ids = await self.reads.ids_from(search.prefix, paging.size, hidden)
            runs = [await self.views.run(run_id) for run_id in ids]
            return [run for run in runs if run and search.owner in ("", run.plan.owner)], False
        if search.state is v1.ListedState.FINISHED:
            wanted = FinishedRunsQuery(
                page=paging.page, page_size=paging.size, owner=search.owner, hidden=hidden
            )
            found = await self.reads.finished(wanted)
            return found, len(found) == paging.size
        listed = _listed(await self.visible.list_active(viewer), search)
        return listed[paging.first : paging.end], len(listed) > paging.end


@api("GET /runs", THREAD, "a page is shown in a thread, its rows are awaited")
async def list_runs(
    finder: RunFinder, privacy: Privacy, caller: Caller | None, search: RunSearch, paging: Paging
) -> Work[v1.RunList]:
    """List runs, unfinished ones unless asked otherwise."""
    found, more = await finder.find(name_of_caller(caller), search, paging)
    reader = actor_of(caller)
    shown = tuple(privacy.visible_part(reader, run) for run in found)
    return partial(_make_list, shown, paging.page, more=more)


@api("GET /runs/{run_id}", THREAD, "Elo is estimated in a thread")
async def get_run(
    visible: VisibleRuns, activity: FleetActivity, caller: Caller | None, run_id: RunId
) -> Work[v1.RunDetails]:
    """Everything about a run.

    Deleted runs are hidden from lists, but not from callers who know their id."""
    run = await visible.find_part(run_id, actor_of(caller))
    return partial(make_details, run, activity.speed(run.id))


@api("GET /runs/{run_id}/summary.txt", THREAD, "Elo is estimated in a thread")
async def summarize_run(
    visible: VisibleRuns,
    threads: Threads,
    caller: Caller | None,
    run_id: RunId,
    style: v1.SummaryStyle = v1.SummaryStyle.FISHTEST,
) -> str:
    """The result as a text to paste."""
    run = await visible.find_part(run_id, actor_of(caller))
    return await threads.cpu(summary, run, style)


def _listed(found: Iterable[Run], search: RunSearch) -> list[Run]:
    """The runs of this state and owner, newest first."""
    chosen = [
        run
        for run in found
        if search.state.value in ("unfinished", run.display.value)
        and search.owner in ("", run.plan.owner)
    ]
    return sorted(chosen, key=lambda run: run.id, reverse=True)


def _make_list(found: tuple[Run, ...], page: int, *, more: bool) -> v1.RunList:
    return v1.RunList(runs=tuple(map(make_summary, found)), page=page, more=more)


# Runs as the JSON API shows them: without mail addresses, network addresses and workers' keys.


def make_summary(run: Run) -> v1.RunSummary:
    plan, status, tally = run.plan, run.status, run.tally
    kind = run.kind
    return v1.RunSummary(
        id=run.id,
        name=run_name(run),
        state=run.display,
        deleted=status.deleted,
        flag=status.flag,
        kind=kind.name,
        owner=plan.owner,
        approver=status.approver,
        created=run.created,
        updated=run.updated,
        new_tag=plan.new.tag,
        base_tag=plan.base.tag,
        tc=plan.tc,
        threads=plan.threads,
        priority=plan.priority,
        throughput=plan.throughput,
        num_games=plan.games,
        workers=tally.workers,
        cores=tally.cores,
        results=tally.results,
        llr=UNSET if kind.llr is None else to_finite(kind.llr),
        decided_by=status.decided_by or UNSET,
        info=plan.info,
    )


def make_details(run: Run, speed: RunSpeed) -> v1.RunDetails:
    """The details of a run. They include statistics, so call it in a thread."""
    tally = run.tally
    return v1.RunDetails(
        **asdict(make_summary(run)),
        failures=run.status.failures,
        committed_games=tally.committed,
        total_games=tally.total,
        tasks=tally.tasks,
        nps=to_finite(speed.nps),
        games_per_minute=to_finite(speed.games_per_minute),
        needs=tuple(map(str, run.demands.needs)),
        args=args_document(run),
        elo=_elo(run),
        live_elo=live_elo_of(run) or UNSET,
        rescheduled_from=run.rescheduled_from or UNSET,
        new_record=_record(run.plan.new),
        base_record=_record(run.plan.base),
        records=records_digest(run),
    )


def _record(side: Side) -> EngineRecord | UnsetType:
    return submitted_record(side) or UNSET


def _elo(run: Run) -> FixedElo | UnsetType:
    results = run.tally.results
    if not (run.kind.compares and results.games):
        return UNSET
    return fixed_elo(results.pentanomial)
