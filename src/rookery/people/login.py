"""Checks of names and passwords for login, sign-up and workers, with limits on failed attempts. A
refusal does not say whether the user exists.
"""

import hashlib
import ipaddress
import re
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from rookery.caches import ExpiringCache, SharedWork
from rookery.clock import Clock
from rookery.errors import Complaint
from rookery.people.accounts import Accounts, NewUser
from rookery.people.passwords import LONGEST_PASSWORD, NOBODYS_HASH, Passwords
from rookery.people.users import Malformed, NotPermitted, User, UserExists, Users
from rookery.protocol.people import Application


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
    """How full a leaky bucket was at a time."""

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
    """Limits wrong passwords: some per address, few per address and name."""

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
    """Logging in by name and password."""

    def __init__(self, users: Users, passwords: Passwords, clock: Clock) -> None:
        self._users = users
        self._passwords = passwords
        self._attempts = LoginAttempts(clock)

    async def check(self, name: str, password: str, client: str) -> User:
        """The user of this name and password; raises LoginRefused."""
        self._attempts.charge(client, name)
        user = await self._users.by_name(name)
        hashed = user.password_hash if user else NOBODYS_HASH
        right = await self._passwords.matches(name, hashed, password)
        if user is None or not right:
            raise WrongCredentials
        self._attempts.refund(client, name)
        return check_active(user)


def check_active(user: User) -> User:
    """The same user; raises AccountBlocked, with the reason, or AccountPending."""
    if user.blocked:
        raise AccountBlocked(describe_block(user))
    if user.pending:
        raise AccountPending
    return user


def describe_block(user: User) -> str:
    """What a blocked user is told."""
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


# Signing up: somebody asks for an account, which waits until an approver accepts it.

MOST_WAITING = 500
"""Pending accounts at which sign-up closes: more are likely made by a program."""
BAD_EMAIL = "Give an e-mail address at which you can be reached."
NAME_TAKEN = "This name or this e-mail address can't be used; choose another one."
EMAIL = re.compile(r"[^@\s\x00-\x1f]{1,64}@[^@\s\x00-\x1f]{1,180}\.[A-Za-z0-9-]{2,63}")


class SignUp:
    """Signing up for an account, which waits for an approver; a few per address and hour."""

    def __init__(self, accounts: Accounts, *, is_open: bool = True) -> None:
        self.is_open = is_open
        self._accounts = accounts
        self._per_origin = Throttle(most=5, seconds=3600)

    async def apply(self, applicant: Application, client: str) -> User:
        """Creates a pending account; raises a Complaint that says why not, or Throttled."""
        if not self.is_open:
            raise NotPermitted(
                "Accounts are made by the people who run this site; ask them for one."
            )
        if not EMAIL.fullmatch(applicant.email):
            raise Malformed(BAD_EMAIL)
        users, now = self._accounts.users, self._accounts.clock.seconds()
        self._per_origin.charge(origin_of(client), now)
        await _check_free(applicant, users)
        new = NewUser(applicant.name, applicant.password, applicant.email, pending=True)
        try:
            return await self._accounts.add(new)
        except Malformed:
            # A typing mistake is not counted. A weak password is: scoring takes computing time.
            self._per_origin.refund(origin_of(client), now)
            raise
        except UserExists:
            raise Complaint(NAME_TAKEN) from None


async def _check_free(applicant: Application, users: Users) -> None:
    """Raises Complaint where the name or the address is taken, regardless of case, or too many
    accounts are pending."""
    everyone = await users.list_all()
    names = {user.name.lower() for user in everyone}
    emails = {user.email.lower() for user in everyone if user.email}
    if applicant.name.lower() in names or applicant.email.lower() in emails:
        raise Complaint(NAME_TAKEN)
    if sum(user.pending for user in everyone) >= MOST_WAITING:
        raise Complaint("Too many accounts wait for approval; try again in a few days.")


class PasswordResets:
    """Who is meant by a wish for a new password; a few per address, and per name."""

    def __init__(self, users: Users, clock: Clock) -> None:
        self._users = users
        self._clock = clock
        self._per_origin = Throttle(most=10, seconds=3600)
        self._per_name = Throttle(most=3, seconds=3600)

    async def find_user(self, text: str, client: str) -> User | None:
        """The user of a name or of a confirmed address, who may be sent a link; raises Throttled.
        None where there is nobody, of which whoever asks is told nothing."""
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


# Worker credentials: sent with every call, and checked each time almost without hashing.
#
# A seal is a keyed digest of a name, a password and the stored hash of that password. Once the
# password was found to be right, its seal is valid for as long as the stored hash stays the same;
# only the user's row is read again now and then. The seal is stored with each task, so that a new
# primary knows the credentials of all workers with a task without hashing any.

TOKEN_PREFIX = "rkw_"  # noqa: S105 - what tokens begin with, no secret
SEAL_BYTES = 16
USER_SECONDS = 60.0
TOKEN_SECONDS = 60.0
WRONG_SECONDS = 30.0
MOST_SEALS = 50_000


class WorkerTokens(Protocol):
    """The tokens that a worker may send instead of its owner's password."""

    async def find_worker_owner(self, token: str) -> str | None:
        """The owner's name; None where the token is unknown, revoked, expired or not for
        workers."""
        ...


@dataclass(frozen=True, slots=True)
class VerifiedUser:
    """A user whose credentials are right; the seal is empty where a token was used."""

    user: User
    seal: str


class WorkerCredentials:
    """Checks the credentials of workers. One per process; only the event loop writes to it."""

    def __init__(
        self, users: Users, passwords: Passwords, tokens: WorkerTokens, clock: Clock, key: bytes
    ) -> None:
        self._users = users
        self._passwords = passwords
        self._tokens = tokens
        self._key = key
        self._attempts = LoginAttempts(clock)
        self._rows: ExpiringCache[str, User] = ExpiringCache(clock, MOST_SEALS)
        self._right: dict[str, None] = {}
        self._right_tokens: ExpiringCache[str, bool] = ExpiringCache(clock, MOST_SEALS)
        self._wrong: ExpiringCache[str, bool] = ExpiringCache(clock, MOST_SEALS)
        self._checks: SharedWork[str, VerifiedUser] = SharedWork()

    def find_verified(self, name: str, password: str) -> VerifiedUser | None:
        """The user, from memory alone; None where the database has to be asked. Raises
        AccountBlocked or AccountPending."""
        user = self._rows.get(name)
        if user is None:
            return None
        seal = self._seal(name, password, user.password_hash)
        if seal in self._right:
            return VerifiedUser(check_active(user), seal)
        if self._right_tokens.get(seal):
            return VerifiedUser(check_active(user), "")
        return None

    async def check(self, name: str, password: str, client: str) -> VerifiedUser:
        """The user; raises LoginRefused. Equal checks at the same time are made once."""
        if found := self.find_verified(name, password):
            return found
        attempt = self._seal(name, password, "")
        if self._wrong.get(attempt) or len(password) > LONGEST_PASSWORD:
            raise WrongCredentials
        return await self._checks(attempt, lambda: self._verify(name, password, client, attempt))

    def adopt_seals(self, seals: Iterable[str]) -> None:
        """Accepts seals that were stored with tasks by an earlier primary."""
        for seal in seals:
            if seal:
                self._add_seal(seal)

    def forget(self, name: str) -> None:
        """Forgets what is cached of a user who has changed, and all wrong attempts."""
        self._rows.forget(name)
        self._wrong.forget_all()

    def forget_tokens(self) -> None:
        """Forgets all tokens, after one has changed."""
        self._right_tokens.forget_all()
        self._wrong.forget_all()

    def forget_all(self) -> None:
        """Forgets users and tokens. Seals stay: they are valid as long as their hash is."""
        self._rows.forget_all()
        self.forget_tokens()

    async def _verify(self, name: str, password: str, client: str, attempt: str) -> VerifiedUser:
        changes_before = self._count_changes()
        user = await self._users.by_name(name)
        hashed = user.password_hash if user else NOBODYS_HASH
        seal = self._seal(name, password, hashed)
        is_token = password.startswith(TOKEN_PREFIX)
        if is_token:
            right = await self._tokens.find_worker_owner(password) == name
        else:
            right = seal in self._right or await self._try_password(name, hashed, password, client)
        if user is None or not right:
            self._wrong.put(
                attempt, True, WRONG_SECONDS if changes_before == self._count_changes() else 0
            )
            raise WrongCredentials
        self._remember(user, seal, is_token=is_token, fresh=changes_before == self._count_changes())
        return VerifiedUser(check_active(user), "" if is_token else seal)

    async def _try_password(self, name: str, hashed: str, password: str, client: str) -> bool:
        self._attempts.charge(client, name)
        right = await self._passwords.matches(name, hashed, password)
        if right:
            self._attempts.refund(client, name)
        return right

    def _count_changes(self) -> int:
        """Grows with each change of users or tokens: what was read before is out of date then."""
        return self._rows.forget_count + self._right_tokens.forget_count

    def _remember(self, user: User, seal: str, *, is_token: bool, fresh: bool) -> None:
        if not is_token:
            self._add_seal(seal)
        elif fresh:
            self._right_tokens.put(seal, True, TOKEN_SECONDS)
        if fresh:
            self._rows.put(user.name, user, USER_SECONDS)

    def _add_seal(self, seal: str) -> None:
        self._right.pop(seal, None)
        self._right[seal] = None
        if len(self._right) > MOST_SEALS:
            del self._right[next(iter(self._right))]

    def _seal(self, name: str, password: str, hashed: str) -> str:
        # The lengths make the text unambiguous: no other name and password give the same.
        words = f"{len(name)} {len(password)} {name}{password}{hashed}".encode(
            "utf-8", "surrogatepass"
        )
        return hashlib.blake2b(words, key=self._key, digest_size=SEAL_BYTES).hexdigest()
