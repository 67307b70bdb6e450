"""Repositories that the server may open with credentials of its own, for whom, and who said so.

An engine's record names its source, and anybody with a team may write a record. What the server's
credentials open is therefore said apart from records, by the operator or by an approver: a
repository is granted to a team, or to everybody who may submit runs. All others are fetched as a
stranger would.
"""

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rookery.clock import Clock
from rookery.db.fence import Fence
from rookery.db.pool import Pool, Queries
from rookery.model.engine import STOCKFISH, source_address
from rookery.model.events import Action, about_team
from rookery.model.run import NotApprover, RunFault
from rookery.people.teams import Teams, UnknownTeam
from rookery.people.users import Audit, NoAudit
from rookery.protocol.codec import BadField
from rookery.rules.lifecycle import Actor

EVERYBODY = ""
"""In the place of a team."""
LONGEST = 500
OPEN = frozenset({STOCKFISH.source})
"""Whose source everybody may read: asked by name, GitHub answers more often."""


class NotGranted(RunFault):
    """{repository} is not granted to {whom}"""


@dataclass(frozen=True, slots=True)
class GrantedRepository:
    """An address in the form of `source_address`; the team may be EVERYBODY."""

    repository: str
    team: str
    granted_by: str
    at: datetime


class GrantRows(Protocol):
    """The port. Any process may write; each change is told to all."""

    async def everything(self) -> tuple[GrantedRepository, ...]:
        """By address and team."""
        ...

    async def add(self, granted: GrantedRepository) -> None:
        """Granting twice keeps the first."""
        ...

    async def remove(self, repository: str, team: str) -> bool:
        """Whether there was anything to remove."""
        ...


class Repositories:
    """One per process; the event loop alone writes here."""

    def __init__(
        self, rows: GrantRows, teams: Teams, clock: Clock, audit: Audit | None = None
    ) -> None:
        self._rows = rows
        self._teams = teams
        self._clock = clock
        self._audit = audit or NoAudit()
        self._one_at_a_time = asyncio.Lock()
        self._granted: tuple[GrantedRepository, ...] = ()
        self._of_team: dict[str, frozenset[str]] = {}

    async def load(self) -> None:
        """At the start, and whenever another process has changed something."""
        self._granted = await self._rows.everything()
        found: defaultdict[str, set[str]] = defaultdict(set)
        for each in self._granted:
            found[each.team].add(each.repository)
        self._of_team = {team: frozenset(names) for team, names in found.items()}

    def open_to(self, user: str) -> frozenset[str]:
        """The repositories that the server opens with its credentials on behalf of somebody."""
        teams = (EVERYBODY, *self._teams.of(user))
        return OPEN.union(*(self._of_team.get(team, ()) for team in teams))

    def seen_by(self, actor: Actor) -> tuple[GrantedRepository, ...]:
        """Approvers see all, others what they may use."""
        own = self._teams.of(actor.name) | {EVERYBODY}
        return tuple(each for each in self._granted if actor.approver or each.team in own)

    async def grant(self, repository: str, team: str, actor: Actor) -> GrantedRepository:
        """Raises NotApprover, UnknownTeam or BadField."""
        _check_approver(actor)
        if team and not self._teams.exists(team):
            raise UnknownTeam(name=team)
        granted = GrantedRepository(_address(repository), team, actor.name, self._clock.now())
        async with self._one_at_a_time:
            await self._rows.add(granted)
            await self.load()
            await self._tell(Action.GRANT_REPOSITORY, granted, actor)
        return granted

    async def revoke(self, repository: str, team: str, actor: Actor) -> None:
        """Raises NotApprover or NotGranted. What runs were given before stays with them."""
        _check_approver(actor)
        granted = GrantedRepository(_address(repository), team, actor.name, self._clock.now())
        async with self._one_at_a_time:
            if not await self._rows.remove(granted.repository, team):
                raise NotGranted(repository=granted.repository, whom=team or "everybody")
            await self.load()
            await self._tell(Action.REVOKE_REPOSITORY, granted, actor)

    async def _tell(self, action: Action, granted: GrantedRepository, actor: Actor) -> None:
        """A line with a team is read by that team; one for everybody does not name the address,
        because the whole world reads it."""
        message = granted.repository if granted.team else "for everybody"
        now = self._clock.now()
        await self._audit.write(about_team(action, granted.team, actor.name, now, message))


def _check_approver(actor: Actor) -> None:
    if not actor.approver:
        raise NotApprover


def _address(text: str) -> str:
    address = source_address(text)
    plain = "://" in address and len(address) <= LONGEST and address.isprintable()
    if not plain or " " in address:
        raise BadField(field="repository", text="expected an address such as https://host/path")
    return address


# Granted repositories in PostgreSQL, and their twin in memory. Any process may write them; each
# change is told to all.


class PostgresRepositories:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def everything(self) -> tuple[GrantedRepository, ...]:
        rows = await self._pool.fetch(self._queries["repositories_all"])
        return tuple(
            GrantedRepository(row["repository"], row["team"], row["granted_by"], row["granted"])
            for row in rows
        )

    async def add(self, granted: GrantedRepository) -> None:
        columns = (granted.repository, granted.team, granted.granted_by, granted.at)
        async with self._fence.write() as connection:
            await connection.execute(self._queries["repositories_add"], *columns)
            await connection.execute(self._queries["engines_changed"], granted.repository)

    async def remove(self, repository: str, team: str) -> bool:
        async with self._fence.write() as connection:
            query = self._queries["repositories_remove"]
            gone = await connection.fetchval(query, repository, team)
            await connection.execute(self._queries["engines_changed"], repository)
        return gone is not None
