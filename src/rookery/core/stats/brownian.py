"""A random walk with drift between two bounds: the log-likelihood ratio seen from afar.

The walk starts at 0, moves by `drift` and spreads by `variance` per unit of time, and ends at
`low` (below 0) or `high` (above 0).
"""

from dataclasses import dataclass
from math import cos, exp, expm1, pi, sin, sqrt

from rookery.core.stats.normal import cdf, grown_tail

# Where a walk is short against its corridor, or its drift decides, the far bound hardly matters.
SHORT = 0.01
STEEP = 15.0
FLAT = 1e-200
NEGLIGIBLE = 1e-14

# After this many corridor-widths squared the chance to be still inside is below 1e-80.
CERTAINLY_OVER = 40.0


@dataclass(frozen=True, slots=True)
class Walk:
    low: float
    high: float
    drift: float
    variance: float

    @property
    def width(self) -> float:
        return self.high - self.low

    @property
    def pull(self) -> float:
        """Drift against variance: how strongly the walk leans towards `high`."""
        return self.drift / self.variance

    @property
    def is_over(self) -> bool:
        """Whether a bound was passed already; then there are no chances left to ask for."""
        return self.low >= 0.0 or self.high <= 0.0

    def chance_high(self) -> float:
        """The chance to end at `high`, however long it takes."""
        return self.mirrored().chance_low()

    def chance_low(self) -> float:
        steep = self.pull * self.width
        if abs(steep) < FLAT:
            return self.high / self.width
        if steep > 0.0:
            # Multiplied through, so that both exponents are negative.
            return exp(2.0 * self.pull * self.low) * (
                expm1(-2.0 * self.pull * self.high) / expm1(-2.0 * steep)
            )
        return expm1(2.0 * self.pull * self.high) / expm1(2.0 * steep)

    def mean_time(self) -> float:
        if abs(self.pull * self.width) < 1e-6:
            return -self.low * self.high / self.variance
        return (self.low + self.width * self.chance_high()) / self.drift

    def chance_high_by(self, time: float) -> float:
        """The chance to have ended at `high` by then, by the method of images."""
        if time <= 0.0:
            return 0.0
        if self.variance * time > CERTAINLY_OVER * self.width**2:
            return self.chance_high()
        spread = sqrt(self.variance * time)
        pull, gone = self.pull, abs(self.drift) * time
        lean, steepness = pull * self.high, abs(pull)

        def image(distance: float) -> float:
            """The chance of a one-sided walk to have gone that far, seen through the real one."""
            way = steepness * distance
            return grown_tail(lean - way, (distance - gone) / spread) + grown_tail(
                lean + way, (distance + gone) / spread
            )

        total, there_and_back = image(self.high), 0.0
        while True:
            there_and_back += 2.0 * self.width
            term = image(there_and_back + self.high) - image(there_and_back - self.high)
            total += term
            if abs(term) < NEGLIGIBLE:
                return min(1.0, max(0.0, total))

    def chance_low_by(self, time: float) -> float:
        return self.mirrored().chance_high_by(time)

    def chance_over_by(self, time: float) -> float:
        return min(1.0, self.chance_high_by(time) + self.chance_low_by(time))

    def mirrored(self) -> "Walk":
        return Walk(-self.high, -self.low, -self.drift, self.variance)

    def chance_below(self, time: float, y: float) -> float:
        """The chance to have ended at `low`, or to be inside but at most at y, at that time."""
        corridor = self.variance * time / self.width**2
        if corridor < SHORT or abs(self.pull * self.width) > STEEP:
            chance = self._below_by_reflection(time, y)
        else:
            chance = self.chance_low() + self._below_by_waves(time, y)
        return min(1.0, max(0.0, chance))

    def _below_by_reflection(self, time: float, y: float) -> float:
        spread = sqrt(self.variance * time)
        off = y - self.drift * time
        return (
            cdf(off / spread)
            + grown_tail(2.0 * self.pull * self.low, (off - 2.0 * self.low) / spread)
            - grown_tail(2.0 * self.pull * self.high, (2.0 * self.high - off) / spread)
        )

    def _below_by_waves(self, time: float, y: float) -> float:
        """Fourier series of the walks still inside."""
        width, steep = self.width, self.pull * self.width
        start, end = -self.low * pi / width, (y - self.low) * pi / width
        decay = self.variance * time * (pi / width) ** 2 / 2.0
        total, n = 0.0, 0
        while True:
            n += 1
            fade = exp(-(n * n - 1) * decay)
            wave = (
                2.0
                * (steep * sin(n * end) - pi * n * cos(n * end))
                / (steep * steep + (pi * n) ** 2)
            )
            total += fade * wave * sin(n * start)
            if fade < NEGLIGIBLE:
                break
        lost = decay + self.drift * self.pull * time / 2.0
        return total * exp(self.pull * y - lost)
