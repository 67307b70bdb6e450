"""What every kind of test decides, behind one protocol, `Kind`: how results are taken in, when a
run ends and what its end means.

Code elsewhere asks the kind itself and never which class it is; a test of the sources checks that
(`tests/unit/test_kinds_at_home.py`). How a kind is written on the wire is in
`core/protocol/kinds`, how pages show it in `server/farm/show/kinds`.
"""

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

from rookery.core.model.plan import Need
from rookery.core.model.task import Pentanomial, Provenance, Results, Ticket, contradiction
from rookery.core.stats.elo import EloInterval, estimate_elo
from rookery.core.stats.outlook import fixed_games_left
from rookery.core.stats.residuals import WorkerTest, judge_workers
from rookery.core.stats.sprt import Flag, Sprt, Verdict
from rookery.core.stats.spsa import Tune, TuneBatch
from rookery.core.stats.walk import GamesRange, TestLength

K = TypeVar("K")

Batches = tuple[TuneBatch, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A worker's report about its task: all results so far and, in a tune, the batches that were
    played since the last report, one for each perturbation that the task was given.

    Official workers report whole steps of the kind; our own report parts of them, in whole pairs.
    """

    results: Results
    batch: Batches = ()
    in_parts: bool = False
    provenance: Provenance | None = None
    """How the latest games were played, if the worker says so."""


@dataclass(frozen=True, slots=True)
class AfterReport(Generic[K]):
    """The kind after a report, and what the task must remember from then on."""

    kind: K
    ticket: Ticket | None = None


class Outcome(enum.StrEnum):
    """What a run's results mean at its end. HELD is a passed simplification, which only must not
    lose Elo; POSITIVE a failed test that won more than it lost; OPEN anything undecided."""

    OPEN = ""
    STOPPED = "stopped"
    PASSED = "passed"
    HELD = "held"
    POSITIVE = "positive"
    FAILED = "failed"

    @property
    def is_pass(self) -> bool:
        return self in (Outcome.PASSED, Outcome.HELD)

    @property
    def flag(self) -> Flag:
        """The outcome under fishtest's name."""
        if self.is_pass:
            return Flag.GREEN
        return Flag.YELLOW if self is Outcome.POSITIVE else Flag.NONE


def find_outcome(verdict: Verdict, results: Results, passed: Outcome = Outcome.PASSED) -> Outcome:
    """Return the outcome of a test with this verdict; `passed` if it accepts."""
    if verdict is Verdict.RUNNING:
        return Outcome.OPEN
    if verdict is Verdict.ACCEPTED:
        return passed
    return Outcome.POSITIVE if results.wins > results.losses else Outcome.FAILED


@dataclass(frozen=True, slots=True)
class RunForecast:
    """The expected number of further games (the median). For a sequential test also the range that
    holds in eight of ten cases and, once there are enough results, the chance to pass."""

    games: float
    range: GamesRange | None = None
    chance: float | None = None

    @property
    def is_rough(self) -> bool:
        """Whether a single number would suggest more precision than there is."""
        return self.range is not None and self.chance is None


class StoredTypes(NamedTuple):
    """The types of what is stored of a kind: its fixed rules, its present state, which changes with
    every result, and an entry of its history, which is only added to."""

    rules: Any
    progress: Any
    entry: Any


class StoredParts(NamedTuple):
    """A kind in the parts that are stored."""

    rules: Any = ()
    progress: Any = ()
    trail: tuple[Any, ...] = ()


NOTHING = tuple[()]


class Kind(Protocol):
    """The rules of a kind of run, with the state of one run; a frozen value."""

    name: ClassVar[str]
    settings: ClassVar[str]
    """The key of its settings in a submission; empty for the kind that has none."""
    stored: ClassVar[StoredTypes]
    compares: ClassVar[bool]
    """Whether it measures one program against another; a tune plays one against itself."""
    may_purge: ClassVar[bool]
    """Whether results can be removed afterwards."""

    @property
    def step(self) -> int:
        """Tasks and reports of official workers contain multiples of this many games."""

    @property
    def bonus(self) -> float:
        """An addition to the share of a run that is about to succeed."""

    @property
    def core_limit(self) -> float:
        """A run with more cores than this gets no further ones."""

    @property
    def hypotheses(self) -> Sprt | None:
        """What a sequential test decides between; None for other kinds."""

    @property
    def llr(self) -> float | None:
        """The log-likelihood ratio of a sequential test; None for other kinds."""

    @property
    def tune(self) -> Tune | None:
        """The tune with its progress; None for kinds that measure fixed programs."""

    @property
    def parts(self) -> StoredParts:
        """What is stored of it."""

    @classmethod
    def joined(cls, parts: StoredParts) -> Self:
        """Return the kind from its stored parts, which have the types of `stored`."""

    def needs(self) -> tuple[Need, ...]:
        """Return the needs that the kind itself adds."""

    def objection(self, before: Results, report: Report) -> str | None:
        """Why a report can't be true, given the task's earlier results; None if it can."""

    def with_report(
        self, results: Results, ticket: Ticket | None, report: Report
    ) -> AfterReport[Self]:
        """Return the kind after a report, with the run's results `results`; called once per
        accepted report."""

    def rejudged(self, results: Results) -> Self:
        """Return the kind, judged anew after results were removed."""

    def is_decided(self, results: Results, games: int) -> bool:
        """Whether a run planned for `games` games has nothing left to play."""

    def is_trial(self, games: int) -> bool:
        """Whether so few games only try whether an engine plays."""

    def outcome(self, results: Results) -> Outcome:
        """Return what these results would mean at the end; OPEN or one of the verdicts."""

    def estimate(self, results: Results) -> EloInterval | None:
        """Return the Elo that these results measure; None before the first pair, and for tunes."""

    def estimate_at(self, pairs: Pentanomial) -> EloInterval:
        """Return the Elo at an earlier point of a chart, estimated in the same way, but roughly."""

    def forecast(self, results: Results, games: int) -> RunForecast | None:
        """How long a run planned for `games` games will probably still take; None if that can't be
        said."""

    def expected_games(self, games: int) -> float:
        """How many of the planned games a run probably plays, before the first one."""

    def expected_lengths(self, games: int) -> tuple[TestLength, ...]:
        """Return the lengths of a sequential test if the true Elo is its lower bound, the middle,
        or its upper bound; takes milliseconds."""

    def remarks(self) -> tuple[str, ...]:
        """Return what its submitter probably did not mean."""

    def resize_objection(self, before: int, after: int) -> str | None:
        """Why the planned number of games can't be changed like this; None if it can."""

    def judge(self, workers: Mapping[str, Results]) -> WorkerTest | None:
        """Test whether the results of one worker differ from those of the others; None without a
        test."""


# What kinds have in common, whose games are played in pairs with reversed colours.

GAMES_PER_PAIR = 2
REMEMBERED = 4096


@lru_cache(maxsize=REMEMBERED)
def estimate_pairs(pairs: Pentanomial) -> EloInterval:
    """Return the plain Elo of these pairs; cached, since lists show many runs that hardly
    change."""
    return estimate_elo(pairs)


class PairedGames:
    """Defaults of the kinds."""

    __slots__ = ()
    stored: ClassVar = StoredTypes(NOTHING, NOTHING, NOTHING)
    compares: ClassVar = True
    may_purge: ClassVar = True

    @property
    def step(self) -> int:
        return GAMES_PER_PAIR

    @property
    def bonus(self) -> float:
        return 0.0

    @property
    def core_limit(self) -> float:
        return math.inf

    @property
    def hypotheses(self) -> Sprt | None:
        return None

    @property
    def llr(self) -> float | None:
        return None

    @property
    def parts(self) -> StoredParts:
        return StoredParts()

    def needs(self) -> tuple[Need, ...]:
        return ()

    def objection(self, before: Results, report: Report) -> str | None:
        """Why these results of pairs can't be true; None if they can."""
        del before
        return contradiction(report.results, GAMES_PER_PAIR)

    def is_decided(self, results: Results, games: int) -> bool:
        return results.games >= games

    def is_trial(self, games: int) -> bool:
        del games
        return False

    def estimate(self, results: Results) -> EloInterval | None:
        return estimate_pairs(results.pentanomial) if results.pairs else None

    def estimate_at(self, pairs: Pentanomial) -> EloInterval:
        return estimate_pairs(pairs)

    def forecast(self, results: Results, games: int) -> RunForecast | None:
        return RunForecast(fixed_games_left(games=results.games, num_games=games))

    def expected_games(self, games: int) -> float:
        return float(games)

    def expected_lengths(self, games: int) -> tuple[TestLength, ...]:
        del games
        return ()

    def remarks(self) -> tuple[str, ...]:
        return ()

    def judge(self, workers: Mapping[str, Results]) -> WorkerTest | None:
        """Compare the workers by the pairs they won, lost and drew."""
        return judge_workers({name: results.pentanomial for name, results in workers.items()})
