"""An engine as a player, and how much patience it is met with."""

from dataclasses import dataclass
from pathlib import Path

from rookery.core.timecontrol import TimeControl


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """An engine as a player: its program, its options and its time."""

    name: str
    command: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    tc: TimeControl
    threads: int = 1
    folder: Path | None = None
    environment: tuple[tuple[str, str], ...] | None = None
    """What the engine sees of the environment; None is all of it."""

    def runs_like(self, other: "EngineSpec") -> bool:
        """Whether one process can play as both, after other options were set."""
        return (
            self.command == other.command
            and self.folder == other.folder
            and self.environment == other.environment
            and {name for name, _ in self.options} >= {name for name, _ in other.options}
        )


@dataclass(frozen=True, slots=True)
class Patience:
    """How long engines may take for what no clock counts, in seconds."""

    start: float = 60.0
    ready: float = 60.0
    """Emptying a large hash table takes its time."""
    quit: float = 1.0
