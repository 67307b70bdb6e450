"""Holdings: files that were given for an engine. Those of a private engine are for its team alone.

A file is a net, a program or a book, by the name under which it is fetched. Whose it is was said
when it was given; who gives the same file again changes nothing.
"""

from collections.abc import Mapping
from typing import Protocol

from rookery.protocol.faults import BadParameter
from rookery.service.engines import Engines
from rookery.service.privacy import Privacy


class HoldingRows(Protocol):
    """The port. Any process may write; each change is told to all."""

    async def everything(self) -> Mapping[str, str]:
        """The engines of files."""
        ...

    async def add(self, file: str, engine: str) -> None:
        """The first engine counts."""
        ...

    async def remove(self, file: str) -> None: ...


class Holdings:
    """One per process; the event loop alone writes here."""

    def __init__(self, rows: HoldingRows, engines: Engines, privacy: Privacy) -> None:
        self._rows = rows
        self._engines = engines
        self._privacy = privacy
        self._engine_of: Mapping[str, str] = {}

    async def load(self) -> None:
        """At the start, and whenever another process has changed something."""
        self._engine_of = await self._rows.everything()

    def sees(self, viewer: str | None, file: str) -> bool:
        engine = self._engine_of.get(file)
        return engine is None or self._privacy.sees_engine(viewer, engine)

    def engine_of(self, file: str) -> str:
        """Which engine a file was given for; empty for none."""
        return self._engine_of.get(file, "")

    def is_private(self, file: str) -> bool:
        """Whether it must not be kept where others find it, such as in a proxy."""
        return self._engine_of.get(file) in self._engines.private

    def check(self, viewer: str, engine: str) -> None:
        """Whether somebody may give a file for an engine; raises BadParameter."""
        seen = self._privacy.sees_engine(viewer, engine)
        if engine and not (seen and engine in self._engines.catalogue.engines):
            raise BadParameter(name="engine", text="expected an engine that is known here")

    async def add(self, file: str, engine: str) -> None:
        if engine and file not in self._engine_of:
            await self._rows.add(file, engine)
            await self.load()

    async def forget(self, file: str) -> None:
        """The file is gone: its name may come to mean another one."""
        if file in self._engine_of:
            await self._rows.remove(file)
            await self.load()
