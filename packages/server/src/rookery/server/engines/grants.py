"""The repositories that the server may fetch with its own credentials, and for which teams.

An engine's record names its source, and any member of a team may write a record. So the operator or
an approver decides for which repositories the credentials are used: a repository is granted to a
team, or to everybody who may submit runs. All others are fetched without credentials.
"""

import asyncio
from collections import defaultdict

from rookery.core.clock import Clock
from rookery.core.errors import NotThere
from rookery.core.model.actor import Actor
from rookery.core.model.engine import STOCKFISH, source_address
from rookery.core.model.events import Action, about_team
from rookery.core.model.run import NOT_APPROVER, NotYours, RunFault
from rookery.core.protocol.codec import BadField
from rookery.core.protocol.people import GrantedRepository
from rookery.server.db.table import Table, columns
from rookery.server.identity.users import Audit
from rookery.server.teams.teams import Teams, UnknownTeam

EVERYBODY = ""
"""Stands for a team's name in a grant to all users."""
LONGEST = 500
ALWAYS_GRANTED = frozenset({STOCKFISH.source})
"""Public repositories for which credentials are always used, because they give a larger quota at
GitHub."""


class NotGranted(NotThere, RunFault):
    """{repository} is not granted to {whom}"""


class GrantRows(Table):
    """The rows of granted repositories; a change notifies all processes."""

    async def list_all(self) -> tuple[GrantedRepository, ...]:
        """All grants, by address and team."""
        return await self._many(GrantedRepository, "repositories_all")

    async def add(self, new: GrantedRepository) -> None:
        """Adds a grant; does nothing if it exists."""
        async with self._writing() as write:
            await write("repositories_add", *columns(new))
            await write("engines_changed", new.repository)

    async def remove(self, repository: str, team: str) -> bool:
        """Removes a grant; returns whether it existed."""
        async with self._writing() as write:
            gone = await write("repositories_remove", repository, team)
            await write("engines_changed", repository)
        return gone is not None


class GrantedRepositories:
    """The grants in memory. One per process; only the event loop writes to it."""

    def __init__(self, rows: GrantRows, teams: Teams, clock: Clock, audit: Audit) -> None:
        self._rows = rows
        self._teams = teams
        self._clock = clock
        self._audit = audit
        self._one_at_a_time = asyncio.Lock()
        self._granted: tuple[GrantedRepository, ...] = ()
        self._of_team: dict[str, frozenset[str]] = {}

    async def load(self) -> None:
        """Reads all grants: at the start, and after a change by any process."""
        self._granted = await self._rows.list_all()
        found: defaultdict[str, set[str]] = defaultdict(set)
        for each in self._granted:
            found[each.team].add(each.repository)
        self._of_team = {team: frozenset(names) for team, names in found.items()}

    def list_granted(self, user: str) -> frozenset[str]:
        """The repositories that the server fetches with its credentials for a user."""
        teams = (EVERYBODY, *self._teams.of(user))
        return ALWAYS_GRANTED.union(*(self._of_team.get(team, ()) for team in teams))

    def list_granted_to(self, team: str) -> frozenset[str]:
        """The repositories granted to a team; those granted to everybody if `team` is empty."""
        teams = {EVERYBODY, team}
        return ALWAYS_GRANTED.union(*(self._of_team.get(each, ()) for each in teams))

    def list_granted_to_team(self, team: str) -> frozenset[str]:
        """The repositories that the server fetches with its credentials for an engine of a team."""
        return ALWAYS_GRANTED.union(*(self._of_team.get(each, ()) for each in (EVERYBODY, team)))

    def list_visible(self, actor: Actor) -> tuple[GrantedRepository, ...]:
        """The grants that the actor may see: all for approvers, else those of their teams."""
        own = self._teams.of(actor.name) | {EVERYBODY}
        return tuple(each for each in self._granted if actor.approver or each.team in own)

    async def grant(self, repository: str, team: str, actor: Actor) -> GrantedRepository:
        """Grants a repository to a team; raises NotYours, UnknownTeam or BadField."""
        _check_approver(actor)
        if team and not self._teams.exists(team):
            raise UnknownTeam(name=team)
        granted = self._make_grant(repository, team, actor)
        async with self._one_at_a_time:
            await self._rows.add(granted)
            await self.load()
            await self._write_audit(Action.GRANT_REPOSITORY, granted, actor)
        return granted

    async def revoke(self, repository: str, team: str, actor: Actor) -> None:
        """Revokes a grant; raises NotYours or NotGranted. Archives of earlier runs stay."""
        _check_approver(actor)
        granted = self._make_grant(repository, team, actor)
        async with self._one_at_a_time:
            if not await self._rows.remove(granted.repository, team):
                raise NotGranted(repository=granted.repository, whom=team or "everybody")
            await self.load()
            await self._write_audit(Action.REVOKE_REPOSITORY, granted, actor)

    def _make_grant(self, repository: str, team: str, actor: Actor) -> GrantedRepository:
        return GrantedRepository(
            repository=_parse_address(repository),
            team=team,
            granted_by=actor.name,
            granted=self._clock.now(),
        )

    async def _write_audit(self, action: Action, granted: GrantedRepository, actor: Actor) -> None:
        """Logs a change. A line about a team is visible to that team only; a line about everybody
        is public and does not contain the address."""
        message = granted.repository if granted.team else "for everybody"
        now = self._clock.now()
        await self._audit.write(about_team(action, granted.team, actor.name, now, message))


def _check_approver(actor: Actor) -> None:
    if not actor.approver:
        raise NotYours(NOT_APPROVER)


def _parse_address(text: str) -> str:
    address = source_address(text)
    plain = "://" in address and len(address) <= LONGEST and address.isprintable()
    if not plain or " " in address:
        raise BadField(field="repository", text="expected an address such as https://host/path")
    return address
