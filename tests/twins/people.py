"""In-memory twins of accounts, tokens, sessions and teams."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from rookery.core.model.events import Event
from rookery.core.protocol.people import Team
from rookery.server.identity.users import (
    Audit,
    EndedSessions,
    Scope,
    Token,
    Tokens,
    UnknownToken,
    UnknownUser,
    User,
    UserExists,
    UserKind,
    UserQuery,
    Users,
    is_approver,
)
from rookery.server.teams.teams import TeamExists, TeamRows
from tests.twins.farm_commits import MemoryRows


class MemoryUsers(Users):
    def __init__(self, *users: User) -> None:
        self._users = {user.name: user for user in users}

    async def by_name(self, name: str) -> User | None:
        return self._users.get(name)

    async def by_names(self, names: Sequence[str]) -> tuple[User, ...]:
        return tuple(self._users[name] for name in names if name in self._users)

    async def add(self, user: User) -> None:
        if user.name in self._users:
            raise UserExists(user.name)
        self._users[user.name] = user

    async def save(self, user: User) -> None:
        if user.name not in self._users:
            raise UnknownUser(user.name)
        self._users[user.name] = user

    async def change(self, name: str, decide: Callable[[User], User]) -> tuple[User, User]:
        before = self._present(name)
        self._users[name] = decide(before)
        return before, self._users[name]

    async def remove(self, name: str, check: Callable[[User], object]) -> None:
        check(self._present(name))
        del self._users[name]

    def _present(self, name: str) -> User:
        if name not in self._users:
            raise UnknownUser(name)
        return self._users[name]

    async def count(self) -> int:
        return len(self._users)

    async def count_pending(self) -> int:
        return sum(user.pending and not user.blocked for user in self._users.values())

    async def list_all(self) -> tuple[User, ...]:
        return tuple(self._users[name] for name in sorted(self._users))

    async def page(self, wanted: UserQuery) -> tuple[User, ...]:
        found = [user for user in self._users.values() if _is_wanted(user, wanted)]
        found.sort(key=lambda user: (not user.pending, user.name.lower(), user.name))
        return tuple(found[wanted.first : wanted.first + wanted.count])


def _is_wanted(user: User, wanted: UserQuery) -> bool:
    text, told = wanted.text.lower(), wanted.for_approver
    if text not in user.name.lower() and not (told and text in user.email.lower()):
        return False
    kinds = {
        UserKind.ALL: True,
        UserKind.PENDING: user.pending,
        UserKind.BLOCKED: told and user.blocked,
        UserKind.APPROVERS: is_approver(user),
    }
    return kinds[wanted.kind] and (told or not user.pending)


class MemoryEndedSessions(EndedSessions):
    def __init__(self) -> None:
        self._ended: dict[bytes, datetime] = {}

    async def end(self, digest: bytes, now: datetime, until: datetime) -> None:
        kept = {each: end for each, end in self._ended.items() if end >= now}
        self._ended = kept | {digest: until}

    async def all(self) -> frozenset[bytes]:
        return frozenset(self._ended)


class MemoryTokens(Tokens):
    def __init__(self, users: Users) -> None:
        self._users = users
        self._tokens: dict[str, Token] = {}

    async def by_digest(self, digest: bytes) -> Token | None:
        return next((each for each in self._tokens.values() if each.digest == digest), None)

    async def add(self, token: Token) -> None:
        if await self._users.by_name(token.user) is None:
            raise UnknownUser(token.user)
        self._tokens[token.id] = token

    async def of(self, user: str) -> tuple[Token, ...]:
        found = [each for each in self._tokens.values() if user in ("", each.user)]
        return tuple(sorted(found, key=lambda each: (each.created, each.id)))

    async def revoke(self, token_id: str, now: datetime) -> str:
        token = self._tokens.get(token_id)
        if token is None:
            raise UnknownToken(token_id)
        self._tokens[token_id] = replace(token, revoked=token.revoked or now)
        return token.user

    async def valid_among(self, digests: Sequence[bytes], now: datetime) -> tuple[bytes, ...]:
        valid = {each.digest for each in self._tokens.values() if each.is_valid(now)}
        return tuple(valid.intersection(digests))

    async def used_by_workers(
        self, after: str, since: datetime, now: datetime, count: int
    ) -> tuple[Token, ...]:
        found = [
            each
            for each in sorted(self._tokens.values(), key=lambda token: token.id)
            if each.id > after
            and each.used is not None
            and each.used >= since
            and each.is_valid(now)
            and Scope.WORKER in each.scopes
        ]
        return tuple(found[:count])

    async def note_uses(self, uses: Mapping[str, datetime]) -> None:
        for token_id in uses.keys() & self._tokens.keys():
            token = self._tokens[token_id]
            latest = max(uses[token_id], token.used or uses[token_id])
            self._tokens[token_id] = replace(token, used=latest)


class MemoryAudit(Audit):
    """Writes into the fleet's events, where the log is read."""

    def __init__(self, rows: MemoryRows) -> None:
        self._rows = rows

    async def write(self, event: Event) -> None:
        self._rows.events.append(event)


class MemoryTeams(TeamRows):
    def __init__(self, *teams: Team) -> None:
        self._teams = {team.name: team for team in teams}

    async def list_all(self) -> tuple[Team, ...]:
        return tuple(self._teams[name] for name in sorted(self._teams))

    async def add(self, team: Team) -> None:
        if team.name in self._teams:
            raise TeamExists(name=team.name)
        self._teams[team.name] = team

    async def save(self, team: Team) -> None:
        self._teams[team.name] = team


class NoAudit(Audit):
    """An audit that discards everything."""

    def __init__(self) -> None:
        """Opens nothing."""

    async def write(self, event: Event) -> None:
        """Forgets it."""
