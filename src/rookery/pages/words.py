"""Numbers, spans and moments as people read them; never "nan", never a raw float."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from rookery.model.kinds import SprtTest, SpsaTuning
from rookery.model.plan import Plan, Side
from rookery.model.run import Run
from rookery.model.timecontrol import ClockControl, Depth, MoveTime, Nodes, TimeControl, parse
from rookery.stats.sprt import EloModel, Sprt

NOTHING = "–"
WIDEST_ELO = 500.0
"""An interval wider than this says nothing about an engine."""
MINUTE, HOUR, DAY = 60, 3600, 86400
LONGEST_SPAN = 400 * DAY


@dataclass(frozen=True, slots=True)
class Moment:
    """A time, relative to now, with the exact one for machines and for those who ask."""

    text: str
    exact: str
    iso: str


def count(number: float) -> str:
    """1234567 as 1,234,567."""
    return f"{number:,.0f}" if math.isfinite(number) else NOTHING


def signed(number: float, digits: int = 2) -> str:
    """With its sign; what rounds to nothing has none."""
    if not math.isfinite(number):
        return NOTHING
    text = f"{number:+.{digits}f}"
    return f"{0:.{digits}f}" if float(text) == 0 else text


def plain(number: float) -> str:
    """Without needless zeros: 2, 0.5, -1.75."""
    if not math.isfinite(number):
        return NOTHING
    return f"{number:.2f}".rstrip("0").rstrip(".").replace("-0", "0", number == 0)


def percent(share: float) -> str:
    """Nothing is ever quite certain."""
    if not math.isfinite(share):
        return NOTHING
    if not 0.001 <= share <= 0.999:
        return "> 99.9 %" if share > 0.5 else "< 0.1 %"
    return f"{100 * share:.1f} %"


def elo(middle: float, half_width: float) -> str:
    """+2.31 ± 1.45, with fewer digits where the error is large."""
    if not (math.isfinite(middle) and half_width <= WIDEST_ELO):
        return NOTHING
    digits = 2 if half_width < 10 else 1 if half_width < 100 else 0
    return f"{signed(middle, digits)} ± {half_width:.{digits}f}"


def llr(value: float, lower: float, upper: float) -> str:
    """LLR 1.87 [-2.94, 2.94]; LLR 25.66 (beyond 2.94) where a bound was passed."""
    return f"LLR {fixed(value)} {llr_place(value, lower, upper)}"


def llr_place(value: float, lower: float, upper: float) -> str:
    """Where a ratio stands: between its bounds, or past one of them."""
    if value > upper:
        return f"(beyond {fixed(upper)})"
    return f"(below {fixed(lower)})" if value < lower else f"[{fixed(lower)}, {fixed(upper)}]"


def fixed(value: float) -> str:
    """Two digits after the point, and no minus before a zero."""
    if not math.isfinite(value):
        return NOTHING
    text = f"{value:.2f}"
    return text.removeprefix("-") if float(text) == 0 else text


def rate(per_minute: float) -> str:
    """Games a minute: whole ones where there are many."""
    if not math.isfinite(per_minute) or per_minute <= 0:
        return "0"
    return count(per_minute) if per_minute >= 10 else f"{per_minute:.1f}"


def speed(nodes_per_second: float) -> str:
    """Nodes a second with a prefix: 12.4 Mnps."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if nodes_per_second >= factor:
            found = nodes_per_second / factor
            return f"{found:.0f} {prefix}nps" if found >= 100 else f"{found:.1f} {prefix}nps"
    return f"{max(0.0, nodes_per_second):.0f} nps"


def span(seconds: float) -> str:
    """3 h 20 min: the two largest units that matter."""
    if not math.isfinite(seconds):
        return NOTHING
    if seconds >= LONGEST_SPAN:
        return "more than a year"
    whole = max(0, round(seconds))
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{round(whole / MINUTE)} min" if whole < HOUR - MINUTE / 2 else "1 h"
    large, small, words = (DAY, HOUR, ("d", "h")) if whole >= DAY else (HOUR, MINUTE, ("h", "min"))
    parts = round(whole / small)
    first, rest = divmod(parts, large // small)
    return f"{first} {words[0]}" + (f" {rest} {words[1]}" if rest else "")


def left(seconds: float) -> str:
    return f"{span(seconds)} left" if math.isfinite(seconds) else NOTHING


def ago(then: datetime, now: datetime) -> Moment:
    """How long ago, in one unit; the clock of another machine may be a little ahead."""
    seconds = (now - then).total_seconds()
    exact = f"{then:%Y-%m-%d %H:%M:%S} UTC"
    return Moment(_ago(seconds, then), exact, then.isoformat())


def _ago(seconds: float, then: datetime) -> str:
    if seconds < 10:
        return "just now"
    if seconds < MINUTE:
        return f"{seconds:.0f} s ago"
    if seconds < HOUR:
        return f"{seconds // MINUTE:.0f} min ago"
    if seconds < 2 * DAY:
        return f"{seconds // HOUR:.0f} h ago"
    return f"{seconds // DAY:.0f} d ago" if seconds < 60 * DAY else f"{then:%Y-%m-%d}"


def time_control(tc: TimeControl) -> str:
    """10 s + 0.1 s, or what takes the place of a clock."""
    match tc:
        case ClockControl(seconds, increment, moves):
            head = _seconds(seconds) if moves is None else f"{moves} moves in {_seconds(seconds)}"
            return f"{head} + {_seconds(increment)}" if increment else head
        case Nodes(nodes):
            return f"{count(nodes)} nodes a move"
        case Depth(depth):
            return f"depth {depth}"
        case MoveTime(seconds):
            return f"{_seconds(seconds)} a move"


def several(number: int, one: str, many: str = "") -> str:
    """1 thread, 2 threads."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def _seconds(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".") + " s"


# What a run tests and by which rules: in a few words, in a sentence and as a table.

GITHUB = "https://github.com/"
SHORT = 10
SCALES = {EloModel.NORMALISED: "nElo", EloModel.LOGISTIC: "Elo", EloModel.BAYES: "BayesElo"}


@dataclass(frozen=True, slots=True)
class Term:
    """A line of a table; `links` to where more is to be seen."""

    name: str
    text: str
    link: str = ""


def question(run: Run) -> str:
    """What the test asks, as short as a column."""
    kind = run.kind
    if isinstance(kind, SprtTest):
        spec = kind.spec
        what = "no regression" if spec.elo0 + spec.elo1 < 0 else "gain"
        return f"{what} [{plain(spec.elo0)}, {plain(spec.elo1)}]"
    if isinstance(kind, SpsaTuning):
        return f"tune of {several(len(kind.tune.parameters), 'parameter')}"
    return several(run.plan.games, "game")


def conditions(run: Run) -> str:
    """How its games are played, as short as a column."""
    plan = run.plan
    return f"{time_control(plan.time_control)}, {several(plan.threads, 'thread')}"


def sentence(run: Run) -> str:
    """All that matters, for somebody who has never seen the run."""
    plan = run.plan
    if isinstance(run.kind, SpsaTuning):
        number = len(run.kind.tune.parameters)
        asked = f"Tunes {several(number, 'parameter')} of {_name(plan.sides[0])}"
        tail = f"over {several(plan.games, 'game')}"
    else:
        new, base = plan.sides[:2]
        other = base.tag if base.engine == new.engine else _name(base)
        asked = f"{_asked(run)} {_name(new)} against {other}"
        tail = f"for at most {several(plan.games, 'game')}"
    return (
        f"{asked} at {time_control(plan.time_control)} with"
        f" {several(plan.threads, 'thread')} from {plan.book}, {tail}."
    )


def _asked(run: Run) -> str:
    kind = run.kind
    if not isinstance(kind, SprtTest):
        return "Measures"
    spec = kind.spec
    low, high, scale = plain(spec.elo0), plain(spec.elo1), SCALES[spec.model]
    if spec.elo0 + spec.elo1 < 0:
        return f"Asks for no regression ({low} or {high} {scale}):"
    return f"Asks for a gain ({low} or {high} {scale}):"


def _name(side: Side) -> str:
    return f"{side.engine} {side.tag}"


def difference(run: Run) -> str:
    """Where the change itself is to be read, or an empty text."""
    new, base = run.plan.sides[:2]
    if new.commit == base.commit or not new.repository.startswith(GITHUB):
        return ""
    if new.repository == base.repository:
        return f"{new.repository}/compare/{base.commit[:SHORT]}...{new.commit[:SHORT]}"
    return f"{new.repository}/commit/{new.commit}"


def terms_of(run: Run) -> tuple[Term, ...]:
    return tuple(_terms(run))


def _terms(run: Run) -> Iterator[Term]:
    plan = run.plan
    for title, side in zip(("New", "Base"), plan.sides[:2], strict=True):
        yield from _side(title, side)
    yield Term("Time control", time_control(plan.time_control))
    for title, side in zip(("new", "base"), plan.sides[:2], strict=True):
        if side.tc is not None:
            yield Term(f"Time control, {title}", time_control(parse(side.tc)))
    yield Term("Threads", " and ".join(dict.fromkeys(_threads(plan))))
    yield Term("Book", f"{plan.book}, {plan.book_depth} plies at most")
    if isinstance(run.kind, SprtTest):
        yield from _sprt(run.kind.spec)
    yield Term("Games at most", count(plan.games))
    yield from _rules(plan)
    yield Term("Priority", str(plan.priority))
    yield Term("Throughput", f"{plan.throughput} %")
    if run.demands.needs:
        needs = (str(need).replace("_", " ").replace(":", " ") for need in run.demands.needs)
        yield Term("Asks of machines", ", ".join(needs))


def _side(title: str, side: Side) -> Iterator[Term]:
    known = side.repository.startswith(GITHUB) and not side.binary
    link = f"{side.repository}/tree/{side.commit}" if known else ""
    yield Term(title, f"{_name(side)}{_source(side)}", link)
    if side.message:
        yield Term(f"{title}, message", side.message)
    if side.signature:
        yield Term(f"{title}, bench", side.signature)
    spaced = (f"{name}={value}" for name, value in side.uci)
    options = " ".join(filter(None, (side.options, *spaced)))
    yield Term(f"{title}, options", options or "none")
    if side.nets:
        yield Term(f"{title}, nets", ", ".join(side.nets))


def _source(side: Side) -> str:
    """Where a program comes from; one that is installed on the machines comes from nowhere."""
    if side.binary:
        return f" (binary {side.binary[:SHORT]})"
    return f" ({side.commit[:SHORT]})" if side.commit.strip("0") else ""


def _threads(plan: Plan) -> Iterator[str]:
    for side in plan.sides[:2]:
        yield str(plan.side_threads(side))


def _sprt(spec: Sprt) -> Iterator[Term]:
    scale = SCALES[spec.model]
    yield Term("Bounds", f"[{plain(spec.elo0)}, {plain(spec.elo1)}] {scale}")
    rates = f"α {plain(spec.alpha)}, β {plain(spec.beta)}"
    yield Term("Error rates", rates)
    yield Term("Pairs in a batch", str(spec.batch_size))


def _rules(plan: Plan) -> Iterator[Term]:
    yield Term("Adjudication", "on" if plan.adjudication else "off")
    if plan.resign is not None:
        resign = plan.resign
        yield Term("Resign", f"at {resign.score} centipawns for {resign.moves} moves")
    if plan.draw is not None:
        draw = plan.draw
        limits = f"{draw.score} centipawns for {draw.moves} moves"
        yield Term("Draw", f"from move {draw.from_move} within {limits}")
    if plan.arch_filter:
        yield Term("Processors", plan.arch_filter)
    if plan.auto_purge:
        yield Term("Purge", "at the end, by itself")
