"""kill -9 of workers, engines and servers while games are played: what was reported counts once."""

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from rookery.core.model.run import DisplayState
from tests.workers.farm import Farm, farm
from tests.workers.processes import WorkerProcess, until, worker_process

SPRT = {"elo0": 0.0, "elo1": 2.0, "batch_size": 1}


@pytest.fixture(scope="module")
def a_farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    with farm(tmp_path_factory.mktemp("farm")) as started:
        yield started


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def engines_of(worker: WorkerProcess) -> list[int]:
    return [
        pid for pid, words in worker.family().items() if words.endswith("rookery.match.fledgling ")
    ]


def killed_after(updates: int, a_farm: Farm, run: str, folder: Path) -> None:
    """A worker lives until so many of its updates were heard. Nothing of it stays behind, and the
    server has counted exactly what it was told."""
    tasks, heard = a_farm.relay.count("request_task"), a_farm.relay.count("update_task")
    with worker_process(a_farm.relay.address, folder) as worker:
        until(lambda: a_farm.relay.count("request_task") > tasks, worker)
        until(lambda: a_farm.relay.count("update_task") >= heard + updates, worker)
        family = worker.family()
        worker.kill()
        until(lambda: all(map(is_gone, family)), worker)
        # What was on its way when the worker died may still arrive.
        until(lambda: a_farm.games(run) == a_farm.relay.games(), worker)


def test_a_killed_worker_leaves_exactly_what_it_reported(a_farm: Farm, tmp_path: Path) -> None:
    run = a_farm.submit(sprt=SPRT, num_games=None)
    for number, updates in enumerate((0, 3)):
        killed_after(updates, a_farm, run, tmp_path / str(number))
    assert a_farm.games(run) >= 6
    a_farm.client.stop(run)


def test_a_killed_engine_loses_that_game_alone(a_farm: Farm, tmp_path: Path) -> None:
    run = a_farm.submit(sprt=SPRT, num_games=16, tc="N=50", draw=None)
    with worker_process(a_farm.relay.address, tmp_path, "--once") as worker:
        until(lambda: "playing" in worker.said(), worker)
        until(lambda: killed_one_at_play(a_farm, worker), worker)
        assert worker.ended() == 0, worker.said()
    results = a_farm.run(run).results
    assert (results.games, results.crashes) == (16, 1)


def killed_one_at_play(a_farm: Farm, worker: WorkerProcess) -> bool:
    """One that is killed between two games starts again, and nobody hears of it: only then is
    there a second report and no word of a crash."""
    heard, engines = a_farm.relay.count("update_task"), engines_of(worker)
    if not engines:
        return False
    os.kill(engines[0], signal.SIGKILL)
    told = partial(a_farm.relay.count, "worker_log")
    until(lambda: told() > 0 or a_farm.relay.count("update_task") >= heard + 2, worker)
    return told() > 0


def test_a_batch_arrives_once_though_the_server_dies_and_answers_are_lost(
    a_farm: Farm, tmp_path: Path
) -> None:
    """The last test here: the farm's first server is dead afterwards."""
    run = a_farm.submit(sprt=SPRT, num_games=16)
    before = a_farm.relay.count("update_task")
    a_farm.relay.losing = 1
    with worker_process(a_farm.relay.address, tmp_path, "--once", "--retry-seconds=1") as worker:
        until(lambda: a_farm.relay.count("update_task") >= before + 3, worker)
        a_farm.server.kill()
        with a_farm.started_again():
            assert worker.ended() == 0, worker.said()
            assert a_farm.games(run) == 16
            assert a_farm.run(run).state is DisplayState.FINISHED
            assert a_farm.relay.count("failed_task") == 0
