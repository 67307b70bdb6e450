"""A visitor's session as the pages see it: who is signed in, messages to show, the CSRF token."""

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

from rookery.caches import ExpiringCache
from rookery.clock import Clock
from rookery.people.links import ClockSigner
from rookery.people.login import describe_block
from rookery.people.users import EndedSessions, User, Users, is_approver

MOST_FLASHES = 5
CSRF_FIELD = "csrf_token"
"""The input of a form with the token of its session."""
SECRET_LASTING = timedelta(minutes=10)


class Flash(msgspec.Struct, frozen=True, array_like=True):
    """A message shown once, on the next page."""

    text: str
    kind: str = "info"


class FreshSecret(msgspec.Struct, frozen=True, array_like=True):
    """The secret of a token, a webhook or a link just made, for the page that follows, whichever
    instance shows it. It is kept nowhere else than with the person who made it."""

    name: str
    text: str
    until: int
    """Seconds since 1970."""


class SessionData(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the cookie carries. Its names are short because every request repeats them."""

    user: str = msgspec.field(default="", name="u")
    # Ties the session to the password it was opened with, so that a new one ends all others.
    mark: str = msgspec.field(default="", name="m")
    csrf: str = msgspec.field(default="", name="c")
    keep: bool = msgspec.field(default=False, name="k")
    flashes: tuple[Flash, ...] = msgspec.field(default=(), name="f")
    secret: FreshSecret | None = msgspec.field(default=None, name="s")


NOTHING = SessionData()


class Session:
    """The session of one request. It is read from the cookie when first asked for.

    `max_age`, `secure` and `force_clear` are wishes of this request about its cookie.
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
        """The name of who is signed in, or an empty text."""
        return self.data.user

    def sign_in(self, user: str, mark: str, *, keep: bool) -> None:
        """Starts anew, so that nothing from before the password is carried along."""
        self._set(SessionData(user, mark, new_token(), keep, self.data.flashes))

    def sign_out(self) -> None:
        self._set(SessionData(flashes=self.data.flashes))

    def drop(self) -> None:
        """Forgets everything and has the cookie removed."""
        self._set(NOTHING)
        self.force_clear = True

    def csrf_token(self) -> str:
        """The token that forms carry; made when first needed, and different in every answer."""
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
        """The messages to show now; they are not shown again."""
        flashes = self.data.flashes
        if flashes:
            self._set(msgspec.structs.replace(self.data, flashes=()))
        return flashes

    def keep_secret(self, name: str, text: str, now: datetime) -> None:
        """For the page that follows; it takes the place of one that was not shown."""
        fresh = FreshSecret(name, text, int((now + SECRET_LASTING).timestamp()))
        self._set(msgspec.structs.replace(self.data, secret=fresh))

    def take_secret(self, name: str, now: datetime) -> str:
        """The secret of that name, which is not shown again, or an empty text."""
        fresh = self.data.secret
        if fresh is None or fresh.name != name:
            return ""
        self._set(msgspec.structs.replace(self.data, secret=None))
        return fresh.text if now.timestamp() < fresh.until else ""

    def _set(self, data: SessionData) -> None:
        _ = self.data  # what was loaded is needed to know what changed
        self._data = data


def new_token() -> str:
    return secrets.token_hex(16)


# A token looks different in each answer: the length of a compressed page tells whether a text in
# it stands there twice, and so would tell a token letter by letter if that stayed the same.


def mask_token(token: str) -> str:
    """The token mixed with a mask, behind the mask."""
    secret = token.encode()
    mask = secrets.token_bytes(len(secret))
    return (mask + _mix(secret, mask)).hex()


def unmask_token(text: str) -> str:
    """The token in what a form brought; nonsense gives nonsense."""
    try:
        raw = bytes.fromhex(text)
    except ValueError:
        return ""
    half = len(raw) // 2
    return _mix(raw[:half], raw[half:]).decode("latin-1")


def _mix(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=False))


# The session as a signed cookie: sealed, opened, and never larger than browsers keep.

COOKIE = "rookery_session"
SALT = "rookery.session"
MOST_BYTES = 3800
KEPT = timedelta(days=400)
UNKEPT = timedelta(days=7)
# A cookie in use is signed anew when it is this old, so that only idle sessions run out.
RENEWED = timedelta(days=1)


Keys = Callable[[], tuple[bytes, ...]]


class CookieRefused(Exception):
    """The session cookie was not made by this server, or too long ago."""


@dataclass(frozen=True, slots=True)
class OpenedCookie:
    """What was in a cookie, and whether it should be signed anew."""

    data: SessionData
    renew: bool = False


class CookieSigner:
    """Turns sessions into signed cookies and back. The last key signs, every key is accepted."""

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
        """The cookie with as many of the latest messages as fit; None when nothing helps."""
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
    """A cookie's value in a Cookie header; of two the first, as browsers order them."""
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


# Whether a signed-in visitor still may be: known, not blocked, the password unchanged, and not
# logged out.

REMEMBERED_SECONDS = 2.0
MOST_REMEMBERED = 10_000
DIGEST_BYTES = 16


class LoggedOutSessions:
    """The sessions that somebody logged out of. They are read once, and again when changes may have
    been missed; in between every process tells the others of those that it ends."""

    def __init__(self, rows: EndedSessions, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock
        self._digests: set[bytes] = set()
        self._is_complete = False
        self._misses = 0
        self._reading = asyncio.Lock()

    async def end(self, session: SessionData, lasting: timedelta) -> None:
        """The session counts no longer, whoever has its cookie."""
        now, digest = self._clock.now(), session_digest(session)
        await self._rows.end(digest, now, now + lasting)
        self._digests.add(digest)

    async def holds(self, session: SessionData) -> bool:
        """Whether it has ended."""
        if not self._is_complete:
            await self._read()
        return session_digest(session) in self._digests

    def told(self, text: str) -> None:
        """Another process has ended one."""
        self._digests.add(bytes.fromhex(text))

    def missed(self) -> None:
        """Others may have ended some that nobody told of."""
        self._is_complete = False
        self._misses += 1

    async def _read(self) -> None:
        async with self._reading:
            if not self._is_complete:
                before = self._misses
                self._digests |= await self._rows.all()
                # What was missed while it was read is read by the next.
                self._is_complete = before == self._misses


@dataclass(frozen=True, slots=True)
class SessionHolder:
    """What is remembered of a user for a moment; nobody's mark is empty."""

    mark: str = ""
    approver: bool = False


class SessionCheck:
    """Tells whether a session still counts. A user is looked up at most every two seconds, so
    that a page costs one query, not ten."""

    def __init__(
        self, users: Users, ended: LoggedOutSessions, clock: Clock, key: Callable[[], bytes]
    ) -> None:
        self._users = users
        self.ended = ended
        self._key = key
        self._known: ExpiringCache[str, SessionHolder] = ExpiringCache(clock, MOST_REMEMBERED)

    def mark(self, user: User) -> str:
        """What a session carries of the password: enough to notice a new one, nothing to guess."""
        digest = hmac.new(self._key(), user.password_hash.encode(), hashlib.sha256)
        return digest.hexdigest()[:16]

    async def holds(self, session: SessionData) -> bool:
        """Whether a session of a user, opened with that mark, still counts."""
        expected = (await self._find(session.user)).mark
        unchanged = hmac.compare_digest(expected.encode(), session.mark.encode())
        return bool(expected) and unchanged and not await self.ended.holds(session)

    async def is_approver(self, name: str) -> bool:
        """Whether the user of a session that holds is an approver."""
        return (await self._find(name)).approver

    def forget(self, name: str) -> None:
        """To be called when a user was changed here or elsewhere."""
        self._known.forget(name)

    def forget_all(self) -> None:
        """To be called when a change may have been missed."""
        self._known.forget_all()

    async def explain_end(self, name: str) -> str:
        """What to tell a person whose session counts no longer; empty where there is nothing to
        tell."""
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
    """What a session is known by: its token is made anew at each login and never changes."""
    words = f"{session.user} {session.csrf}".encode()
    return hashlib.blake2b(words, digest_size=DIGEST_BYTES).digest()
