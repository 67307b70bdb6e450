"""A run as one row of a list, or as a card on a narrow screen."""

import enum
from dataclasses import dataclass, replace
from datetime import datetime

from rookery.core.model.kinds import Outcome
from rookery.core.model.run import DisplayState, Run
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.farm.views import NO_SPEED, RunSpeed
from rookery.server.http.pages.formatting import (
    DASH,
    format_elo_interval,
    format_span,
    format_time_left,
)
from rookery.server.http.pages.marks import LlrBar
from rookery.server.show.statistics import (
    ShownElo,
    estimate_run_elo,
    estimate_seconds_left,
    find_earlier_llr,
    forecast_run,
    measure_games_per_minute,
)

# The state of a run as a word and a tone. A tone is never shown without its word.


class Tone(enum.StrEnum):
    """The meaning of colours on all pages."""

    WAIT = "wait"
    LIVE = "live"
    IDLE = "idle"
    GREEN = "green"
    BLUE = "blue"
    YELLOW = "yellow"
    RED = "red"


@dataclass(frozen=True, slots=True)
class StatusLabel:
    """The status of a run in words. `sign` is for those who do not see colours."""

    word: str
    tone: Tone
    sign: str


PENDING = StatusLabel("waits for approval", Tone.WAIT, "◌")
PLAYING = StatusLabel("playing", Tone.LIVE, "●")
IDLE = StatusLabel("idle", Tone.IDLE, "○")
STOPPED = StatusLabel("stopped", Tone.IDLE, "■")
FINISHED = StatusLabel("finished", Tone.IDLE, "■")
BROKEN = StatusLabel("stopped by an error", Tone.RED, "▲")
DELETED = StatusLabel("deleted", Tone.IDLE, "×")

_OUTCOMES = {
    Outcome.OPEN: FINISHED,
    Outcome.STOPPED: STOPPED,
    Outcome.PASSED: StatusLabel("passed", Tone.GREEN, "✓"),
    Outcome.HELD: StatusLabel("passed, no regression", Tone.BLUE, "✓"),
    Outcome.POSITIVE: StatusLabel("failed, yet positive", Tone.YELLOW, "✗"),
    Outcome.FAILED: StatusLabel("failed", Tone.RED, "✗"),
}
_OPEN = {
    DisplayState.PENDING: PENDING,
    DisplayState.PAUSED: IDLE,
    DisplayState.ACTIVE: PLAYING,
    DisplayState.FAILED: BROKEN,
}


def label_status(run: Run) -> StatusLabel:
    if run.status.deleted:
        return DELETED
    if run.display in _OPEN or run.outcome is None:
        return _OPEN[run.display]
    found, decided_by = _OUTCOMES[run.outcome], run.status.decided_by
    doubted = decided_by and run.outcome not in (Outcome.OPEN, Outcome.STOPPED)
    return replace(found, word=f"{found.word}, by {decided_by.words}") if doubted else found


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run with the data for its row: its chart's point from an hour ago, and its speed."""

    run: Run
    then: ChartPoint | None = None
    speed: RunSpeed = NO_SPEED


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in a list, with the figures that are estimated for it. `run_table.html` shows it."""

    run: Run
    now: datetime
    rate: float
    """Games a minute."""
    elo: ShownElo | None
    bar: LlrBar | None


def make_run_row(known: ListedRun, now: datetime) -> RunRow:
    """The row. It computes statistics, so call it in a thread."""
    run = known.run
    return RunRow(
        run=run,
        now=now,
        rate=measure_games_per_minute(run, known.then, known.speed, now),
        elo=estimate_run_elo(run),
        bar=draw_run_bar(known, now),
    )


def draw_run_bar(known: ListedRun, now: datetime) -> LlrBar | None:
    spec, llr = known.run.kind.hypotheses, known.run.kind.llr
    if spec is None or llr is None:
        return None
    return LlrBar(llr, spec.lower, spec.upper, find_earlier_llr(known.run, known.then, now))


def find_share(run: Run) -> float:
    """The share of its games that a run has played."""
    return min(1.0, run.tally.results.games / max(1, run.plan.games))


def shows_pairs(run: Run) -> bool:
    return run.tally.results.pairs > 0 and run.kind.compares


def show_elo(found: ShownElo | None) -> str:
    return DASH if found is None else format_elo_interval(found.middle, found.low, found.high)


def round_off(games: float) -> float:
    """A number of games, as roughly as it can be foreseen."""
    return float(f"{games:.2g}")


def describe_time_left(row: RunRow) -> str:
    """The expected remaining time of a run, or why it is not known."""
    run = row.run
    if run.status.finished or not run.status.approved:
        return DASH
    if not run.tally.workers:
        return "no machines"
    ahead = forecast_run(run)
    seconds = estimate_seconds_left(ahead, row.rate)
    if ahead is None or seconds is None:
        return "too early to say"
    if ahead.range is not None and ahead.is_rough:
        left = ahead.range.scaled(60 / row.rate)
        return f"roughly {format_span(left.early, left.late)}"
    return format_time_left(seconds)
