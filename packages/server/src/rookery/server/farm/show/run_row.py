"""A run as one row of a list, or as a card on a narrow screen."""

import enum
from dataclasses import dataclass, replace
from datetime import datetime

from rookery.core.model.kinds import Outcome
from rookery.core.model.run import DisplayState, Run
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.farm.show.kinds import page_of
from rookery.server.farm.show.run_description import (
    describe_conditions,
    describe_question,
    link_difference,
    name_sides,
)
from rookery.server.farm.views import NO_SPEED, RunSpeed
from rookery.server.http.pages.formatting import (
    DASH,
    Moment,
    format_ago,
    format_count,
    format_duration,
    format_elo_interval,
    format_rate,
    format_span,
    format_time_left,
)
from rookery.server.http.pages.marks import LlrBar, PentanomialBars, draw_pentanomial
from rookery.server.runs.run.statistics import (
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
    """The cells of a run in a list, as text. A dash stands for an unknown value.

    `templates/run_table.html` shows them.
    """

    id: str
    engine: str
    new: str
    base: str
    """The base side; empty for a tune, which has one side."""
    difference: str
    owner: str
    info: str
    question: str
    conditions: str
    status: StatusLabel
    bar: LlrBar | None
    elo: str
    progress: str
    pairs: PentanomialBars | None
    games: str
    rate: str
    cores: str
    left: str
    took: str
    when: Moment

    @property
    def elo_lines(self) -> tuple[str, str]:
        """Two lines for a column: the Elo, and below it an asymmetric interval, or nothing."""
        middle, bracket, ends = self.elo.partition(" [")
        return middle, bracket.strip() + ends


def make_run_row(known: ListedRun, now: datetime) -> RunRow:
    run = known.run
    page, results, (new, base) = page_of(run.kind), run.tally.results, name_sides(run)
    rate = measure_games_per_minute(run, known.then, known.speed, now)
    found = estimate_run_elo(run)
    return RunRow(
        id=run.id,
        engine=run.plan.engine,
        new=new,
        base=base,
        difference=link_difference(run),
        owner=run.plan.owner,
        info=run.plan.info,
        question=describe_question(run),
        conditions=describe_conditions(run),
        status=label_status(run),
        bar=page.draw_bar(find_earlier_llr(run, known.then, now)),
        elo=DASH if found is None else format_elo_interval(found.middle, found.low, found.high),
        progress=page.describe_share(results, run.plan.games),
        pairs=draw_pentanomial(results.pentanomial) if page.shows_pairs(results) else None,
        games=format_count(results.games),
        rate=format_rate(rate),
        cores=format_count(run.tally.cores),
        left=describe_time_left(run, rate),
        took=format_duration((run.updated - run.created).total_seconds()),
        when=format_ago(run.updated if run.status.finished else run.created, now),
    )


def describe_time_left(run: Run, rate: float) -> str:
    """The expected remaining time of a run, or why it is not known."""
    if run.status.finished or not run.status.approved:
        return DASH
    if not run.tally.workers:
        return "no machines"
    ahead = forecast_run(run)
    seconds = estimate_seconds_left(ahead, rate)
    if ahead is None or seconds is None:
        return "too early to say"
    if ahead.range is not None and ahead.is_rough:
        left = ahead.range.scaled(60 / rate)
        return f"roughly {format_span(left.early, left.late)}"
    return format_time_left(seconds)
