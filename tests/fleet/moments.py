"""Compares the rows at one moment with the ledger while workers are active: they must contain what
was acknowledged before, and nothing that had not been sent when they were read."""

from collections.abc import Mapping
from dataclasses import dataclass

import asyncpg

from rookery.core.model.task import NOTHING, Results
from tests.fleet.ledger import Key, Ledger

ROWS = """
SELECT run, id, wins, losses, draws, crashes, time_losses, p0, p1, p2, p3, p4, bad FROM tasks
"""
SUMS = """
SELECT runs.id FROM runs LEFT JOIN (
    SELECT run, sum(wins) AS wins, sum(losses) AS losses, sum(draws) AS draws, sum(p0) AS p0,
        sum(p1) AS p1, sum(p2) AS p2, sum(p3) AS p3, sum(p4) AS p4, count(*) AS tasks
    FROM tasks GROUP BY run
) AS found ON found.run = runs.id
WHERE runs.wins <> coalesce(found.wins, 0) OR runs.losses <> coalesce(found.losses, 0)
    OR runs.draws <> coalesce(found.draws, 0) OR runs.p0 <> coalesce(found.p0, 0)
    OR runs.p1 <> coalesce(found.p1, 0) OR runs.p2 <> coalesce(found.p2, 0)
    OR runs.p3 <> coalesce(found.p3, 0) OR runs.p4 <> coalesce(found.p4, 0)
    OR runs.tasks <> coalesce(found.tasks, 0)
"""


@dataclass(frozen=True, slots=True)
class TaskRow:
    results: Results
    is_struck: bool


@dataclass(frozen=True, slots=True)
class FarmRows:
    """All tasks at one moment, and the runs whose sums differ from their tasks."""

    tasks: dict[Key, TaskRow]
    wrong_sums: tuple[str, ...]

    @property
    def games(self) -> int:
        return sum(each.results.games for each in self.tasks.values())


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What had been acknowledged to workers up to a moment."""

    tasks: Mapping[Key, Results]

    @classmethod
    def of(cls, ledger: Ledger) -> "Acknowledged":
        return cls({key: entry.acknowledged for key, entry in ledger.entries.items()})

    @property
    def games(self) -> int:
        return sum(each.games for each in self.tasks.values())


@dataclass(frozen=True, slots=True)
class Sent:
    """The number of different reports that had been sent for each task up to a moment."""

    tasks: Mapping[Key, int]

    @classmethod
    def of(cls, ledger: Ledger) -> "Sent":
        return cls({key: len(entry.reports) for key, entry in ledger.entries.items()})


async def read_rows(connection: "asyncpg.Connection[asyncpg.Record]") -> FarmRows:
    """Reads the rows in one snapshot."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        rows = await connection.fetch(ROWS)
        wrong = await connection.fetch(SUMS)
    tasks = {(row["run"], row["id"]): TaskRow(_results_of(row), row["bad"]) for row in rows}
    return FarmRows(tasks, tuple(str(row["id"]) for row in wrong))


def _results_of(row: asyncpg.Record) -> Results:
    wins, losses, draws, crashes, time_losses, *pairs = tuple(row)[2:12]
    ll, ld, even, wd, ww = pairs
    return Results(wins, losses, draws, crashes, time_losses, (ll, ld, even, wd, ww))


def find_wrong(rows: FarmRows, before: Acknowledged, sent: Sent, ledger: Ledger) -> list[str]:
    """All errors in rows that were read after `before` and before `sent`."""
    wrong = [f"the sums of {run} are not those of its tasks" for run in rows.wrong_sums]
    wrong += [f"{key} is not there" for key in before.tasks if key not in rows.tasks]
    for key, row in rows.tasks.items():
        if row.is_struck and key[0] in ledger.purged:
            if row.results != NOTHING:
                wrong.append(f"{key} was struck out and holds {row.results}")
        elif row.results not in (allowed := _may_be(key, before, sent, ledger)):
            wrong.append(f"{key} holds {row.results} instead of one of {allowed[:3]}")
    return wrong


def _may_be(key: Key, before: Acknowledged, sent: Sent, ledger: Ledger) -> list[Results]:
    known = before.tasks.get(key, NOTHING)
    if key not in ledger.entries:
        return [known]  # its worker does not know of it yet
    reports = list(ledger.entries[key].reports.values())[: sent.tasks.get(key, 0)]
    return [known, *(each for each in reports if each.games > known.games)]
