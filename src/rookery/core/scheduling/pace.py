"""Measured game time: what games really take, per run and class of machine."""

from dataclasses import dataclass

from rookery.core.machine import Machine

MEMORY_GAMES = 400
"""Older games fade once this many have been seen."""
TRUSTED_GAMES = 20
"""With fewer, the formula is the better guess."""


@dataclass(frozen=True, slots=True)
class Pace:
    """A running average of the wall-clock seconds of one game."""

    games: int = 0
    seconds: float = 0.0

    def after(self, games: int, seconds: float, slots: int) -> "Pace":
        """Having seen `games` games end within `seconds` on `slots` boards at once."""
        each = seconds * slots / games
        weight = min(self.games + games, MEMORY_GAMES)
        mean = self.seconds + (each - self.seconds) * min(1.0, games / weight)
        return Pace(weight, mean)

    def game_seconds(self, guess: float) -> float:
        """The measured time, or the guess while there is too little to go by."""
        return self.seconds if self.games >= TRUSTED_GAMES and self.seconds > 0 else guess


UNMEASURED = Pace()


class Paces:
    """Measured game times by run and class of machine; a part of the working set."""

    def __init__(self) -> None:
        self._by_run: dict[str, dict[str, Pace]] = {}

    def of(self, run_id: str, machine: Machine) -> Pace:
        return self._by_run.get(run_id, {}).get(machine.pace_class, UNMEASURED)

    def measure(
        self, run_id: str, machine: Machine, *, games: int, seconds: float, slots: int
    ) -> None:
        paces = self._by_run.setdefault(run_id, {})
        paces[machine.pace_class] = self.of(run_id, machine).after(games, seconds, slots)

    def forget(self, run_id: str) -> None:
        self._by_run.pop(run_id, None)
