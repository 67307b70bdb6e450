"""The clock of one side: what `go` says, when the flag falls, and when silence becomes a stall."""

from rookery.core.timecontrol import Clock, Depth, MoveTime, Nodes, TimeControl

SLACK_SECONDS = 0.1
"""An answer this long after the flag is still waited for, so that its true time can be read."""
STALL_FACTOR = 10.0
STALL_SECONDS = 60.0
SLOWEST_NPS = 10_000.0
"""A fixed number of nodes is expected to take no longer than it would at this speed."""


class SideClock:
    """Time left to one side during one game."""

    __slots__ = ("_margin_ms", "_moves_left", "remaining_ms", "tc")

    def __init__(self, tc: TimeControl, margin_ms: int) -> None:
        self.tc = tc
        self._margin_ms = margin_ms
        # The first move has its increment too, as every later one has.
        start = tc.seconds + tc.increment if isinstance(tc, Clock) else 0.0
        self.remaining_ms = round(1000 * start)
        self._moves_left = tc.moves if isinstance(tc, Clock) else None

    @property
    def allowed_ms(self) -> int | None:
        """How long this move may take; None where only a stall ends it."""
        if isinstance(self.tc, Clock):
            return self.remaining_ms + self._margin_ms
        if isinstance(self.tc, MoveTime):
            return round(1000 * self.tc.seconds) + self._margin_ms
        return None

    @property
    def patience_seconds(self) -> float:
        """After this nobody waits for the move any longer."""
        if self.allowed_ms is not None:
            return self.allowed_ms / 1000 + SLACK_SECONDS
        expected = self.tc.nodes / SLOWEST_NPS if isinstance(self.tc, Nodes) else 0.0
        return STALL_FACTOR * expected + STALL_SECONDS

    def overrun_ms(self, seconds: float) -> int:
        """How long after the flag fell a move of so many seconds comes; 0 is in time."""
        return 0 if self.allowed_ms is None else max(0, int(seconds * 1000) - self.allowed_ms)

    def spend(self, seconds: float) -> None:
        """Take a move's time off; what was borrowed from the margin is not owed."""
        if isinstance(self.tc, Clock):
            left = max(0, self.remaining_ms - int(seconds * 1000))
            self.remaining_ms = left + round(1000 * self.tc.increment)
            self._count_move(self.tc)

    def _count_move(self, tc: Clock) -> None:
        if tc.moves is None or self._moves_left is None:
            return
        self._moves_left -= 1
        if not self._moves_left:
            self._moves_left = tc.moves
            self.remaining_ms += round(1000 * tc.seconds)

    def times(self, side: str) -> str:
        """What both engines are told about this clock."""
        if not isinstance(self.tc, Clock):
            return ""
        text = f" {side}time {max(1, self.remaining_ms)}"
        return text + (f" {side}inc {round(1000 * self.tc.increment)}" if self.tc.increment else "")

    @property
    def moves_to_go(self) -> str:
        return "" if self._moves_left is None else f" movestogo {self._moves_left}"


def go_line(mover: SideClock, white: SideClock, black: SideClock) -> bytes:
    """The command that starts the mover's search."""
    if isinstance(mover.tc, Nodes):
        words = f" nodes {mover.tc.nodes}"
    elif isinstance(mover.tc, Depth):
        words = f" depth {mover.tc.depth}"
    elif isinstance(mover.tc, MoveTime):
        words = f" movetime {max(1, round(1000 * mover.tc.seconds))}"
    else:
        words = white.times("w") + black.times("b") + mover.moves_to_go
    return b"go" + words.encode()
