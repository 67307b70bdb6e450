"""Shows changing figures of games: a live table on a terminal, lines at intervals elsewhere, and
the words for the figures of a test."""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from rookery.core.model.task import Results
from rookery.core.stats.outlook import sprt_outlook
from rookery.core.stats.sprt import Sprt
from rookery.core.stats.walk import pace_of

if TYPE_CHECKING:
    from rich.table import Table

Row = tuple[str, str]
Rows = Callable[[], list[Row]]
"""Called whenever figures are to be shown."""

ACCEPTED, REJECTED, UNDECIDED = 0, 1, 4
"""The exit codes of commands that wait for the verdict of a test."""
PLAIN_SECONDS = 10.0
INTERRUPTIONS = (KeyboardInterrupt, asyncio.CancelledError)


class Display(Protocol):
    """Shows changing figures; it is told when they change."""

    def changed(self) -> None: ...


class Silent:
    def changed(self) -> None:
        """Show nothing. Programs read only the result."""


class Plain:
    """Prints one line every ten seconds, for logs."""

    def __init__(self, rows: Rows, shown: frozenset[str]) -> None:
        self._rows = rows
        self._shown = shown
        self._next = monotonic() + PLAIN_SECONDS

    def changed(self) -> None:
        if monotonic() >= self._next:
            self._next = monotonic() + PLAIN_SECONDS
            self.tell()

    def tell(self) -> None:
        texts = [f"{label} {text}" for label, text in self._rows() if label in self._shown]
        print(" | ".join(texts), flush=True)


def table(title: str, rows: list[Row]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    shown = Table.grid(padding=(0, 2))
    shown.title, shown.title_justify = Text(title), "left"
    for label, text in rows:
        shown.add_row(Text(label, style="bold"), Text(text))
    return shown


@contextlib.contextmanager
def display(
    title: str,
    rows: Rows,
    *,
    quiet: bool,
    shown: frozenset[str] = frozenset({"Games", "Elo", "LLR", "Runner"}),
) -> Iterator[Display]:
    """Yield the display that fits the output. After an interruption the last figures remain
    visible."""
    if quiet:
        yield Silent()
    elif not sys.stdout.isatty():
        plain = Plain(rows, shown)
        try:
            yield plain
        except INTERRUPTIONS:
            plain.tell()
            raise
    else:
        from rich.live import Live

        # The display's own thread renders twice a second.
        with Live(
            get_renderable=lambda: table(title, rows()), refresh_per_second=2, transient=True
        ) as live:
            try:
                yield Silent()
            except INTERRUPTIONS:
                # Keep the last figures on the screen. At the end of a match they are printed
                # anyway.
                live.transient = False
                raise


# The figures of a test in words.

BAR = 24


def elo_text(elo: float, low: float, high: float) -> str:
    return f"{elo:+.2f} [{low:+.2f}, {high:+.2f}] (95 %)"


def games_text(results: Results, games_wanted: int | None) -> str:
    wanted = f" of {games_wanted}" if games_wanted else ""
    share = (results.wins + results.draws / 2) / results.games if results.games else 0.5
    return (
        f"{results.games}{wanted}: +{results.wins} -{results.losses} ={results.draws} ({share:.1%})"
    )


def pairs_text(results: Results) -> str:
    names = ("LL", "LD", "even", "WD", "WW")
    counts = zip(names, results.pentanomial, strict=True)
    return ", ".join(f"{name} {count}" for name, count in counts)


def ratio_text(sprt: Sprt, llr: float, bounds: tuple[float, float]) -> str:
    lower, upper = bounds
    filled = round(BAR * min(1.0, max(0.0, (llr - lower) / (upper - lower))))
    bar = "█" * filled + "░" * (BAR - filled)
    place = f"in ({lower:.2f}, {upper:.2f})"
    if not lower <= llr <= upper:
        place = f"beyond {upper:.2f}" if llr > upper else f"below {lower:.2f}"
    return f"{llr:+.3f} {place} {bar} [{sprt.elo0:g}, {sprt.elo1:g}]"


def left_text(
    sprt: Sprt | None, llr: float, games: int, *, wanted: int | None, speed: float
) -> str:
    """Return the remaining time of a match at this many games a second, in words."""
    if not games or not speed:
        return "unknown"
    allowed = None if wanted is None else float(wanted - games)
    if sprt is None:
        return "unknown" if allowed is None else duration(allowed / speed)
    seen = sprt_outlook(pace_of(sprt), llr, games, games_allowed=allowed)
    left = seen.games_left.scaled(1 / speed)
    around = f"{duration(left.early)} to {duration(left.late)}"
    if seen.forecast is None:
        return f"{around}, too early to say how it ends"
    return f"{duration(left.middle)} ({around}), passes with {seen.forecast.pass_chance:.0%}"


def duration(seconds: float) -> str:
    whole = round(max(0.0, seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
