"""SPRT error rates with and without overshoot correction, and the calibration of the outlook."""

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from math import sqrt
from pathlib import Path
from random import Random
from typing import NamedTuple

from rookery.core.stats import sprt
from rookery.core.stats.likelihood import shares_at
from rookery.core.stats.numbers import NELO_PER_SIGMA, Z95
from rookery.core.stats.outlook import Belief, sprt_outlook, usual_prior
from rookery.core.stats.sprt import Sprt, SprtState, Verdict
from rookery.core.stats.walk import TYPICAL_PAIRS, LlrPace, length_at, pace_of

MOST_ERRORS = 0.055
CHUNK = 100
FEW = 30

# The times of looking at a running test, in units of the games after which the data weigh as much
# as the usual prior.
LOOKS = (0.03125, 0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)

Rows = list[list[float]]
Simulation = Callable[[str], Iterable[Sequence[float]]]


class Ending(NamedTuple):
    """How one simulated test ended; `passed` is 1 or 0, so that endings can be averaged."""

    passed: float
    games: float


class Look(NamedTuple):
    """The outlook at one look, and the outcome; `told` if it gave a chance as well."""

    when: float
    told: float
    passed: float
    games_left: float
    chance: float
    early: float
    late: float
    careless_chance: float

    @property
    def in_range(self) -> bool:
        return self.early <= self.games_left <= self.late


class Progress:
    """Finished chunks in a file, so that an interrupted proof can be continued."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.code = source_digest()
        self.done: dict[str, Rows] = {}
        if path and path.exists():
            self.done = json.loads(path.read_text())

    def chunk(self, seeds: Sequence[str], one: Simulation) -> Rows:
        key = f"{self.code} {seeds[0]} +{len(seeds)}"
        if key not in self.done:
            self.done[key] = [list(row) for seed in seeds for row in one(seed)]
            self._save()
            print(f"\r{key:70}", end="", file=sys.stderr, flush=True)
        return self.done[key]

    def _save(self) -> None:
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fresh = self.path.with_suffix(".new")
            fresh.write_text(json.dumps(self.done))
            fresh.replace(self.path)

    def finish(self) -> None:
        print(file=sys.stderr)
        if self.path:
            self.path.unlink(missing_ok=True)


def unit(spec: Sprt) -> float:
    return (NELO_PER_SIGMA / (spec.elo1 - spec.elo0)) ** 2


def worlds(spec: Sprt) -> dict[str, Belief]:
    """The distributions of the true Elo. The outlook always assumes the first one."""
    believed = usual_prior(spec)
    return {
        "as believed": believed,
        "duller patches": Belief(believed.mean, believed.sigma / 2.0),
        "better patches": believed.moved(1.0),
    }


def played(
    chance: Random, elo: float, batch_size: int, *, in_parts: bool = False
) -> Iterator[tuple[int, ...]]:
    """Cumulative results of a version with this normalised Elo: batch by batch, or with `in_parts`
    in reports of any number of pairs up to a batch."""
    weights = list(accumulate(shares_at(TYPICAL_PAIRS, elo)))
    bins = [0] * 5
    while True:
        pairs = chance.randint(1, batch_size) if in_parts else batch_size
        for outcome in chance.choices(range(5), cum_weights=weights, k=pairs):
            bins[outcome] += 1
        yield tuple(bins)


def endings(
    seed: str, *, spec: Sprt, elo: float, in_parts: bool = False
) -> Iterator[Sequence[float]]:
    """Judges one stream of games with and without overshoot correction; returns two endings."""
    state = SprtState()
    corrected = plain = None
    for bins in played(Random(seed), elo, spec.batch_size, in_parts=in_parts):
        state = state.after(spec, bins)
        games = 2.0 * sum(bins)
        if corrected is None and state.verdict is not Verdict.RUNNING:
            corrected = Ending(state.verdict is Verdict.ACCEPTED, games)
        if plain is None and not spec.lower <= state.llr <= spec.upper:
            plain = Ending(state.llr > 0.0, games)
        if corrected and plain:
            break
    assert corrected
    assert plain
    yield (*corrected, *plain)


def looks(seed: str, *, world: Belief, pace: LlrPace) -> Iterator[Look]:
    """Simulates one test of a version from that distribution, with several looks at it."""
    chance = Random(seed)
    elo = chance.gauss(world.mean, world.sigma)
    state, due, games = SprtState(), list(LOOKS), 0
    seen: list[tuple[float, int, float]] = []
    for bins in played(chance, elo, pace.spec.batch_size):
        state, games = state.after(pace.spec, bins), 2 * sum(bins)
        if state.verdict is not Verdict.RUNNING:
            break
        if due and games >= due[0] * unit(pace.spec):
            seen.append((due.pop(0), games, state.llr))
    passed = float(state.verdict is Verdict.ACCEPTED)
    for when, at, llr in seen:
        yield Look(when, *told(pace, at, llr, passed, games - at))


def told(pace: LlrPace, at: int, llr: float, passed: float, left: float) -> tuple[float, ...]:
    # A naive outlook takes the present estimate for the true Elo.
    spec = pace.spec
    middle, width = (spec.elo0 + spec.elo1) / 2.0, spec.elo1 - spec.elo0
    careless = pace.walk(middle + width * llr / (at * pace.variance), llr).chance_high()
    outlook = sprt_outlook(pace, llr, at)
    games, forecast = outlook.games_left, outlook.forecast
    chance = 0.0 if forecast is None else forecast.pass_chance
    return forecast is not None, passed, left, chance, games.early, games.late, careless


def simulate(progress: Progress, key: str, tests: int, one: Simulation) -> Rows:
    """Runs each test with its own seed, so that the outcome does not depend on the chunks."""
    seeds = [f"{key}/{number}" for number in range(tests)]
    chunks = [seeds[start : start + CHUNK] for start in range(0, tests, CHUNK)]
    return [row for chunk in chunks for row in progress.chunk(chunk, one)]


def wilson(hits: float, trials: int) -> tuple[float, float]:
    if trials == 0:
        return 0.0, 1.0
    share, z2 = hits / trials, Z95 * Z95
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    reach = Z95 * sqrt(share * (1 - share) / trials + z2 / (4 * trials**2)) / (1 + z2 / trials)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def share(marks: Sequence[bool]) -> str:
    """A percentage, or a dash if there are too few for one."""
    return f"{mean(marks):.0%}" if len(marks) >= FEW else "–"


def error_rates(
    progress: Progress, spec: Sprt, seed: str, tests: int, *, in_parts: bool = False
) -> tuple[list[str], bool]:
    """The table of wrong verdicts, and whether each interval includes values below the limit."""
    lines = [
        "| true nElo | corrected | tests | wrong | rate | 95 % interval | mean games | expected |",
        "|---|---|---|---|---|---|---|---|",
    ]
    held = True
    for elo in (spec.elo0, spec.elo1):
        one = partial(endings, spec=spec, elo=elo, in_parts=in_parts)
        rows = simulate(progress, f"{seed}/{'parts' if in_parts else 'errors'}/{elo:g}", tests, one)
        for corrected, ends in (
            (True, [Ending(*row[:2]) for row in rows]),
            (False, [Ending(*row[2:]) for row in rows]),
        ):
            wrong = sum(end.passed != (elo == spec.elo1) for end in ends)
            low, high = wilson(wrong, tests)
            held &= low < MOST_ERRORS
            expected = length_at(pace_of(spec, corrected=corrected), elo).mean_games
            lines.append(
                f"| {elo:g} | {'yes' if corrected else 'no'} | {tests} | {wrong}"
                f" | {wrong / tests:.2%} | {low:.2%} to {high:.2%}"
                f" | {mean([end.games for end in ends]):,.0f} | {expected:,.0f} |"
            )
    return lines, held


def calibration(seen: Sequence[Look]) -> list[str]:
    """A table of claimed chances in ten bins and the actual frequencies."""
    lines = [
        "| claimed chance | looks | mean claim | passed | 95 % interval |",
        "|---|---|---|---|---|",
    ]
    for tenth in range(10):
        inside = [look for look in seen if look.told and min(9, int(look.chance * 10)) == tenth]
        low, high = wilson(sum(look.passed for look in inside), len(inside))
        lines.append(
            f"| {tenth * 10} to {tenth * 10 + 10} % | {len(inside)}"
            f" | {mean([look.chance for look in inside]):.1%}"
            f" | {mean([look.passed for look in inside]):.1%} | {low:.1%} to {high:.1%} |"
        )
    return lines


def by_look(seen: Sequence[Look], games_per_unit: float) -> list[str]:
    """A table by look: how often a chance is given, how it compares with the naive one, whether the
    range of remaining games is right (given a chance or not), and the ratio of its ends."""
    lines = [
        "| games | running | too early | in range | sooner | later | width | error | careless |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for when in LOOKS:
        at = [look for look in seen if look.when == when]
        out = [look for look in at if look.told]
        lines.append(
            f"| {when * games_per_unit:,.0f} | {len(at)} | {1 - len(out) / max(1, len(at)):.0%}"
            f" | {share([look.in_range for look in at])}"
            f" | {share([look.games_left < look.early for look in at])}"
            f" | {share([look.games_left > look.late for look in at])}"
            f" | {mean([look.late / look.early for look in at]):.0f}"
            f" | {mean([(look.chance - look.passed) ** 2 for look in out]):.3f}"
            f" | {mean([(look.careless_chance - look.passed) ** 2 for look in out]):.3f} |"
        )
    return lines


def source_digest() -> str:
    """A digest of the code, so that progress of other code is not mixed in."""
    files = sorted(Path(sprt.__file__).parent.glob("*.py"))
    text = b"".join(path.read_bytes() for path in [*files, Path(__file__)])
    return hashlib.sha256(text).hexdigest()[:12]


def report(
    progress: Progress, spec: Sprt, seed: str, *, tests: int, outlooks: int
) -> tuple[str, bool]:
    errors, held = error_rates(progress, spec, seed, tests)
    mixed, held_in_parts = error_rates(progress, spec, seed, tests, in_parts=True)
    held &= held_in_parts
    parts = ["## Error rates", *errors]
    parts += [f"\n## Error rates with reports of 1 to {spec.batch_size} pairs", *mixed]
    pace = pace_of(spec)
    for number, (name, world) in enumerate(worlds(spec).items()):
        # The calibration needs many tests; the other distributions only show the direction of the
        # error.
        several = outlooks if number == 0 else outlooks // 3
        one = partial(looks, world=world, pace=pace)
        rows = simulate(progress, f"{seed}/outlook/{name}", several, one)
        seen = [Look(*row) for row in rows]
        parts += [
            f"\n## Outlook: {name}",
            f"True nElo {world.mean:g} ± {world.sigma:g}; {several} tests.\n",
            *calibration(seen),
            "",
            *by_look(seen, unit(spec)),
        ]
    return "\n".join(parts), held


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/prove sprt", description=__doc__)
    parser.add_argument("--tests", type=int, default=10_000, help="tests at each true Elo")
    parser.add_argument(
        "--outlooks", type=int, default=6_000, help="tests in the world as believed"
    )
    parser.add_argument("--elo1", type=float, default=10.0, help="upper bound; the lower one is 0")
    parser.add_argument("--seed", default="rookery")
    parser.add_argument("--progress", type=Path, default=Path(".cache/proofs/sprt.json"))
    given = parser.parse_args(argv)
    progress = Progress(given.progress)
    spec = Sprt(0.0, given.elo1, batch_size=16)
    key = f"{given.seed}/{spec.elo1:g}"
    text, held = report(progress, spec, key, tests=given.tests, outlooks=given.outlooks)
    progress.finish()
    print(
        f"Bounds [{spec.elo0:g}, {spec.elo1:g}] normalised Elo, alpha = beta = 0.05,"
        f" batches of {spec.batch_size} pairs; seed `{given.seed}`.\n"
    )
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
