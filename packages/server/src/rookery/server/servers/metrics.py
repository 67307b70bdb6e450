"""Turns the figures of one process into Prometheus metric families."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from prometheus_client import generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from rookery.core.boundary.bridge import BridgeStats
from rookery.core.boundary.offload import GateStats, LimiterStats
from rookery.core.boundary.watch import Histogram, LoopTime
from rookery.server.ask.health import AskStats
from rookery.server.ask.indexing import IndexStats
from rookery.server.db.listening import ListeningStats
from rookery.server.farm.commits import CommitStats
from rookery.server.farm.events import BusStats
from rookery.server.farm.jobs import PeriodicJob
from rookery.server.files.storage_health import StorageStats
from rookery.server.http.forwarding import ForwardingStats
from rookery.server.http.traffic import BOUNDS, Key, RouteTimes

_Family = type[GaugeMetricFamily] | type[CounterMetricFamily]
_GAUGE = GaugeMetricFamily
_COUNTER = CounterMetricFamily


@dataclass(frozen=True, slots=True)
class PoolStats:
    """The connections of the database pool: all of them, the unused ones, and the maximum."""

    size: int
    idle: int
    most: int


@dataclass(frozen=True, slots=True)
class MetricsSnapshot:
    """All figures, read on the loop; a thread turns them into text."""

    answers: dict[Key, int]
    times: dict[str, RouteTimes]
    inside: int
    connections: int
    streams: int
    limiters: tuple[LimiterStats, ...]
    gates: tuple[GateStats, ...]
    bridge: BridgeStats | None
    lag: Histogram | None
    longest_lag: float
    holdups: Histogram | None
    loop_times: dict[str, LoopTime]
    jobs: tuple[PeriodicJob, ...]
    pool: PoolStats | None
    commits: CommitStats
    bus: BusStats
    listening: ListeningStats | None
    index: IndexStats
    primary: bool
    ask: AskStats
    storage: StorageStats
    forwarding: ForwardingStats
    other_instances: int = 0
    commits_behind: int = 0
    activity_age: float = 0.0
    version: str = ""

    @property
    def server_errors(self) -> int:
        """The answers since the start that were faults of the server."""
        return sum(count for (_, _, status), count in self.answers.items() if status >= 500)


def render_metrics(shown: MetricsSnapshot, *more: Collector) -> bytes:
    """The figures in Prometheus' text format. Takes about a millisecond, so call it in a thread."""
    return b"".join(generate_latest(each) for each in (_Snapshot(shown), *more))


class _Snapshot(Collector):
    def __init__(self, shown: MetricsSnapshot) -> None:
        self._shown = shown

    def collect(self) -> Iterator[Metric]:
        shown = self._shown
        yield InfoMetricFamily("rookery_build", "Server version", value={"version": shown.version})
        yield GaugeMetricFamily("rookery_primary", "1 on the primary", value=float(shown.primary))
        others, age = shown.other_instances, shown.activity_age
        yield gauge("rookery_other_instances", "Other servers on the same database", others)
        yield gauge(
            "rookery_commits_behind",
            "Commits that the event bus has not seen",
            shown.commits_behind,
        )
        yield gauge(
            "rookery_activity_age_seconds", "Age of the state that the primary published", age
        )
        yield _requests(shown.answers)
        yield _request_seconds(shown.times)
        yield gauge("rookery_requests_inside", "Requests being answered", shown.inside)
        yield gauge("rookery_connections_open", "Connections of clients", shown.connections)
        yield gauge("rookery_streams_open", "Streams that are open", shown.streams)
        yield from _limiters(shown.limiters)
        yield from _gates(shown.gates)
        yield from _bridge(shown.bridge)
        yield from _lag(shown.lag, shown.longest_lag)
        yield from _holdups(shown.holdups)
        yield from _loop_times(shown.loop_times)
        yield from _jobs(shown.jobs)
        yield from _pool(shown.pool)
        yield from _commits(shown.commits)
        yield from _bus(shown.bus)
        yield from _listening(shown.listening)
        if shown.primary:
            yield from _index(shown.index, shown.bus.sequence)
        yield from _ask(shown.ask)
        yield from _storage(shown.storage)
        yield from _forwarding(shown.forwarding)


def gauge(name: str, purpose: str, value: float) -> Metric:
    return GaugeMetricFamily(name, purpose, value=value)


def _by_name(
    family: _Family, name: str, purpose: str, values: Iterable[tuple[str, float]]
) -> Metric:
    metric = family(name, purpose, labels=["name"])
    for label, value in values:
        metric.add_metric([label], value)
    return metric


def _families(
    prefix: str,
    stats: Sequence[LimiterStats | GateStats],
    fields: tuple[str, ...],
    family: _Family,
) -> Iterator[Metric]:
    """One metric for each field, with one sample for each limiter or gate."""
    for name in fields:
        values = ((one.name, getattr(one, name)) for one in stats)
        yield _by_name(family, f"{prefix}_{name}", name.capitalize(), values)


def _cumulative(bounds: Iterable[float], counts: Iterable[int]) -> list[tuple[str, float]]:
    edges = [*(str(bound) for bound in bounds), "+Inf"]
    return list(zip(edges, map(float, accumulate(counts)), strict=True))


def _requests(answers: dict[Key, int]) -> Metric:
    labels = ["route", "method", "status"]
    metric = CounterMetricFamily("rookery_requests", "Answers; status 0: cut off", labels=labels)
    for (route, method, status), count in answers.items():
        metric.add_metric([route, method, str(status)], count)
    return metric


def _request_seconds(times: dict[str, RouteTimes]) -> Metric:
    metric = HistogramMetricFamily("rookery_request_seconds", "Time to answer", labels=["route"])
    for route, taken in times.items():
        metric.add_metric([route], _cumulative(BOUNDS, taken.buckets), taken.seconds)
    return metric


def _limiters(limiters: tuple[LimiterStats, ...]) -> Iterator[Metric]:
    yield from _families("rookery_threads", limiters, ("size", "running", "waiting"), _GAUGE)
    yield from _families("rookery_threads", limiters, ("calls", "refused"), _COUNTER)


def _gates(gates: tuple[GateStats, ...]) -> Iterator[Metric]:
    yield from _families("rookery_gate", gates, ("size", "inside"), _GAUGE)
    yield from _families("rookery_gate", gates, ("entered", "refused"), _COUNTER)


def _bridge(bridge: BridgeStats | None) -> Iterator[Metric]:
    if bridge is None:
        return
    yield gauge(
        "rookery_bridge_inside", "Calls from threads to the event loop under way", bridge.inside
    )
    yield gauge("rookery_bridge_waiting", "Threads that wait for the bridge", bridge.waiting)
    yield CounterMetricFamily("rookery_bridge_calls", "Calls over the bridge", value=bridge.calls)
    yield CounterMetricFamily(
        "rookery_bridge_timeouts", "Calls over the bridge that timed out", value=bridge.timeouts
    )
    yield CounterMetricFamily(
        "rookery_bridge_refused", "Calls that the bridge refused", value=bridge.refused
    )


def _lag(lag: Histogram | None, longest: float) -> Iterator[Metric]:
    if lag is None:
        return
    metric = HistogramMetricFamily("rookery_loop_lag_seconds", "Delay of the event loop")
    metric.add_metric([], _cumulative(lag.bounds, lag.counts), lag.total_seconds)
    yield metric
    yield gauge("rookery_loop_lag_longest_seconds", "Longest delay since the start", longest)


def _holdups(holdups: Histogram | None) -> Iterator[Metric]:
    if holdups is None:
        return
    metric = HistogramMetricFamily(
        "rookery_interpreter_held_seconds", "Time for which one thread kept all others from running"
    )
    metric.add_metric([], _cumulative(holdups.bounds, holdups.counts), holdups.total_seconds)
    yield metric


def _loop_times(times: dict[str, LoopTime]) -> Iterator[Metric]:
    named = sorted(times.items())
    seconds = ((route, time.total_seconds) for route, time in named)
    calls = ((route, time.calls) for route, time in named)
    longest = ((route, time.longest_step_seconds) for route, time in named)
    yield _by_name(_COUNTER, "rookery_loop_seconds", "Time spent on the event loop", seconds)
    yield _by_name(_COUNTER, "rookery_loop_calls", "Calls measured on the event loop", calls)
    yield _by_name(
        _GAUGE,
        "rookery_loop_longest_step_seconds",
        "Longest uninterrupted step on the event loop",
        longest,
    )


def _jobs(jobs: tuple[PeriodicJob, ...]) -> Iterator[Metric]:
    done = ((job.name, job.done) for job in jobs)
    failed = ((job.name, job.failed) for job in jobs)
    seconds = ((job.name, job.spent_seconds) for job in jobs)
    yield _by_name(_COUNTER, "rookery_jobs_done", "Background jobs that succeeded", done)
    yield _by_name(_COUNTER, "rookery_jobs_failed", "Background jobs that failed", failed)
    yield _by_name(_COUNTER, "rookery_jobs_seconds", "Time spent in background jobs", seconds)


def _pool(pool: PoolStats | None) -> Iterator[Metric]:
    if pool is None:
        return
    yield gauge("rookery_pool_connections", "Connections to the database", pool.size)
    yield gauge("rookery_pool_idle", "Idle connections to the database", pool.idle)
    yield gauge("rookery_pool_most", "Most connections to the database", pool.most)


def _commits(commits: CommitStats) -> Iterator[Metric]:
    """The group commit in the present term as primary. The counts start anew when memory is
    dropped."""
    yield gauge("rookery_commits_waiting", "Changes that wait for a commit", commits.waiting)
    yield gauge("rookery_commits_backlog", "Rows to be written later", commits.backlog)
    yield gauge("rookery_commits_largest", "Most changes in one commit", commits.largest)
    yield CounterMetricFamily("rookery_commits_changes", "Changes committed", value=commits.changes)
    metric = HistogramMetricFamily("rookery_commit_seconds", "Time of a group commit")
    seconds = commits.seconds
    metric.add_metric([], _cumulative(seconds.bounds, seconds.counts), seconds.total_seconds)
    yield metric


def _bus(bus: BusStats) -> Iterator[Metric]:
    yield gauge(
        "rookery_events_sequence",
        "Latest commit up to which the event bus missed none",
        bus.sequence,
    )
    yield gauge("rookery_events_subscribers", "Subscribers to events of runs", bus.subscribers)
    yield gauge(
        "rookery_events_behind",
        "1 while events are read from the database after a gap",
        float(bus.behind),
    )
    yield CounterMetricFamily(
        "rookery_events_rounds", "Rounds in which subscribers were notified", value=bus.rounds
    )
    yield CounterMetricFamily(
        "rookery_events_gaps", "Gaps in the events that were read from the database", value=bus.gaps
    )


def _listening(listening: ListeningStats | None) -> Iterator[Metric]:
    if listening is None:
        return
    connections, heard = listening.connections, listening.heard
    yield gauge(
        "rookery_listening", "1 while notices of other servers are received", listening.connected
    )
    yield CounterMetricFamily(
        "rookery_listening_connections", "Connections made for notices", value=connections
    )
    yield CounterMetricFamily("rookery_listening_heard", "Notices received", value=heard)


def _index(index: IndexStats, sequence: int) -> Iterator[Metric]:
    """How far the index of Ask is behind the changes."""
    behind = max(0, sequence - index.commit)
    yield gauge(
        "rookery_ask_lag_seconds", "Time since the index of Ask was up to date", index.seconds
    )
    yield gauge(
        "rookery_ask_lag_commits", "Group commits that the index of Ask has not seen", behind
    )
    yield gauge(
        "rookery_ask_lag_documents", "Documents that wait for the index of Ask", index.waiting
    )
    yield CounterMetricFamily("rookery_ask_indexed", "Documents indexed", value=index.written)


def _ask(ask: AskStats) -> Iterator[Metric]:
    questions = ask.questions.items()
    yield _by_name(_COUNTER, "rookery_ask_questions", "Questions by how they ended", questions)
    for name, purpose, seconds in (
        ("rookery_ask_search_seconds", "Time of a search", ask.searches),
        ("rookery_ask_first_piece_seconds", "Time until an answer began", ask.first_pieces),
        ("rookery_ask_answer_seconds", "Time of a whole answer", ask.answers),
    ):
        metric = HistogramMetricFamily(name, purpose)
        metric.add_metric([], _cumulative(seconds.bounds, seconds.counts), seconds.total_seconds)
        yield metric
    calls, failures = ask.model_calls, ask.model_failures
    yield CounterMetricFamily("rookery_ask_model_calls", "Questions to the model", value=calls)
    yield CounterMetricFamily(
        "rookery_ask_model_failures", "Questions that the model did not answer", value=failures
    )
    yield gauge(
        "rookery_ask_model_up", "0 after the model failed to answer", float(ask.model_works)
    )


def _storage(storage: StorageStats) -> Iterator[Metric]:
    """The metrics of storage on a network. A folder has none."""
    yield gauge("rookery_files_away", "1 while the storage of files can't be used", storage.is_away)
    yield _by_name(
        _COUNTER, "rookery_files_calls", "Calls of the storage of files", storage.calls.items()
    )
    yield _by_name(
        _COUNTER,
        "rookery_files_failures",
        "Calls of the storage of files that failed",
        storage.failures.items(),
    )


def _forwarding(done: ForwardingStats) -> Iterator[Metric]:
    """The metrics of calls that this instance has forwarded. The primary forwards none."""
    words = {"sent": done.sent, "repeated": done.repeated, "refused": done.refused}
    calls = CounterMetricFamily(
        "rookery_forwarded_calls", "Calls forwarded to the primary", labels=["what"]
    )
    for what, number in words.items():
        calls.add_metric([what], number)
    yield calls
    yield gauge("rookery_forwarding", "Forwarded calls under way", done.inside)
    yield gauge("rookery_forwarding_connections", "Connections to the primary", done.connections)
