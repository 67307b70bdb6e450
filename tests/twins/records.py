"""Engine records, statistics, speeds and granted repositories in memory."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

import msgspec
from msgspec.structs import replace

from rookery.core.protocol.people import GrantedRepository
from rookery.core.protocol.v1 import EngineVersion
from rookery.server.engines.engines import EngineRows
from rookery.server.engines.grants import GrantRows
from rookery.server.farm.figures import CountedRows, FigureRows
from rookery.server.farm.findings import D, FindingKind, FindingRows
from rookery.server.farm.statistics_rows import (
    ContributionTotals,
    Contributor,
    ContributorOrder,
    Credit,
    Due,
    IdleSince,
    Period,
    Played,
    RankedContributor,
    SpeedRows,
    Statistics,
    ToldSpeeds,
)
from rookery.server.servers.instances import Instance, InstanceRows, OtherInstances, StepDown


class MemoryEngines(EngineRows):
    def __init__(self, *engines: EngineVersion) -> None:
        self._engines = {engine.record.name: engine for engine in engines}
        self._versions: defaultdict[str, list[EngineVersion]] = defaultdict(list)

    async def list_all(self) -> tuple[EngineVersion, ...]:
        return tuple(self._engines[name] for name in sorted(self._engines))

    async def save(self, engine: EngineVersion) -> None:
        self._engines[engine.record.name] = engine
        versions = self._versions[engine.record.name]
        versions.append(replace(engine, version=len(versions) + 1))

    async def versions(self, name: str) -> tuple[EngineVersion, ...]:
        return tuple(self._versions[name])


class MemoryFigures(FigureRows):
    """Figures of a farm without failures."""

    def __init__(self) -> None:
        """There are no rows."""

    async def count(self) -> CountedRows:
        return CountedRows()


class MemoryFindings(FindingRows):
    def __init__(self) -> None:
        self._documents: dict[tuple[str, str], bytes] = {}

    async def save(self, kind: FindingKind, about: str, document: object, now: datetime) -> None:
        del now
        self._documents[kind, about] = msgspec.json.encode(document)

    async def load(self, kind: FindingKind, about: Collection[str], form: type[D]) -> dict[str, D]:
        found = {name: self._documents.get((kind, name)) for name in about}
        return {
            name: msgspec.json.decode(text, type=form)
            for name, text in found.items()
            if text is not None
        }


class MemoryStatistics(Statistics):
    """Statistics that contain only what a test has put in."""

    def __init__(self) -> None:
        self.contributors: dict[Period, list[Contributor]] = {each: [] for each in Period}
        self.late: dict[tuple[str, int], int] = {}

    async def due(self, limit: int) -> tuple[Due, ...]:
        del limit
        return ()

    async def played(self, run_id: str) -> tuple[Played, ...]:
        del run_id
        return ()

    async def credit(self, due: Due, credits_: Sequence[Credit]) -> None:
        """Does nothing: no run is ever due."""

    async def note_late(self, run: str, task: int, games: int, at: datetime) -> None:
        del at
        self.late[run, task] = max(games, self.late.get((run, task), 0))

    async def sum_up(self, since: datetime) -> None:
        """Does nothing: there is nothing to sum up."""

    async def drop_idle(self, idle: IdleSince, most: int) -> tuple[str, ...]:
        del idle, most
        return ()

    async def page(self, period: Period, first: int, count: int) -> tuple[Contributor, ...]:
        return tuple(self.contributors[period][first : first + count])

    async def search(
        self, period: Period, text: str, order: ContributorOrder, first: int, count: int
    ) -> tuple[RankedContributor, ...]:
        ranked = sorted(
            self.contributors[period], key=lambda each: _worth(each, order), reverse=True
        )
        wanted = [
            (place, each)
            for place, each in enumerate(ranked, 1)
            if text.lower() in each.user_name.lower()
        ]
        return tuple(
            RankedContributor(place=place, **asdict(each), found=len(wanted))
            for place, each in wanted[first : first + count]
        )

    async def totals(self, period: Period) -> ContributionTotals:
        every = self.contributors[period]
        hours = sum(each.core_hours for each in every)
        return ContributionTotals(len(every), sum(each.games for each in every), hours)

    async def of_users(self, names: Collection[str]) -> Mapping[str, Mapping[Period, Contributor]]:
        return {
            name: {
                period: each
                for period, every in self.contributors.items()
                for each in every
                if each.user_name == name
            }
            for name in names
        }

    async def hours_of(self, users: Sequence[str]) -> Mapping[str, float]:
        found = (each for each in self.contributors[Period.ALL] if each.user_name in users)
        return {each.user_name: each.core_hours for each in found}


def _worth(who: Contributor, order: ContributorOrder) -> float:
    last = who.last.timestamp() if who.last else 0.0
    worth = {
        ContributorOrder.HOURS: who.core_hours,
        ContributorOrder.GAMES: who.games,
        ContributorOrder.TESTS: who.tests,
        ContributorOrder.LAST: last,
    }
    return worth[order]


class MemoryInstances(InstanceRows):
    def __init__(self) -> None:
        self._kept: dict[str, Instance] = {}
        self.asked: list[StepDown] = []

    async def put(self, instance: Instance) -> OtherInstances:
        self._kept[instance.name] = instance
        return OtherInstances(others=len(self._kept) - 1)

    async def list_all(self) -> tuple[Instance, ...]:
        return tuple(self._kept.values())

    async def ask_step_down(self, asked: StepDown) -> None:
        self.asked.append(asked)

    async def remove(self, name: str) -> None:
        self._kept.pop(name, None)


class MemorySpeeds(SpeedRows):
    def __init__(self) -> None:
        self._told: dict[str, ToldSpeeds] = {}

    async def list_all(self) -> tuple[ToldSpeeds, ...]:
        return tuple(self._told.values())

    async def save(self, told: ToldSpeeds, now: datetime) -> None:
        del now
        self._told.pop(told.engine, None)
        self._told[told.engine] = told


class MemoryRepositories(GrantRows):
    def __init__(self) -> None:
        self._granted: dict[tuple[str, str], GrantedRepository] = {}

    async def list_all(self) -> tuple[GrantedRepository, ...]:
        return tuple(self._granted[key] for key in sorted(self._granted))

    async def add(self, granted: GrantedRepository) -> None:
        self._granted.setdefault((granted.repository, granted.team), granted)

    async def remove(self, repository: str, team: str) -> bool:
        return self._granted.pop((repository, team), None) is not None
