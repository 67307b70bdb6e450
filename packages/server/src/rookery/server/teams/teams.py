"""Teams of users who work on engines together, and who may change them. All teams are in memory.

The user who creates a team leads it. Only its members and approvers see that a team exists.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from rookery.core.clock import Clock
from rookery.core.errors import NotAllowed, NotThere
from rookery.core.model.actor import Actor
from rookery.core.model.events import Action, about_team
from rookery.core.model.run import RunFault
from rookery.core.protocol.people import Team
from rookery.server.db.table import Table, Transaction
from rookery.server.identity.users import Audit, UnknownUser, Users

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{1,49}", re.ASCII)
NOBODY: frozenset[str] = frozenset()


class UnknownTeam(NotThere, RunFault):
    """there is no team {name}"""


class TeamExists(RunFault):
    """there is already a team {name}"""


class NotLeading(NotAllowed, RunFault):
    """only those who lead the team or an approver may do this"""


class LastLead(RunFault):
    """a team needs somebody who leads it: name another lead first"""


class TeamRows(Table):
    """The rows of teams and their members; a change notifies all processes."""

    async def list_all(self) -> tuple[Team, ...]:
        return await self._many(_make_team, "teams_all")

    async def add(self, team: Team) -> None:
        """Adds a team; raises TeamExists."""
        async with self._writing() as write:
            if await write("teams_add", team.name, team.created) is None:
                raise TeamExists(name=team.name)
            await _put_members(write, team)

    async def save(self, team: Team) -> None:
        """Replaces the members of a team."""
        async with self._writing() as write:
            await write("team_members_clear", team.name)
            await _put_members(write, team)


async def _put_members(write: Transaction, team: Team) -> None:
    leads = [member in team.leads for member in team.members]
    await write("team_members_put", team.name, [*team.members], leads)
    await write("engines_changed", team.name)


def _make_team(name: str, members: Iterable[str], leads: Iterable[str], created: datetime) -> Team:
    return Team(name, tuple(sorted(members)), tuple(sorted(leads)), created)


class Teams:
    """The teams in memory. One per process; only the event loop writes to it."""

    def __init__(self, rows: TeamRows, users: Users, clock: Clock, audit: Audit) -> None:
        self._rows = rows
        self._audit = audit
        self._users = users
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()
        self._teams: dict[str, Team] = {}
        self._of: dict[str, frozenset[str]] = {}

    async def load(self) -> None:
        """Reads all teams: at the start, and after a change by another process."""
        self._replace_teams(await self._rows.list_all())

    def of(self, user: str | None) -> frozenset[str]:
        """The names of a user's teams, from memory: needed at every call of a worker."""
        return self._of.get(user or "", NOBODY)

    def exists(self, team: str) -> bool:
        return team in self._teams

    def list_visible(self, actor: Actor) -> tuple[Team, ...]:
        """The teams that the actor may see, by name."""
        own = self.of(actor.name)
        names = sorted(name for name in self._teams if actor.approver or name in own)
        return tuple(self._teams[name] for name in names)

    def by_name(self, name: str, actor: Actor) -> Team:
        """The team; raises UnknownTeam, also where the actor may not see it."""
        team = self._teams.get(name)
        if team is None or not (actor.approver or actor.name in team.members):
            raise UnknownTeam(name=name)
        return team

    async def create(self, name: str, actor: Actor) -> Team:
        async with self._one_at_a_time:
            if name in self._teams:
                raise TeamExists(name=name)
            team = _make_team(name, [actor.name], [actor.name], self._clock.now())
            await self._rows.add(team)
            self._replace_teams((*self._teams.values(), team))
            await self._write_audit(Action.NEW_TEAM, name, actor)
        return team

    async def add_member(self, name: str, user: str, actor: Actor, *, lead: bool = False) -> Team:
        """Adds a member, or changes whether a member leads; raises UnknownUser or NotLeading."""
        if await self._users.by_name(user) is None:
            raise UnknownUser(user)
        async with self._one_at_a_time:
            team = self._find_led_team(name, actor)
            leads = {*team.leads, user} if lead else {*team.leads} - {user}
            after = _make_team(name, {*team.members, user}, leads, team.created)
            await self._save(after)
            if after != team:
                action = Action.MODIFY_TEAM if user in team.members else Action.JOIN_TEAM
                await self._write_audit(
                    action, name, actor, "leads" if lead else "is a member", user
                )
            return after

    async def remove_member(self, name: str, user: str, actor: Actor) -> Team:
        """Removes a member, who may do so themselves; raises NotLeading or LastLead."""
        async with self._one_at_a_time:
            team = (
                self.by_name(name, actor)
                if user == actor.name
                else self._find_led_team(name, actor)
            )
            gone = {user}
            after = _make_team(name, {*team.members} - gone, {*team.leads} - gone, team.created)
            await self._save(after)
            if after != team:
                message = "left" if user == actor.name else "sent away"
                await self._write_audit(Action.LEAVE_TEAM, name, actor, message, user)
            return after

    def _find_led_team(self, name: str, actor: Actor) -> Team:
        team = self.by_name(name, actor)
        if not actor.approver and actor.name not in team.leads:
            raise NotLeading
        return team

    async def _save(self, team: Team) -> None:
        if not team.leads:
            raise LastLead
        await self._rows.save(team)
        self._replace_teams((*self._teams.values(), team))

    async def _write_audit(
        self, action: Action, team: str, actor: Actor, message: str = "", user: str = ""
    ) -> None:
        now = self._clock.now()
        await self._audit.write(about_team(action, team, actor.name, now, message, user))

    def _replace_teams(self, teams: tuple[Team, ...]) -> None:
        self._teams = {team.name: team for team in teams}
        found: defaultdict[str, set[str]] = defaultdict(set)
        for team in self._teams.values():
            for member in team.members:
                found[member].add(team.name)
        self._of = {user: frozenset(names) for user, names in found.items()}
