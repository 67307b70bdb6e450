"""A run as one row of a list, or one card on a narrow screen."""

import enum
from dataclasses import dataclass, replace
from datetime import datetime

from rookery.farm.views import NO_SPEED, RunSpeed
from rookery.model.events import run_name
from rookery.model.kinds import Fixed, SprtTest, SpsaTuning
from rookery.model.run import DisplayState, Run
from rookery.pages import figures, words
from rookery.pages import words as terms
from rookery.pages.charts import LlrBar, PentanomialBars, llr_bar, pentanomial
from rookery.pages.words import Moment
from rookery.rules.answers import ChartPoint
from rookery.stats.elo import estimate_elo
from rookery.stats.sprt import Sprt, Style, Verdict, fixed_verdict, style

# Where a run stands, in a word and a tone; a tone is never shown without its word.


class Tone(enum.StrEnum):
    """What a colour means, everywhere."""

    WAIT = "wait"
    LIVE = "live"
    IDLE = "idle"
    GREEN = "green"
    BLUE = "blue"
    YELLOW = "yellow"
    RED = "red"


@dataclass(frozen=True, slots=True)
class StatusWord:
    """`sign` is for those who do not see colours."""

    word: str
    tone: Tone
    sign: str


PENDING = StatusWord("waits for approval", Tone.WAIT, "◌")
PLAYING = StatusWord("playing", Tone.LIVE, "●")
IDLE = StatusWord("idle", Tone.IDLE, "○")
STOPPED = StatusWord("stopped", Tone.IDLE, "■")
FINISHED = StatusWord("finished", Tone.IDLE, "■")
BROKEN = StatusWord("stopped by an error", Tone.RED, "▲")
DELETED = StatusWord("deleted", Tone.IDLE, "×")

_VERDICTS = {
    Style.GREEN: StatusWord("passed", Tone.GREEN, "✓"),
    Style.BLUE: StatusWord("passed, no regression", Tone.BLUE, "✓"),
    Style.YELLOW: StatusWord("failed, yet positive", Tone.YELLOW, "✗"),
    Style.RED: StatusWord("failed", Tone.RED, "✗"),
}
_OPEN = {
    DisplayState.PENDING: PENDING,
    DisplayState.PAUSED: IDLE,
    DisplayState.ACTIVE: PLAYING,
    DisplayState.FAILED: BROKEN,
}


def status_of(run: Run) -> StatusWord:
    if run.status.deleted:
        return DELETED
    if run.display is not DisplayState.FINISHED:
        return _OPEN[run.display]
    results = run.tally.results
    verdict, spec = _verdict(run)
    found = _VERDICTS.get(style(verdict, wins=results.wins, losses=results.losses, spec=spec))
    if found is None:
        return FINISHED if run.decided else STOPPED
    sole = run.status.sole
    return replace(found, word=f"{found.word}, by one {sole}") if sole else found


def _verdict(run: Run) -> tuple[Verdict, Sprt | None]:
    kind, results = run.kind, run.tally.results
    if isinstance(kind, SprtTest):
        return kind.state.verdict, kind.spec
    if isinstance(kind, Fixed) and run.decided and results.pairs:
        return fixed_verdict(estimate_elo(results.pentanomial).los), None
    return Verdict.RUNNING, None


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a run beside the run: a point of an hour ago, and its speed."""

    run: Run
    then: ChartPoint | None = None
    pulse: RunSpeed = NO_SPEED


@dataclass(frozen=True, slots=True)
class RunRow:
    """Everything is text; what is not known is a dash."""

    id: str
    name: str
    engine: str
    new: str
    base: str
    difference: str
    owner: str
    info: str
    question: str
    conditions: str
    status: StatusWord
    bar: LlrBar | None
    elo: str
    progress: str
    pairs: PentanomialBars | None
    games: str
    rate: str
    cores: str
    left: str
    when: Moment


def row_of(known: Known, now: datetime) -> RunRow:
    run = known.run
    results, (new, base) = run.tally.results, run.plan.sides[:2]
    rate = figures.games_per_minute(run, known.then, known.pulse, now)
    found = figures.elo_of(run)
    return RunRow(
        id=run.id,
        name=run_name(run),
        engine=new.engine,
        new=new.tag,
        base=base.tag,
        difference=terms.difference(run),
        owner=run.plan.owner,
        info=run.plan.info,
        question=terms.question(run),
        conditions=terms.conditions(run),
        status=status_of(run),
        bar=bar_of(known, now),
        elo=words.NOTHING if found is None else words.elo(found.middle, found.half_width),
        progress=progress_of(run),
        pairs=pentanomial(results.pentanomial) if shows_pairs(run) else None,
        games=words.count(results.games),
        rate=words.rate(rate),
        cores=words.count(run.tally.cores),
        left=left_of(run, rate),
        when=words.ago(run.updated if run.status.finished else run.created, now),
    )


def bar_of(known: Known, now: datetime) -> LlrBar | None:
    run = known.run
    if not isinstance(run.kind, SprtTest):
        return None
    spec, before = run.kind.spec, figures.movement(run, known.then, now)
    return llr_bar(run.kind.state.llr, spec.lower, spec.upper, before)


def progress_of(run: Run) -> str:
    """How far a run has come that no likelihood ratio ends."""
    if isinstance(run.kind, SprtTest):
        return ""
    share = run.tally.results.games / max(1, run.plan.games)
    return f"{min(1.0, share):.0%} played"


def shows_pairs(run: Run) -> bool:
    return run.tally.results.pairs > 0 and not isinstance(run.kind, SpsaTuning)


def left_of(run: Run, rate: float) -> str:
    """How long it will probably still take, or why nobody can tell."""
    if run.status.finished or not run.status.approved:
        return words.NOTHING
    if not run.tally.workers:
        return "nobody plays it"
    seconds = figures.seconds_left(figures.ahead_of(run), rate)
    return "too early to say" if seconds is None else words.left(seconds)
