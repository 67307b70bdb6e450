"""Looks up what a submission names (commits, sources, books, programs), estimates how long the run
will take, and warns its submitter."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rookery.core.model.engine import Catalogue
from rookery.core.model.machine import OFFICIAL, Machine
from rookery.core.model.plan import Need, NeedWord, Plan, first_missing
from rookery.core.model.run import Run
from rookery.core.protocol.checks import Checks
from rookery.core.protocol.codec import refuse
from rookery.core.protocol.runs import PREFIXES, Submission, side_key
from rookery.server.farm.rules.eligibility import mismatch
from rookery.server.farm.submission import KnownBook
from rookery.server.files.books import BookStore
from rookery.server.files.engine_files import ProgramStore
from rookery.server.sources.commits import Archives, Commit, Commits, SourceError


def find_able_machines(run: Run, machines: Iterable[Machine]) -> list[Machine]:
    """Return the machines that could play the run, each once."""
    able = {
        machine.short_name: machine
        for machine in machines
        if mismatch(run.demands, machine.profile) is None
    }
    return list(able.values())


# Warnings about a run that is legal but probably not what its submitter meant.

MOST_REMARKS = 20
LARGE_PART = 0.8
"""The part of a book from which on repeated openings make results less valuable."""


def list_remarks(run: Run, book: KnownBook | None = None) -> tuple[str, ...]:
    """Warnings about a run, the most general first."""
    return tuple(_make_remarks(run, book))[:MOST_REMARKS]


def _make_remarks(run: Run, book: KnownBook | None) -> Iterator[str]:
    missing = first_missing(run.demands.needs, OFFICIAL)
    if missing is not None:
        yield f"official workers can't play this run: {missing.sentence}"
    elif not run.plan.book_sri:
        yield "book_sri: without the book's hash official workers can't check the book"
    if run.plan.games < run.kind.step:
        step = run.kind.step
        yield f"num_games: {step} games are played, because results come in steps of so many"
    if not run.plan.is_scaled and Need(NeedWord.OWN_SPEED) in run.demands.needs:
        yield (
            "times are not scaled to a machine's speed: no reference speed of the engine is"
            " known, or scaling is off"
        )
    if book is None and missing is not None and not run.plan.book_sri:
        yield f"book: {run.plan.book} is neither kept here nor known as an official one"
    yield from _make_book_remarks(run, book)
    yield from run.kind.remarks()


def _make_book_remarks(run: Run, book: KnownBook | None) -> Iterator[str]:
    """Warnings about the size of the book, if it is known."""
    if book is None:
        return
    needed = run.kind.expected_games(run.plan.games) / 2
    if needed > LARGE_PART * book.openings:
        yield (
            f"book: about {needed:,.0f} openings are needed, and {run.plan.book} has"
            f" {book.openings:,}: many will be played more than once"
        )


CLOSED = ("username", "password", "authentication", "permission", "access rights", "not found")
"""Words in git's messages that suggest that a repository needs credentials."""


@dataclass(frozen=True, slots=True)
class SubmissionLookup:
    """Looks up what a submission names; values that it states itself need no call."""

    books: BookStore
    programs: ProgramStore
    commits: Commits
    archives: Archives
    catalogue: Catalogue
    """The engines that the submitter may see."""
    granted: frozenset[str]
    """The repositories that the server fetches with its credentials for the submitter."""

    async def find_commits(self, asked: Submission, plan: Plan, checks: Checks) -> Submission:
        """Return the submission with the commits of its branches filled in, which are looked up in
        the repositories of its plan."""
        for prefix, side in zip(PREFIXES, plan.sides, strict=True):
            with checks:
                asked = await self._add_commit(asked, prefix, side.repository)
        return asked

    async def check_binaries(self, plan: Plan, checks: Checks) -> None:
        """Check that every program was uploaded."""
        for prefix, side in zip(PREFIXES, plan.sides, strict=True):
            if side.binary:
                known = await self.programs.rows.get(side.binary) is not None
                key = side_key("binary", prefix)
                checks.require(known, key, "no program of this hash was uploaded here")

    async def fetch_sources(self, run: Run) -> tuple[str, ...]:
        """Make the archives of the sources that workers download from here, so that a failure shows
        at the submission; return warnings. Raise WireFault."""
        warnings = dict[str, None]()
        for side in run.plan.sides:
            if run.plan.mirrored and not side.binary and side.repository:
                try:
                    found = await self.archives.get(
                        side.repository, side.commit, known=self.granted
                    )
                except SourceError as why:
                    refuse("tests_repo", self._explain(why, side.repository))
                warnings |= dict.fromkeys(f"submodules: without {each}" for each in found.missing)
        return tuple(warnings)[:MOST_REMARKS]

    async def find_book(self, name: str) -> KnownBook | None:
        """Return a book that is stored here, or an official one; None for any other."""
        kept, official = await self.books.by_name(name), self.books.official.get(name)
        if kept is not None:
            return KnownBook(kept.openings, kept.sri, official=official is not None)
        if official is None:
            return None
        return KnownBook(official.openings, official.sri, official=True, kept=False)

    async def _add_commit(self, asked: Submission, prefix: str, repository: str) -> Submission:
        side = asked.side(prefix)
        if side.commit or side.binary:
            return asked
        if not asked.kind.kind.compares and prefix == "base" and self._is_one_program(asked):
            new = asked.side("new")
            return asked.with_side("base", commit=new.commit, message=new.message)
        found = await self._find_commit(side_key("tag", prefix), side.tag, repository)
        return asked.with_side(prefix, commit=found.sha, message=side.message or found.message)

    def _is_one_program(self, asked: Submission) -> bool:
        """Whether both sides are the same program, as in a tune."""
        new, base = asked.plan.sides
        return bool(new.binary) or base.tag == new.tag

    async def _find_commit(self, field: str, revision: str, repository: str) -> Commit:
        known = repository in self.granted
        try:
            return await self.commits.find(repository, revision.strip(), known=known)
        except SourceError as why:
            refuse(field, self._explain(why, repository))

    def _explain(self, why: SourceError, repository: str) -> str:
        """Return the reason of a failure, with a hint where credentials seem to be missing."""
        if repository in self.granted or not any(word in str(why).lower() for word in CLOSED):
            return str(why)
        return f"{why} (asked without credentials: this repository is not granted the server's own)"


def needs_lookup(asked: Submission) -> bool:
    """Whether the commits of this submission have to be looked up."""
    return not all(side.commit or side.binary for side in asked.plan.sides)
