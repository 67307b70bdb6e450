"""An engine's progress: its accepted commits in the order of its main branch, and the sum of their
tests.

A commit is accepted if a sequential test of it passed and the main branch contains it: unchanged,
with the same hash; or squashed or rebased, recognised by a commit with the same tree after the
test's base, or else by the first commit whose message names the run. The Elo of successive tests is
added up to a chain, separately for each class of time control, and so are the squares of their
errors.

Matches of a fixed number of games between two commits of the branch measure the same directly; each
is compared with the chain between its two commits.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import hypot

from msgspec import Struct
from msgspec.structs import replace

from rookery.core.model.plan import Plan, Side
from rookery.core.model.run import Run, core_hours
from rookery.server.farm.rules.assignment import LONG_RATIO, length_ratio

VERY_LONG_RATIO, VERY_LONG_SMP_RATIO = 12.0, 30.0
LEAST_PAIRS = 50
"""The least number of pairs of a test that counts as a measurement."""


class MeasuredElo(Struct, frozen=True):
    """An Elo difference, and half of its 95 % interval."""

    elo: float
    error: float

    def plus(self, other: "MeasuredElo") -> "MeasuredElo":
        """Return the sum of two successive differences with independent errors."""
        return MeasuredElo(self.elo + other.elo, hypot(self.error, other.error))


NOTHING = MeasuredElo(0.0, 0.0)


class CommitTest(Struct, frozen=True):
    """The result of a finished run as a comparison of its two commits."""

    run: str
    name: str
    new: str
    base: str
    time_class: str
    measured: MeasuredElo
    games: int
    core_hours: float
    passed: bool
    sequential: bool
    repository: str = ""
    """The repository of the new side."""
    tree: str = ""
    """The tree of the new side; empty if unknown."""


class BranchCommit(Struct, frozen=True, omit_defaults=True):
    """A commit of the main branch. `place` counts from the branch's beginning; `runs` are the runs
    that its message names."""

    sha: str
    place: int
    time: int
    subject: str
    tree: str = ""
    runs: tuple[str, ...] = ()

    @property
    def at(self) -> datetime:
        return datetime.fromtimestamp(self.time, UTC)


class AcceptedCommit(Struct, frozen=True):
    """An accepted commit with the results of its tests and the chain up to it, by time class."""

    commit: BranchCommit
    runs: Mapping[str, str]
    measured: Mapping[str, MeasuredElo]
    chained: Mapping[str, MeasuredElo]


class DirectMatch(Struct, frozen=True):
    """A measured difference between two commits of the branch, and the chain between them."""

    commit: BranchCommit
    base: BranchCommit
    run: str
    time_class: str
    measured: MeasuredElo
    chained: MeasuredElo


class EngineProgress(Struct, frozen=True):
    """The progress of an engine; `hours` are the core hours of all tests, passed or not, by time
    class."""

    accepted: tuple[AcceptedCommit, ...] = ()
    direct: tuple[DirectMatch, ...] = ()
    hours: Mapping[str, float] = {}
    tests: int = 0
    branch: int = 0
    """The number of commits of the main branch."""

    def count_commits(self, time_class: str) -> int:
        """How many commits were accepted at this time class."""
        return sum(time_class in each.measured for each in self.accepted)

    def hours_per_elo(self, time_class: str) -> float | None:
        """Return the core hours per Elo gained so far; None if nothing was gained."""
        last = self.accepted[-1].chained.get(time_class) if self.accepted else None
        if last is None or last.elo <= 0:
            return None
        return self.hours.get(time_class, 0.0) / last.elo


def time_class_of(run: Run) -> str:
    """Return the time class of a run: STC, LTC or VLTC by the length of games, with SMP for several
    threads."""
    plan = run.plan
    ratio = length_ratio(plan.time_control, plan.threads, run.reference_nps)
    smp = plan.threads > 1
    very_long = ratio > (VERY_LONG_SMP_RATIO if smp else VERY_LONG_RATIO)
    word = "VLTC" if very_long else "LTC" if ratio > LONG_RATIO else "STC"
    return f"{word} SMP" if smp else word


def summarise_test(run: Run, engine: str) -> CommitTest | None:
    """Return the result of a finished run as a comparison of an engine's commits; None if it is
    none."""
    new, base = run.plan.sides
    results, kind = run.tally.results, run.kind
    of_engine = {side.engine for side in run.plan.sides} == {engine}
    built = not (new.binary or base.binary)
    if not (of_engine and built and kind.compares):
        return None
    if not _compares_commits(run.plan, new, base):
        return None
    if results.pairs < LEAST_PAIRS or (found := kind.estimate(results)) is None:
        return None
    sequential = kind.hypotheses is not None
    return CommitTest(
        run=run.id,
        name=new.tag,
        new=new.commit,
        base=base.commit,
        time_class=time_class_of(run),
        measured=MeasuredElo(found.elo, found.half_width),
        games=results.games,
        core_hours=core_hours(run, results.games),
        passed=sequential and kind.outcome(results).is_pass,
        sequential=sequential,
        repository=new.repository,
    )


def _compares_commits(plan: Plan, new: Side, base: Side) -> bool:
    """Whether two sides differ only in their commits. A result with odds of time, threads or
    options, or of one commit against itself, does not measure a commit."""
    return (
        new.commit != base.commit
        and plan.side_tc(new) == plan.side_tc(base)
        and plan.side_threads(new) == plan.side_threads(base)
        and {*new.options.split()} == {*base.options.split()}
        and {*new.uci} == {*base.uci}
    )


class _BranchPlaces:
    """Finds the commits of tests in a branch."""

    def __init__(self, branch: Sequence[BranchCommit]) -> None:
        """Of several commits with the same tree or naming the same run, the first counts: a later
        one reverts something or only mentions it."""
        self.by_sha = {commit.sha: commit for commit in branch}
        last_first = branch[::-1]
        self.by_tree = {commit.tree: commit for commit in last_first if commit.tree}
        self.by_run = {run: commit for commit in last_first for run in commit.runs}

    def find(self, test: CommitTest) -> BranchCommit | None:
        """Return the commit that brought the tested change into the branch."""
        if test.new in self.by_sha:
            return self.by_sha[test.new]
        squashed, base = self.by_tree.get(test.tree), self.by_sha.get(test.base)
        if squashed is not None and (base is None or base.place < squashed.place):
            return squashed
        return self.by_run.get(test.run)


def list_unplaced(branch: Sequence[BranchCommit], tests: Iterable[CommitTest]) -> list[CommitTest]:
    """List tests that passed but whose commit is not found in the branch, perhaps because the trees
    are not known yet."""
    places = _BranchPlaces(branch)
    return [test for test in tests if test.passed and places.find(test) is None]


def chain_progress(branch: Sequence[BranchCommit], tests: Iterable[CommitTest]) -> EngineProgress:
    """Return the progress along a branch, given from its first commit on."""
    places, tests = _BranchPlaces(branch), list(tests)
    accepted = tuple(_chain(places, tests))
    hours: defaultdict[str, float] = defaultdict(float)
    for test in tests:
        hours[test.time_class] += test.core_hours
    return EngineProgress(
        accepted,
        tuple(_list_direct(places, tests, accepted)),
        dict(hours),
        len(tests),
        len(branch),
    )


def _chain(places: _BranchPlaces, tests: Iterable[CommitTest]) -> Iterator[AcceptedCommit]:
    of_commit: defaultdict[str, dict[str, CommitTest]] = defaultdict(dict)
    for test in sorted(tests, key=lambda each: each.games):
        if test.passed and (commit := places.find(test)) is not None:
            # Of several tests in one time class, the longest counts.
            of_commit[commit.sha][test.time_class] = test
    chained: dict[str, MeasuredElo] = {}
    for sha in sorted(of_commit, key=lambda each: places.by_sha[each].place):
        found = of_commit[sha]
        for name, test in found.items():
            chained[name] = chained.get(name, NOTHING).plus(test.measured)
        yield AcceptedCommit(
            replace(places.by_sha[sha], tree="", runs=()),
            {name: test.run for name, test in found.items()},
            {name: test.measured for name, test in found.items()},
            dict(chained),
        )


def _list_direct(
    places: _BranchPlaces,
    tests: Iterable[CommitTest],
    accepted: Sequence[AcceptedCommit],
) -> Iterator[DirectMatch]:
    for test in tests:
        new, base = places.by_sha.get(test.new), places.by_sha.get(test.base)
        if test.sequential or new is None or base is None or base.place >= new.place:
            continue
        between = NOTHING
        for each in accepted:
            if base.place < each.commit.place <= new.place and test.time_class in each.measured:
                between = between.plus(each.measured[test.time_class])
        yield DirectMatch(new, base, test.run, test.time_class, test.measured, between)
