"""Numbers, spans and moments as people read them; never "nan", never a raw float."""

import math
from dataclasses import dataclass
from datetime import datetime

from rookery.core.timecontrol import Clock, Depth, MoveTime, Nodes, TimeControl

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
        case Clock(seconds, increment, moves):
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
