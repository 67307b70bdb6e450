"""People with an account: the value, and the port through which use cases reach them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from rookery.core.complaint import Complaint


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
