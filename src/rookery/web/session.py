"""A visitor's session as the pages see it: who is signed in, messages to show, the CSRF token."""

import hmac
import secrets
from collections.abc import Callable

import msgspec

MOST_FLASHES = 5


class Flash(msgspec.Struct, frozen=True, array_like=True):
    """A message shown once, on the next page."""

    text: str
    kind: str = "info"


class SessionData(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the cookie carries. Its names are short because every request repeats them."""

    user: str = msgspec.field(default="", name="u")
    # Ties the session to the password it was opened with, so that a new one ends all others.
    mark: str = msgspec.field(default="", name="m")
    csrf: str = msgspec.field(default="", name="c")
    keep: bool = msgspec.field(default=False, name="k")
    flashes: tuple[Flash, ...] = msgspec.field(default=(), name="f")


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
        """The token that forms carry; made when first needed."""
        if not self.data.csrf:
            self._set(msgspec.structs.replace(self.data, csrf=new_token()))
        return self.data.csrf

    def accepts(self, token: str) -> bool:
        expected = self.data.csrf
        return bool(expected) and hmac.compare_digest(expected.encode(), token.encode())

    def flash(self, text: str, kind: str = "info") -> None:
        flashes = (*self.data.flashes, Flash(text, kind))[-MOST_FLASHES:]
        self._set(msgspec.structs.replace(self.data, flashes=flashes))

    def take_flashes(self) -> tuple[Flash, ...]:
        """The messages to show now; they are not shown again."""
        flashes = self.data.flashes
        if flashes:
            self._set(msgspec.structs.replace(self.data, flashes=()))
        return flashes

    def _set(self, data: SessionData) -> None:
        _ = self.data  # what was loaded is needed to know what changed
        self._data = data


def new_token() -> str:
    return secrets.token_hex(16)
