"""What users' machines gave and how fast they play engines, as rows."""

import enum
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rookery.db.pool import clean
from rookery.db.table import Table, columns
from rookery.model.events import SYSTEM, Action

MOST_ENGINES = 500
"""Speeds of more engines than these are forgotten, those of the longest ago first."""


class Period(enum.StrEnum):
    """Over which time sums are kept."""

    ALL = "all"
    MONTH = "month"


@dataclass(frozen=True, slots=True)
class Due:
    """A run that is over and not counted yet, with the number of its row."""

    run: str
    sequence: int


@dataclass(frozen=True, slots=True)
class Played:
    """What one user's machines played in a run, and when they reported last."""

    user_name: str
    games: int
    last: datetime


@dataclass(frozen=True, slots=True)
class Credit:
    """What a user's machines played in a run, with core hours."""

    user_name: str
    games: int
    core_hours: float
    last: datetime


@dataclass(frozen=True, slots=True)
class Contributor:
    """A user as lists of contributors show them; `tests` are runs they submitted."""

    user_name: str
    games: int
    core_hours: float
    tests: int
    last: datetime | None


class ContributorOrder(enum.StrEnum):
    """What a list of contributors is sorted by, the largest first."""

    HOURS = "hours"
    GAMES = "games"
    TESTS = "tests"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class RankedContributor:
    """A contributor with their place in the whole list, by the same order."""

    place: int
    user_name: str
    games: int
    core_hours: float
    tests: int
    last: datetime | None
    found: int
    """How many the list has that were searched for."""


@dataclass(frozen=True, slots=True)
class ContributionTotals:
    """What all users gave together in a period."""

    users: int = 0
    games: int = 0
    core_hours: float = 0.0


@dataclass(frozen=True, slots=True)
class IdleSince:
    """Accounts to part with: those made in between that nobody has used for anything."""

    after: datetime
    before: datetime
    now: datetime
    message: str


class Statistics(Table):
    """Contributions by run, and sums of them by user."""

    async def due(self, limit: int) -> tuple[Due, ...]:
        """Runs that are over and were not counted as they are now."""
        return await self._many(Due, "credits_due", limit)

    async def played(self, run_id: str) -> tuple[Played, ...]:
        return await self._many(Played, "credits_played", run_id)

    async def credit(self, due: Due, credits_: Sequence[Credit]) -> None:
        """Puts these in the place of what the run was counted for before."""
        async with self._writing() as write:
            await write("credits_drop", due.run)
            await write.each("credits_add", [(due.run, *columns(each)) for each in credits_])
            await write("credits_done", due.run, due.sequence)

    async def note_late(self, run: str, task: int, games: int, at: datetime) -> None:
        """So many games of a task came after the end of its run; it is to be counted again."""
        async with self._writing() as write:
            await write("credits_late", run, task, games, at)
            await write("credits_again", run)

    async def sum_up(self, since: datetime) -> None:
        """Adds up anew, over all time and since then."""
        async with self._writing() as write:
            await write("statistics_clear")
            await write("statistics_sum_up", since)

    async def drop_idle(self, idle: IdleSince, most: int) -> tuple[str, ...]:
        """Removes so many such accounts at the most, with a line in the log for each; their names.

        An account stays that has a run, games, a machine, a token, a team, rights, an upload or
        any deed in the log, that is blocked, or that an administrator has made."""
        line = (Action.REMOVE_USER.value, SYSTEM, Action.NEW_USER.value)
        async with self._writing() as write:
            gone = await write.column("accounts_drop_idle", *columns(idle), most, *line)
            for name in gone:
                await write("users_changed", name)
        return tuple(gone)

    async def page(self, period: Period, first: int, count: int) -> tuple[Contributor, ...]:
        """Those who gave most come first."""
        return await self._many(Contributor, "statistics_page", period.value, count, first)

    async def search(
        self, period: Period, text: str, order: ContributorOrder, first: int, count: int
    ) -> tuple[RankedContributor, ...]:
        """Those whose name holds a text, in an order; places are those of the whole list."""
        values = (period.value, clean(text), order.value, count, first)
        return await self._many(RankedContributor, "statistics_search", *values)

    async def totals(self, period: Period) -> ContributionTotals:
        found = await self._one(ContributionTotals, "statistics_totals", period.value)
        return found or ContributionTotals()

    async def of_users(self, names: Collection[str]) -> Mapping[str, Mapping[Period, Contributor]]:
        """What some users gave, by name and period, as far as it was counted."""
        found: dict[str, dict[Period, Contributor]] = {name: {} for name in names}
        for period, who in await self._many(_period_of, "statistics_of_users", list(names)):
            found[who.user_name][period] = who
        return found

    async def core_hours(self, user: str) -> float:
        """What the user's machines gave in all, as far as it was counted."""
        return float(await self._value("statistics_hours", user) or 0)


def _period_of(period: str, **row: Any) -> tuple[Period, Contributor]:
    return Period(period), Contributor(**row)


@dataclass(frozen=True, slots=True)
class ToldSpeeds:
    """What machines told of an engine, by their names, the latest at the end."""

    engine: str
    machines: tuple[tuple[str, float], ...]


class SpeedRows(Table):
    """The primary writes them, others read what it wrote."""

    async def list_all(self) -> tuple[ToldSpeeds, ...]:
        """The engine that was told of last comes last."""
        return await self._many(_told_speeds, "speeds_all")

    async def save(self, told: ToldSpeeds, now: datetime) -> None:
        """Puts these in the place of what was known of that engine."""
        machines = [clean(machine) for machine, _ in told.machines]
        async with self._writing() as write:
            await write(
                "speeds_save", told.engine, machines, [nps for _, nps in told.machines], now
            )
            await write("speeds_drop", MOST_ENGINES)


def _told_speeds(engine: str, machines: list[str], nps: list[float]) -> ToldSpeeds:
    return ToldSpeeds(engine, tuple(zip(machines, nps, strict=True)))
