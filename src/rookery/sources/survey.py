"""What the server reads in sources by itself: an engine's main branch, and how the two sides of a
run lie to it and to one another.

Of histories the commits alone are fetched, without their files; the files of the two sides come
without their history, into a folder that is removed again. Whatever repository somebody names is
fetched within limits of time and size, and to hosts that the operator allows.
"""

import hashlib
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Protocol

from msgspec.structs import replace as with_fields

from rookery.farm.submission_fields import find_bench
from rookery.model.patterns import BadPattern, is_whole
from rookery.rules.review import SourceFacts
from rookery.sources.commits import SourceError
from rookery.sources.git import LATEST, Git
from rookery.sources.mirrors import Mirrors

SECONDS = 60.0
LARGEST_BYTES = 300 * 10**6
LARGEST_FILE = 256 * 1024
MOST_COMMITS = 20_000
LONGEST_SUBJECT = 200
SCRATCH = "look-"
MAIN = "refs/rookery/main"
COMMITS_ALONE = "--filter=tree:0"
NET_FILES = ("src/evaluate.h", "src/evaluate.cpp", "src/nnue/network.h", "src/nnue/nnue_common.h")
"""Where engines of Stockfish's kind say which nets they are built with."""
_STAT = re.compile(r"(\d{1,9}|-)\t(\d{1,9}|-)\t", re.ASCII)


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A commit in a repository, and whether the server may show who it is there."""

    repository: str
    commit: str = ""
    known: bool = False


@dataclass(frozen=True, slots=True)
class MainCommit:
    """A commit of a main branch; `time` is when it was committed, in UNIX seconds."""

    sha: str
    time: int
    subject: str


class Surveyor(Protocol):
    """Reads sources on other servers; blocks, at times for a minute or two. Raises SourceError."""

    def compare(
        self, main: SourcePlace, new: SourcePlace, base: SourcePlace, net_pattern: str
    ) -> SourceFacts:
        """How two commits lie to one another and to the main branch of their engine."""
        ...

    def list_main(self, main: SourcePlace) -> tuple[MainCommit, ...]:
        """The commits of a repository's main branch, the oldest first."""
        ...

    def read_file(self, main: SourcePlace, path: str) -> str:
        """A file of the main branch as it is now."""
        ...

    def forget_scratch(self, before: float) -> None:
        """Removes what a process that died left behind before then, in UNIX seconds."""
        ...


@dataclass(frozen=True, slots=True)
class GitSurvey:
    """Surveys by git, on bare clones beside the mirrors of archives."""

    mirrors: Mirrors

    @property
    def folder(self) -> Path:
        return self.mirrors.folder.with_name("histories")

    def compare(
        self, main: SourcePlace, new: SourcePlace, base: SourcePlace, net_pattern: str
    ) -> SourceFacts:
        with self.scratch() as scratch:
            facts = self._read_files(scratch / "files", new, base, net_pattern)
            return self._add_lineage(facts, scratch / "history", main, new, base)

    def list_main(self, main: SourcePlace) -> tuple[MainCommit, ...]:
        clone = self._refresh_main(main)
        words = ("log", "--reverse", f"--max-count={MOST_COMMITS}", "--format=%H %ct %s", MAIN)
        said = self._git(main).run(*words, "--", folder=clone)
        return tuple(map(_parse_commit, said.splitlines()))

    def read_file(self, main: SourcePlace, path: str) -> str:
        with self.scratch() as scratch:
            clone = self._begin(scratch / "files")
            self._fetch(main, LATEST, clone, "--depth=1")
            return self._show(self._git(main), clone, "FETCH_HEAD", path)

    def forget_scratch(self, before: float) -> None:
        for left in self.folder.glob(f"{SCRATCH}*"):
            if left.stat().st_mtime < before:
                shutil.rmtree(left, ignore_errors=True)

    # Files: which nets the sides name, the size of the diff, the bench of the new side.

    def fetch_files(
        self, clone: Path, new: SourcePlace, base: SourcePlace, *, seconds: float = SECONDS
    ) -> Path:
        """A clone with the files of two commits, without their history."""
        self._begin(clone)
        for side in (new, base):
            self._fetch(side, side.commit, clone, "--depth=1", seconds=seconds)
        return clone

    def _read_files(
        self, clone: Path, new: SourcePlace, base: SourcePlace, net_pattern: str
    ) -> SourceFacts:
        self.fetch_files(clone, new, base)
        git = self._git(new)
        message = git.run("log", "-1", "--format=%B", new.commit, "--", folder=clone)
        words = ("diff", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv")
        counts = count_lines(git.run(*words, base.commit, new.commit, "--", folder=clone))
        nets = {
            name: None
            for side in (new, base)
            for path in (NET_FILES if net_pattern else ())
            for name in find_nets(self._show(git, clone, side.commit, path), net_pattern)
        }
        return SourceFacts(
            files=counts[0],
            added=counts[1],
            removed=counts[2],
            nets=tuple(nets),
            message_bench=find_bench(message),
        )

    def _show(self, git: Git, clone: Path, commit: str, path: str) -> str:
        """The beginning of a file; empty where there is none."""
        try:
            size = git.run("cat-file", "-s", f"{commit}:{path}", folder=clone)
            if int(size) > LARGEST_FILE:
                return ""
            return git.run("cat-file", "blob", f"{commit}:{path}", folder=clone)
        except (SourceError, ValueError):
            return ""

    # Lineage: whether the base is an ancestor of the new side, and on the main branch.

    def _add_lineage(
        self,
        facts: SourceFacts,
        clone: Path,
        main: SourcePlace,
        new: SourcePlace,
        base: SourcePlace,
    ) -> SourceFacts:
        try:
            known = self._refresh_main(main) if main.repository else None
            self._begin(clone)
            if known is not None:
                (clone / "objects" / "info" / "alternates").write_text(f"{known / 'objects'}\n")
            for side in (new, base):
                self._fetch(side, side.commit, clone, COMMITS_ALONE)
        except SourceError as why:
            return with_fields(facts, trouble=f"history: {why}")
        git = self._git(new)
        on_main = None
        if known is not None:
            head = git.run("rev-parse", MAIN, folder=known).strip()
            on_main = self._contains(git, clone, head, base.commit)
        ancestor = self._contains(git, clone, new.commit, base.commit)
        return with_fields(facts, ancestor=ancestor, base_on_main=on_main)

    def _contains(self, git: Git, clone: Path, branch: str, commit: str) -> bool:
        words = ("rev-list", "--count", "--max-count=1", commit, "--not", branch)
        return git.run(*words, "--", folder=clone).strip() == "0"

    def _refresh_main(self, main: SourcePlace) -> Path:
        """The clone with the commits of a main branch as it is now."""
        name = f"{'known' if main.known else 'open'} {main.repository}"
        clone = self.folder / hashlib.sha256(name.encode()).hexdigest()[:32]
        with self.mirrors.lock_folder(clone):
            self._begin(clone)
            self._fetch(main, f"+{LATEST}:{MAIN}", clone, COMMITS_ALONE)
        return clone

    def _begin(self, clone: Path) -> Path:
        if not (clone / "HEAD").is_file():
            shutil.rmtree(clone, ignore_errors=True)
            clone.mkdir(parents=True)
            self.mirrors.git.run("init", "--quiet", "--bare", folder=clone)
        return clone

    def _fetch(
        self,
        place: SourcePlace,
        what: str,
        clone: Path,
        *options: str,
        seconds: float = SECONDS,
    ) -> None:
        asked = replace(self._git(place), seconds=seconds).pin_host(place.repository)
        words = ("fetch", "--quiet", "--no-tags", *options, "--", place.repository, what)
        asked.run(*words, folder=clone)

    def _git(self, place: SourcePlace) -> Git:
        git = replace(self.mirrors.git, seconds=SECONDS, largest_bytes=LARGEST_BYTES)
        return git if place.known else git.without_credentials()

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder that is removed again."""
        self.folder.mkdir(parents=True, exist_ok=True)
        made = Path(mkdtemp(prefix=SCRATCH, dir=self.folder))
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)


def count_lines(numstat: str) -> tuple[int, int, int]:
    """Files, lines added and lines removed; a binary file counts as a file alone."""
    rows = [found for line in numstat.splitlines() if (found := _STAT.match(line))]
    added = sum(int(row[1]) for row in rows if row[1] != "-")
    removed = sum(int(row[2]) for row in rows if row[2] != "-")
    return len(rows), added, removed


def find_nets(text: str, pattern: str) -> Iterator[str]:
    """The names of nets in a source: words, mostly between quotes, that are as the record says."""
    for word in text.replace('"', " ").replace("'", " ").split():
        try:
            if is_whole(pattern, word):
                yield word
        except BadPattern:
            return


def _parse_commit(line: str) -> MainCommit:
    sha, time, subject = (*line.split(" ", 2), "", "")[:3]
    return MainCommit(sha, int(time), subject[:LONGEST_SUBJECT])
