"""Source trees: fetched once by commit, kept for every worker that shares the cache."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rookery.worker.engines.cache import Cache, excess_of, most_scratch, note_use
from rookery.worker.engines.git import COMMIT, CONFIG, Fetched, Git, is_local
from rookery.worker.engines.guard import Excess, guarded
from rookery.worker.engines.order import BuildFailed, Downloads, NotOffered
from rookery.worker.engines.output import Output
from rookery.worker.engines.unpacking import BadArchive, unpack

TREE, CONTENTS = "tree", "contents"


@dataclass(frozen=True, slots=True)
class Sources:
    """The trees of one cache, and the ways to come by a new one."""

    cache: Cache
    downloads: Downloads
    environment: Mapping[str, str]

    async def get(self, repository: str, commit: str) -> Fetched:
        """The tree, which nobody may write to; raises BuildFailed."""
        if not COMMIT.fullmatch(commit):
            raise BuildFailed(f"{commit!r} is no commit.", whose="run")
        if not repository or repository.startswith("-"):
            raise BuildFailed(f"{repository!r} is no address of a source.", whose="run")
        name = hashlib.sha256(f"{repository}\n{commit}".encode()).hexdigest()
        if known := await self.cache.threads.io(self._known, name):
            return known
        async with self.cache.locked("sources", name):
            known = await self.cache.threads.io(self._known, name)
            return known or await self._fetch(repository, commit, name)

    def _known(self, name: str) -> Fetched | None:
        place = self.cache.place("sources", name)
        try:
            tree = (place / TREE).read_text()
        except OSError:
            return None
        note_use(place)
        return Fetched(place / CONTENTS, tree)

    async def _fetch(self, repository: str, commit: str, name: str) -> Fetched:
        async with self.cache.scratch() as scratch:
            made = scratch / "made"
            await self.cache.threads.io(_prepare, made)
            tree = await self._from_server(repository, commit, scratch, made)
            tree = tree or await self._by_git(repository, commit, made)
            await self.cache.threads.io((made / TREE).write_text, tree)
            place = await self.cache.threads.io(self.cache.keep, made, "sources", name)
        return Fetched(place / CONTENTS, tree)

    async def _from_server(
        self, repository: str, commit: str, scratch: Path, made: Path
    ) -> str | None:
        archive = scratch / "source.zip"
        try:
            await self.downloads.source(repository, commit, archive)
        except NotOffered:
            return None
        try:
            return await self.cache.threads.io(_unpacked, archive, made / CONTENTS)
        except BadArchive as bad:
            raise BuildFailed(f"The source's archive {bad}.", whose="run") from None

    async def _by_git(self, repository: str, commit: str, made: Path) -> str:
        output, threads = Output(), self.cache.threads
        git = Git(made / CONTENTS, self.environment, output, local=is_local(repository))
        most = await threads.io(most_scratch, made)
        try:
            fetching = git.fetch(repository, commit)
            return await guarded(fetching, partial(excess_of, made, most), threads)
        except Excess as excess:
            sentence = f"The source could not be fetched: it takes {excess}."
            raise BuildFailed(sentence, output.text, "run") from None


def _prepare(made: Path) -> None:
    (made / CONTENTS).mkdir(parents=True)
    (made / "gitconfig").write_text(CONFIG)


def _unpacked(archive: Path, into: Path) -> str:
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    unpack(archive, into)
    return digest
