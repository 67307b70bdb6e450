"""Repositories that the server may open with credentials of its own, for whom, and who said so.

An engine's record names its source, and anybody with a team may write a record. What the server's
credentials open is therefore said apart from records, by the operator or by an approver: a
repository is granted to a team, or to everybody who may submit runs. All others are fetched as a
stranger would.
"""

import asyncio
from collections import defaultdict

from rookery.clock import Clock
from rookery.db.table import Table, columns
from rookery.model.engine import STOCKFISH, source_address
from rookery.model.events import Action, about_team
from rookery.model.run import NotApprover, RunFault
from rookery.people.teams import Teams, UnknownTeam
from rookery.people.users import Audit
from rookery.protocol.codec import BadField
from rookery.protocol.people import GrantedRepository
from rookery.rules.lifecycle import Actor

EVERYBODY = ""
"""In the place of a team."""
LONGEST = 500
OPEN = frozenset({STOCKFISH.source})
"""Whose source everybody may read: asked by name, GitHub answers more often."""


class NotGranted(RunFault):
    """{repository} is not granted to {whom}"""


class GrantRows(Table):
    """The rows of granted repositories; each change is told to all processes."""

    async def everything(self) -> tuple[GrantedRepository, ...]:
        """By address and team."""
        return await self._many(GrantedRepository, "repositories_all")

    async def add(self, new: GrantedRepository) -> None:
        """Granting twice keeps the first."""
        async with self._writing() as write:
            await write("repositories_add", *columns(new))
            await write("engines_changed", new.repository)

    async def remove(self, repository: str, team: str) -> bool:
        """Whether there was anything to remove."""
        async with self._writing() as write:
            gone = await write("repositories_remove", repository, team)
            await write("engines_changed", repository)
        return gone is not None


class Repositories:
    """One per process; the event loop alone writes here."""

    def __init__(self, rows: GrantRows, teams: Teams, clock: Clock, audit: Audit) -> None:
        self._rows = rows
        self._teams = teams
        self._clock = clock
        self._audit = audit
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
        granted = self._new(repository, team, actor)
        async with self._one_at_a_time:
            await self._rows.add(granted)
            await self.load()
            await self._tell(Action.GRANT_REPOSITORY, granted, actor)
        return granted

    async def revoke(self, repository: str, team: str, actor: Actor) -> None:
        """Raises NotApprover or NotGranted. What runs were given before stays with them."""
        _check_approver(actor)
        granted = self._new(repository, team, actor)
        async with self._one_at_a_time:
            if not await self._rows.remove(granted.repository, team):
                raise NotGranted(repository=granted.repository, whom=team or "everybody")
            await self.load()
            await self._tell(Action.REVOKE_REPOSITORY, granted, actor)

    def _new(self, repository: str, team: str, actor: Actor) -> GrantedRepository:
        return GrantedRepository(
            repository=_address(repository),
            team=team,
            granted_by=actor.name,
            granted=self._clock.now(),
        )

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
