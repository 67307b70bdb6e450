"""Shows a match while it is played: a live table on a terminal, lines at intervals elsewhere."""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isfinite
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from rookery.boundary.watch import Histogram
from rookery.match.clock import Latency
from rookery.match.results import MatchScore
from rookery.model.task import Results
from rookery.stats.elo import estimate_elo, live_elo
from rookery.stats.outlook import sprt_outlook
from rookery.stats.sprt import Sprt, Verdict
from rookery.stats.walk import pace_of

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
    """The display that fits the output. After an interruption the last figures remain visible."""
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


# The figures of a match between two engines, as rows for people and as data for programs.

Data = dict[str, object]
BAR = 24


@dataclass(frozen=True, slots=True)
class Progress:
    """A score, the time that it took, and the number of games to be played, if limited."""

    score: MatchScore
    seconds: float
    games_wanted: int | None = None
    latency: Latency | None = None

    @property
    def games_per_second(self) -> float:
        return self.score.results.games / self.seconds if self.seconds > 0 else 0.0


def elo_of(score: MatchScore) -> tuple[float, float, float]:
    """Elo with its 95 % interval. For a sequential test it is corrected for the bias of
    stopping."""
    results = score.results
    if score.sprt:
        live = live_elo(score.sprt, results.pentanomial, results.trinomial)
        return live.elo, live.low, live.high
    fixed = estimate_elo(results.pentanomial)
    return fixed.elo, fixed.low, fixed.high


def rows(progress: Progress) -> list[Row]:
    """The figures for the display, for plain lines and for the end of a match."""
    score = progress.score
    results = score.results
    lines = [("Games", games_text(results, progress.games_wanted)), ("Pairs", pairs_text(results))]
    if results.pairs:
        elo, low, high = elo_of(score)
        lines.append(("Elo", elo_text(elo, low, high)))
    if score.sprt:
        bounds = score.state.bounds(score.sprt)
        lines.append(("LLR", ratio_text(score.sprt, score.state.llr, bounds)))
    lines.append(("White", f"{score.white_share:.1%} of the points"))
    lines.append(("Ends", _ends(score)))
    lines.append(("Speed", f"{60 * progress.games_per_second:.1f} games a minute"))
    if score.verdict is Verdict.RUNNING:
        lines.append(("Left", _left(progress)))
    if progress.latency is not None:
        lines.append(("Runner", _latency(progress.latency)))
        if progress.latency.late_answers:
            lines.append(("Late", _lateness(progress.latency)))
    return lines


def data(progress: Progress) -> Data:
    score = progress.score
    results = score.results
    elo, low, high = elo_of(score) if results.pairs else (0.0, -1000.0, 1000.0)
    return {
        "games": results.games,
        "wins": results.wins,
        "losses": results.losses,
        "draws": results.draws,
        "pentanomial": list(results.pentanomial),
        "crashes": results.crashes,
        "time_losses": results.time_losses,
        "elo": {"value": elo, "low": low, "high": high},
        "white_share": score.white_share,
        "terminations": dict(score.terminations),
        "seconds": progress.seconds,
        **_sprt_data(score),
        **({} if progress.latency is None else {"latency": latency_data(progress.latency)}),
    }


def latency_data(latency: Latency) -> Data:
    """The runner's latencies in milliseconds, and its CPU time per move in microseconds."""
    return {
        "turnaround_ms": _quantiles(latency.turnaround),
        "lag_ms": _quantiles(latency.lag),
        "cpu_us_per_ply": 1e6 * latency.cpu_seconds / max(1, latency.plies),
        "plies": latency.plies,
        "late_answers": latency.late_answers,
        "late_ms": 1e3 * latency.late_seconds,
        "flags_spared": latency.flags_spared,
    }


def _quantiles(times: Histogram) -> Data:
    """Quantiles. Null stands for a value above the histogram's last bound, since JSON has no
    infinity."""
    found = {"p50": times.quantile(0.5), "p99": times.quantile(0.99)}
    return {name: 1e3 * value if isfinite(value) else None for name, value in found.items()}


def _sprt_data(score: MatchScore) -> Data:
    if not score.sprt:
        return {}
    lower, upper = score.state.bounds(score.sprt)
    return {
        "sprt": {
            "elo0": score.sprt.elo0,
            "elo1": score.sprt.elo1,
            "model": score.sprt.model.value,
            "llr": score.state.llr,
            "lower": lower,
            "upper": upper,
            "verdict": score.verdict.value or "running",
        }
    }


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


def _ends(score: MatchScore) -> str:
    counts = sorted(score.terminations.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {count}" for name, count in counts) or "none yet"


def _left(progress: Progress) -> str:
    score, wanted = progress.score, progress.games_wanted
    games = score.results.games
    if score.sprt is None and wanted is None:
        return ""
    return left_text(
        score.sprt, score.state.llr, games, wanted=wanted, speed=progress.games_per_second
    )


def left_text(
    sprt: Sprt | None, llr: float, games: int, *, wanted: int | None, speed: float
) -> str:
    """The remaining time of a match at this many games a second, in words."""
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


def _latency(latency: Latency) -> str:
    turnaround, lag = latency.turnaround, latency.lag
    return (
        f"turnaround p50 {1e3 * turnaround.quantile(0.5):.2f} ms, p99"
        f" {1e3 * turnaround.quantile(0.99):.2f} ms; lag p50 {1e3 * lag.quantile(0.5):.2f} ms, p99"
        f" {1e3 * lag.quantile(0.99):.2f} ms"
    )


def _lateness(latency: Latency) -> str:
    return (
        f"{1e3 * latency.late_seconds:.0f} ms in {latency.late_answers} answers, charged to nobody;"
        f" {latency.flags_spared} of them read after the flag"
    )


def duration(seconds: float) -> str:
    whole = round(max(0.0, seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
