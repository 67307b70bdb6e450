"""Links that are mailed to people: signed, bound to their purpose, and valid for a limited time.

Nothing is stored for them. A link to a new password is signed over the present one, so that it
works once; a link that confirms an address is signed over that address.
"""

import base64
import enum
import hashlib
import hmac
from collections.abc import Callable, Sequence
from datetime import timedelta

import itsdangerous
import msgspec

from rookery.core.clock import Clock
from rookery.core.errors import Complaint, NotThere, message_in_docstring
from rookery.server.identity.users import User

LONGEST_LINK = 1000


class LinkPurpose(enum.StrEnum):
    """The purpose of a link; a link for one is not accepted for another."""

    RESET = "reset"
    CONFIRM = "confirm"
    UNSUBSCRIBE = "unsubscribe"


LASTING = {
    LinkPurpose.RESET: timedelta(hours=1),
    LinkPurpose.CONFIRM: timedelta(days=7),
    LinkPurpose.UNSUBSCRIBE: timedelta(days=3650),
}


class LinkRefused(NotThere, Complaint):
    """This link is not valid any more: it was used, or it is too old. Ask for a new one."""

    def __init__(self) -> None:
        super().__init__(message_in_docstring(type(self)))


class ClockSigner(itsdangerous.TimestampSigner):
    """Signs with the time it is given instead of the machine's."""

    def __init__(self, keys: Sequence[bytes], clock: Clock, salt: str) -> None:
        super().__init__(list(keys), salt=salt, digest_method=hashlib.sha256)
        self._clock = clock

    def get_timestamp(self) -> int:
        return int(self._clock.now().timestamp())


class SignedLink(msgspec.Struct, frozen=True, array_like=True):
    """The content of a link: the user's name, and a digest of what it is bound to."""

    user: str
    bound: str


class LinkSigner:
    """Makes and reads the tokens in links."""

    def __init__(self, key: Callable[[], bytes], clock: Clock) -> None:
        self._key = key
        self._clock = clock

    def make(self, purpose: LinkPurpose, user: User) -> str:
        """The token of a link for a user."""
        link = SignedLink(user.name, self._bind(purpose, user))
        payload = base64.urlsafe_b64encode(msgspec.json.encode(link)).rstrip(b"=")
        return self._signer(purpose).sign(payload).decode("ascii")

    def read_name(self, purpose: LinkPurpose, token: str) -> str:
        """The name of a link's user; raises LinkRefused if it is not ours or too old."""
        return self._open(purpose, token).user

    def check(self, purpose: LinkPurpose, token: str, user: User | None) -> User:
        """Returns the user; raises LinkRefused if what the link is bound to has changed."""
        link = self._open(purpose, token)
        if user is None or user.name != link.user or user.blocked:
            raise LinkRefused
        if not hmac.compare_digest(link.bound, self._bind(purpose, user)):
            raise LinkRefused
        return user

    def _open(self, purpose: LinkPurpose, token: str) -> SignedLink:
        age = int(LASTING[purpose].total_seconds())
        if len(token) > LONGEST_LINK or not token.isascii():
            raise LinkRefused
        try:
            payload = self._signer(purpose).unsign(token, max_age=age)
            raw = base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4))
            return msgspec.json.decode(raw, type=SignedLink)
        except (itsdangerous.BadData, msgspec.MsgspecError, ValueError):
            raise LinkRefused from None

    def _signer(self, purpose: LinkPurpose) -> ClockSigner:
        return ClockSigner((self._key(),), self._clock, salt=f"rookery.link.{purpose}")

    def _bind(self, purpose: LinkPurpose, user: User) -> str:
        bound = {
            LinkPurpose.RESET: f"{user.password_hash} {user.email}",
            LinkPurpose.CONFIRM: user.email,
            LinkPurpose.UNSUBSCRIBE: "",
        }
        words = f"{purpose} {user.name} {bound[purpose]}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key(), words, hashlib.sha256).hexdigest()[:32]
