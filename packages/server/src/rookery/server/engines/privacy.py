"""Privacy: everything that belongs to a private engine is visible to its team only.

A run with two private engines is visible to members of both teams only. There is no exception for
approvers: they must be in a team to see its runs.
"""

from dataclasses import replace

from msgspec.structs import replace as with_fields

from rookery.core.model.actor import Actor
from rookery.core.model.engine import Catalogue, EngineRecord
from rookery.core.model.run import Run
from rookery.server.engines.engines import Engines, UnknownEngine
from rookery.server.farm.read_values import LogVisibility
from rookery.server.teams.teams import Teams

NOTHING: frozenset[str] = frozenset()
NO_COMMIT = "0" * 40


def name_of(reader: Actor | None) -> str | None:
    return None if reader is None else reader.name


def owns_machine(reader: Actor | None, short_name: str) -> bool:
    return reader is not None and short_name.startswith(f"{reader.name}-")


def may_see_machine_details(reader: Actor | None, short_name: str) -> bool:
    """Whether the reader may see a machine's private details: its owner and approvers may."""
    return owns_machine(reader, short_name) or (reader is not None and reader.approver)


def without_sources(run: Run) -> Run:
    """The run without the commits of its sides and their messages. Its info is left out, too, where
    it repeats such a message."""
    sides = tuple(with_fields(side, commit=NO_COMMIT, message="") for side in run.plan.sides)
    words = [side.message for side in run.plan.sides if side.message]
    info = "" if any(word in run.plan.info for word in words) else run.plan.info
    return replace(run, plan=with_fields(run.plan, sides=sides, info=info))


class Privacy:
    """Decides from memory who may see what; all lists, reads, searches, streams and exports use
    it."""

    def __init__(self, engines: Engines, teams: Teams) -> None:
        self._engines = engines
        self._teams = teams

    def hidden(self, viewer: str | None) -> frozenset[str]:
        """The names of the engines that the viewer may not see; a viewer of None is a stranger."""
        private = self._engines.private
        if not private:
            return NOTHING
        own = self._teams.of(viewer)
        return frozenset(name for name, team in private.items() if team not in own)

    def hidden_in_answers(self, viewer: str | None) -> frozenset[str]:
        """Like `hidden`, plus removed engines, which answers to questions must not mention."""
        return self.hidden(viewer) | self._engines.removed

    def may_see_engine(self, viewer: str | None, engine: str) -> bool:
        team = self._engines.private.get(engine)
        return team is None or team in self._teams.of(viewer)

    async def list_engines(self, viewer: str | None) -> tuple[EngineRecord, ...]:
        """The engines that the viewer may see, by name."""
        hidden = self.hidden(viewer)
        return tuple(each for each in await self._engines.list() if each.name not in hidden)

    async def find_engine(self, viewer: str | None, name: str) -> EngineRecord:
        """An engine; raises UnknownEngine also for one that the viewer may not see."""
        if not self.may_see_engine(viewer, name):
            raise UnknownEngine(name=name)
        return await self._engines.by_name(name)

    def may_see(self, viewer: str | None, run: Run) -> bool:
        return all(self.may_see_engine(viewer, side.engine) for side in run.plan.sides)

    def is_insider(self, reader: Actor | None, run: Run) -> bool:
        """Whether the reader may see a run and is its owner, in the team of one of its engines, or
        an approver."""
        if reader is None or not self.may_see(reader.name, run):
            return False
        own = self._teams.of(reader.name)
        teams = {self._engines.catalogue.record(side.engine).team for side in run.plan.sides}
        return reader.approver or reader.name == run.plan.owner or bool(teams & own)

    def may_read_sources(self, reader: Actor | None, run: Run) -> bool:
        """Whether the reader may have the sources of a run and read its commit messages. Until the
        run is approved, only insiders may."""
        if run.status.approved or run.tally.tasks > 0:
            return self.may_see(name_of(reader), run)
        return self.is_insider(reader, run)

    def visible_part(self, reader: Actor | None, run: Run) -> Run:
        """The part of a run that the reader may see."""
        return run if self.may_read_sources(reader, run) else without_sources(run)

    def catalogue(self, viewer: str | None) -> Catalogue:
        """The engines that the viewer may name in a run."""
        whole, hidden = self._engines.catalogue, self.hidden(viewer)
        if not hidden:
            return whole
        return Catalogue({k: v for k, v in whole.engines.items() if k not in hidden})

    def sight(self, reader: Actor | None) -> LogVisibility:
        """What the reader may see of the log; a reader of None is a stranger."""
        if reader is None:
            return LogVisibility(self.hidden(None))
        own = self._teams.of(reader.name)
        return LogVisibility(
            self.hidden(reader.name),
            None if reader.approver else own,
            None if reader.approver else reader.name,
        )

    def is_private(self, run: Run) -> bool:
        return any(side.engine in self._engines.private for side in run.plan.sides)
