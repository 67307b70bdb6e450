"""What is known about a run besides its results: why it does not progress, which workers deviate,
its course, removed tasks, and how its games were played and ended."""

from functools import partial

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.model.bounds import RunId
from rookery.core.model.run import Run
from rookery.core.model.task import PlayedBatch
from rookery.core.protocol import v1_insights
from rookery.core.protocol.codec import to_finite
from rookery.core.stats.residuals import WorkerTest
from rookery.core.stats.spsa import Tune, sampling_period
from rookery.server.caches import ExpiringCache, SharedWork
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.farm.read_values import WorkerResults
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.farm.rules.diagnosis import AHEAD, RunDiagnosis
from rookery.server.farm.rules.purge import BadTask
from rookery.server.farm.views import FleetViews
from rookery.server.files.games import GameStore, IndexedGame
from rookery.server.http.endpoint import LOOP, LOOP_CPU, THREAD, Endpoints, Work
from rookery.server.http.faults import NotFound
from rookery.server.http.query_values import Paging
from rookery.server.identity.bearers import Caller, name_of_caller
from rookery.server.runs.tasks_api import make_game_entry, make_task_entry

MOST_WORKERS = 5_000
"""The most workers that are judged. In a larger run, those with the most games are."""
REMEMBERED_SECONDS = 10.0
MOST_REMEMBERED = 200
Judged = tuple[WorkerTest | None, tuple[v1_insights.ResidualEntry, ...]]

api = Endpoints("/api/v1")


class Residuals:
    """Judges the results of a run's workers once for all readers, and keeps the outcome for a
    moment."""

    def __init__(self, reads: FleetReads, threads: Threads, clock: Clock) -> None:
        self._reads = reads
        self._threads = threads
        self._judged: ExpiringCache[str, Judged] = ExpiringCache(clock, MOST_REMEMBERED)
        self._judging: SharedWork[str, Judged] = SharedWork()

    async def judge(self, run: Run) -> Judged:
        return await self._judging(run.id, lambda: self._judge(run))

    async def _judge(self, run: Run) -> Judged:
        known = self._judged.get(run.id)
        if known is not None:
            return known
        found = await self._reads.results_by_worker(run.id, MOST_WORKERS)
        judged = await self._threads.cpu(_judge_workers, run, found)
        self._judged.put(run.id, judged, REMEMBERED_SECONDS)
        return judged


# Open to everybody who may see the run.


@api("GET /runs/{run_id}/diagnosis", LOOP_CPU, "asks a bounded part of the fleet in memory")
async def diagnose_run(
    visible: VisibleRuns, views: FleetViews, caller: Caller | None, run_id: RunId
) -> v1_insights.Diagnosis:
    """Why a run is not moving."""
    viewer = name_of_caller(caller)
    run = await visible.find(run_id, viewer)
    found, active = await views.diagnosis(run.id), await visible.list_active(viewer)
    return _diagnosis(found, {each.id for each in active})


@api(
    "GET /runs/{run_id}/residuals",
    THREAD,
    "sums over tasks are awaited, judged in a thread and kept for a moment",
)
async def list_residuals(
    visible: VisibleRuns,
    residuals: Residuals,
    caller: Caller | None,
    run_id: RunId,
    paging: Paging,
) -> v1_insights.ResidualList:
    """How far the results of each worker differ, worst first."""
    test, entries = await residuals.judge(await visible.find(run_id, name_of_caller(caller)))
    return v1_insights.ResidualList(
        workers=entries[paging.first : paging.end],
        chi_square=UNSET if test is None else to_finite(test.chi_square),
        degrees=UNSET if test is None else test.degrees,
        p_value=UNSET if test is None else to_finite(test.p_value),
        page=paging.page,
        more=len(entries) > paging.end,
    )


@api("GET /runs/{run_id}/samples", THREAD, "awaits one query; Elo is estimated in a thread")
async def list_samples(
    visible: VisibleRuns, reads: FleetReads, caller: Caller | None, run_id: RunId
) -> Work[v1_insights.SampleList]:
    """The points of a run's chart."""
    run = await visible.find(run_id, name_of_caller(caller))
    return partial(_make_samples, run, await reads.samples(run.id))


@api("GET /runs/{run_id}/tune", THREAD, "a tune of many parameters is shown in a thread")
async def get_tune(
    visible: VisibleRuns, caller: Caller | None, run_id: RunId
) -> Work[v1_insights.TuneCourse]:
    """How the values of a tune moved."""
    run = await visible.find(run_id, name_of_caller(caller))
    if run.kind.tune is None:
        raise NotFound("This run is not a tune.")
    return partial(_make_course, run.kind.tune)


@api("GET /runs/{run_id}/bad_tasks", LOOP, "awaits one query")
async def list_bad_tasks(
    visible: VisibleRuns, reads: FleetReads, caller: Caller | None, run_id: RunId, paging: Paging
) -> v1_insights.BadTaskList:
    """Purged tasks, as they were before."""
    run = await visible.find(run_id, name_of_caller(caller))
    found, more = paging.cut(await reads.bad_tasks(run.id, paging.first, paging.size + 1))
    shown = tuple(map(_bad_task, found))
    return v1_insights.BadTaskList(tasks=shown, page=paging.page, more=more)


@api("GET /runs/{run_id}/provenance", LOOP, "awaits one query")
async def list_provenance(
    visible: VisibleRuns, reads: FleetReads, caller: Caller | None, run_id: RunId, paging: Paging
) -> v1_insights.ProvenanceList:
    """How the games of a run were played, batch by batch."""
    run = await visible.find(run_id, name_of_caller(caller))
    found, more = paging.cut(await reads.provenance(run.id, paging.first, paging.size + 1))
    shown = tuple(map(_batch, found))
    return v1_insights.ProvenanceList(batches=shown, page=paging.page, more=more)


@api("GET /runs/{run_id}/games", LOOP, "awaits one query")
async def list_run_games(
    visible: VisibleRuns, games: GameStore, caller: Caller | None, run_id: RunId, paging: Paging
) -> v1_insights.RunGameList:
    """The games of a run: task, outcome, ending, half moves and opening."""
    run = await visible.find(run_id, name_of_caller(caller))
    rows = await games.rows.list_run_games(run.id, paging.first, paging.size + 1)
    found, more = paging.cut(rows)
    shown = tuple(map(_game, found))
    return v1_insights.RunGameList(games=shown, page=paging.page, more=more)


def _diagnosis(found: RunDiagnosis, seen: set[str]) -> v1_insights.Diagnosis:
    return v1_insights.Diagnosis(
        finding=found.finding.value,
        sentence=found.sentence,
        evidence=tuple(_figure(name, value, seen) for name, value in found.evidence),
    )


def _figure(name: str, value: str, seen: set[str]) -> v1_insights.DiagnosisFigure:
    """A figure of the diagnosis. Private runs that are in the way are not named."""
    if not name.startswith(AHEAD):
        return v1_insights.DiagnosisFigure(name=name, value=value)
    run_id = name.removeprefix(AHEAD)
    if run_id not in seen:
        return v1_insights.DiagnosisFigure(name=f"{AHEAD}another run", value=value)
    return v1_insights.DiagnosisFigure(name=name, value=value, run=run_id)


def _judge_workers(run: Run, found: tuple[WorkerResults, ...]) -> Judged:
    """Judge the workers' results. Takes a while for very many workers."""
    test = run.kind.judge({each.worker: each.results for each in found})
    entries = (_residual(each, test) for each in found)
    return test, tuple(sorted(entries, key=lambda one: -(one.residual or 0.0)))


def _residual(each: WorkerResults, test: WorkerTest | None) -> v1_insights.ResidualEntry:
    far = None if test is None else test.residuals.get(each.worker)
    return v1_insights.ResidualEntry(
        worker=each.worker,
        user=each.user,
        results=each.results,
        residual=UNSET if far is None else to_finite(far),
        colour=UNSET if test is None or far is None else test.colour(far).value,
    )


def _make_samples(run: Run, found: tuple[ChartPoint, ...]) -> v1_insights.SampleList:
    samples = tuple(_sample(run, point) for point in found)
    return v1_insights.SampleList(samples=samples)


def _make_course(tune: Tune) -> v1_insights.TuneCourse:
    period = sampling_period(tune)
    noted = (round(period * number) for number in range(1, len(tune.history) + 1))
    parameters = (
        v1_insights.TunedParameter(
            name=parameter.line.name,
            start=parameter.line.start,
            minimum=parameter.line.minimum,
            maximum=parameter.line.maximum,
            now=tune.thetas[place],
            path=tuple(sample[place].theta for sample in tune.history),
        )
        for place, parameter in enumerate(tune.parameters)
    )
    return v1_insights.TuneCourse(
        iteration=tune.iteration, iterations=tuple(noted), parameters=tuple(parameters)
    )


def _estimate(run: Run, point: ChartPoint) -> tuple[float, float, float] | UnsetType:
    """The estimate at a point of the chart, computed like the run's own Elo, so that the line ends
    there."""
    if not sum(point.pentanomial):
        return UNSET
    found = run.kind.estimate_at(point.pentanomial)
    return to_finite(found.elo), to_finite(found.low), to_finite(found.high)


def _sample(run: Run, point: ChartPoint) -> v1_insights.SampleEntry:
    return v1_insights.SampleEntry(
        time=point.at,
        games=point.games,
        pentanomial=point.pentanomial,
        llr=to_finite(point.llr),
        cores=point.cores,
        elo=_estimate(run, point),
        nps=UNSET if point.nps is None else to_finite(point.nps),
    )


def _bad_task(bad: BadTask) -> v1_insights.BadTaskEntry:
    return v1_insights.BadTaskEntry(
        **asdict(make_task_entry(bad.task, {})),
        residual=to_finite(bad.residual),
        colour=bad.colour.value,
    )


def _batch(each: PlayedBatch) -> v1_insights.ProvenanceEntry:
    return v1_insights.ProvenanceEntry(
        task=each.task,
        time=each.at,
        games=each.games,
        runner=each.runner,
        version=each.version,
        new_hash=each.new_hash,
        base_hash=each.base_hash,
        factor=to_finite(each.factor),
        latency_ms=to_finite(each.latency_ms),
    )


def _game(each: IndexedGame) -> v1_insights.RunGameEntry:
    return v1_insights.RunGameEntry(
        task=each.task, **asdict(make_game_entry(each.number, each.game))
    )
