"""Numbers, durations and times as the pages show them; never "nan", never a raw float.

Templates have most of it as filters (`FILTERS` below), so that a view holds values and a template
says how they are shown; a view class is for what is computed:

| filter | shows |
|---|---|
| `games|number` | 1,234,567 |
| `elo|signed`, `elo|decimal`, `elo|elo(half_width)` | +2.31; 2.5; +2.31 ± 1.45 |
| `value|fixed`, `value|fixed(0)` | 2.94; 3 |
| `share|percent` | 12.3 % |
| `seconds|duration`, `hours|hours` | 3 h 20 min; core hours, 12,345 |
| `when|ago(now)`, `when|day` | a Moment for the macro `moment`; 2026-03-01 |
| `size|size` | 74.1 MB |
| `rate|rate`, `speed|nps` | games a minute; 12.4 Mnps |
| `number|plural("game")`, `number|plural("man", "men")` | 2 games; 3 men |
| `share|share(1)`, `middle|interval(low, high)` | 12.3%; +2.31 ± 1.45 |
| `value|llr(low, high)`, `value|llr_bounds(low, high)` | LLR 1.87 [-2.94, 2.94]; the latter |
| `tc|time_control`, `cpu|processor` | 10 s + 0.1 s; a processor without marks |
| `address|is_web_address` | nothing: whether it may become a link |

The macro `ago` of macros.html writes a time whole: `macros.ago(when, now)`.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from rookery.core.http_places import is_web_address
from rookery.core.model.timecontrol import ClockControl, Depth, MoveTime, Nodes, TimeControl

DASH = "–"
WIDEST_ELO = 500.0
"""An Elo interval wider than this says nothing about an engine."""
LARGEST_SKEW = 0.04
"""How much the two halves of an Elo interval may differ, as a share of its width, to be shown as
one number."""
MINUTE, HOUR, DAY = 60, 3600, 86400
LONGEST_SPAN = 400 * DAY


@dataclass(frozen=True, slots=True)
class Moment:
    """A time relative to now, and the exact time for programs and tooltips."""

    text: str
    exact: str
    iso: str


def format_count(number: float) -> str:
    """1234567 as 1,234,567."""
    return f"{number:,.0f}" if math.isfinite(number) else DASH


def format_signed(number: float, digits: int = 2) -> str:
    """A number with its sign; one that rounds to zero has none."""
    if not math.isfinite(number):
        return DASH
    text = f"{number:+.{digits}f}"
    return f"{0:.{digits}f}" if float(text) == 0 else text


def format_decimal(number: float) -> str:
    """A number without needless zeros: 2, 0.5, -1.75."""
    if not math.isfinite(number):
        return DASH
    return f"{number:.2f}".rstrip("0").rstrip(".").replace("-0", "0", number == 0)


def format_percent(share: float) -> str:
    """A share in per cent; close to 0 and 1 as less and more than the last shown figure."""
    if not math.isfinite(share):
        return DASH
    if not 0.001 <= share <= 0.999:
        return "> 99.9 %" if share > 0.5 else "< 0.1 %"
    return f"{100 * share:.1f} %"


def format_share(share: float, digits: int = 0) -> str:
    """A share among others, 12%: as exact as the digits say, also close to 0 and 1."""
    return f"{share:.{digits}%}"


def format_elo(middle: float, half_width: float) -> str:
    """Elo with its error, +2.31 ± 1.45. If the error is large there are fewer digits."""
    if not (math.isfinite(middle) and half_width <= WIDEST_ELO):
        return DASH
    digits = 2 if half_width < 10 else 1 if half_width < 100 else 0
    return f"{format_signed(middle, digits)} ± {half_width:.{digits}f}"


def format_elo_interval(middle: float, low: float, high: float) -> str:
    """Elo with its 95 % interval: +2.31 ± 1.45, or +2.31 [-0.12, +5.80] where its halves differ by
    more than rounding does."""
    below, above = middle - low, high - middle
    if not math.isfinite(below + above) or abs(above - below) <= LARGEST_SKEW * (above + below):
        return format_elo(middle, (high - low) / 2)
    if high - low > 2 * WIDEST_ELO:
        return DASH
    digits = 2 if high - low < 20 else 1 if high - low < 200 else 0
    ends = f"{format_signed(low, digits)}, {format_signed(high, digits)}"
    return f"{format_signed(middle, digits)} [{ends}]"


def format_llr(value: float, lower: float, upper: float) -> str:
    """A log-likelihood ratio with its bounds: LLR 1.87 [-2.94, 2.94]."""
    return f"LLR {format_fixed(value)} {format_llr_bounds(value, lower, upper)}"


def format_llr_bounds(value: float, lower: float, upper: float) -> str:
    """The bounds of a ratio, [-2.94, 2.94], or the one that it has passed, (beyond 2.94)."""
    if value > upper:
        return f"(beyond {format_fixed(upper)})"
    return (
        f"(below {format_fixed(lower)})"
        if value < lower
        else f"[{format_fixed(lower)}, {format_fixed(upper)}]"
    )


def format_fixed(value: float, digits: int = 2) -> str:
    """A number with so many digits after the point, and no minus before a zero."""
    if not math.isfinite(value):
        return DASH
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def format_rate(per_minute: float) -> str:
    """Games a minute, without a fraction from ten on."""
    if not math.isfinite(per_minute) or per_minute <= 0:
        return "0"
    return format_count(per_minute) if per_minute >= 10 else f"{per_minute:.1f}"


PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def shorten_count(number: float) -> str:
    """A round number beside an axis, with a prefix and without needless zeros: 2.5 M."""
    for factor, prefix in PREFIXES:
        if number >= factor:
            return f"{format_decimal(number / factor)} {prefix}"
    return format_decimal(number)


def format_nps(nodes_per_second: float) -> str:
    """Nodes a second with a prefix: 12.4 Mnps."""
    for factor, prefix in PREFIXES:
        if nodes_per_second >= factor:
            found = nodes_per_second / factor
            return f"{found:.0f} {prefix}nps" if found >= 100 else f"{found:.1f} {prefix}nps"
    return f"{max(0.0, nodes_per_second):.0f} nps"


def format_processor(name: str, most: int = 80) -> str:
    """A processor's name without marks of registration and the clock rate, such as
    "Intel Core i7-9700K"."""
    plain = name.partition("@")[0]
    for mark in ("(R)", "(r)", "(TM)", "(tm)", " CPU", " Processor"):
        plain = plain.replace(mark, "")
    return " ".join(plain.split())[:most]


def format_hours(hours: float) -> str:
    """Core hours, without a fraction from ten on."""
    if not math.isfinite(hours):
        return DASH
    return format_count(hours) if hours >= 10 else f"{max(0.0, hours):.1f}"


def format_bytes(size: float) -> str:
    """A size with a prefix: 74.1 MB."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= factor:
            found = size / factor
            return f"{found:.0f} {unit}" if found >= 100 else f"{found:.1f} {unit}"
    return f"{size:.0f} B"


LARGEST_AMOUNTS = {"min": 100, "h": 48, "d": 100}
"""From this amount on, the next larger unit is used."""


def format_duration(seconds: float) -> str:
    """A duration in its two largest units: 3 h 20 min."""
    if not math.isfinite(seconds):
        return DASH
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


def format_time_left(seconds: float) -> str:
    return f"{format_duration(seconds)} left" if math.isfinite(seconds) else DASH


def format_span(early: float, late: float) -> str:
    """A range of times, rounded as roughly as such a range is known: 4 to 14 h."""
    if not late < LONGEST_SPAN:
        return f"{format_span(early, early) if early < LONGEST_SPAN else 'a year'} or more"
    (first, unit), (last, larger) = _round_off(early), _round_off(late)
    if (first, unit) == (last, larger):
        return f"{first}\N{NO-BREAK SPACE}{unit}"
    begin = f"{first}" if unit == larger else f"{first}\N{NO-BREAK SPACE}{unit}"
    return f"{begin} to {last}\N{NO-BREAK SPACE}{larger}"


def _round_off(seconds: float) -> tuple[int, str]:
    """Round to at most two digits, in the smallest unit in which the amount is below its limit."""
    for unit, word in ((MINUTE, "min"), (HOUR, "h"), (DAY, "d")):
        amount = max(1, round(seconds / unit))
        if amount < LARGEST_AMOUNTS[word]:
            return amount, word
    return int(float(f"{amount:.2g}")), word


def format_ago(then: datetime, now: datetime) -> Moment:
    """How long ago something was, in one unit. A time in the near future counts as just now, since
    the clock of another machine may be ahead."""
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


def format_time_control(tc: TimeControl) -> str:
    """A time control such as 10 s + 0.1 s, or a limit per move."""
    match tc:
        case ClockControl(seconds, increment, moves):
            head = _seconds(seconds) if moves is None else f"{moves} moves in {_seconds(seconds)}"
            return f"{head} + {_seconds(increment)}" if increment else head
        case Nodes(nodes):
            return f"{format_count(nodes)} nodes a move"
        case Depth(depth):
            return f"depth {depth}"
        case MoveTime(seconds):
            return f"{_seconds(seconds)} a move"


def format_plural(number: int, one: str, many: str = "") -> str:
    """A number and its noun: 1 thread, 2 threads."""
    return f"{format_count(number)} {one if number == 1 else many or one + 's'}"


def _seconds(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".") + " s"


def format_day(when: datetime) -> str:
    """A day such as 2026-03-01."""
    return f"{when:%Y-%m-%d}"


FILTERS: Mapping[str, Callable[..., object]] = {
    "ago": format_ago,
    "day": format_day,
    "decimal": format_decimal,
    "duration": format_duration,
    "elo": format_elo,
    "fixed": format_fixed,
    "hours": format_hours,
    "interval": format_elo_interval,
    "is_web_address": is_web_address,
    "llr": format_llr,
    "llr_bounds": format_llr_bounds,
    "nps": format_nps,
    "number": format_count,
    "percent": format_percent,
    "plural": format_plural,
    "processor": format_processor,
    "rate": format_rate,
    "share": format_share,
    "signed": format_signed,
    "size": format_bytes,
    "time_control": format_time_control,
}
"""The names of these functions in templates."""
