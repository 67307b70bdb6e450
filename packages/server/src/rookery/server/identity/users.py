"""Users, access tokens, ended sessions and the log of actions: values and their rows."""

import base64
import enum
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET

from rookery.core.errors import BadInput, Complaint, NotAllowed, NotNow, NotThere
from rookery.core.model.events import Event
from rookery.core.model.notifications import account_waits
from rookery.core.protocol.people import TokenEntry, TokenScope
from rookery.server.db.pool import clean
from rookery.server.db.table import Table, clean_columns, columns


class AccountRefused(BadInput, Complaint):
    """What was asked for an account can't be had; the text says why."""


class Malformed(AccountRefused):
    """A name, a password, an address or a request is not well-formed."""

    exit_code = 2


class NotPermitted(NotAllowed, Complaint):
    """The user may not do this with their account."""


class AccountConflict(NotNow, Complaint):
    """The account is in a state in which this can't be done."""


class UserExists(Complaint):
    """There is already a user of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is already a user named {name}.")


class UnknownUser(NotThere, Complaint):
    """There is no user of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no user named {name}.")


@dataclass(frozen=True, slots=True)
class User:
    """An account."""

    name: str
    email: str
    password_hash: str
    groups: frozenset[str]
    blocked: bool
    pending: bool
    machine_limit: int
    created: datetime
    upload_mb: int | None = None
    """The quota of nets, programs and books; None for that of the site."""
    block_reason: str = ""
    """The message to a blocked user."""
    verified_email: str = ""
    """The address that the user has shown to be theirs."""
    repositories: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The user's repository for each engine, for submissions that name none."""

    @property
    def is_verified(self) -> bool:
        """Whether mail to the present address reaches the user."""
        return bool(self.email) and self.email == self.verified_email


class UserKind(enum.StrEnum):
    """The kinds of users that a list shows; pending and blocked users are visible to approvers
    only."""

    ALL = "all"
    PENDING = "pending"
    BLOCKED = "blocked"
    APPROVERS = "approvers"


@dataclass(frozen=True, slots=True)
class UserQuery:
    """A page of the list of users; an approver also sees who waits, and searches addresses."""

    text: str = ""
    kind: UserKind = UserKind.ALL
    for_approver: bool = False
    first: int = 0
    count: int = 50


class Users(Table):
    """The rows of users; a change notifies all processes."""

    async def by_name(self, name: str) -> User | None:
        return await self._one(_decode_user, "users_by_name", name)

    async def by_names(self, names: Sequence[str]) -> tuple[User, ...]:
        """The users of these names that exist."""
        return await self._many(_decode_user, "users_by_names", list(names))

    async def add(self, user: User) -> None:
        """Adds a user; raises UserExists if the name is taken."""
        if not await self._store("users_add", user):
            raise UserExists(user.name)

    async def save(self, user: User) -> None:
        """Replaces the user of that name, even if it was changed since it was read; raises
        UnknownUser if there is none."""
        if not await self._store("users_save", user):
            raise UnknownUser(user.name)

    async def change(self, name: str, decide: Callable[[User], User]) -> tuple[User, User]:
        """Changes a user by `decide`, which gets the locked row, so that nobody else changes it at
        the same time; returns the user before and after. Raises UnknownUser, or what `decide`
        raises."""
        async with self._writing() as write:
            before = await write.one(_decode_user, "users_lock", name)
            if before is None:
                raise UnknownUser(name)
            after = decide(before)
            if after != before:
                await write("users_save", *_columns_of(after))
                await write("users_changed", name)
        return before, after

    async def remove(self, name: str, check: Callable[[User], object]) -> None:
        """Removes a user with their tokens and memberships in teams; raises UnknownUser, or what
        `check` raises for the locked row."""
        async with self._writing() as write:
            found = await write.one(_decode_user, "users_lock", name)
            if found is None:
                raise UnknownUser(name)
            check(found)
            await write("users_remove", name)
            # All processes have the teams in memory and must reload them.
            await write("engines_changed", "")
            await write("users_changed", name)

    async def count(self) -> int:
        return int(await self._value("users_count"))

    async def count_pending(self) -> int:
        """How many accounts wait for approval."""
        return int(await self._value("users_count_pending"))

    async def list_all(self) -> tuple[User, ...]:
        """All users, by name."""
        return await self._many(_decode_user, "users_all")

    async def page(self, wanted: UserQuery) -> tuple[User, ...]:
        """A page of users, pending ones first, then by name."""
        return await self._many(
            _decode_user,
            "users_page",
            clean(wanted.text),
            wanted.for_approver,
            wanted.kind.value,
            wanted.count,
            wanted.first,
            APPROVERS,
        )

    async def _store(self, query: str, user: User) -> bool:
        async with self._writing() as write:
            found = await write(query, *_columns_of(user))
            if found is not None:
                await write("users_changed", user.name)
                if query == "users_add" and user.pending:
                    told = account_waits(user.name, user.created)
                    await write("outbox_put", *clean_columns(told))
        return found is not None


async def find_account(users: Users, name: str, *, to_insider: bool) -> User:
    """An account; raises UnknownUser, also for one that waits for approval unless an approver or
    its owner asks."""
    found = await users.by_name(name)
    if found is None or (found.pending and not to_insider):
        raise UnknownUser(name)
    return found


def _columns_of(user: User) -> tuple[object, ...]:
    *plain, repositories = columns(user)
    return (*plain, msgspec.json.encode(dict(repositories)).decode())


def _decode_user(groups: list[str], repositories: str, **row: Any) -> User:
    decoded = msgspec.json.decode(repositories, type=dict[str, str])
    return User(groups=frozenset(groups), repositories=decoded, **row)


class EndedSessions(Table):
    """The rows of sessions that were ended by a logout, by the digest of their cookie's token; a
    change notifies all processes."""

    async def end(self, digest: bytes, now: datetime, until: datetime) -> None:
        """Ends a session; `until` is when its cookie expires and the row can go."""
        async with self._writing() as write:
            await write("sessions_forget", now)
            await write("sessions_end", digest, until)
            await write("sessions_changed", digest.hex())

    async def all(self) -> frozenset[bytes]:
        return frozenset(await self._column("sessions_ended"))


# Groups of users; the only one with an effect is that of the approvers.

GROUP_PREFIX = "group:"
APPROVERS = "group:approvers"


def is_approver(user: User) -> bool:
    return APPROVERS in user.groups


def full_group_name(word: str) -> str:
    """The stored name of a group, given with or without the prefix."""
    return word if word.startswith(GROUP_PREFIX) else GROUP_PREFIX + word


# Access tokens, which programs and workers send instead of a password.
#
# A token is 32 random bytes, of which only the SHA-256 is stored. A slow hash such as argon2
# protects what people choose and others can guess; nobody guesses 256 random bits, and a token
# comes with every call, so that its check must cost microseconds.

TOKEN_PREFIX = "rk_"  # noqa: S105 - what tokens begin with
WORKER_PREFIX = "rkw_"
SECRET_BYTES = 32
ID_BYTES = 6
LONGEST = 100
"""Longer texts are no tokens and are refused without hashing."""


class Scope(enum.StrEnum):
    """What a token may be used for, within what its owner may do."""

    READ = "read"
    SUBMIT = "submit"
    APPROVE = "approve"
    ADMIN = "admin"
    WORKER = "worker"


ORDINARY = frozenset({Scope.READ, Scope.SUBMIT, Scope.APPROVE})
"""The scopes of a token unless its owner chooses others."""


class UnknownToken(NotThere, Complaint):
    """There is no token of that id."""

    def __init__(self, token_id: str) -> None:
        super().__init__(f"There is no token {token_id}.")


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret; the id names it in lists and commands."""

    id: str
    digest: bytes
    user: str
    scopes: frozenset[Scope]
    note: str
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None
    used: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        return self.revoked is None and (self.expires is None or now < self.expires)

    def shown(self, now: datetime, *, current: bool = False) -> TokenEntry:
        """What its owner may see of it; `current` if it came with the call."""
        return TokenEntry(
            id=self.id,
            scopes=shown_scopes(self.scopes),
            note=self.note,
            created=self.created,
            valid=self.is_valid(now),
            current=current,
            expires=self.expires or UNSET,
            revoked=self.revoked or UNSET,
            used=self.used or UNSET,
        )


def shown_scopes(scopes: frozenset[Scope]) -> tuple[TokenScope, ...]:
    return tuple(scope.value for scope in sorted(scopes))


class Tokens(Table):
    """The rows of tokens; a revocation notifies all processes."""

    async def by_digest(self, digest: bytes) -> Token | None:
        return await self._one(_decode_token, "tokens_by_digest", digest)

    async def add(self, token: Token) -> None:
        """Adds a token; raises UnknownUser if its owner does not exist."""
        if await self._write("tokens_add", *columns(token)) is None:
            raise UnknownUser(token.user)

    async def of(self, user: str) -> tuple[Token, ...]:
        """The tokens of a user, or of all users for an empty name, the oldest first."""
        return await self._many(_decode_token, "list_tokens", user)

    async def revoke(self, token_id: str, now: datetime) -> str:
        """Revokes a token and returns its owner's name; raises UnknownToken. A token that was
        revoked before keeps its time."""
        async with self._writing() as write:
            owner: str | None = await write("tokens_revoke", token_id, now)
            await write("tokens_changed", token_id)
        if owner is None:
            raise UnknownToken(token_id)
        return owner

    async def valid_among(self, digests: Sequence[bytes], now: datetime) -> tuple[bytes, ...]:
        """Those of these digests whose tokens are valid."""
        return tuple(await self._column("tokens_valid_among", list(digests), now))

    async def used_by_workers(
        self, after: str, since: datetime, now: datetime, count: int
    ) -> tuple[Token, ...]:
        """Valid tokens that workers have used since a time, ordered by id, from the one after an
        id."""
        return await self._many(_decode_token, "tokens_of_workers", after, since, now, count)

    async def note_uses(self, uses: Mapping[str, datetime]) -> None:
        """Stores when tokens were last used, by id."""
        await self._write("tokens_note_uses", list(uses), list(uses.values()))


def _decode_token(scopes: list[str], **row: Any) -> Token:
    return Token(scopes=frozenset(map(Scope, scopes)), **row)


Chance = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class TokenWithSecret:
    """A new token and its secret, which is shown once and stored nowhere."""

    secret: str
    token: Token


def mint(
    user: str,
    scopes: frozenset[Scope],
    *,
    now: datetime,
    chance: Chance,
    expires: datetime | None = None,
    note: str = "",
) -> TokenWithSecret:
    """Makes a token with a random secret; raises Malformed for scopes that don't go together."""
    if Scope.WORKER in scopes and len(scopes) > 1:
        raise Malformed(
            "A worker's token is for workers alone, because it lies on other people's machines."
        )
    prefix = WORKER_PREFIX if Scope.WORKER in scopes else TOKEN_PREFIX
    secret = prefix + base64.b32encode(chance(SECRET_BYTES)).decode().rstrip("=").lower()
    token = Token(chance(ID_BYTES).hex(), digest_of(secret), user, scopes, note, now, expires)
    return TokenWithSecret(secret, token)


def digest_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


class Audit(Table):
    """Writes what was done to accounts, teams and engines to the log of actions. Actions on runs
    and tasks are written together with the changes of their rows."""

    async def write(self, event: Event) -> None:
        about = (event.nn, event.subject, event.engine, event.team)
        await self._write(
            "actions_note",
            event.at,
            str(event.action),
            clean(event.actor),
            clean(event.message or ""),
            *(clean(each) or None for each in about),
        )
