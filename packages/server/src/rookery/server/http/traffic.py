"""Counts answers and their times by route."""

from bisect import bisect_left
from dataclasses import dataclass, field

# In seconds. A worker gives up after 30.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

Key = tuple[str, str, int]


@dataclass(slots=True)
class RouteTimes:
    """How long the answers of one route took. `buckets[i]` counts those up to `BOUNDS[i]`."""

    seconds: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))


class Traffic:
    """The request counters of one process. Used on the event loop only.

    These are plain numbers, because every worker's call is counted: the counter and histogram of
    prometheus-client take a lock each and four times as long. The other figures come from packages
    that the base install has without prometheus-client.
    """

    def __init__(self) -> None:
        self.inside = 0
        self._answers: dict[Key, int] = {}
        self._times: dict[str, RouteTimes] = {}

    def note(self, route: str, method: str, status: int, seconds: float) -> None:
        key = (route, method, status)
        self._answers[key] = self._answers.get(key, 0) + 1
        times = self._times.get(route)
        if times is None:
            times = self._times[route] = RouteTimes()
        times.seconds += seconds
        times.buckets[bisect_left(BOUNDS, seconds)] += 1

    def answers(self) -> dict[Key, int]:
        """Counts by route, method and status, as a copy that another thread may read."""
        return dict(sorted(self._answers.items()))

    def times(self) -> dict[str, RouteTimes]:
        """Times by route, as a copy that another thread may read."""
        return {
            route: RouteTimes(times.seconds, list(times.buckets))
            for route, times in sorted(self._times.items())
        }
