"""Counts of durations in fixed buckets, from which quantiles can be read."""

import math
from bisect import bisect_left
from dataclasses import dataclass

# Seconds; fine where a loop is healthy, coarse where it is not.
BOUNDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many durations fell into each bucket; the last one is everything above all bounds."""

    bounds: tuple[float, ...] = BOUNDS
    counts: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)
    total_seconds: float = 0.0

    @property
    def count(self) -> int:
        return sum(self.counts)

    def with_one(self, seconds: float) -> "Histogram":
        """This histogram and one duration more."""
        bucket = bisect_left(self.bounds, seconds)
        counts = (*self.counts[:bucket], self.counts[bucket] + 1, *self.counts[bucket + 1 :])
        return Histogram(self.bounds, counts, self.total_seconds + seconds)

    def quantile(self, share: float) -> float:
        """The upper bound of the bucket in which this share of the durations is reached."""
        wanted = share * self.count
        seen = 0
        for bound, count in zip((*self.bounds, math.inf), self.counts, strict=True):
            seen += count
            if seen >= wanted:
                return bound
        return math.inf
