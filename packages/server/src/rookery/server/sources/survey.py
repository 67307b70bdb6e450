"""Reads sources for the server itself: an engine's main branch, and the relation of a run's two
sides to it and to each other.

Histories are fetched without files, and the files of the two sides without history, into a
temporary folder. All repositories are fetched with limits on time and size, and only from hosts
that the operator allows.
"""

import hashlib
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Protocol

from msgspec.structs import replace as with_fields

from rookery.core.model.engine import NET_FILES
from rookery.server.farm.rules.patterns import BadPattern, is_whole
from rookery.server.farm.rules.review import SourceFacts
from rookery.server.farm.submission_fields import find_bench
from rookery.server.sources.commits import SourceError, check_revision
from rookery.server.sources.git import LATEST, Git
from rookery.server.sources.mirrors import Mirrors

SECONDS = 60.0
LARGEST_BYTES = 300 * 10**6
LARGEST_FILE = 256 * 1024
MOST_COMMITS = 20_000
LONGEST_SUBJECT = 200
SCRATCH = "look-"
MAIN = "refs/rookery/main"
COMMITS_ALONE = "--filter=tree:0"
_RUN_ID = re.compile(r"(?<![0-9a-zA-Z])[0-9a-f]{24}(?![0-9a-zA-Z])", re.ASCII)
MOST_RUNS_NAMED = 20
_STAT = re.compile(r"(\d{1,9}|-)\t(\d{1,9}|-)\t", re.ASCII)


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A commit in a repository, and whether the server may use its credentials there. For a main
    branch, `commit` is the branch's name; an empty one stands for the repository's HEAD."""

    repository: str
    commit: str = ""
    known: bool = False
    branch: str = ""


@dataclass(frozen=True, slots=True)
class NetPattern:
    """The pattern of nets in sources, and the files to search; an empty pattern searches for
    none."""

    pattern: str = ""
    files: tuple[str, ...] = NET_FILES


@dataclass(frozen=True, slots=True)
class MainCommit:
    """A commit of a main branch; `time` is its commit time in UNIX seconds. `runs` are the words of
    its message that look like run ids."""

    sha: str
    time: int
    subject: str
    tree: str = ""
    runs: tuple[str, ...] = ()


class Surveyor(Protocol):
    """Reads sources on other servers; blocks, at times for a minute or two. Raises SourceError."""

    def compare(
        self, main: SourcePlace, new: SourcePlace, base: SourcePlace, nets: NetPattern
    ) -> SourceFacts:
        """Compare two commits with each other and with their engine's main branch."""
        ...

    def list_main(self, main: SourcePlace) -> tuple[MainCommit, ...]:
        """Return the commits of a repository's main branch, parents first."""
        ...

    def find_tree(self, place: SourcePlace) -> str:
        """Return the hash of a commit's tree."""
        ...

    def read_file(self, main: SourcePlace, path: str) -> str:
        """Return the present content of a file on the main branch."""
        ...

    def forget_scratch(self, before: float) -> None:
        """Remove what dead processes left behind before the time `before`, in UNIX seconds."""
        ...


@dataclass(frozen=True, slots=True)
class GitSurvey:
    """Surveys with git, on bare clones beside the mirrors of archives."""

    mirrors: Mirrors

    @property
    def folder(self) -> Path:
        return self.mirrors.folder.with_name("histories")

    def compare(
        self, main: SourcePlace, new: SourcePlace, base: SourcePlace, nets: NetPattern
    ) -> SourceFacts:
        with self.scratch() as scratch:
            facts = self._read_files(scratch / "files", new, base, nets)
            return self._add_lineage(facts, scratch / "history", main, new, base)

    def list_main(self, main: SourcePlace) -> tuple[MainCommit, ...]:
        clone = self._refresh_main(main)
        # Ordered by the graph instead of dates, which are unreliable after rebasing and with wrong
        # clocks. All commits, not only first parents, because tested commits may have been merged.
        order = ("--topo-order", "--reverse", f"--max-count={MOST_COMMITS}")
        words = ("log", *order, "--format=%x00%H %T %ct %s%n%B", MAIN, "--")
        said = self._git(main).run(*words, folder=clone)
        return tuple(map(parse_commit, said.split("\0")[1:]))

    def find_tree(self, place: SourcePlace) -> str:
        with self.scratch() as scratch:
            clone = self._begin(scratch / "commit")
            self._fetch(place, place.commit, clone, "--depth=1", COMMITS_ALONE)
            return self._read_tree(self._git(place), clone, place.commit)

    def _read_tree(self, git: Git, clone: Path, commit: str) -> str:
        return git.run("log", "-1", "--format=%T", commit, "--", folder=clone).strip()

    def read_file(self, main: SourcePlace, path: str) -> str:
        with self.scratch() as scratch:
            clone = self._begin(scratch / "files")
            self._fetch(main, _main_ref(main), clone, "--depth=1")
            return self._show(self._git(main), clone, "FETCH_HEAD", path)

    def forget_scratch(self, before: float) -> None:
        for left in self.folder.glob(f"{SCRATCH}*"):
            if left.stat().st_mtime < before:
                shutil.rmtree(left, ignore_errors=True)

    # Files: which nets the sides name, the size of the diff, the benches of both sides.

    def fetch_files(
        self,
        clone: Path,
        new: SourcePlace,
        base: SourcePlace,
        *,
        find_seconds: Callable[[], float] = lambda: SECONDS,
    ) -> Path:
        """Return a clone with the files of two commits, without their history. `find_seconds`
        returns the time limit of each step."""
        self._begin(clone)
        for side in (new, base):
            self._fetch(side, side.commit, clone, "--depth=1", seconds=find_seconds())
        return clone

    def _read_files(
        self, clone: Path, new: SourcePlace, base: SourcePlace, nets: NetPattern
    ) -> SourceFacts:
        self.fetch_files(clone, new, base)
        git = self._git(new)
        words = ("diff", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv")
        counts = count_lines(git.run(*words, base.commit, new.commit, "--", folder=clone))
        return SourceFacts(
            files=counts[0],
            added=counts[1],
            removed=counts[2],
            nets=self._find_nets(git, clone, new.commit, nets),
            base_nets=self._find_nets(git, clone, base.commit, nets),
            message_bench=self._find_bench(git, clone, new.commit),
            base_message_bench=self._find_bench(git, clone, base.commit),
            tree=self._read_tree(git, clone, new.commit),
        )

    def _find_bench(self, git: Git, clone: Path, commit: str) -> str:
        return find_bench(git.run("log", "-1", "--format=%B", commit, "--", folder=clone))

    def _find_nets(self, git: Git, clone: Path, commit: str, nets: NetPattern) -> tuple[str, ...]:
        files = nets.files if nets.pattern else ()
        texts = (self._show(git, clone, commit, path) for path in files)
        names = (name for text in texts for name in find_nets(text, nets.pattern))
        return tuple(dict.fromkeys(names))

    def _show(self, git: Git, clone: Path, commit: str, path: str) -> str:
        """Return the beginning of a file; empty if it does not exist."""
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
        """Update and return the clone with the commits of a main branch."""
        name = f"{'known' if main.known else 'open'} {main.repository}"
        name += f" {main.branch}" if main.branch else ""
        clone = self.folder / hashlib.sha256(name.encode()).hexdigest()[:32]
        with self.mirrors.lock_folder(clone):
            self._begin(clone)
            self._fetch(main, f"+{_main_ref(main)}:{MAIN}", clone, COMMITS_ALONE)
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
        """Yield a temporary folder for the length of the block."""
        self.folder.mkdir(parents=True, exist_ok=True)
        made = Path(mkdtemp(prefix=SCRATCH, dir=self.folder))
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)


def count_lines(numstat: str) -> tuple[int, int, int]:
    """Return the numbers of files, added lines and removed lines; a binary file counts as a file
    without lines."""
    rows = [found for line in numstat.splitlines() if (found := _STAT.match(line))]
    added = sum(int(row[1]) for row in rows if row[1] != "-")
    removed = sum(int(row[2]) for row in rows if row[2] != "-")
    return len(rows), added, removed


def find_nets(text: str, pattern: str) -> Iterator[str]:
    """Yield the names of nets in a source file: words, usually in quotes, that match the
    pattern."""
    for word in text.replace('"', " ").replace("'", " ").split():
        try:
            if is_whole(pattern, word):
                yield word
        except BadPattern:
            return


def parse_commit(text: str) -> MainCommit:
    """Return a commit from a line with its hash, tree, time and subject, and the message after
    it."""
    head, _, message = text.partition("\n")
    sha, tree, time, subject = (*head.split(" ", 3), "", "", "")[:4]
    runs = dict.fromkeys(_RUN_ID.findall(message))
    named = tuple(runs)[:MOST_RUNS_NAMED]
    return MainCommit(sha, int(time), subject[:LONGEST_SUBJECT], tree, named)


def _main_ref(main: SourcePlace) -> str:
    """Return the ref to fetch as the main branch; raise SourceError for an impossible branch
    name."""
    if not main.branch:
        return LATEST
    check_revision(main.branch)
    return f"refs/heads/{main.branch}"
