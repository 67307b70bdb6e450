"""Logging in: a name and a password become a user, or a refusal that tells strangers nothing."""

import ipaddress
from collections import OrderedDict
from dataclasses import dataclass

from rookery.clock import Clock
from rookery.service.passwords import NOBODYS_HASH, Passwords
from rookery.service.users import User, Users


class LoginRefused(Exception):
    """The login was refused."""

    def __str__(self) -> str:
        return super().__str__() or (self.__doc__ or "").strip()


class WrongCredentials(LoginRefused):
    """Unknown user name or wrong password."""


class AccountPending(LoginRefused):
    """This account still waits for approval."""


class AccountBlocked(LoginRefused):
    """This account is blocked."""


class Throttled(LoginRefused):
    """Too many attempts. Wait a few minutes and try again."""


@dataclass(frozen=True, slots=True)
class _Level:
    """How full a bucket was at some time; it leaks steadily."""

    fill: float
    at: float


class Throttle:
    """Counts attempts per key in leaking buckets; the oldest keys are forgotten first."""

    def __init__(self, most: int, seconds: float, keys: int = 10_000) -> None:
        self._most = most
        self._leak = most / seconds
        self._keys = keys
        self._levels: OrderedDict[str, _Level] = OrderedDict()

    def charge(self, key: str, now: float) -> None:
        """Counts one attempt, before it is known how it ends; raises Throttled when full."""
        fill = self._fill(key, now)
        if fill + 1 > self._most:
            raise Throttled
        self._put(key, _Level(fill + 1, now))

    def refund(self, key: str, now: float) -> None:
        """Takes a rightful attempt back."""
        self._put(key, _Level(max(0.0, self._fill(key, now) - 1), now))

    def _fill(self, key: str, now: float) -> float:
        level = self._levels.get(key, _Level(0.0, now))
        return max(0.0, level.fill - (now - level.at) * self._leak)

    def _put(self, key: str, level: _Level) -> None:
        self._levels[key] = level
        self._levels.move_to_end(key)
        if len(self._levels) > self._keys:
            self._levels.popitem(last=False)


class Attempts:
    """Attempts at passwords. One address may fail often, at one name only rarely."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._per_origin = Throttle(most=30, seconds=600)
        self._per_name = Throttle(most=6, seconds=300)

    def charge(self, client: str, name: str) -> None:
        origin, now = origin_of(client), self._clock.seconds()
        self._per_origin.charge(origin, now)
        self._per_name.charge(f"{origin} {name}", now)

    def refund(self, client: str, name: str) -> None:
        origin, now = origin_of(client), self._clock.seconds()
        self._per_origin.refund(origin, now)
        self._per_name.refund(f"{origin} {name}", now)


class Login:
    """The use case."""

    def __init__(self, users: Users, passwords: Passwords, clock: Clock) -> None:
        self._users = users
        self._passwords = passwords
        self._attempts = Attempts(clock)

    async def check(self, name: str, password: str, client: str) -> User:
        """The user, if everything is right; else one of the refusals above."""
        self._attempts.charge(client, name)
        user = await self._users.by_name(name)
        hashed = user.password_hash if user else NOBODYS_HASH
        right = await self._passwords.matches(name, hashed, password)
        if user is None or not right:
            raise WrongCredentials
        self._attempts.refund(client, name)
        return in_good_standing(user)


def in_good_standing(user: User) -> User:
    if user.blocked:
        raise AccountBlocked
    if user.pending:
        raise AccountPending
    return user


def origin_of(client: str) -> str:
    """An address; in IPv6 its network, since one household has more addresses than can be kept."""
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return client
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return client
