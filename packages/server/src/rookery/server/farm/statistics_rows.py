"""Users' contributions and speeds of engines as rows."""

import enum
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rookery.core.model.events import SYSTEM, Action
from rookery.server.db.pool import clean
from rookery.server.db.table import Table, columns

MOST_ENGINES = 500
"""The most engines whose speeds are kept; the least recently reported are dropped first."""


class Period(enum.StrEnum):
    """The periods over which contributions are summed."""

    ALL = "all"
    MONTH = "month"


@dataclass(frozen=True, slots=True)
class Due:
    """A finished run that is not counted yet, with the sequence number of its row."""

    run: str
    sequence: int


@dataclass(frozen=True, slots=True)
class Played:
    """The games that one user's machines played in a run, and the time of their last report."""

    user_name: str
    games: int
    last: datetime


@dataclass(frozen=True, slots=True)
class Credit:
    """A user's contribution to a run, with core hours."""

    user_name: str
    games: int
    core_hours: float
    last: datetime


@dataclass(frozen=True, slots=True)
class Contributor:
    """A user's contributions in a period; `tests` are runs that they submitted."""

    user_name: str
    games: int
    core_hours: float
    tests: int
    last: datetime | None


class ContributorOrder(enum.StrEnum):
    """The orders of a list of contributors, largest first."""

    HOURS = "hours"
    GAMES = "games"
    TESTS = "tests"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class RankedContributor:
    """A contributor with their rank in the whole list in the same order."""

    place: int
    user_name: str
    games: int
    core_hours: float
    tests: int
    last: datetime | None
    found: int
    """The number of contributors that the search found."""


@dataclass(frozen=True, slots=True)
class ContributionTotals:
    """The contributions of all users in a period."""

    users: int = 0
    games: int = 0
    core_hours: float = 0.0


@dataclass(frozen=True, slots=True)
class IdleSince:
    """Selects accounts to delete: those created within a time window that were never used."""

    after: datetime
    before: datetime
    now: datetime
    message: str


class Statistics(Table):
    """Users' contributions by run, and their sums, as rows."""

    async def due(self, limit: int) -> tuple[Due, ...]:
        """Finished runs that have changed since they were counted, or were never counted."""
        return await self._many(Due, "credits_due", limit)

    async def played(self, run_id: str) -> tuple[Played, ...]:
        return await self._many(Played, "credits_played", run_id)

    async def credit(self, due: Due, credits_: Sequence[Credit]) -> None:
        """Replace the contributions that the run was counted for before."""
        async with self._writing() as write:
            await write("credits_drop", due.run)
            await write.each("credits_add", [(due.run, *columns(each)) for each in credits_])
            await write("credits_done", due.run, due.sequence)

    async def note_late(self, run: str, task: int, games: int, at: datetime) -> None:
        """Note games of a task that came after the end of its run, so that the run is counted
        again."""
        async with self._writing() as write:
            await write("credits_late", run, task, games, at)
            await write("credits_again", run)

    async def sum_up(self, since: datetime) -> None:
        """Compute the sums anew, over all time and since `since`."""
        async with self._writing() as write:
            await write("statistics_clear")
            await write("statistics_sum_up", since)

    async def drop_idle(self, idle: IdleSince, most: int) -> tuple[str, ...]:
        """Delete at most `most` idle accounts, each with a line in the log, and return their names.

        An account is kept if it has a run, games, a machine, a token, a team, rights, an upload or
        any action in the log, if it is blocked, or if an administrator created it."""
        line = (Action.REMOVE_USER.value, SYSTEM, Action.NEW_USER.value)
        async with self._writing() as write:
            gone = await write.column("accounts_drop_idle", *columns(idle), most, *line)
            for name in gone:
                await write("users_changed", name)
        return tuple(gone)

    async def page(self, period: Period, first: int, count: int) -> tuple[Contributor, ...]:
        """Return a page of contributors, largest contribution first."""
        return await self._many(Contributor, "statistics_page", period.value, count, first)

    async def search(
        self, period: Period, text: str, order: ContributorOrder, first: int, count: int
    ) -> tuple[RankedContributor, ...]:
        """Contributors whose name contains `text`, with their ranks in the whole list."""
        values = (period.value, clean(text), order.value, count, first)
        return await self._many(RankedContributor, "statistics_search", *values)

    async def totals(self, period: Period) -> ContributionTotals:
        found = await self._one(ContributionTotals, "statistics_totals", period.value)
        return found or ContributionTotals()

    async def of_users(self, names: Collection[str]) -> Mapping[str, Mapping[Period, Contributor]]:
        """Return the contributions of some users by name and period, as far as counted."""
        found: dict[str, dict[Period, Contributor]] = {name: {} for name in names}
        for period, who in await self._many(_period_of, "statistics_of_users", list(names)):
            found[who.user_name][period] = who
        return found

    async def hours_of(self, users: Sequence[str]) -> Mapping[str, float]:
        """Return the core hours of users' machines in all, as far as counted."""
        return dict(await self._many(_hours_of, "statistics_hours", list(users)))


def _hours_of(user_name: str, core_hours: float) -> tuple[str, float]:
    return user_name, core_hours


def _period_of(period: str, **row: Any) -> tuple[Period, Contributor]:
    return Period(period), Contributor(**row)


@dataclass(frozen=True, slots=True)
class ToldSpeeds:
    """The speeds that machines reported for an engine, by machine, most recent last."""

    engine: str
    machines: tuple[tuple[str, float], ...]


class SpeedRows(Table):
    """Speeds of engines as rows, written by the primary and read by the others."""

    async def list_all(self) -> tuple[ToldSpeeds, ...]:
        """Return the speeds of all engines, most recently reported last."""
        return await self._many(_told_speeds, "speeds_all")

    async def save(self, told: ToldSpeeds, now: datetime) -> None:
        """Replace the saved speeds of an engine."""
        machines = [clean(machine) for machine, _ in told.machines]
        async with self._writing() as write:
            await write(
                "speeds_save", told.engine, machines, [nps for _, nps in told.machines], now
            )
            await write("speeds_drop", MOST_ENGINES)


def _told_speeds(engine: str, machines: list[str], nps: list[float]) -> ToldSpeeds:
    return ToldSpeeds(engine, tuple(zip(machines, nps, strict=True)))
