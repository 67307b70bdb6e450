"""The answers to a load and their latencies, minute by minute, and whether the load generator kept
up: figures of a minute in which it lagged are invalid."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

MOST_LAG_SECONDS = 0.010
"""The largest lag of the generator in the 99th percentile; beyond it, calls were not made when they
were due."""
ENDPOINTS = ("beat", "update_task", "request_version", "request_task")
LATENESS = 0.99


def percentile(values: Sequence[float], share: float) -> float:
    """A percentile of sorted values; zero if there are none."""
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def _times() -> "array[float]":
    return array("f")


@dataclass(slots=True)
class Minute:
    """The figures of one minute: latencies by endpoint, other counts, and the lag of calls."""

    times: "defaultdict[str, array[float]]" = field(default_factory=lambda: defaultdict(_times))
    lags: "array[float]" = field(default_factory=_times)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def lag(self) -> float:
        return percentile(sorted(self.lags), LATENESS)

    @property
    def is_void(self) -> bool:
        return self.lag > MOST_LAG_SECONDS

    @property
    def calls(self) -> int:
        return sum(len(times) for times in self.times.values())


@dataclass(frozen=True, slots=True)
class EndpointFigures:
    """The figures of one endpoint over several minutes."""

    calls: int
    p50: float
    p99: float
    longest: float
    counts: Counter[str]


class Figures:
    """Everything measured since the beginning."""

    def __init__(self, minute_seconds: float = 60.0) -> None:
        self.began = 0.0
        self.minutes: defaultdict[int, Minute] = defaultdict(Minute)
        self._seconds = minute_seconds

    def minute(self, now: float) -> Minute:
        return self.minutes[int((now - self.began) / self._seconds)]

    def note_answer(self, endpoint: str, sent: float, now: float) -> None:
        self.minute(sent).times[endpoint].append(now - sent)

    def note(self, endpoint: str, what: str, now: float) -> None:
        self.minute(now).counts[endpoint, what] += 1

    def note_lag(self, due: float, now: float) -> None:
        self.minute(now).lags.append(now - due)

    def total(self, what: str) -> int:
        every = (minute.counts.items() for minute in self.minutes.values())
        return sum(count for counts in every for (_, name), count in counts if name == what)

    def of(self, endpoint: str, minutes: Iterable[Minute], *, one_in: int = 1) -> EndpointFigures:
        """The figures of an endpoint from all calls, or a sample of one in `one_in`, because
        sorting takes time that an active generator does not have."""
        chosen = list(minutes)
        times = sorted(value for minute in chosen for value in minute.times[endpoint][::one_in])
        counts: Counter[str] = Counter()
        for minute in chosen:
            for (name, what), count in minute.counts.items():
                if name == endpoint:
                    counts[what] += count
        return EndpointFigures(
            len(times),
            percentile(times, 0.5),
            percentile(times, 0.99),
            times[-1] if times else 0.0,
            counts,
        )

    def sound(self, first: int = 0, last: int | None = None) -> list[Minute]:
        """The minutes in which the generator kept up."""
        return [minute for minute in self.chosen(first, last) if not minute.is_void]

    def chosen(self, first: int = 0, last: int | None = None) -> list[Minute]:
        end = len(self.minutes) if last is None else last
        return [self.minutes[number] for number in range(first, end) if number in self.minutes]


HEAD = (
    "| endpoint | calls | a second | p50 ms | p99 ms | max ms | busy | 503 | errors | no answer |"
)


def table(figures: Figures, minutes: list[Minute], seconds: float) -> Iterator[str]:
    """The lines of a table with a row for each endpoint; only a remark if there are no figures."""
    if not minutes:
        yield "Void: the generator lagged all the time."
        return
    yield HEAD
    yield "|---" * (HEAD.count("|") - 1) + "|"
    for endpoint in ENDPOINTS:
        row = figures.of(endpoint, minutes)
        counts = row.counts
        yield (
            f"| {endpoint} | {row.calls:,} | {row.calls / seconds:.1f} | {1000 * row.p50:.1f}"
            f" | {1000 * row.p99:.1f} | {1000 * row.longest:.0f} | {counts['busy']}"
            f" | {counts['503']} | {counts['error']} | {counts['lost']} |"
        )


def lag_line(minutes: list[Minute]) -> str:
    """A line about the generator's lag and the number of minutes that are invalid because of it."""
    lags = sorted(value for minute in minutes for value in minute.lags)
    void = sum(minute.is_void for minute in minutes)
    return (
        f"Lag of the generator: p50 {1000 * percentile(lags, 0.5):.1f}, p99"
        f" {1000 * percentile(lags, LATENESS):.1f}, max {1000 * percentile(lags, 1.0):.0f} ms;"
        f" {void} of {len(minutes)} minutes void (p99 over {1000 * MOST_LAG_SECONDS:.0f} ms)."
    )
