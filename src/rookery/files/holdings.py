"""Holdings: files that were given for an engine. Those of a private engine are for its team alone.

A file is a net, a program or a book, by the name under which it is fetched. Whose it is was said
when it was given; who gives the same file again changes nothing, if they could know that it is
there. If not, they must not learn of it either: that they gave it is written down besides, and
from then on they, and whom they gave it for, see it as theirs.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from rookery.db.table import Table, columns
from rookery.farm.engines import Engines
from rookery.farm.privacy import Privacy
from rookery.files.store import check_quota, hold_quota
from rookery.protocol.codec import BadParameter


@dataclass(frozen=True, slots=True)
class GivenAgain:
    """A file that was there in secret when somebody gave it; the engine may be empty."""

    file: str
    engine: str
    user: str
    at: datetime
    size: int


class HoldingRows(Table):
    """The engines of files, and who gave them again; each change is told to all processes."""

    async def everything(self) -> Mapping[str, str]:
        """The engines of files."""
        return dict(await self._many(_pair, "holdings_all"))

    async def add(self, file: str, engine: str) -> None:
        """The first engine counts."""
        async with self._writing() as write:
            await write("holdings_add", file, engine)
            await write("engines_changed", engine)

    async def remove(self, file: str) -> None:
        """The file, whoever gave it."""
        async with self._writing() as write:
            await write("holdings_remove", file)
            await write("given_again_forget", file)
            await write("engines_changed", "")

    async def given_again(self) -> tuple[GivenAgain, ...]:
        """The oldest first."""
        return await self._many(GivenAgain, "given_again_all")

    async def give_again(self, given: GivenAgain, *, limit: int | None = None) -> None:
        """Counted as any upload is; raises QuotaExceeded. Twice is once."""
        async with self._writing() as write:
            await hold_quota(write, given.user, limit)
            if await write("given_again_add", *columns(given)) is not None:
                await check_quota(write, given, limit)
                await write("engines_changed", given.engine)

    async def take_back(self, given: GivenAgain) -> None:
        async with self._writing() as write:
            await write("given_again_remove", given.file, given.engine, given.user)
            await write("engines_changed", given.engine)


def _pair(file: str, engine: str) -> tuple[str, str]:
    return file, engine


class Holdings:
    """One per process; the event loop alone writes here."""

    def __init__(self, rows: HoldingRows, engines: Engines, privacy: Privacy) -> None:
        self._rows = rows
        self._engines = engines
        self._privacy = privacy
        self._engine_of: Mapping[str, str] = {}
        self._again: dict[str, tuple[GivenAgain, ...]] = {}

    async def load(self) -> None:
        """At the start, and whenever another process has changed something."""
        self._engine_of = await self._rows.everything()
        found: defaultdict[str, list[GivenAgain]] = defaultdict(list)
        for given in await self._rows.given_again():
            found[given.file].append(given)
        self._again = {file: tuple(all_given) for file, all_given in found.items()}

    def sees(self, viewer: str | None, file: str) -> bool:
        return self._sees_first(viewer, file) or self.seen_again(viewer, file) is not None

    def seen_again(self, viewer: str | None, file: str) -> GivenAgain | None:
        """As what somebody sees a file who may not know who gave it first."""
        if self._sees_first(viewer, file):
            return None
        found = self._again.get(file, ())
        return next((each for each in found if self._opens(viewer, each.engine)), None)

    def _sees_first(self, viewer: str | None, file: str) -> bool:
        return self._opens(viewer, self._engine_of.get(file, ""))

    def _opens(self, viewer: str | None, engine: str) -> bool:
        return not engine or self._privacy.sees_engine(viewer, engine)

    def engine_of(self, file: str) -> str:
        """Which engine a file was given for; empty for none."""
        return self._engine_of.get(file, "")

    def is_private(self, file: str) -> bool:
        """Whether it must not be kept where others find it, such as in a proxy."""
        engines = {
            self._engine_of.get(file, ""),
            *(each.engine for each in self._again.get(file, ())),
        }
        return engines <= self._engines.private.keys()

    def check(self, viewer: str, engine: str) -> None:
        """Whether somebody may give a file for an engine; raises BadParameter."""
        seen = self._privacy.sees_engine(viewer, engine)
        if engine and not (seen and engine in self._engines.catalogue.engines):
            raise BadParameter(name="engine", text="expected an engine that is known here")

    async def add(self, file: str, engine: str) -> None:
        if engine and file not in self._engine_of:
            await self._rows.add(file, engine)
            await self.load()

    async def give_again(self, given: GivenAgain, *, limit: int | None = None) -> None:
        """Raises QuotaExceeded."""
        await self._rows.give_again(given, limit=limit)
        await self.load()

    async def take_back(self, given: GivenAgain) -> None:
        await self._rows.take_back(given)
        await self.load()

    async def forget(self, file: str) -> None:
        """The file is gone: its name may come to mean another one."""
        if file in self._engine_of or file in self._again:
            await self._rows.remove(file)
            await self.load()
