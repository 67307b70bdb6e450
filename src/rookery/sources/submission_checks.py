"""What has to be looked up before a submission can become a run: by the rows, never by guessing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rookery.books import official_books
from rookery.farm.submission import KnownBook
from rookery.farm.submission_fields import repository_of
from rookery.files.books import BookStore
from rookery.files.engine_files import ProgramStore
from rookery.model.engine import Catalogue
from rookery.model.kinds import SprtTest, SpsaTuning
from rookery.model.machine import OFFICIAL, Machine
from rookery.model.plan import Need, NeedWord, first_missing
from rookery.model.run import Run
from rookery.protocol.codec import refuse, require
from rookery.protocol.runs import PREFIXES, Submission, side_key
from rookery.sources.commits import Archives, CannotAsk, Commit, Commits
from rookery.stats.spsa_parameters import remarks
from rookery.stats.walk import TestLength, length_at, pace_of

# How many games a new run will take: all of them, or as many as a sequential test usually does.

EDGES = (0.0, 0.5, 1.0)
"""At the lower bound, in the middle, at the upper bound."""


def expected_lengths(run: Run) -> tuple[TestLength, ...]:
    """Of a sequential test; costs milliseconds."""
    if not isinstance(run.kind, SprtTest):
        return ()
    spec, most = run.kind.spec, float(run.plan.games)
    pace, width = pace_of(spec), spec.elo1 - spec.elo0
    return tuple(length_at(pace, spec.elo0 + width * edge, max_games=most) for edge in EDGES)


def able_machines(run: Run, machines: Iterable[Machine]) -> list[Machine]:
    """Those of the machines that could play the run, each once."""
    able = {
        machine.short_name: machine
        for machine in machines
        if first_missing(run.demands.needs, machine.abilities) is None
        and run.demands.slots(machine.cores)
    }
    return list(able.values())


def expected_games(run: Run) -> float:
    """The mean length of a sequential test at the middle of its bounds, where it takes longest."""
    most = float(run.plan.games)
    if not isinstance(run.kind, SprtTest):
        return most
    spec = run.kind.spec
    return min(most, pace_of(spec).walk((spec.elo0 + spec.elo1) / 2).mean_time())


# What a submitter should hear about a run that was made all the same: legal, but seldom meant.

MOST_REMARKS = 20
LARGE_PART = 0.8
"""Of a book: beyond it pairs begin to be alike, and count for less than they seem to."""


def remarks_on(run: Run, book: KnownBook | None = None) -> tuple[str, ...]:
    """Sentences, the most general first; never more than a person reads."""
    return tuple(_remarks(run, book))[:MOST_REMARKS]


def _remarks(run: Run, book: KnownBook | None) -> Iterator[str]:
    missing = first_missing(run.demands.needs, OFFICIAL)
    if missing is not None:
        yield f"official workers can't play this run: {missing.sentence}"
    elif not run.plan.book_sri:
        yield "book_sri: without the book's hash official workers can't check the book"
    if run.plan.games < run.kind.step:
        yield f"num_games: reports come in steps of {run.kind.step} games, so that many are played"
    if not run.plan.is_scaled and Need(NeedWord.OWN_SPEED) in run.demands.needs:
        yield (
            "times are not scaled to a machine's speed: the engine's record and the machines"
            " so far tell no reference for it, or scaling is off"
        )
    if book is None and missing is not None and not run.plan.book_sri:
        yield f"book: {run.plan.book} is neither kept here nor known as an official one"
    yield from _book_remarks(run, book)
    if isinstance(run.kind, SpsaTuning):
        yield from (remark.text for remark in remarks(run.kind.tune.parameters))


def _book_remarks(run: Run, book: KnownBook | None) -> Iterator[str]:
    """Of a book that nobody here has heard of there is nothing to say."""
    if book is None:
        return
    needed = expected_games(run) / 2
    if needed > LARGE_PART * book.openings:
        yield (
            f"book: about {needed:,.0f} openings are needed, and {run.plan.book} has"
            f" {book.openings:,}: many will be played more than once"
        )


NO_COMMIT, NO_BENCH = "0" * 40, "1"
CLOSED = ("username", "password", "authentication", "permission", "access rights", "not found")
"""Words of git where an account is asked for."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """Asks for what a submission names; what is there already costs no call."""

    books: BookStore
    programs: ProgramStore
    commits: Commits
    archives: Archives
    catalogue: Catalogue
    """The engines that the submitter may know of."""
    granted: frozenset[str]
    """The repositories to which the server may show who it is for the submitter."""

    async def prepared(self, asked: Submission) -> Submission:
        """The submission with nothing left to look up; raises WireFault."""
        for prefix in PREFIXES:
            asked = await self._with_commit(asked, prefix)
        return asked

    async def check_binaries(self, run: Run) -> None:
        """Raises WireFault unless every program was uploaded."""
        for prefix, side in zip(PREFIXES, run.plan.sides, strict=False):
            if side.binary:
                known = await self.programs.rows.get(side.binary) is not None
                key = side_key("binary", prefix)
                require(known, key, "no program of this hash was uploaded here")

    async def fetch(self, run: Run) -> tuple[str, ...]:
        """The sources that workers are to get from here: who can't have them shall know at once,
        not when a machine waits for them. Gives what there is to say of them; raises WireFault."""
        told = dict[str, None]()
        for side in run.plan.sides:
            if run.plan.mirrored and not side.binary and side.repository:
                try:
                    found = await self.archives.get(
                        side.repository, side.commit, known=self.granted
                    )
                except CannotAsk as why:
                    refuse("tests_repo", self._why(why, side.repository))
                told |= dict.fromkeys(f"submodules: without {each}" for each in found.missing)
        return tuple(told)[:MOST_REMARKS]

    async def book(self, name: str) -> KnownBook | None:
        """What is known of a book: by a copy that is kept here, or as one of the official ones."""
        kept, official = await self.books.by_name(name), official_books().get(name)
        if kept is not None:
            return KnownBook(kept.openings, kept.sri, official=official is not None)
        if official is None:
            return None
        return KnownBook(official.openings, official.sri, official=True, kept=False)

    async def _with_commit(self, asked: Submission, prefix: str) -> Submission:
        side = asked.side(prefix)
        if side.commit or side.binary:
            return asked
        if asked.spsa and prefix == "base" and self._is_one_program(asked):
            new = asked.side("new")
            return asked.with_side("base", commit=new.commit, message=new.message)
        repository = repository_of(asked, prefix, self.catalogue)
        found = await self._found(side_key("tag", prefix), side.tag, repository)
        return asked.with_side(prefix, commit=found.sha, message=side.message or found.message)

    def _is_one_program(self, asked: Submission) -> bool:
        """As both sides of a tune are."""
        new, base = asked.plan.sides
        return bool(new.binary) or base.tag == new.tag

    async def _found(self, field: str, revision: str, repository: str) -> Commit:
        known = repository in self.granted
        try:
            return await self.commits.find(repository, revision.strip(), known=known)
        except CannotAsk as why:
            refuse(field, self._why(why, repository))

    def _why(self, why: CannotAsk, repository: str) -> str:
        """A repository that is closed to strangers answers in many ways."""
        if repository in self.granted or not any(word in str(why).lower() for word in CLOSED):
            return str(why)
        return f"{why} (asked as a stranger: nobody has granted this server's own access to it)"


def looks_up(asked: Submission) -> bool:
    """Whether somebody has to be asked about this submission."""
    return not all(side.commit or side.binary for side in asked.plan.sides)


def rehearsed(asked: Submission) -> Submission:
    """The same with commits and benches made up, to see what else is wrong with it."""
    for prefix in PREFIXES:
        side = asked.side(prefix)
        commit, bench = side.commit or NO_COMMIT, side.signature or NO_BENCH
        asked = asked.with_side(prefix, commit=commit, signature=bench)
    return asked
