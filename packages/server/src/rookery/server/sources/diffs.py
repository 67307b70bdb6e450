"""The change that a run tests, as a diff between the sources of its two sides.

Both commits are fetched with limits on time and size, and then removed; the diff is cached in
memory, so that many readers of a run cause one call of git.
"""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from rookery.core.boundary.offload import Gate, Threads
from rookery.core.clock import Clock
from rookery.core.model.plan import Side
from rookery.server.caches import ExpiringCache, SharedWork
from rookery.server.sources.commits import SourceError
from rookery.server.sources.survey import GitSurvey, SourcePlace

LARGEST_DIFF = 1_000_000
DIFF_SECONDS = 10.0
"""The time limit for fetching both commits and comparing them."""
PATIENCE_SECONDS = 5.0
"""How much longer a page waits, because it may have to wait for a thread."""
TOO_LONG = f"git takes longer than {DIFF_SECONDS:.0f} s"
MADE_AT_ONCE = 2
MOST_REMEMBERED = 30
REMEMBERED_SECONDS = 86_400.0
REFUSED_SECONDS = 120.0
"""How long a failed diff is not tried again."""
NO_COMMIT = "0" * 40


class Differ(Protocol):
    """Compares sources on other servers; blocks for seconds."""

    def diff(self, new: SourcePlace, base: SourcePlace) -> str:
        """How the files of two commits differ; raises SourceError."""
        ...


@dataclass(frozen=True, slots=True)
class GitDiff:
    """Makes diffs with git, in a temporary folder."""

    survey: GitSurvey
    clock: Clock

    def diff(self, new: SourcePlace, base: SourcePlace) -> str:
        left = SecondsLeft(self.clock, self.clock.seconds() + DIFF_SECONDS)
        with self.survey.scratch() as folder:
            try:
                clone = self.survey.fetch_files(folder / "files", new, base, find_seconds=left)
                self._compare(clone, folder / "diff", (base.commit, new.commit), left)
            except SourceError:
                left()  # If time is up, report that instead of git's error.
                raise
            return _read_diff(folder / "diff")

    def _compare(
        self, clone: Path, into: Path, commits: tuple[str, str], left: "SecondsLeft"
    ) -> None:
        git = replace(self.survey.mirrors.git, seconds=left(), largest_bytes=2 * LARGEST_DIFF)
        words = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", f"--output={into}")
        try:
            git.run(*words, *commits, "--", folder=clone)
        except SourceError:
            # Beyond the limit git is stopped; what it has written shows why.
            if not into.is_file() or into.stat().st_size < LARGEST_DIFF:
                raise


def _read_diff(file: Path) -> str:
    with file.open("rb") as opened:
        found = opened.read(LARGEST_DIFF + 1)
    if len(found) > LARGEST_DIFF:
        raise SourceError("the diff is larger than 1 MB")
    return found.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class SecondsLeft:
    """The time left for several steps together; raises SourceError when it is used up."""

    clock: Clock
    end: float

    def __call__(self) -> float:
        left = self.end - self.clock.seconds()
        if left <= 0:
            raise SourceError(TOO_LONG)
        return left


@dataclass(frozen=True, slots=True)
class FoundDiff:
    """A diff, or why there is none."""

    text: str = ""
    trouble: str = ""


class Diffs:
    """Makes diffs in threads, a few at a time; simultaneous requests for one diff share the
    work."""

    def __init__(self, differ: Differ, threads: Threads, clock: Clock) -> None:
        self.gate = Gate("diffs", MADE_AT_ONCE)
        self._differ = differ
        self._threads = threads
        self._known: ExpiringCache[tuple[SourcePlace, SourcePlace], FoundDiff] = ExpiringCache(
            clock, MOST_REMEMBERED
        )
        self._making: SharedWork[tuple[SourcePlace, SourcePlace], FoundDiff] = SharedWork()

    async def get(self, new: SourcePlace, base: SourcePlace) -> FoundDiff:
        """Return the diff of two commits; raise GateFull while too many others are being made."""
        known = self._known.get((new, base))
        if known is not None:
            return known
        try:
            async with asyncio.timeout(DIFF_SECONDS + PATIENCE_SECONDS):
                return await self._making((new, base), lambda: self._make(new, base))
        except TimeoutError:
            return self._remember((new, base), FoundDiff(trouble=TOO_LONG))

    async def _make(self, new: SourcePlace, base: SourcePlace) -> FoundDiff:
        with self.gate.enter():
            try:
                found = FoundDiff(await self._threads.io(self._differ.diff, new, base))
            except SourceError as why:
                found = FoundDiff(trouble=str(why))
        return self._remember((new, base), found)

    def _remember(self, sides: tuple[SourcePlace, SourcePlace], found: FoundDiff) -> FoundDiff:
        seconds = REFUSED_SECONDS if found.trouble else REMEMBERED_SECONDS
        self._known.put(sides, found, seconds)
        return found


def place_side(side: Side, granted: frozenset[str]) -> SourcePlace | None:
    """Return the place of a side's sources; None for a program that is not built from sources."""
    if side.binary or not side.repository or side.commit == NO_COMMIT:
        return None
    return SourcePlace(side.repository, side.commit, known=side.repository in granted)
