"""Decides who may see an uploaded file: a file uploaded for a private engine is visible to its team
only.

A file is a net, a program or a book, identified by the name under which it is fetched. Its engine
is set at the first upload. A second upload of the same file by somebody who can see it changes
nothing. Somebody who can't see it must not learn that it exists: their upload is stored as a
RepeatedUpload, and from then on they, and the team of the engine they named, see the file as their
own.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from rookery.core.protocol.codec import BadParameter
from rookery.server.db.table import Table, columns
from rookery.server.engines.engines import Engines
from rookery.server.engines.privacy import Privacy
from rookery.server.files.store import check_quota, lock_quota


@dataclass(frozen=True, slots=True)
class RepeatedUpload:
    """An upload of an existing file by somebody who could not see it; `engine` is empty if none was
    named."""

    file: str
    engine: str
    user: str
    at: datetime
    size: int


@dataclass(frozen=True, slots=True)
class StoredUsage:
    """The bytes that a user has stored, and the user's limit; None for no limit."""

    used: int
    allowed: int | None


@dataclass(frozen=True, slots=True)
class FileSight:
    """The files that a viewer may not see, and those that they only see through their own
    uploads."""

    hidden: tuple[str, ...]
    repeats: Mapping[str, RepeatedUpload]


class FileAccessRows(Table):
    """The rows of the engines of files and of repeated uploads; a change notifies all processes."""

    async def list_engines(self) -> Mapping[str, str]:
        """Return the engine of each file that was uploaded for one."""
        return dict(await self._many(_pair, "file_engines_all"))

    async def add(self, file: str, engine: str) -> None:
        """Set the engine of a file; do nothing where it has one."""
        async with self._writing() as write:
            await write("file_engines_add", file, engine)
            await write("engines_changed", engine)

    async def remove(self, file: str) -> None:
        """Remove everything about a file."""
        async with self._writing() as write:
            await write("file_engines_remove", file)
            await write("repeated_uploads_forget", file)
            await write("engines_changed", "")

    async def load_usage(self, user: str, limit: int | None) -> StoredUsage:
        """Return the usage of a user; `limit` is the site's limit for users without a quota of
        their own."""
        found = await self._one(StoredUsage, "uploads_of", user, limit)
        assert found is not None
        return found

    async def list_repeats(self) -> tuple[RepeatedUpload, ...]:
        """All repeated uploads, the oldest first."""
        return await self._many(RepeatedUpload, "repeated_uploads_all")

    async def add_repeat(self, repeat: RepeatedUpload, *, limit: int | None = None) -> None:
        """Add a repeated upload, which counts towards the user's quota; raise QuotaExceeded. Do
        nothing if it exists already."""
        async with self._writing() as write:
            await lock_quota(write, repeat.user, limit)
            if await write("repeated_uploads_add", *columns(repeat)) is not None:
                await check_quota(write, repeat, limit)
                await write("engines_changed", repeat.engine)

    async def remove_repeat(self, repeat: RepeatedUpload) -> None:
        async with self._writing() as write:
            await write("repeated_uploads_remove", repeat.file, repeat.engine, repeat.user)
            await write("engines_changed", repeat.engine)


def _pair(file: str, engine: str) -> tuple[str, str]:
    return file, engine


class FileAccess:
    """Decides who may see which file. One per process; only the event loop writes to it."""

    def __init__(self, rows: FileAccessRows, engines: Engines, privacy: Privacy) -> None:
        self.rows = rows
        self._engines = engines
        self._privacy = privacy
        self._engine_of: Mapping[str, str] = {}
        self._repeats: dict[str, tuple[RepeatedUpload, ...]] = {}

    async def load(self) -> None:
        """Read everything from the database: at the start, and after a change by any process."""
        self._engine_of = await self.rows.list_engines()
        found: defaultdict[str, list[RepeatedUpload]] = defaultdict(list)
        for repeat in await self.rows.list_repeats():
            found[repeat.file].append(repeat)
        self._repeats = {file: tuple(repeats) for file, repeats in found.items()}

    def see(self, viewer: str | None) -> FileSight:
        """Return what the viewer may see, for lists that the database searches and pages."""
        secret = [file for file in self._engine_of if not self._may_see_first(viewer, file)]
        repeats = {file: found for file in secret if (found := self.visible_repeat(viewer, file))}
        return FileSight(tuple(file for file in secret if file not in repeats), repeats)

    def may_see(self, viewer: str | None, file: str) -> bool:
        return self._may_see_first(viewer, file) or self.visible_repeat(viewer, file) is not None

    def visible_repeat(self, viewer: str | None, file: str) -> RepeatedUpload | None:
        """Return the repeated upload through which the viewer sees a file; None where they see the
        first upload, or nothing."""
        if self._may_see_first(viewer, file):
            return None
        found = self._repeats.get(file, ())
        return next((each for each in found if self._may_see_engine(viewer, each.engine)), None)

    def _may_see_first(self, viewer: str | None, file: str) -> bool:
        return self._may_see_engine(viewer, self._engine_of.get(file, ""))

    def _may_see_engine(self, viewer: str | None, engine: str) -> bool:
        return not engine or self._privacy.may_see_engine(viewer, engine)

    def engine_of(self, file: str) -> str:
        """Return the engine that a file was uploaded for; empty for none."""
        return self._engine_of.get(file, "")

    def is_private(self, file: str) -> bool:
        """Whether a file must not be cached where others find it, such as in a proxy."""
        engines = {
            self._engine_of.get(file, ""),
            *(each.engine for each in self._repeats.get(file, ())),
        }
        return engines <= self._engines.private.keys()

    def check_engine(self, viewer: str, engine: str) -> None:
        """Raise BadParameter unless the viewer may upload a file for this engine."""
        seen = self._privacy.may_see_engine(viewer, engine)
        if engine and not (seen and engine in self._engines.catalogue.engines):
            raise BadParameter(name="engine", text="expected an engine that is known here")

    async def add(self, file: str, engine: str) -> None:
        if engine and file not in self._engine_of:
            await self.rows.add(file, engine)
            await self.load()

    async def add_repeat(self, repeat: RepeatedUpload, *, limit: int | None = None) -> None:
        """Add a repeated upload; raise QuotaExceeded."""
        await self.rows.add_repeat(repeat, limit=limit)
        await self.load()

    async def remove_repeat(self, repeat: RepeatedUpload) -> None:
        await self.rows.remove_repeat(repeat)
        await self.load()

    async def remove(self, file: str) -> None:
        """Forget a removed file, whose name may be given to another one later."""
        if file in self._engine_of or file in self._repeats:
            await self.rows.remove(file)
            await self.load()
