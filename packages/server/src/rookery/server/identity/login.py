"""Checks of names and passwords for login and sign-up, with limits on failed attempts. A
refusal does not say whether the user exists.
"""

import ipaddress
from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

from rookery.core.boundary.errors import Overloaded
from rookery.core.clock import Clock
from rookery.core.errors import LoginNeeded, TooOften, message_in_docstring
from rookery.server.identity.passwords import NOBODYS_HASH, Passwords
from rookery.server.identity.users import (
    User,
    Users,
)


class LoginRefused(LoginNeeded):
    """The login was refused."""

    def __str__(self) -> str:
        return super().__str__() or message_in_docstring(type(self))


class WrongCredentials(LoginRefused):
    """Unknown user name or wrong password."""


class AccountPending(LoginRefused):
    """This account still waits for approval."""


class AccountBlocked(LoginRefused):
    """This account is blocked."""


class Throttled(TooOften, LoginRefused):
    """Too many attempts. Wait a few minutes and try again."""


class TooManyLogins(Throttled):
    """Too many logins. Wait a minute and try again."""


class Frequency(NamedTuple):
    """A limit of attempts within a number of seconds."""

    most: int
    seconds: float


HOUR = 3600.0
PASSWORDS_PER_ADDRESS = Frequency(30, 600.0)
PASSWORDS_PER_NAME = Frequency(6, 300.0)
LOGINS_PER_NAME = Frequency(60, HOUR)
"""The limit of logins per name. Each session may be logged out of, which is stored for as long as
its cookie lasts."""
RESETS_PER_ADDRESS = Frequency(10, HOUR)
RESETS_PER_NAME = Frequency(3, HOUR)


@dataclass(frozen=True, slots=True)
class _Level:
    """The level of a leaky bucket at some time."""

    fill: float
    at: float


class Throttle:
    """Limits attempts per key by leaky buckets; of too many keys the oldest are forgotten first."""

    def __init__(self, most: int, seconds: float, keys: int = 10_000) -> None:
        self._most = most
        self._leak = most / seconds
        self._keys = keys
        self._levels: OrderedDict[str, _Level] = OrderedDict()

    def charge(self, key: str, now: float) -> None:
        """Counts an attempt before it is made; raises Throttled when there were too many."""
        fill = self._fill(key, now)
        if fill + 1 > self._most:
            raise Throttled
        self._put(key, _Level(fill + 1, now))

    def refund(self, key: str, now: float) -> None:
        """Uncounts an attempt that succeeded."""
        self._put(key, _Level(max(0.0, self._fill(key, now) - 1), now))

    def _fill(self, key: str, now: float) -> float:
        level = self._levels.get(key, _Level(0.0, now))
        return max(0.0, level.fill - (now - level.at) * self._leak)

    def _put(self, key: str, level: _Level) -> None:
        self._levels[key] = level
        self._levels.move_to_end(key)
        if len(self._levels) > self._keys:
            self._levels.popitem(last=False)


class LoginAttempts:
    """Limits wrong passwords per address, and more strictly per address and name."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._per_origin = Throttle(*PASSWORDS_PER_ADDRESS)
        self._per_name = Throttle(*PASSWORDS_PER_NAME)

    def charge(self, client: str, name: str) -> None:
        origin, now = origin_of(client), self._clock.seconds()
        self._per_origin.charge(origin, now)
        self._per_name.charge(f"{origin} {name}", now)

    def refund(self, client: str, name: str) -> None:
        origin, now = origin_of(client), self._clock.seconds()
        self._per_origin.refund(origin, now)
        self._per_name.refund(f"{origin} {name}", now)


class Login:
    """Logging in by name and password."""

    def __init__(self, users: Users, passwords: Passwords, clock: Clock) -> None:
        self._users = users
        self._passwords = passwords
        self._clock = clock
        self._attempts = LoginAttempts(clock)
        self._logins = Throttle(*LOGINS_PER_NAME)

    async def check(self, name: str, password: str, client: str) -> User:
        """Logs a user in by name and password; raises LoginRefused."""
        self._attempts.charge(client, name)
        user = await self._users.by_name(name)
        hashed = user.password_hash if user else NOBODYS_HASH
        try:
            right = await self._passwords.matches(name, hashed, password)
        except Overloaded:
            self._attempts.refund(client, name)  # nothing was tried
            raise
        if user is None or not right:
            raise WrongCredentials
        self._attempts.refund(client, name)
        active = check_active(user)
        try:
            self._logins.charge(name, self._clock.seconds())
        except Throttled:
            raise TooManyLogins from None
        return active


def check_active(user: User) -> User:
    """Returns the user if active; raises AccountBlocked, with the reason, or AccountPending."""
    if user.blocked:
        raise AccountBlocked(describe_block(user))
    if user.pending:
        raise AccountPending
    return user


def describe_block(user: User) -> str:
    """The message to a blocked user."""
    reason = user.block_reason.strip().rstrip(".")
    return f"This account is blocked: {reason}." if reason else "This account is blocked."


def origin_of(client: str) -> str:
    """The key by which attempts are counted: the address, in IPv6 its /64 network."""
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return client
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return client


class PasswordResets:
    """Finds the user who asks for a new password; limited per address and per name."""

    def __init__(self, users: Users, clock: Clock) -> None:
        self._users = users
        self._clock = clock
        self._per_origin = Throttle(*RESETS_PER_ADDRESS)
        self._per_name = Throttle(*RESETS_PER_NAME)

    async def find_user(self, text: str, client: str) -> User | None:
        """The user with this name or confirmed address, who may be sent a link; raises Throttled.
        None if there is none, which the caller must not reveal."""
        now = self._clock.seconds()
        self._per_origin.charge(origin_of(client), now)
        try:
            self._per_name.charge(text.lower(), now)
        except Throttled:
            return None
        wanted = text.lower()
        found = [
            user
            for user in await self._users.list_all()
            if user.is_verified and wanted in (user.name.lower(), user.email.lower())
        ]
        return found[0] if len(found) == 1 and not found[0].blocked else None
