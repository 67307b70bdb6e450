"""The engines that this installation knows, held in memory, and who may change them.

Some engines are built in; an approver may replace one by storing a record of the same name. A
removed record is kept: runs of the engine can still be viewed, and the name stays with its team.
Every record that was ever written is kept as a version and can be restored.

A run carries the records that its engines had when it was submitted; those are what an approver
approves, even if the engines change later. New private engines are named after their team
(`owls~Strix`); other people are refused such names whether or not they are taken.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace as with_changes
from datetime import datetime
from functools import lru_cache, partial
from typing import Any

import msgspec
from msgspec.structs import replace

from rookery.core.clock import Clock
from rookery.core.errors import NotAllowed, NotThere
from rookery.core.model.actor import Actor
from rookery.core.model.engine import BUILT_IN, STOCKFISH, Catalogue, EngineRecord, catalogue_of
from rookery.core.model.events import Action, Event, about_engine
from rookery.core.model.plan import Side, demands_of
from rookery.core.model.run import Run, RunFault
from rookery.core.model.tools import list_unreported
from rookery.core.protocol.checks import Checks
from rookery.core.protocol.codec import BadField, WireFault, encode
from rookery.core.protocol.v1 import EngineVersion
from rookery.server.db.table import Table
from rookery.server.engines.source_rules import SourceRules
from rookery.server.farm.rules.patterns import BadPattern, check, check_for_workers
from rookery.server.identity.users import Audit
from rookery.server.teams.teams import Teams


class EngineRows(Table):
    """Engine records and all their versions as rows; each change notifies all processes."""

    async def list_all(self) -> tuple[EngineVersion, ...]:
        return await self._many(_engine, "engines_all")

    async def save(self, engine: EngineVersion) -> None:
        """Stores the engine's new state as its next version."""
        name, text = engine.record.name, encode(engine.record).decode()
        row = (name, text, engine.changed, engine.changed_by, engine.removed)
        async with self._writing() as write:
            await write("engines_save", *row)
            await write("engine_versions_add", *row)
            await write("engines_changed", name)

    async def versions(self, name: str) -> tuple[EngineVersion, ...]:
        """All versions of an engine, oldest first."""
        return await self._many(_engine, "engine_versions_of", name)


def _engine(record: str, **row: Any) -> EngineVersion:
    return EngineVersion(record=msgspec.json.decode(record, type=EngineRecord), **row)


BUILT_IN_NAMES = frozenset(record.name for record in BUILT_IN)
TEAM_MARK = "~"
NOTHING_TOLD = "-"
"""Stands for the record of an engine whose record is not sent to workers."""
SHOWN = tuple(name for name in EngineRecord.__struct_fields__ if name != "team")
"""The fields of a record whose names everybody may read in the log."""


class UnknownEngine(NotThere, RunFault):
    """there is no engine {name}"""


class NoVersions(UnknownEngine):
    """{name} is built in, and its record has not been changed"""


class NotOfTeam(NotAllowed, RunFault):
    """only a member of the engine's team may do this, or an approver if nothing is private"""


class EngineInUse(RunFault):
    """engine {name} has unfinished runs; {what}"""


class EngineExists(RunFault):
    """there is already an engine {name}; give `replace=true` to replace its record"""


class BuiltIn(RunFault):
    """{name} is built in; an approver may replace its record with `replace=true`"""


class UnknownVersion(NotThere, RunFault):
    """engine {name} has no version {version}"""


class RecordsChanged(RunFault):
    """the record of {engines} has changed since this run was submitted: review the records of the
    run, then approve it with `records` {digest}"""


class OtherRecords(RunFault):
    """the run's records have changed since you reviewed them: review them again, then approve it
    with `records` {digest}"""


ActiveRuns = Callable[[], Awaitable[tuple[Run, ...]]]


class Engines:
    """The engines of this installation: one instance per process, changed only on the event
    loop."""

    def __init__(
        self,
        rows: EngineRows,
        teams: Teams,
        clock: Clock,
        active: ActiveRuns,
        shares: dict[str, float],
        audit: Audit,
    ) -> None:
        """`shares` is updated in place; the scheduler reads it."""
        self._rows = rows
        self._teams = teams
        self._shares = shares
        self._clock = clock
        self._active = active
        self._audit = audit
        self.source_rules = SourceRules()
        self._one_at_a_time = asyncio.Lock()
        self._kept: dict[str, EngineVersion] = {}
        self._known: dict[str, EngineRecord] = {}
        self._for_workers: dict[str, EngineRecord] = {}
        self.catalogue = Catalogue({})
        self._ever = self.catalogue
        self.private: dict[str, str] = {}
        """The team of each private engine, including removed ones, by name."""
        self.removed: frozenset[str] = frozenset()
        """Engines whose records were removed; runs of them may remain."""
        self._learn(())

    async def load(self) -> None:
        """Reads all records: at the start, and after another process has changed one."""
        self._learn(await self._rows.list_all())

    async def by_name(self, name: str) -> EngineRecord:
        """The record of an engine; raises UnknownEngine."""
        record = self._known.get(name)
        if record is None:
            raise UnknownEngine(name=name)
        return record

    async def list(self) -> tuple[EngineRecord, ...]:
        """All engines, by name."""
        return tuple(self._known[name] for name in sorted(self._known))

    def engine_for_worker(self, name: str) -> EngineRecord | None:
        """The record of an engine for a worker of ours, even if the engine was removed, because
        runs outlive it; None for plain Stockfish, which workers know.
        """
        return self._for_workers.get(name)

    def renewed(self, run: Run) -> Run:
        """The run with current demands: those of its own records, with its teams and privacy as
        they are now. A run that continues after its engine became private goes only to the team's
        machines."""
        engines = dict(self._ever.engines)
        for side in run.plan.sides:
            now, then = self._ever.record(side.engine), self.record_for_worker(side)
            if side.record and then is not None:
                engines[side.engine] = replace(then, team=now.team, private=now.private)
        demands = demands_of(run.plan, Catalogue(engines), run.kind.needs())
        return run if demands == run.demands else with_changes(run, demands=demands)

    def record_for_worker(self, side: Side) -> EngineRecord | None:
        """Like `engine_for_worker`, but with the record that the run was submitted with."""
        return submitted_record(side) if side.record else self.engine_for_worker(side.engine)

    def with_records(self, run: Run) -> Run:
        """The run with the records of its engines as they are now."""
        sides = tuple(
            replace(side, record=_encoded(self.engine_for_worker(side.engine)))
            for side in run.plan.sides
        )
        return with_changes(run, plan=replace(run.plan, sides=sides))

    def check_looked_at(self, run: Run, digest: str) -> None:
        """Checks that the approver saw the records that the run has: by the digest that they give,
        or without one by comparison with the engines' present records. Raises RecordsChanged or
        OtherRecords."""
        own = records_digest(run)
        if digest and digest != own:
            raise OtherRecords(digest=own)
        now = self.with_records(run)
        pairs = zip(run.plan.sides, now.plan.sides, strict=True)
        changed = {old.engine for old, new in pairs if old.record and old.record != new.record}
        if changed and not digest:
            raise RecordsChanged(engines=" and ".join(sorted(changed)), digest=own)

    async def versions(self, name: str, viewer: str | None) -> tuple[EngineVersion, ...]:
        """The versions of an engine that the viewer may see, oldest first."""
        own = self._teams.of(viewer)
        found = await self._rows.versions(name)
        return tuple(each for each in found if not each.record.private or each.record.team in own)

    async def restore(self, name: str, version: int, actor: Actor) -> EngineRecord | None:
        """Restores a version of an engine. Version 0 is the state before the first record was
        written; the result is None if the engine did not exist then. Raises UnknownVersion, and
        whatever `put` and `remove` raise."""
        found = {each.version: each for each in await self.versions(name, actor.name)}
        if not found and name not in self._known:
            raise UnknownEngine(name=name)
        if version not in found and version != 0:
            raise UnknownVersion(name=name, version=version)
        if version == 0 or found[version].removed:
            await self.remove(name, actor)
            return self._known.get(name)
        await self.put(found[version].record, actor, replacing=True)
        return found[version].record

    async def put(
        self, record: EngineRecord, actor: Actor, *, replacing: bool | None = None
    ) -> bool:
        """Stores a record and returns whether the engine is new; raises BadField, NotOfTeam or
        EngineInUse. If `replacing` is None, a stored record is replaced but a built-in one is not:
        EngineExists or BuiltIn is raised."""
        Checks(self.find_faults(record)).settle()
        async with self._one_at_a_time:
            name, before = record.name, self._known.get(record.name)
            self._check_name(actor, record)
            self._check_writer(actor, record, self._last(name))
            if before and replacing is not True:
                self._check_replaced(name, replacing)
            await self._check_trusted(name, actor)
            if before and (before.team, before.private) != (record.team, record.private):
                await self._check_idle(name, "its team and privacy can't change before they end")
            now = self._clock.now()
            await self._save(EngineVersion(record=record, changed=now, changed_by=actor.name))
            for event in change_events(before, record, actor.name, now):
                await self._audit.write(event)
        return before is None

    def find_faults(self, record: EngineRecord) -> tuple[WireFault, ...]:
        """What is wrong with a record, whoever writes it."""
        checks = _check_record(record)
        why = self.source_rules.objection(record.source) if record.source else ""
        checks.require(not why, "source", why or "")
        return tuple(checks.faults)

    def may_write(self, actor: Actor, record: EngineRecord) -> bool:
        """Whether the actor's teams allow them to change an engine."""
        own = record.team in self._teams.of(actor.name)
        return own if record.private else own or actor.approver

    async def remove(self, name: str, actor: Actor) -> EngineRecord:
        """Removes an engine's record and returns it; raises UnknownEngine, also for a built-in
        engine that was never changed."""
        async with self._one_at_a_time:
            kept = self._kept.get(name)
            if kept is None or kept.removed or not self._sees(actor, kept.record):
                raise no_versions(name)
            self._check_writer(actor, kept.record)
            await self._check_idle(name, "it can't be removed before they end")
            now = self._clock.now()
            gone = replace(kept, changed=now, changed_by=actor.name, removed=True)
            await self._save(gone)
            await self._audit.write(about_engine(Action.REMOVE_ENGINE, name, actor.name, now))
        return kept.record

    def _last(self, name: str) -> EngineRecord | None:
        """The record of that name, even if it was removed, because it still belongs to its team."""
        kept = self._kept.get(name)
        return kept.record if kept else self._known.get(name)

    def _sees(self, actor: Actor, record: EngineRecord) -> bool:
        return not record.private or record.team in self._teams.of(actor.name)

    def _check_name(self, actor: Actor, record: EngineRecord) -> None:
        """Refuses the name of another team's private engine, whether or not it is taken."""
        team, mark, _ = record.name.partition(TEAM_MARK)
        if mark and team not in self._teams.of(actor.name):
            raise NotOfTeam
        if (
            record.private
            and self._last(record.name) is None
            and not (mark and team == record.team)
        ):
            wanted = f"{record.team}{TEAM_MARK}{record.name}"
            text = f"a private engine must be named after its team, such as {wanted[:100]}"
            raise BadField(field="name", text=text)

    def _check_replaced(self, name: str, replacing: bool | None) -> None:
        if replacing is False:
            raise EngineExists(name=name)
        if name in BUILT_IN_NAMES and name not in self._kept:
            raise BuiltIn(name=name)

    def _check_writer(self, actor: Actor, *records: EngineRecord | None) -> None:
        """Checks that the actor is in the team that has the engine and in the team that gets it."""
        own = self._teams.of(actor.name)
        teams = {record.team for record in records if record is not None}
        secret = any(record and not self._sees(actor, record) for record in records[1:])
        if secret or (not actor.approver and not teams <= own):
            raise NotOfTeam
        for team in teams - {""}:
            if not self._teams.exists(team):
                raise BadField(field="team", text=f"there is no team {team}")

    async def _check_trusted(self, name: str, actor: Actor) -> None:
        """Refuses changes to an engine whose approved runs would then play something else; runs
        that carry their records are not affected."""
        approved = [run for run in await self._active() if run.status.approved]
        sides = [side for run in approved for side in run.plan.sides if not side.record]
        if not actor.approver and any(side.engine == name for side in sides):
            raise EngineInUse(name=name, what="only an approver may change it before they end")

    async def _check_idle(self, name: str, what: str) -> None:
        if any(plays(run, name) for run in await self._active()):
            raise EngineInUse(name=name, what=what)

    async def _save(self, engine: EngineVersion) -> None:
        await self._rows.save(engine)
        self._learn((*self._kept.values(), engine))

    def _learn(self, engines: tuple[EngineVersion, ...]) -> None:
        self._kept = {engine.record.name: engine for engine in engines}
        present = [each.record for each in self._kept.values() if not each.removed]
        gone = [each.record for each in self._kept.values() if each.removed]
        self._known = {each.name: each for each in (*BUILT_IN, *present)}
        self.catalogue = catalogue_of(self._known.values())
        ever = ({each.name: each for each in gone} | self._known).values()
        self._shares.clear()
        self._shares |= {each.name: each.share for each in ever}
        self._ever = catalogue_of(ever)
        self.private = {each.name: each.team for each in ever if each.private}
        self.removed = frozenset(each.name for each in gone) - self._known.keys()
        self._for_workers = {
            each.name: replace(each, presets=(), history=False, branch="")
            for each in ever
            if each is not STOCKFISH
        }


def change_events(
    before: EngineRecord | None, after: EngineRecord, actor: str, now: datetime
) -> Iterator[Event]:
    """The log events of a changed record, a separate one for each team, which names no other team:
    readers of one event need not know the other teams."""
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


def records_digest(run: Run) -> str:
    """A digest that identifies the records of a run; empty if it has none."""
    records = [side.record for side in run.plan.sides if side.record not in ("", NOTHING_TOLD)]
    return hashlib.sha256("\n".join(records).encode()).hexdigest()[:16] if records else ""


def submitted_record(side: Side) -> EngineRecord | None:
    """The record that a side was submitted with; None if workers are not sent one."""
    return None if side.record in ("", NOTHING_TOLD) else _decoded(side.record)


def _encoded(record: EngineRecord | None) -> str:
    return NOTHING_TOLD if record is None else encode(record).decode()


@lru_cache(maxsize=1000)
def _decoded(text: str) -> EngineRecord:
    """Decodes a record; equal texts give the same object, which `Payloads` relies on."""
    return msgspec.json.decode(text, type=EngineRecord)


def no_versions(name: str) -> UnknownEngine:
    """The error for an engine that has no record of its own to list or to remove."""
    return (NoVersions if name in BUILT_IN_NAMES else UnknownEngine)(name=name)


def plays(run: Run, engine: str) -> bool:
    return any(side.engine == engine for side in run.plan.sides)


def _check_record(record: EngineRecord) -> Checks:
    """Checks that workers can report what the record needs, and that no regular expression in it
    can run away, here or on a worker."""
    checks = Checks()
    checks.require(
        bool(record.team) or not record.private, "private", "a private engine needs a team"
    )
    for field, name in list_unreported(record):
        text = f"no worker reports {name}, so no machine could play it"
        checks.require(False, field, text)
    for field, pattern, check_pattern in (
        ("nets.pattern", record.nets.pattern, check),
        ("bench.pattern", record.bench.pattern, check_for_workers),
    ):
        try:
            check_pattern(pattern)
        except BadPattern as fault:
            checks.require(False, field, str(fault))
    return checks
