"""A visitor's session as pages see it: the signed-in user, messages to show, the CSRF token."""

import asyncio
import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import itsdangerous
import msgspec

from rookery.core.clock import Clock
from rookery.server.caches import ExpiringCache
from rookery.server.identity.links import ClockSigner
from rookery.server.identity.login import describe_block
from rookery.server.identity.users import EndedSessions, User, Users, is_approver

MOST_FLASHES = 5
CSRF_FIELD = "csrf_token"
"""The name of the form field with the session's CSRF token."""
SECRET_LASTING = timedelta(minutes=10)


class Flash(msgspec.Struct, frozen=True, array_like=True):
    """A message shown once, on the next page."""

    text: str
    kind: str = "info"


class FreshSecret(msgspec.Struct, frozen=True, array_like=True):
    """A secret that was just made (of a token, a webhook or a link), for the page shown next,
    whichever instance renders it. The server keeps it nowhere else."""

    name: str
    text: str
    until: int
    """When it expires, in seconds since 1970."""


class SessionData(msgspec.Struct, frozen=True, omit_defaults=True):
    """The content of the cookie. Its names are short because every request repeats them."""

    user: str = msgspec.field(default="", name="u")
    # Ties the session to the password it was opened with, so that a new password ends all other
    # sessions.
    mark: str = msgspec.field(default="", name="m")
    csrf: str = msgspec.field(default="", name="c")
    keep: bool = msgspec.field(default=False, name="k")
    flashes: tuple[Flash, ...] = msgspec.field(default=(), name="f")
    secret: FreshSecret | None = msgspec.field(default=None, name="s")


NOTHING = SessionData()


class Session:
    """The session of one request. It is read from the cookie when first used.

    `max_age`, `secure` and `force_clear` are what this request sets for its cookie.
    """

    def __init__(self, load: Callable[[], SessionData], *, secure: bool = False) -> None:
        self._load = load
        self._loaded: SessionData | None = None
        self._data: SessionData | None = None
        self.max_age: int | None = None
        self.secure = secure
        self.force_clear = False
        self.renew = False

    @classmethod
    def empty(cls) -> "Session":
        return cls(lambda: NOTHING)

    @property
    def data(self) -> SessionData:
        if self._data is None:
            self._data = self._loaded = self._load()
        return self._data

    @property
    def touched(self) -> bool:
        """Whether the answer depends on the cookie."""
        return self._data is not None

    @property
    def changed(self) -> bool:
        return self.renew or self._data != self._loaded

    @property
    def user(self) -> str:
        """The name of the signed-in user, or an empty text."""
        return self.data.user

    def sign_in(self, user: str, mark: str, *, keep: bool) -> None:
        """Start a new session, so that nothing from before the login is carried over."""
        self._set(SessionData(user, mark, new_token(), keep, self.data.flashes))

    def sign_out(self) -> None:
        self._set(SessionData(flashes=self.data.flashes))

    def drop(self) -> None:
        """Drop the content of the session and have the cookie removed."""
        self._set(NOTHING)
        self.force_clear = True

    def csrf_token(self) -> str:
        """The token for forms. It is made when first needed, and looks different in every
        answer."""
        if not self.data.csrf:
            self._set(msgspec.structs.replace(self.data, csrf=new_token()))
        return mask_token(self.data.csrf)

    def accepts(self, token: str) -> bool:
        expected = self.data.csrf
        return bool(expected) and hmac.compare_digest(
            expected.encode(), unmask_token(token).encode()
        )

    def flash(self, text: str, kind: str = "info") -> None:
        flashes = (*self.data.flashes, Flash(text, kind))[-MOST_FLASHES:]
        self._set(msgspec.structs.replace(self.data, flashes=flashes))

    def take_flashes(self) -> tuple[Flash, ...]:
        """Take the messages to show now. They are not shown again."""
        flashes = self.data.flashes
        if flashes:
            self._set(msgspec.structs.replace(self.data, flashes=()))
        return flashes

    def keep_secret(self, name: str, text: str, now: datetime) -> None:
        """Keep a secret for the next page. It replaces one that was not shown."""
        fresh = FreshSecret(name, text, int((now + SECRET_LASTING).timestamp()))
        self._set(msgspec.structs.replace(self.data, secret=fresh))

    def take_secret(self, name: str, now: datetime) -> str:
        """Take the secret of that name, or an empty text. It is not shown again."""
        fresh = self.data.secret
        if fresh is None or fresh.name != name:
            return ""
        self._set(msgspec.structs.replace(self.data, secret=None))
        return fresh.text if now.timestamp() < fresh.until else ""

    def _set(self, data: SessionData) -> None:
        _ = self.data  # the loaded data is needed to know what has changed
        self._data = data


def new_token() -> str:
    return secrets.token_hex(16)


# A token looks different in each answer. The length of a compressed page reveals whether a text
# occurs in it twice; a constant token could be guessed that way letter by letter.


def mask_token(token: str) -> str:
    """The token mixed with a random mask, after that mask."""
    secret = token.encode()
    mask = secrets.token_bytes(len(secret))
    return (mask + _mix(secret, mask)).hex()


def unmask_token(text: str) -> str:
    """The token in a submitted form. A malformed text gives a wrong token."""
    try:
        raw = bytes.fromhex(text)
    except ValueError:
        return ""
    half = len(raw) // 2
    return _mix(raw[:half], raw[half:]).decode("latin-1")


def _mix(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=False))


# The session as a signed cookie, never larger than browsers keep.

COOKIE = "rookery_session"
SALT = "rookery.session"
MOST_BYTES = 3800
KEPT = timedelta(days=400)
UNKEPT = timedelta(days=7)
# A cookie in use is signed again at this age, so that only idle sessions expire.
RENEWED = timedelta(days=1)


Keys = Callable[[], tuple[bytes, ...]]


class CookieRefused(Exception):
    """The session cookie was not made by this server, or too long ago."""


@dataclass(frozen=True, slots=True)
class OpenedCookie:
    """The content of a cookie, and whether it should be signed again."""

    data: SessionData
    renew: bool = False


class CookieSigner:
    """Turns sessions into signed cookies and back. The last key signs; every key is accepted."""

    def __init__(self, keys: Keys, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock
        self._signers: dict[tuple[bytes, ...], ClockSigner] = {}

    @property
    def _signer(self) -> ClockSigner:
        keys = self._keys()
        if keys not in self._signers:
            self._signers = {keys: ClockSigner(keys, self._clock, SALT)}
        return self._signers[keys]

    def close(self, data: SessionData) -> str:
        payload = base64.urlsafe_b64encode(msgspec.json.encode(data)).rstrip(b"=")
        return self._signer.sign(payload).decode("ascii")

    def close_within(self, data: SessionData) -> str | None:
        """The cookie with as many of the latest messages as fit; None if it is too large even
        without any."""
        for first in range(len(data.flashes) + 1):
            text = self.close(msgspec.structs.replace(data, flashes=data.flashes[first:]))
            if len(COOKIE) + 1 + len(text) <= MOST_BYTES:
                return text
        return None

    def open(self, text: str) -> OpenedCookie:
        """What a cookie holds; raises CookieRefused and nothing else."""
        if len(text) > MOST_BYTES:
            raise CookieRefused("it is too large")
        try:
            payload, signed = self._signer.unsign(
                text.encode("latin-1"), max_age=int(KEPT.total_seconds()), return_timestamp=True
            )
            raw = base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4))
            data = msgspec.json.decode(raw, type=SessionData)
        except itsdangerous.SignatureExpired:
            raise CookieRefused("it has expired") from None
        except (itsdangerous.BadData, binascii.Error, msgspec.MsgspecError, ValueError):
            raise CookieRefused("its signature is wrong") from None
        age = self._clock.now() - signed
        if age > UNKEPT and not data.keep:
            raise CookieRefused("it has expired")
        return OpenedCookie(data, renew=age > RENEWED)


def cookie_in(header: str) -> str | None:
    """The session's value in a Cookie header."""
    return find_cookie(header, COOKIE)


def find_cookie(header: str, wanted: str) -> str | None:
    """A cookie's value in a Cookie header; the first one if there are two, which browsers send
    first."""
    for part in header.split(";"):
        name, found, value = part.strip().partition("=")
        if found and name == wanted:
            return value
    return None


def set_cookie(value: str, *, max_age: int | None, secure: bool) -> bytes:
    age = "" if max_age is None else f"; Max-Age={max_age}"
    flag = "; Secure" if secure else ""
    return f"{COOKIE}={value}; Path=/; HttpOnly; SameSite=Lax{age}{flag}".encode("ascii")


def clear_cookie(*, secure: bool) -> bytes:
    return set_cookie("", max_age=0, secure=secure)


# Checks whether a session is still valid: the user exists and is not blocked, the password is
# unchanged, and nobody has logged out of it.

REMEMBERED_SECONDS = 2.0
MOST_REMEMBERED = 10_000
DIGEST_BYTES = 16


class LoggedOutSessions:
    """The sessions that somebody has logged out of. They are read once, and again when changes may
    have been missed. Otherwise each process announces those that it ends to the others."""

    def __init__(self, rows: EndedSessions, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock
        self._digests: set[bytes] = set()
        self._is_complete = False
        self._misses = 0
        self._reading = asyncio.Lock()

    async def end(self, session: SessionData, lasting: timedelta) -> None:
        """End a session, also for anybody who has a copy of its cookie."""
        now, digest = self._clock.now(), session_digest(session)
        await self._rows.end(digest, now, now + lasting)
        self._digests.add(digest)

    async def holds(self, session: SessionData) -> bool:
        """Whether the session has ended."""
        if not self._is_complete:
            await self._read()
        return session_digest(session) in self._digests

    def told(self, text: str) -> None:
        """Add a session that another process has ended."""
        self._digests.add(bytes.fromhex(text))

    def missed(self) -> None:
        """Read all rows again before the next check, because announcements may have been missed."""
        self._is_complete = False
        self._misses += 1

    async def _read(self) -> None:
        async with self._reading:
            if not self._is_complete:
                before = self._misses
                self._digests |= await self._rows.all()
                # Changes missed during the read are read by the next call.
                self._is_complete = before == self._misses


@dataclass(frozen=True, slots=True)
class SessionHolder:
    """What is remembered about a user for a moment. The mark of a user who may not be signed in is
    empty."""

    mark: str = ""
    approver: bool = False


class SessionCheck:
    """Checks whether a session is still valid. A user is looked up at most every two seconds, so
    that a page costs one query, not ten."""

    def __init__(
        self, users: Users, ended: LoggedOutSessions, clock: Clock, key: Callable[[], bytes]
    ) -> None:
        self._users = users
        self.ended = ended
        self._key = key
        self._known: ExpiringCache[str, SessionHolder] = ExpiringCache(clock, MOST_REMEMBERED)

    def mark(self, user: User) -> str:
        """A short digest of the password hash, kept in the session: enough to notice a new
        password, of no use for guessing it."""
        digest = hmac.new(self._key(), user.password_hash.encode(), hashlib.sha256)
        return digest.hexdigest()[:16]

    async def holds(self, session: SessionData) -> bool:
        """Whether a session with this user and mark is still valid."""
        expected = (await self._find(session.user)).mark
        unchanged = hmac.compare_digest(expected.encode(), session.mark.encode())
        return bool(expected) and unchanged and not await self.ended.holds(session)

    async def is_approver(self, name: str) -> bool:
        """Whether the user of a valid session is an approver."""
        return (await self._find(name)).approver

    def forget(self, name: str) -> None:
        """Forget a user who was changed, here or in another process."""
        self._known.forget(name)

    def forget_all(self) -> None:
        """Forget all users, because changes may have been missed."""
        self._known.forget_all()

    async def explain_end(self, name: str) -> str:
        """The explanation for a person whose session was ended; empty if there is none."""
        user = await self._users.by_name(name)
        return "" if user is None or not user.blocked else describe_block(user)

    async def _find(self, name: str) -> SessionHolder:
        found = self._known.get(name)
        if found is None:
            found = await self._look_up(name)
            self._known.put(name, found, REMEMBERED_SECONDS)
        return found

    async def _look_up(self, name: str) -> SessionHolder:
        user = await self._users.by_name(name)
        if user is None or user.blocked:
            return SessionHolder()
        return SessionHolder(self.mark(user), is_approver(user))


def session_digest(session: SessionData) -> bytes:
    """The digest that identifies a session. The token in it is made at login and never changes."""
    words = f"{session.user} {session.csrf}".encode()
    return hashlib.blake2b(words, digest_size=DIGEST_BYTES).digest()
