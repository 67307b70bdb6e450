"""People with an account: the value, and the port through which use cases reach them."""

import base64
import enum
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from rookery.errors import Complaint
from rookery.model.events import Event


class UserExists(Complaint):
    """There is already a user of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is already a user named {name}.")


class UnknownUser(Complaint):
    """There is no user of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no user named {name}.")


@dataclass(frozen=True, slots=True)
class User:
    name: str
    email: str
    password_hash: str
    groups: frozenset[str]
    blocked: bool
    pending: bool
    machine_limit: int
    created: datetime
    upload_mb: int | None = None
    """What they may keep here in nets, programs and books; None: what the site allows."""
    repositories: Mapping[str, str] = field(default_factory=dict, hash=False)
    """By engine where their own branches are, for runs that do not say it."""


class EndedSessions(Protocol):
    """Sessions that somebody logged out of, by the digest of their token. Any process may end one,
    and all are told."""

    async def end(self, digest: bytes, now: datetime, until: datetime) -> None:
        """From now on it counts no longer; after `until` its cookie does not either."""
        ...

    async def all(self) -> frozenset[bytes]: ...


class Users(Protocol):
    async def by_name(self, name: str) -> User | None: ...

    async def add(self, user: User) -> None:
        """Raises UserExists when the name is taken."""

    async def save(self, user: User) -> None:
        """Replaces the user of that name; raises UnknownUser when there is none."""

    async def remove(self, name: str) -> None:
        """With their tokens and their places in teams."""

    async def count(self) -> int: ...

    async def everyone(self) -> tuple[User, ...]:
        """All users, by name."""
        ...


# Groups of users; the only one with an effect is that of the approvers.

GROUP_PREFIX = "group:"
APPROVERS = "group:approvers"


def is_approver(user: User) -> bool:
    return APPROVERS in user.groups


def group_named(word: str) -> str:
    """A group by the word that people use for it."""
    return word if word.startswith(GROUP_PREFIX) else GROUP_PREFIX + word


# Access tokens: what programs and workers show instead of a password.
#
# A token is 32 random bytes, of which only the SHA-256 is stored. A slow hash such as argon2
# protects what people choose and others can guess; nobody guesses 256 random bits, and a token
# comes with every call, so that its check must cost microseconds.

TOKEN_PREFIX = "rk_"  # noqa: S105 - what tokens begin with
WORKER_PREFIX = "rkw_"
SECRET_BYTES = 32
ID_BYTES = 6
LONGEST = 100
"""No token of ours is longer; what is longer need not be hashed."""


class Scope(enum.StrEnum):
    """What a token may be used for, within what its owner may do."""

    READ = "read"
    SUBMIT = "submit"
    APPROVE = "approve"
    ADMIN = "admin"
    WORKER = "worker"


ORDINARY = frozenset({Scope.READ, Scope.SUBMIT, Scope.APPROVE})
"""What a token is made for unless its owner wants less or more."""


class UnknownToken(Complaint):
    """There is no token of that id."""

    def __init__(self, token_id: str) -> None:
        super().__init__(f"There is no token {token_id}.")


class MixedScopes(Complaint):
    """A worker's token is for workers alone, because it lies on other people's machines."""

    exit_code = 2

    def __init__(self) -> None:
        super().__init__(" ".join((self.__doc__ or "").split()))


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret. The id is for people: it names the token in lists."""

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


class Tokens(Protocol):
    """The port. Any process may write tokens."""

    async def by_digest(self, digest: bytes) -> Token | None: ...

    async def add(self, token: Token) -> None:
        """Raises UnknownUser when nobody has that name."""
        ...

    async def of(self, user: str) -> tuple[Token, ...]:
        """All tokens of a user, oldest first; those of everybody for an empty name."""
        ...

    async def revoke(self, token_id: str, now: datetime) -> str:
        """For good; whose it was. Raises UnknownToken. Revoking twice keeps the first time."""
        ...

    async def note_uses(self, uses: Mapping[str, datetime]) -> None:
        """When tokens were last used, by id, in bulk."""
        ...


Chance = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class Minted:
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
) -> Minted:
    if Scope.WORKER in scopes and len(scopes) > 1:
        raise MixedScopes
    prefix = WORKER_PREFIX if Scope.WORKER in scopes else TOKEN_PREFIX
    secret = prefix + base64.b32encode(chance(SECRET_BYTES)).decode().rstrip("=").lower()
    token = Token(chance(ID_BYTES).hex(), digest_of(secret), user, scopes, note, now, expires)
    return Minted(secret, token)


def digest_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


# What was done to accounts, teams and engines, written into the log of actions.


class Audit(Protocol):
    """The port. Any process may write; runs and tasks have their own way into the log."""

    async def write(self, event: Event) -> None: ...


class NoAudit:
    """Where nobody looks afterwards."""

    async def write(self, event: Event) -> None:
        """Forgets it."""
