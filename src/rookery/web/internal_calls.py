"""How one instance shows another that a call comes from it, and for whom it was made.

A secondary sends what needs the primary on as it came, with one header of ours that says for which
client it does so. The header ends in a code over all of it and over where the call goes, made with
a key that every process on the same database has and nobody else: without the right code the header
means nothing, whoever sends it.
"""

import hashlib
import hmac
from typing import NamedTuple

from rookery.clock import Clock

FORWARDED = b"x-rookery-forwarded"
AGAIN = b"x-rookery-again"
"""In an answer: nothing was decided here, so that the same call may be sent to whoever is primary
next."""
SECONDS_OFF = 300
"""How far the clocks of two instances may differ, and for how long a header can be used."""
_NOTHING = "-"
_BYTES = 16
_PARTS = 7


class ForwardedCall(NamedTuple):
    """A call that another instance has sent on, as that one saw it."""

    request_id: str
    client: str
    secure: bool
    key: str = ""
    """By which a call that is sent twice is known to be the same; empty where that does not
    matter."""
    repeated: bool = False
    """Whether it was sent before, and the answer was lost."""


class InternalKey:
    """Makes and checks the header of forwarded calls."""

    def __init__(self, secret: bytes, clock: Clock) -> None:
        self._key = hmac.digest(secret, b"calls between instances", "sha256")
        self._clock = clock

    def sign(self, method: str, target: bytes, host: bytes, call: ForwardedCall) -> bytes:
        """The header's value, for a call that goes to this target."""
        scheme, again = "https" if call.secure else "http", "again" if call.repeated else "first"
        words = (call.request_id, call.client or _NOTHING, scheme, call.key or _NOTHING, again)
        said = f"{int(self._clock.now().timestamp())} {' '.join(words)}".encode("latin-1")
        return said + b" " + self._code(method, target, host, said)

    def verify(self, method: str, target: bytes, host: bytes, value: bytes) -> ForwardedCall | None:
        """Whom a call is for, if one of us sends it; None where anybody else made this up."""
        said, _, code = value.rpartition(b" ")
        if not hmac.compare_digest(code, self._code(method, target, host, said)):
            return None
        words = said.decode("latin-1").split(" ")
        if len(words) != _PARTS - 1:
            return None
        made, request_id, client, scheme, key, again = words
        if abs(self._clock.now().timestamp() - int(made)) > SECONDS_OFF:
            return None
        return ForwardedCall(
            request_id,
            "" if client == _NOTHING else client,
            scheme == "https",
            "" if key == _NOTHING else key,
            again == "again",
        )

    def _code(self, method: str, target: bytes, host: bytes, said: bytes) -> bytes:
        text = b"%b %b %b\n%b" % (method.encode("latin-1"), target, host, said)
        return hashlib.blake2b(text, key=self._key, digest_size=_BYTES).hexdigest().encode()
