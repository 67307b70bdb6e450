"""What is known about a run besides its results: why it does not progress, which workers deviate,
its course, removed tasks, and how its games were played and ended."""

from collections.abc import Callable
from typing import TypeVar, cast

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict
from starlette.requests import Request
from starlette.responses import Response

from rookery.core.model.kinds import SprtTest, SpsaTuning
from rookery.core.model.run import Run
from rookery.core.model.task import PlayedBatch
from rookery.core.protocol import v1_insights
from rookery.core.protocol.codec import to_finite
from rookery.core.stats.elo import EloEstimate, SequentialElo, estimate_elo, live_elo_on_chart
from rookery.core.stats.residuals import WorkerTest
from rookery.core.stats.spsa import Tune, sampling_period
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.caches import ExpiringCache, SharedWork
from rookery.server.farm.read_values import WorkerResults
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.farm.rules.diagnosis import AHEAD, RunDiagnosis
from rookery.server.farm.rules.purge import BadTask
from rookery.server.files.games import IndexedGame
from rookery.server.http import queries
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import json_answer
from rookery.server.http.callers import find_run, translated_errors, viewer_name
from rookery.server.http.faults import NotFound
from rookery.server.http.openapi import Operation, described
from rookery.server.runs.api import BY_ID, PAGING
from rookery.server.runs.tasks_api import make_game_entry, make_task_entry

T = TypeVar("T")
E = TypeVar("E")
MOST_WORKERS = 5_000
"""The most workers that are judged. In a larger run, those with the most games are."""
REMEMBERED_SECONDS = 10.0
MOST_REMEMBERED = 200
Judged = tuple[WorkerTest | None, tuple[v1_insights.ResidualEntry, ...]]


# Open to everybody who may see the run.


@described(Operation("Why a run is not moving", {200: v1_insights.Diagnosis}, path=BY_ID))
@runs(Domain.LOOP_CPU, "asks a bounded part of the fleet in memory")
async def diagnose_run(request: Request) -> Response:
    site = site_of(request)
    run = await _load_run(request)
    viewer = await viewer_name(request, site.bearers)
    with translated_errors():
        found = await site.fleet.views.diagnosis(run.id)
        active = await site.fleet.views.active()
    seen = {each.id for each in active if site.privacy.may_see(viewer, each)}
    return json_answer(_diagnosis(found, seen))


@described(
    Operation(
        "How far the results of each worker differ, worst first",
        {200: v1_insights.ResidualList},
        path=BY_ID,
        query=PAGING,
    )
)
@runs(Domain.THREAD, "sums over tasks are awaited, judged in a thread and kept for a moment")
async def list_residuals(request: Request) -> Response:
    run, (first, size) = await _load_run(request), _read_range(request)
    test, entries = await residuals_of(request).judge(run)
    return json_answer(
        v1_insights.ResidualList(
            workers=entries[first : first + size],
            chi_square=UNSET if test is None else to_finite(test.chi_square),
            degrees=UNSET if test is None else test.degrees,
            p_value=UNSET if test is None else to_finite(test.p_value),
            page=first // size + 1,
            more=len(entries) > first + size,
        )
    )


@described(Operation("The points of a run's chart", {200: v1_insights.SampleList}, path=BY_ID))
@runs(Domain.THREAD, "awaits one query; Elo is estimated in a thread")
async def list_samples(request: Request) -> Response:
    site = site_of(request)
    run = await _load_run(request)
    found = await site.reads.samples(run.id)
    return await site.threads.cpu(_samples_answer, run, found)


@described(Operation("How the values of a tune moved", {200: v1_insights.TuneCourse}, path=BY_ID))
@runs(Domain.THREAD, "a tune of many parameters is shown in a thread")
async def get_tune(request: Request) -> Response:
    run = await _load_run(request)
    if not isinstance(run.kind, SpsaTuning):
        raise NotFound("This run is not a tune.")
    return await site_of(request).threads.cpu(_tune_answer, run.kind.tune)


@described(
    Operation(
        "Purged tasks, as they were before",
        {200: v1_insights.BadTaskList},
        path=BY_ID,
        query=PAGING,
    )
)
@runs(Domain.LOOP, "awaits one query")
async def list_bad_tasks(request: Request) -> Response:
    site = site_of(request)
    run, (first, size) = await _load_run(request), _read_range(request)
    found = await site.reads.bad_tasks(run.id, first, size + 1)
    shown, more = _cut_page(found, size, _bad_task)
    return json_answer(v1_insights.BadTaskList(tasks=shown, page=first // size + 1, more=more))


@described(
    Operation(
        "How the games of a run were played, batch by batch",
        {200: v1_insights.ProvenanceList},
        path=BY_ID,
        query=PAGING,
    )
)
@runs(Domain.LOOP, "awaits one query")
async def list_provenance(request: Request) -> Response:
    site = site_of(request)
    run, (first, size) = await _load_run(request), _read_range(request)
    found = await site.reads.provenance(run.id, first, size + 1)
    shown, more = _cut_page(found, size, _batch)
    return json_answer(v1_insights.ProvenanceList(batches=shown, page=first // size + 1, more=more))


@described(
    Operation(
        "The games of a run: task, outcome, ending, half moves and opening",
        {200: v1_insights.RunGameList},
        path=BY_ID,
        query=PAGING,
    )
)
@runs(Domain.LOOP, "awaits one query")
async def list_run_games(request: Request) -> Response:
    site = site_of(request)
    run, (first, size) = await _load_run(request), _read_range(request)
    found = await site.games.rows.list_run_games(run.id, first, size + 1)
    shown, more = _cut_page(found, size, _game)
    return json_answer(v1_insights.RunGameList(games=shown, page=first // size + 1, more=more))


async def _load_run(request: Request) -> Run:
    site = site_of(request)
    viewer = await viewer_name(request, site.bearers)
    return await find_run(site, str(request.path_params["run_id"]), viewer)


class Residuals:
    """Judges the results of a run's workers once for all readers, and keeps the outcome for a
    moment."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._judged: ExpiringCache[str, Judged] = ExpiringCache(site.clock, MOST_REMEMBERED)
        self._judging: SharedWork[str, Judged] = SharedWork()

    async def judge(self, run: Run) -> Judged:
        return await self._judging(run.id, lambda: self._judge(run))

    async def _judge(self, run: Run) -> Judged:
        known = self._judged.get(run.id)
        if known is not None:
            return known
        found = await self._site.reads.results_by_worker(run.id, MOST_WORKERS)
        judged = await self._site.threads.cpu(_judge_workers, run, found)
        self._judged.put(run.id, judged, REMEMBERED_SECONDS)
        return judged


def residuals_of(request: Request) -> Residuals:
    return cast("Residuals", request.app.state.residuals)


def _read_range(request: Request) -> tuple[int, int]:
    """The number of entries to skip, and the number to show."""
    with translated_errors():
        page, size = queries.read_page(request.query_params)
    return (page - 1) * size, size


def _cut_page(
    found: tuple[T, ...], size: int, show: Callable[[T], E]
) -> tuple[tuple[E, ...], bool]:
    """One page of entries, and whether there are more."""
    return tuple(map(show, found[:size])), len(found) > size


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


def _samples_answer(run: Run, found: tuple[ChartPoint, ...]) -> Response:
    samples = tuple(_sample(run, point) for point in found)
    return json_answer(v1_insights.SampleList(samples=samples))


def _tune_answer(tune: Tune) -> Response:
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
    return json_answer(
        v1_insights.TuneCourse(
            iteration=tune.iteration, iterations=tuple(noted), parameters=tuple(parameters)
        )
    )


def _estimate(run: Run, point: ChartPoint) -> tuple[float, float, float] | UnsetType:
    """The estimate at a point of the chart, computed like the run's own Elo, so that the line ends
    there."""
    if not sum(point.pentanomial):
        return UNSET
    found: EloEstimate | SequentialElo
    if isinstance(run.kind, SprtTest):
        found = live_elo_on_chart(run.kind.spec, point.pentanomial)
    else:
        found = estimate_elo(point.pentanomial)
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
