"""The kinds of tests: fixed games, SPRT and SPSA, behind one protocol, `Kind`.

A kind decides how results are taken in, when a run ends and what its end means. To add a kind,
write a frozen class with the methods of `Kind` (`PairedGames` has defaults for games in pairs),
name its columns in `farm/columns.py` and read its fields of a submission in `kind_of` of
`farm/submission.py`. Code outside a kind must not assume how many engines play, that games come in
pairs, or that there is a verdict.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from rookery.core.model.plan import Need, NeedWord
from rookery.core.model.task import Provenance, Results, contradiction
from rookery.core.stats.elo import estimate_elo
from rookery.core.stats.outlook import fixed_games_left, sprt_games_left
from rookery.core.stats.residuals import WorkerTest, judge_workers
from rookery.core.stats.sprt import Flag, Sprt, SprtState, Verdict, fixed_verdict, flag
from rookery.core.stats.spsa import (
    Issued,
    Perturbation,
    PerturbationDraw,
    Tune,
    TuneBatch,
    fold_all,
    perturb,
    perturb_final,
)

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Report:
    """A worker's report about its task: all results so far, and what the kind of run needs in
    addition.

    Official workers report whole steps of the kind; our own report parts of them, in whole pairs.
    """

    results: Results
    batch: object | None = None
    in_parts: bool = False
    provenance: Provenance | None = None
    """How the latest games were played, if the worker says so."""


@dataclass(frozen=True, slots=True)
class AfterReport(Generic[K]):
    """The kind after a report, and what the task must remember from then on."""

    kind: K
    ticket: object | None = None


class Kind(Protocol):
    """The rules of a kind of run, with the state of one run; a frozen value."""

    @property
    def name(self) -> str: ...

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
    def may_purge(self) -> bool:
        """Whether results can be removed afterwards."""

    def needs(self) -> tuple[Need, ...]:
        """The needs that the kind itself adds."""

    def objection(self, before: Results, report: Report) -> str | None:
        """Why a report can't be true, given the task's earlier results; None if it can."""

    def with_report(
        self, results: Results, ticket: object | None, report: Report
    ) -> AfterReport[Self]:
        """The kind after a report, with the run's results `results`; called once per accepted
        report."""

    def rejudged(self, results: Results) -> Self:
        """The kind, judged anew after results were removed."""

    def is_decided(self, results: Results, games: int) -> bool:
        """Whether a run planned for `games` games has nothing left to play."""

    def games_left(self, results: Results, games: int) -> float:
        """The number of games that the run will probably still take."""

    def flag(self, results: Results) -> Flag:
        """The colour that shows what the run's end means."""

    def resize_objection(self, before: int, after: int) -> str | None:
        """Why the planned number of games can't be changed like this; None if it can."""

    def judge(self, workers: Mapping[str, Results]) -> WorkerTest | None:
        """Tests whether the results of one worker differ from those of the others; None without a
        test."""


# What kinds have in common whose games are played in pairs with reversed colours.

GAMES_PER_PAIR = 2


class PairedGames:
    """Defaults for kinds whose games are played in pairs."""

    __slots__ = ()

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
    def may_purge(self) -> bool:
        return True

    def needs(self) -> tuple[Need, ...]:
        return ()

    def objection(self, before: Results, report: Report) -> str | None:
        """Why these results of pairs can't be true; None if they can."""
        del before
        step = GAMES_PER_PAIR if report.in_parts else self.step
        if report.results.games % step:
            return f"the number of games is not a multiple of {step}"
        return contradiction(report.results)

    def is_decided(self, results: Results, games: int) -> bool:
        return results.games >= games

    def games_left(self, results: Results, games: int) -> float:
        return fixed_games_left(games=results.games, num_games=games)

    def judge(self, workers: Mapping[str, Results]) -> WorkerTest | None:
        """Compares the workers by the pairs they won, lost and drew."""
        return judge_workers({name: results.pentanomial for name, results in workers.items()})


# A fixed number of games between two engines, judged by the likelihood of superiority.


@dataclass(frozen=True, slots=True)
class Fixed(PairedGames):
    """A test that plays the planned number of games."""

    @property
    def name(self) -> str:
        return "fixed"

    def with_report(
        self, results: Results, ticket: object | None, report: Report
    ) -> AfterReport["Fixed"]:
        del results, report
        return AfterReport(self, ticket)

    def rejudged(self, results: Results) -> "Fixed":
        del results
        return self

    def flag(self, results: Results) -> Flag:
        verdict = fixed_verdict(estimate_elo(results.pentanomial).los)
        return flag(verdict, wins=results.wins, losses=results.losses)

    def resize_objection(self, before: int, after: int) -> str | None:
        return "a run of fixed length may not grow" if after > before else None


# A sequential test of two engines: it ends as soon as the results favour one of two hypotheses.

NEAR_SUCCESS = 2.0
"""The likelihood ratio from which a test gets a larger share, to finish soon."""
FRESH = SprtState()


@dataclass(frozen=True, slots=True)
class SprtTest(PairedGames):
    """The hypotheses and the state of the test, which is evaluated at every report, in order."""

    spec: Sprt
    state: SprtState = FRESH

    @property
    def name(self) -> str:
        return "sprt"

    @property
    def step(self) -> int:
        return GAMES_PER_PAIR * self.spec.batch_size

    @property
    def bonus(self) -> float:
        if self.state.llr <= NEAR_SUCCESS:
            return 0.0
        return 0.2 if self.spec.elo0 > 0 else 0.1

    def with_report(
        self, results: Results, ticket: object | None, report: Report
    ) -> AfterReport["SprtTest"]:
        del report
        return AfterReport(self.rejudged(results), ticket)

    def rejudged(self, results: Results) -> "SprtTest":
        state = self.state.after(self.spec, results.pentanomial, results.trinomial)
        return SprtTest(self.spec, state)

    def is_decided(self, results: Results, games: int) -> bool:
        return self.state.verdict is not Verdict.RUNNING or results.games >= games

    def games_left(self, results: Results, games: int) -> float:
        return sprt_games_left(self.spec, self.state, games=results.games, num_games=games)

    def flag(self, results: Results) -> Flag:
        return flag(self.state.verdict, wins=results.wins, losses=results.losses)

    def resize_objection(self, before: int, after: int) -> str | None:
        del before, after
        return None


# Tuning of an engine's options: two perturbed copies play, and the result of each batch moves the
# values.
#
# The ticket of a task contains the perturbations of the batch that it plays. A report with a batch
# uses it up, so that no batch moves the values twice.

CORES_FOR_ONE_PARAMETER = 200_000
"""The most cores per parameter; with too many machines the values are moved by stale results."""

Ticket = tuple[Issued, ...]
Batches = tuple[TuneBatch, ...]
"""The batches in a report of this kind: one entry per perturbation, in the order of the ticket."""


@dataclass(frozen=True, slots=True)
class SpsaTuning(PairedGames):
    """A tune with its progress."""

    tune: Tune

    @property
    def name(self) -> str:
        return "spsa"

    @property
    def core_limit(self) -> float:
        return CORES_FOR_ONE_PARAMETER / math.sqrt(len(self.tune.parameters))

    @property
    def may_purge(self) -> bool:
        # The games have already moved the values, and removing them would not undo that.
        return False

    def needs(self) -> tuple[Need, ...]:
        return (Need(NeedWord.FLOAT_SPSA),) if self.tune.needs_floats else ()

    def objection(self, before: Results, report: Report) -> str | None:
        added = report.results.games - before.games
        batches = _batches(report)
        if batches and added <= 0:
            return "a batch of the tune adds no games"
        if batches and sum(batch.games for batch in batches) != added:
            return "the batch of the tune is not as long as the games it adds"
        return PairedGames.objection(self, before, report)

    def with_report(
        self, results: Results, ticket: object | None, report: Report
    ) -> AfterReport["SpsaTuning"]:
        del results
        batches = _batches(report)
        if not batches:
            return AfterReport(self, ticket)
        pairs = zip(_issued(ticket), batches, strict=False)
        return AfterReport(SpsaTuning(fold_all(self.tune, pairs)))

    def rejudged(self, results: Results) -> "SpsaTuning":
        del results
        return self

    def flag(self, results: Results) -> Flag:
        del results
        return Flag.NONE

    def resize_objection(self, before: int, after: int) -> str | None:
        return "the length of a tune may not change" if after != before else None

    def judge(self, workers: Mapping[str, Results]) -> WorkerTest | None:
        del workers
        return None

    def perturbed(self, draw: bytes) -> Perturbation:
        """Values for an official worker, which rounds them itself."""
        return perturb(self.tune, draw)

    def draw_final_perturbations(
        self, draws: Iterable[PerturbationDraw]
    ) -> tuple[Perturbation, ...]:
        """Final values for a worker of ours, one perturbation per slot."""
        return perturb_final(self.tune, draws)


def ticket_of(perturbations: Iterable[Perturbation]) -> Ticket:
    """The ticket with which a task remembers the values that it was given."""
    return tuple(each.issued for each in perturbations)


def _batches(report: Report) -> Batches:
    given = report.batch
    if not isinstance(given, tuple):
        return ()
    return tuple(batch for batch in given if isinstance(batch, TuneBatch))


def _issued(ticket: object | None) -> Ticket:
    if not isinstance(ticket, tuple):
        return ()
    return tuple(each for each in ticket if isinstance(each, Issued))
