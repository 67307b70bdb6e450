"""Engines: which ones this installation knows, live in memory, and who may change them.

Some engines are built in; a stored record of the same name takes their place. What is removed is
kept: a run of it may still be looked at, and its name stays with its team.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from dataclasses import replace as with_changes
from datetime import datetime
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from rookery.clock import Clock
from rookery.core.demands import demands_of
from rookery.core.engine import Catalogue
from rookery.core.events import Action, Event, about_engine
from rookery.core.faults import RunFault
from rookery.core.lifecycle import Actor
from rookery.core.patterns import BadPattern, check, check_for_workers
from rookery.core.run import Run
from rookery.protocol import known_engines
from rookery.protocol.engine_record import EngineRecord
from rookery.protocol.faults import BadField
from rookery.service.audit import Audit, NoAudit
from rookery.service.teams import Teams

SHOWN = tuple(name for name in EngineRecord.__struct_fields__ if name != "team")
"""Parts of a record whose names everybody may read in the log."""


class UnknownEngine(RunFault):
    """there is no engine {name}"""


class NotOfTeam(RunFault):
    """only a member of the engine's team or an approver may do this"""


class EngineInUse(RunFault):
    """engine {name} has unfinished runs; {what}"""


@dataclass(frozen=True, slots=True)
class KeptEngine:
    """A record with who wrote it when; a removed one is known to its old runs only."""

    record: EngineRecord
    changed: datetime
    changed_by: str
    removed: bool = False


class EngineRows(Protocol):
    """The port. Any process may write; each change is told to all."""

    async def everything(self) -> tuple[KeptEngine, ...]: ...

    async def save(self, engine: KeptEngine) -> None: ...


ActiveRuns = Callable[[], Awaitable[tuple[Run, ...]]]


class Engines:
    """One per process; the event loop alone writes here."""

    def __init__(
        self,
        rows: EngineRows,
        teams: Teams,
        clock: Clock,
        active: ActiveRuns,
        shares: dict[str, float] | None = None,
        audit: Audit | None = None,
    ) -> None:
        """`shares` is kept up to date for the scheduler, which looks into it."""
        self._rows = rows
        self._teams = teams
        self._shares = {} if shares is None else shares
        self._clock = clock
        self._active = active
        self._audit = audit or NoAudit()
        self._one_at_a_time = asyncio.Lock()
        self._kept: dict[str, KeptEngine] = {}
        self._known: dict[str, EngineRecord] = {}
        self._told: dict[str, EngineRecord] = {}
        self.catalogue = Catalogue({})
        self._ever = self.catalogue
        self.private: dict[str, str] = {}
        """The teams of private engines, also of removed ones."""
        self._learn(())

    async def load(self) -> None:
        """At the start, and whenever another process has changed a record."""
        self._learn(await self._rows.everything())

    async def by_name(self, name: str) -> EngineRecord:
        """Raises UnknownEngine."""
        record = self._known.get(name)
        if record is None:
            raise UnknownEngine(name=name)
        return record

    async def list(self) -> tuple[EngineRecord, ...]:
        """All engines, by name."""
        return tuple(self._known[name] for name in sorted(self._known))

    def told(self, name: str) -> EngineRecord | None:
        """What a worker of ours is told of an engine; nothing of plain Stockfish, which it knows.

        Runs outlive the removal of their engine.
        """
        return self._told.get(name)

    def renewed(self, run: Run) -> Run:
        """The run with the demands of its engines as they are now: one that plays again after its
        engine became private is for the machines of the team."""
        demands = demands_of(run.plan, self._ever, run.kind.needs())
        return run if demands == run.demands else with_changes(run, demands=demands)

    async def put(self, record: EngineRecord, actor: Actor) -> bool:
        """Whether the engine is new; raises BadField, NotOfTeam or EngineInUse."""
        _check_record(record)
        async with self._one_at_a_time:
            name, before = record.name, self._known.get(record.name)
            self._check_writer(actor, record, self._last(name))
            await self._check_trusted(name, actor)
            if before and (before.team, before.private) != (record.team, record.private):
                await self._check_idle(name, "its team and privacy can't change before they end")
            now = self._clock.now()
            await self._save(KeptEngine(record, now, actor.name))
            for event in told(before, record, actor.name, now):
                await self._audit.write(event)
        return before is None

    async def remove(self, name: str, actor: Actor) -> EngineRecord:
        """Raises UnknownEngine, also for one that is built in and was never changed."""
        async with self._one_at_a_time:
            kept = self._kept.get(name)
            if kept is None or kept.removed:
                raise UnknownEngine(name=name)
            self._check_writer(actor, kept.record)
            await self._check_idle(name, "it can't be removed before they end")
            now = self._clock.now()
            await self._save(KeptEngine(kept.record, now, actor.name, removed=True))
            await self._audit.write(about_engine(Action.REMOVE_ENGINE, name, actor.name, now))
        return kept.record

    def _last(self, name: str) -> EngineRecord | None:
        """The record of that name, also a removed one: it keeps its team."""
        kept = self._kept.get(name)
        return kept.record if kept else self._known.get(name)

    def _check_writer(self, actor: Actor, *records: EngineRecord | None) -> None:
        """Whoever writes must be in the team that has the engine, and in the one that gets it."""
        own = self._teams.of(actor.name)
        teams = {record.team for record in records if record is not None}
        if not actor.approver and not teams <= own:
            raise NotOfTeam
        for team in teams - {""}:
            if not self._teams.exists(team):
                raise BadField(field="team", text=f"there is no team {team}")

    async def _check_trusted(self, name: str, actor: Actor) -> None:
        """What an approver has let onto the fleet's machines must not become something else."""
        approved = [run for run in await self._active() if run.status.approved]
        if not actor.approver and any(plays(run, name) for run in approved):
            raise EngineInUse(name=name, what="only an approver may change it before they end")

    async def _check_idle(self, name: str, what: str) -> None:
        if any(plays(run, name) for run in await self._active()):
            raise EngineInUse(name=name, what=what)

    async def _save(self, engine: KeptEngine) -> None:
        await self._rows.save(engine)
        self._learn((*self._kept.values(), engine))

    def _learn(self, engines: tuple[KeptEngine, ...]) -> None:
        self._kept = {engine.record.name: engine for engine in engines}
        present = [each.record for each in self._kept.values() if not each.removed]
        gone = [each.record for each in self._kept.values() if each.removed]
        self._known = {each.name: each for each in (*known_engines.BUILT_IN, *present)}
        self.catalogue = known_engines.catalogue_of(self._known.values())
        ever = ({each.name: each for each in gone} | self._known).values()
        self._shares.clear()
        self._shares |= {each.name: each.share for each in ever}
        self._ever = known_engines.catalogue_of(ever)
        self.private = {each.name: each.team for each in ever if each.private}
        self._told = {
            each.name: replace(each, presets=())
            for each in ever
            if each is not known_engines.STOCKFISH
        }


def told(
    before: EngineRecord | None, after: EngineRecord, actor: str, now: datetime
) -> Iterator[Event]:
    """The lines that a written record is worth. Each team has its own, in which no other is named:
    who knows of the engine need not know of every team."""
    line = partial(about_engine, engine=after.name, actor=actor, now=now)
    if before is None:
        yield line(Action.NEW_ENGINE)
    elif changed := [name for name in SHOWN if getattr(before, name) != getattr(after, name)]:
        yield line(Action.MODIFY_ENGINE, message=", ".join(changed))
    old = before.team if before else ""
    if old != after.team:
        for team, word in ((old, "taken"), (after.team, "given")):
            if team:
                yield line(Action.GIVE_ENGINE, message=word, team=team)


def plays(run: Run, engine: str) -> bool:
    return any(side.engine == engine for side in run.plan.sides)


def _check_record(record: EngineRecord) -> None:
    """No pattern that somebody wrote may run away, here or on a worker."""
    if record.private and not record.team:
        raise BadField(field="private", text="a private engine belongs to a team")
    for field, pattern, check_pattern in (
        ("nets.pattern", record.nets.pattern, check),
        ("bench.pattern", record.bench.pattern, check_for_workers),
    ):
        try:
            check_pattern(pattern)
        except BadPattern as fault:
            raise BadField(field=field, text=str(fault)) from None
