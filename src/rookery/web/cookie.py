"""The session as a signed cookie: sealed, opened, and never larger than browsers keep."""

import base64
import binascii
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import itsdangerous
import msgspec

from rookery.clock import Clock
from rookery.web.session import SessionData

COOKIE = "rookery_session"
MOST_BYTES = 3800
KEPT = timedelta(days=400)
UNKEPT = timedelta(days=7)
# A cookie in use is signed anew when it is this old, so that only idle sessions run out.
RENEWED = timedelta(days=1)


Keys = Callable[[], tuple[bytes, ...]]


class CookieRefused(Exception):
    """The session cookie was not made by this server, or too long ago."""


@dataclass(frozen=True, slots=True)
class Unsealed:
    """What was in a cookie, and whether it should be signed anew."""

    data: SessionData
    renew: bool = False


class _Signer(itsdangerous.TimestampSigner):
    """Signs with the time it is given instead of the machine's."""

    def __init__(self, keys: Sequence[bytes], clock: Clock) -> None:
        super().__init__(list(keys), salt="rookery.session", digest_method=hashlib.sha256)
        self._clock = clock

    def get_timestamp(self) -> int:
        return int(self._clock.now().timestamp())


class Seal:
    """Turns sessions into cookies and back. The last key signs, every key is accepted.

    The keys are asked for at each use: they come out of the database, which opens later.
    """

    def __init__(self, keys: Keys, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock
        self._signers: dict[tuple[bytes, ...], _Signer] = {}

    @property
    def _signer(self) -> _Signer:
        keys = self._keys()
        if keys not in self._signers:
            self._signers = {keys: _Signer(keys, self._clock)}
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

    def open(self, text: str) -> Unsealed:
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
        return Unsealed(data, renew=age > RENEWED)


def cookie_in(header: str) -> str | None:
    """The session's value in a Cookie header; of two the first, as browsers order them."""
    for part in header.split(";"):
        name, found, value = part.strip().partition("=")
        if found and name == COOKIE:
            return value
    return None


def set_cookie(value: str, *, max_age: int | None, secure: bool) -> bytes:
    age = "" if max_age is None else f"; Max-Age={max_age}"
    flag = "; Secure" if secure else ""
    return f"{COOKIE}={value}; Path=/; HttpOnly; SameSite=Lax{age}{flag}".encode("ascii")


def clear_cookie(*, secure: bool) -> bytes:
    return set_cookie("", max_age=0, secure=secure)
