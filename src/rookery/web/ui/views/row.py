"""A run as one row of a list, or one card on a narrow screen."""

from dataclasses import dataclass
from datetime import datetime

from rookery.core.events import run_name
from rookery.core.kinds import SprtTest, SpsaTuning
from rookery.core.run import Run
from rookery.service.fleet.ports import Sample
from rookery.service.fleet.views import STILL, Pulse
from rookery.web.ui.views import figures, terms, words
from rookery.web.ui.views.marks import LlrBar, Pentanomial, llr_bar, pentanomial
from rookery.web.ui.views.standing import Standing, standing_of
from rookery.web.ui.views.words import Moment


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a run beside the run: a point of an hour ago, and its speed."""

    run: Run
    then: Sample | None = None
    pulse: Pulse = STILL


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
    standing: Standing
    bar: LlrBar | None
    elo: str
    progress: str
    pairs: Pentanomial | None
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
        standing=standing_of(run),
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
