"""The figures of the farm and of this process, as Prometheus metric families."""

import math
from collections.abc import Iterator

from prometheus_client import ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from rookery.core.model.run import DisplayState
from rookery.server.disk import Disk
from rookery.server.farm.figures import CountedRows, FarmFigures
from rookery.server.servers.metrics import gauge

PROCESS = ProcessCollector(registry=None)
"""Memory, descriptors and CPU time of this process, under the usual names of Prometheus clients."""


class FarmCollector(Collector):
    """Collects a snapshot of the farm. It is made on the loop and read by a thread."""

    def __init__(self, farm: FarmFigures, disk: Disk) -> None:
        self._farm = farm
        self._free, self._reserve = disk.free, disk.reserve

    def collect(self) -> Iterator[Metric]:
        farm = self._farm
        yield _by_label("rookery_runs", "Runs by state", "state", _count_runs(farm))
        machines = {"playing": farm.playing, "waiting": farm.waiting}
        yield _by_label("rookery_machines", "Machines connected", "state", machines)
        yield gauge("rookery_cores", "Cores that play games", farm.cores)
        yield gauge("rookery_games_per_minute", "Games finished per minute", farm.games_per_minute)
        yield gauge("rookery_games_counted", "Games counted in unfinished runs", farm.games)
        yield gauge(
            "rookery_games_remaining",
            "Games of approved runs that nobody plays yet",
            farm.remaining_games,
        )
        yield gauge("rookery_disk_free_bytes", "Free space of the fullest disk", self._free)
        yield gauge(
            "rookery_disk_reserve_bytes",
            "Free space below which uploads are refused",
            self._reserve,
        )
        yield gauge(
            "rookery_database_up", "1 while the database answers", float(farm.rows is not None)
        )
        if farm.rows is not None:
            yield from _rows(farm.rows)
        yield from PROCESS.collect()


def _count_runs(farm: FarmFigures) -> dict[str, float]:
    states: dict[str, float] = {state.value: count for state, count in farm.runs.items()}
    if farm.rows is not None:
        states[DisplayState.FINISHED.value] = farm.rows.finished_runs
    return states


def _rows(rows: CountedRows) -> Iterator[Metric]:
    yield gauge("rookery_games_credited", "Games in runs that have ended", rows.credited_games)
    yield gauge(
        "rookery_accounts_pending", "Accounts that wait for approval", rows.pending_accounts
    )
    failures = {
        "failed_task": rows.failed_tasks,
        "dead_task": rows.dead_tasks,
        "crash_or_time": rows.crashed_tasks,
        "stop_run": rows.stopped_runs,
    }
    yield _by_label(
        "rookery_failures_last_hour", "Failures in the log of the last hour", "kind", failures
    )
    yield gauge(
        "rookery_outbox_waiting", "Events whose notifications are not all sent", rows.undelivered
    )
    yield gauge(
        "rookery_outbox_oldest_seconds",
        "Age of the oldest unsent notification",
        rows.undelivered_seconds,
    )
    yield gauge(
        "rookery_outbox_failed_last_day", "Notifications given up in the last day", rows.given_up
    )
    age = rows.backup_seconds
    yield gauge(
        "rookery_backup_age_seconds",
        "Age of the latest backup; infinite without one",
        math.inf if age is None else age,
    )


def _by_label(
    name: str, purpose: str, label: str, values: "dict[str, float] | dict[str, int]"
) -> Metric:
    metric = GaugeMetricFamily(name, purpose, labels=[label])
    for key, value in values.items():
        metric.add_metric([key], value)
    return metric
