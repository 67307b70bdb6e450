"""Many kills in a row, chosen by a seed: no acknowledged row may be missing after any of them."""

import random
import time
from dataclasses import dataclass
from pathlib import Path

from tests.faults.processes import Owner, backends_of, kill
from tests.process_table import processes_of, remaining_processes

SURVIVED = ("supervisor", "postmaster", "backend")
VICTIMS = (*SURVIVED, "server", "server while starting", "everything")


@dataclass(frozen=True, slots=True)
class Round:
    """A kill: the victim, and how long it could write before."""

    number: int
    victim: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Seen:
    """The result of a round: the last row acknowledged before the kill, and the last one found
    after it."""

    round: Round
    acknowledged: int
    found: int


def plan(seed: int, number: int) -> Round:
    """Plans a round. It depends only on the number, so that an interrupted campaign continues
    unchanged."""
    chance = random.Random(f"{seed}/{number}")
    return Round(number, chance.choice(VICTIMS), chance.uniform(0, 0.6))


class Campaign:
    """Rounds on one folder, with the server that is running on it."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._owner = Owner(data, "write")
        self.found = self._last_found()

    def play(self, chosen: Round) -> Seen:
        """Plays a round; raises AssertionError if an acknowledged row is missing after it."""
        self._write_for(chosen.seconds)
        self._strike(chosen.victim)
        acknowledged = self._aftermath(chosen)
        self.found = self._last_found()
        assert self.found >= acknowledged, f"{chosen}: {acknowledged} lost, found {self.found}"
        return Seen(chosen, acknowledged, self.found)

    def finish(self) -> None:
        assert self._owner.stop() == 0
        assert remaining_processes(self._data) == {}, "left behind after an orderly stop"

    def end(self) -> None:
        self._owner.end()

    def _last_found(self) -> int:
        said = self._owner.until("resumed")
        assert said["rows"] == said["last"], f"there is a hole: {said}"
        return int(said["last"])

    def _write_for(self, seconds: float) -> None:
        self._owner.until("kept")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._owner.next()

    def _strike(self, victim: str) -> None:
        facts = self._owner.facts
        match victim:
            case "supervisor" | "postmaster":
                kill(facts[victim])
            case "backend":
                kill(backends_of(facts["postmaster"])[0])
            case "everything":
                for pid in (self._owner.process.pid, *processes_of(self._data)):
                    kill(pid)
            case _:
                kill(self._owner.process.pid)

    def _aftermath(self, chosen: Round) -> int:
        """The last acknowledged row; if the server itself was killed, starts the next one."""
        if chosen.victim in SURVIVED:
            self._owner.until("interrupted")
            return int(self._owner.facts["n"])
        self._owner.rest()
        acknowledged = int(self._owner.facts["n"])
        self._owner.end()
        if chosen.victim == "server while starting":
            self._start_and_kill(chosen.seconds)
        self._owner = Owner(self._data, "write")
        return acknowledged

    def _start_and_kill(self, seconds: float) -> None:
        starting = Owner(self._data, "write")
        time.sleep(seconds)
        starting.end()
