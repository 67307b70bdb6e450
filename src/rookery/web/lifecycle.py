"""The life of the serving process, as requests and probes see it.

    STARTING --started--> READY --stop--> STOPPING
        \\------------------stop------------^

One writer, the event loop; STOPPING is the end.
"""

import enum


class Phase(enum.Enum):
    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"


_MOVES = {
    (Phase.STARTING, Phase.READY),
    (Phase.STARTING, Phase.STOPPING),
    (Phase.READY, Phase.STOPPING),
}


class Lifecycle:
    """Which phase it is; a move that the diagram does not have is ignored."""

    def __init__(self) -> None:
        self.phase = Phase.STARTING

    @property
    def stopping(self) -> bool:
        return self.phase is Phase.STOPPING

    def started(self) -> None:
        self._move(Phase.READY)

    def stop(self) -> None:
        self._move(Phase.STOPPING)

    def _move(self, phase: Phase) -> None:
        if (self.phase, phase) in _MOVES:
            self.phase = phase
