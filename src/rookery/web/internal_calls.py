"""Signs forwarded calls: shows that a call comes from another instance, and for which client.

A secondary forwards a call that needs the primary as it arrived, with one more header. This has the
client and a digest of the body, and ends with a code over its content and the target of the call.
The code is made with a key that only the processes on the same database have; a header with a wrong
code is ignored.

    first form:   time, request, client, scheme, key, again, code
    second form:  time, request, client, scheme, key, again, digest of the body, code

Instances of the previous version know only the first form. Each instance notes in its row which
forms it reads. While one of them reads only the first form, all send and accept that form, so that
old and new versions run side by side during an upgrade. Some time after the last sign of such an
instance, the first form is no longer accepted.
"""

import hashlib
import hmac
import math
from typing import NamedTuple

from rookery.clock import Clock
from rookery.logs import Log, SilentLog

FORWARDED = b"x-rookery-forwarded"
AGAIN = b"x-rookery-again"
"""The header of an answer that says: nothing was decided here, so the call may be sent to the next
primary."""
SECONDS_OFF = 30
"""How far the clocks of two instances may differ, and how long a signed header is valid. The header
is signed anew for each attempt. A clock that is 10 seconds off fails `rookery doctor`."""
FORM = 2
"""The newest form of the header that this version reads."""
FIRST_FORM_SECONDS = 20.0
"""How long the first form is still accepted after the last sign of an instance that reads only that
form. Until then others may not know that it is gone."""
TELL_SECONDS = 60.0
SILENT = SilentLog()
_NOTHING = "-"
_BYTES = 16
_WORDS = 6


class ForwardedCall(NamedTuple):
    """A call that another instance has forwarded, with what that instance knows about it."""

    request_id: str
    client: str
    secure: bool
    key: str = ""
    """The key that identifies a call that is sent twice; empty if repeating it is harmless."""
    repeated: bool = False
    """Whether the call was sent before and its outcome is unknown."""
    body_digest: str = ""
    """The digest of the call's body; empty if an instance of the previous version sent it."""

    def has_body(self, digest: str) -> bool:
        """Whether a body with this digest is the one that was forwarded."""
        return not self.body_digest or hmac.compare_digest(self.body_digest, digest)


class BodyDigest:
    """The digest of a body that comes in pieces."""

    __slots__ = ("_hash",)

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=_BYTES)

    def add(self, piece: bytes) -> None:
        self._hash.update(piece)

    @property
    def text(self) -> str:
        return self._hash.hexdigest()


def digest_body(body: bytes) -> str:
    digest = BodyDigest()
    digest.add(body)
    return digest.text


class InternalKey:
    """Signs and verifies the header of forwarded calls."""

    def __init__(self, secret: bytes, clock: Clock, log: Log = SILENT) -> None:
        self._log = log
        self._told_of_clock = -math.inf
        self._key = hmac.digest(secret, b"calls between instances", "sha256")
        self._clock = clock
        # Until the other instances are known, assume that one of them reads only the first form.
        self._sends_first_form = True
        self._reads_first_form_until = math.inf

    def note_form(self, form: int) -> None:
        """Set the newest form that all live instances read. To be called every few seconds."""
        self._sends_first_form = form < FORM
        if form < FORM or self._reads_first_form_until == math.inf:
            self._reads_first_form_until = self._clock.seconds() + FIRST_FORM_SECONDS

    def sign(
        self, method: str, target: bytes, host: bytes, call: ForwardedCall, body: bytes
    ) -> bytes:
        """The value of the header for a call to this target."""
        scheme, again = "https" if call.secure else "http", "again" if call.repeated else "first"
        words = [call.request_id, call.client or _NOTHING, scheme, call.key or _NOTHING, again]
        if not self._sends_first_form:
            words.append(digest_body(body))
        said = f"{int(self._clock.now().timestamp())} {' '.join(words)}".encode("latin-1")
        return said + b" " + self._code(method, target, host, said)

    def verify(self, method: str, target: bytes, host: bytes, value: bytes) -> ForwardedCall | None:
        """The forwarded call that a header describes; None if its signature is not valid. The body
        is checked with `has_body` once it is there."""
        said, _, code = value.rpartition(b" ")
        if not hmac.compare_digest(code, self._code(method, target, host, said)):
            return None
        words = said.decode("latin-1").split(" ")
        if len(words) == _WORDS and self._clock.seconds() < self._reads_first_form_until:
            words.append("")
        if len(words) != _WORDS + 1:
            return None
        made, request_id, client, scheme, key, again, digest = words
        off = self._clock.now().timestamp() - int(made)
        if abs(off) > SECONDS_OFF:
            self._tell_of_clock(off, request_id)
            return None
        return ForwardedCall(
            request_id,
            "" if client == _NOTHING else client,
            scheme == "https",
            "" if key == _NOTHING else key,
            again == "again",
            digest,
        )

    def _tell_of_clock(self, off: float, request_id: str) -> None:
        """Log a valid header outside of its time, at most once a minute: the clock of a server is
        wrong, or somebody replays an old header."""
        if self._clock.seconds() - self._told_of_clock > TELL_SECONDS:
            self._told_of_clock = self._clock.seconds()
            self._log.warning("forwarded_call_too_old", seconds=round(off), request=request_id)

    def _code(self, method: str, target: bytes, host: bytes, said: bytes) -> bytes:
        text = b"%b %b %b\n%b" % (method.encode("latin-1"), target, host, said)
        return hashlib.blake2b(text, key=self._key, digest_size=_BYTES).hexdigest().encode()
