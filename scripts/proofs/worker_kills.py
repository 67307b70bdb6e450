"""Kills workers, engines in mid-game and the server in mid-batch while real games are played.

    scripts/prove worker-kills [--lives N] [--minutes N] [--seed N]

Each life of a worker sees two of its engines killed while they think, every other one its server
too, and ends by kill -9 at a random moment. After each what the server counts is held against what
it was told and answered, and no process of the killed worker may be left. It holds only if some of
the engines took a game with them, none took more, and the server was struck in mid-batch.
"""

import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from scripts.progress import Progress
from scripts.proof import option, read_options
from tests.workers.farm import Farm, farm
from tests.workers.processes import WorkerProcess, until, worker_process

SPRT = {"elo0": 0.0, "elo1": 2.0, "batch_size": 2}
SLOW: dict[str, object] = {
    "tc": "N=100",
    "draw": {"from_move": 25, "moves": 1, "score": 5000},
}
"""A test with games of about a second, so that an engine that computes is usually in the middle of
a game."""
SETTLING_SECONDS = 10.0
ENGINES_PER_LIFE = 2
LOOK_SECONDS = 0.03


@dataclass(frozen=True, slots=True)
class Wanted:
    lives: int = 12
    minutes: float = option(4.5, "no life begins after that")
    seed: int = 1


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


@dataclass(slots=True)
class Killing:
    """A farm, and counts of what was killed on it."""

    farm: Farm
    run: str
    chance: random.Random
    killed: Counter[str] = field(default_factory=Counter)

    def life(self, folder: Path, *, server_too: bool) -> None:
        """Runs a worker from its start to its kill."""
        with worker_process(self.farm.relay.address, folder, "--retry-seconds=0.5") as worker:
            self._reports(worker, 1)
            for _ in range(ENGINES_PER_LIFE):
                self._kill_engine(worker)
            if server_too:
                self._kill_server(worker)
            time.sleep(self.chance.uniform(0, 3))
            family = worker.family()
            worker.kill()
            until(lambda: all(map(is_gone, family)), worker)
        self.killed["worker"] += 1

    def _reports(self, worker: WorkerProcess, times: int) -> None:
        """Waits until the worker has reported this many more times."""
        enough = self._updates() + times
        until(lambda: self._updates() >= enough, worker)

    def _kill_engine(self, worker: WorkerProcess) -> None:
        """Kills an engine that computes, which it only does in games; then waits until the loss was
        reported."""
        time.sleep(self.chance.uniform(0, 1))
        os.kill(thinking(worker), signal.SIGKILL)
        self.killed["engine in mid-game"] += 1
        # The batch in progress, or the next one, reports the loss.
        self._reports(worker, 2)

    def _kill_server(self, worker: WorkerProcess) -> None:
        """Kills the server in the middle of a batch; the worker continues and reports to the next
        server."""
        self._reports(worker, 1)
        told = self._updates()
        thinking(worker)
        time.sleep(self.chance.uniform(0, 1))
        self.farm.server.end()
        self.killed["server" + (" in mid-batch" if self._updates() == told else "")] += 1
        time.sleep(self.chance.uniform(0, 3))
        self.farm.start_again()
        self._reports(worker, 1)

    def _updates(self) -> int:
        return self.farm.relay.count("update_task")

    def settled(self) -> tuple[int, int]:
        """The games counted and reported; waits for reports that were in progress when a worker
        died."""
        deadline = time.monotonic() + SETTLING_SECONDS
        while True:
            counted, told = self.farm.games(self.run), self.farm.relay.games()
            if counted == told or time.monotonic() > deadline:
                return counted, told
            time.sleep(0.1)


def thinking(worker: WorkerProcess) -> int:
    """An engine of the worker that is computing now."""
    found: list[int] = []

    def seen() -> bool:
        before = dict(engine_times(worker))
        time.sleep(LOOK_SECONDS)
        found[:] = [pid for pid, used in engine_times(worker) if used > before.get(pid, used)]
        return bool(found)

    until(seen, worker)
    return found[0]


def engine_times(worker: WorkerProcess) -> Iterator[tuple[int, int]]:
    """The playing engines, with the processor time that each has used."""
    for pid, words in worker.family().items():
        if words.endswith("rookery.match.fledgling "):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            yield pid, int(fields[11]) + int(fields[12])


def prove(wanted: Wanted, folder: Path) -> int:
    told = Progress(wanted.lives, "lives")
    with farm(folder) as a_farm:
        run = a_farm.submit(sprt=SPRT, num_games=None, **SLOW)
        killing = Killing(a_farm, run, random.Random(wanted.seed))
        try:
            for number in range(wanted.lives):
                if told.seconds > 60 * wanted.minutes:
                    break
                killing.life(folder / str(number), server_too=number % 2 == 1)
                counted, heard = killing.settled()
                if counted != heard:
                    print(f"life {number}: {counted} games counted, {heard} told")
                    return 1
                told.tell(number + 1, f"{counted} games")
            return report(killing)
        finally:
            a_farm.server.end()


def report(killing: Killing) -> int:
    """Prints what was lost; returns 0 if that is as expected."""
    a_farm, killed = killing.farm, killing.killed
    counted, told = killing.settled()
    crashes = a_farm.run(killing.run).results.crashes
    updates = a_farm.relay.count("update_task")
    print("| killed | times |\n|---|---|")
    for victim, times in sorted(killed.items()):
        print(f"| {victim} | {times} |")
    print(
        f"\n{counted} games counted, {told} told in {updates} updates; games lost by a kill:"
        f" {crashes}. Nothing of a killed worker was left."
    )
    wrong = {
        "no kill of an engine cost a game": not crashes,
        "more games were lost than engines killed": crashes > killed["engine in mid-game"],
        "the server was never struck in mid-batch": not killed["server in mid-batch"],
    }
    for words in (words for words, is_so in wrong.items() if is_so):
        print(words)
    return 1 if any(wrong.values()) else 0


def main() -> int:
    # The database may still be shutting down when its folder is removed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        return prove(read_options(Wanted, __doc__), Path(scratch))


if __name__ == "__main__":
    sys.exit(main())
