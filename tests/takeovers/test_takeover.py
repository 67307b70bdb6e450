"""A worker plays on while servers that share a database take over from one another."""

import asyncio
import signal
import time
from pathlib import Path

from rookery.server.db.target import Target
from tests.database import statement
from tests.process_table import state_of
from tests.rookery_process import RookeryProcess, run_rookery
from tests.workers.farm import Farm, farm
from tests.workers.processes import WorkerProcess, until, worker_process

SPRT = {"elo0": 0.0, "elo1": 2.0, "batch_size": 1}
LEASE_RUNS_OUT = "UPDATE lease SET expires_at = clock_timestamp()"


def stop(server: RookeryProcess) -> None:
    """With all that it holds in memory, a call that it was about to answer included."""
    server.process.send_signal(signal.SIGSTOP)
    while state_of(server.process.pid) != "T":
        time.sleep(0.01)


def lease_runs_out(database: Target) -> None:
    """At once, not after its seconds. A server that was asleep does not even know."""
    asyncio.run(statement(database, LEASE_RUNS_OUT))


def counted(a_farm: Farm, run: str, worker: WorkerProcess) -> None:
    """Wait until the present server has counted more games."""
    before = a_farm.games(run)
    until(lambda: a_farm.games(run) > before, worker)


def holds_a_report(a_farm: Farm) -> bool:
    relay = a_farm.relay
    return relay.asked.count("update_task") > relay.count("update_task")


def workers_come_to(a_farm: Farm, server: RookeryProcess) -> None:
    a_farm.server, a_farm.relay.target = server, server.address


def test_every_batch_counts_once_though_servers_take_over_from_one_another(
    database: Target, tmp_path: Path
) -> None:
    shared = {"ROOKERY_DATABASE_URL": database.dsn}
    with (
        farm(tmp_path, shared) as a_farm,
        worker_process(a_farm.relay.address, tmp_path, "--retry-seconds=1") as worker,
    ):
        first, run = a_farm.server, a_farm.submit(sprt=SPRT, num_games=None)
        counted(a_farm, run, worker)
        stop(first)
        until(lambda: holds_a_report(a_farm), worker)
        lease_runs_out(database)
        with run_rookery(tmp_path / "second", settings=shared) as second:
            workers_come_to(a_farm, second)
            first.process.send_signal(signal.SIGCONT)
            first.until("fleet_state_lost")
            counted(a_farm, run, worker)
        # Killed as it is left. The first one has been waiting for its turn.
        lease_runs_out(database)
        first.until("fleet_rebuilt")
        workers_come_to(a_farm, first)
        counted(a_farm, run, worker)
        worker.kill()
        until(lambda: a_farm.games(run) == a_farm.relay.games(), worker)
        assert a_farm.relay.count("failed_task") == 0
