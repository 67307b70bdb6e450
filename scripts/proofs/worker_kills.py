"""Kills workers, their engines and their server at random moments while real games are played.

    scripts/prove worker-kills [--rounds N] [--seed N]

After each round what the server counts is held against what it was told and answered, and no
process of a killed worker may be left.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.workers.farm import Farm, farm
from tests.workers.processes import Working, until, working

SPRT = {"elo0": 0.0, "elo1": 2.0, "batch_size": 2}
SETTLING_SECONDS = 10.0
VICTIMS = ("worker", "worker", "engine", "server")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/prove worker-kills", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def lives_on(a_farm: Farm, worker: Working) -> None:
    """It has reported again."""
    heard = a_farm.relay.count("update_task")
    until(lambda: a_farm.relay.count("update_task") > heard, worker)


def kill_engine(a_farm: Farm, worker: Working) -> None:
    engines = [pid for pid, words in worker.family().items() if "rookery.engine" in words]
    for pid in engines[:1]:
        os.kill(pid, signal.SIGKILL)
    lives_on(a_farm, worker)


def kill_server(a_farm: Farm, worker: Working, chance: random.Random) -> None:
    a_farm.server.end()
    time.sleep(chance.uniform(0, 3))
    a_farm.start_again()
    lives_on(a_farm, worker)


def round_of(a_farm: Farm, folder: Path, victim: str, chance: random.Random) -> None:
    """One worker, from its start to its kill, with another kill before it perhaps."""
    with working(a_farm.relay.address, folder, "--retry-seconds=0.5") as worker:
        if victim != "worker":
            lives_on(a_farm, worker)
        time.sleep(chance.uniform(0, 6))
        if victim == "engine":
            kill_engine(a_farm, worker)
        elif victim == "server":
            kill_server(a_farm, worker, chance)
        family = worker.family()
        worker.kill()
        until(lambda: all(map(is_gone, family)), worker)


def settled(a_farm: Farm, run: str) -> tuple[int, int]:
    """Games counted and told; what was on its way when a worker died may still arrive."""
    deadline = time.monotonic() + SETTLING_SECONDS
    while True:
        counted, told = a_farm.games(run), a_farm.relay.games()
        if counted == told or time.monotonic() > deadline:
            return counted, told
        time.sleep(0.1)


def prove(rounds: int, seed: int, folder: Path) -> int:
    chance, victims = random.Random(seed), Counter[str]()
    with farm(folder) as a_farm:
        run = a_farm.submit(sprt=SPRT, num_games=None)
        for number in range(rounds):
            victim = chance.choice(VICTIMS)
            round_of(a_farm, folder / str(number), victim, chance)
            victims[victim] += 1
            counted, told = settled(a_farm, run)
            if counted != told:
                print(f"round {number} ({victim}): {counted} games counted, {told} told")
                return 1
        crashes = a_farm.run(run).results.crashes
        updates = a_farm.relay.count("update_task")
        a_farm.server.end()
    print(f"killed: {dict(victims)}; after each a worker, and nothing of it was left")
    print(f"{counted} games counted, {told} told in {updates} updates, {crashes} lost by a kill")
    print("holds" if crashes <= victims["engine"] else "more games were lost than engines killed")
    return 0 if crashes <= victims["engine"] else 1


if __name__ == "__main__":
    wanted = arguments()
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(prove(wanted.rounds, wanted.seed, Path(scratch)))
