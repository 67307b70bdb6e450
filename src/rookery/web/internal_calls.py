"""How one instance shows another that a call comes from it, and for whom it was made.

A secondary sends what needs the primary on as it came, with one header of ours that says for which
client it does so, and a digest of the body. The header ends in a code over all of it and over where
the call goes, made with a key that every process on the same database has and nobody else: without
the right code the header means nothing, whoever sends it.

    first form:   time, request, client, scheme, key, again, code
    second form:  time, request, client, scheme, key, again, digest of the body, code

Instances of the version before know the first form alone. While one of them lives (each tells in
its row which forms it reads), it is sent by all and read by all, so that old and new run side by
side in an upgrade; once none was heard of for a while, it means nothing any more.
"""

import hashlib
import hmac
import math
from typing import NamedTuple

from rookery.clock import Clock
from rookery.logs import Log, SilentLog

FORWARDED = b"x-rookery-forwarded"
AGAIN = b"x-rookery-again"
"""In an answer: nothing was decided here, so that the same call may be sent to whoever is primary
next."""
SECONDS_OFF = 30
"""How far the clocks of two instances may differ, and for how long a header can be used. It is made
anew whenever a call is sent; a clock that is 10 seconds off fails `rookery doctor`."""
FORM = 2
"""The newest form of the header that this version reads."""
FIRST_FORM_SECONDS = 20.0
"""For so long after an instance that reads the first form alone was heard of, others may not know
yet that it is gone."""
TELL_SECONDS = 60.0
SILENT = SilentLog()
_NOTHING = "-"
_BYTES = 16
_WORDS = 6


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
    body_digest: str = ""
    """Of the body that belongs to it; empty where an instance of the version before sent it."""

    def has_body(self, digest: str) -> bool:
        """Whether a body is the one that was sent on."""
        return not self.body_digest or hmac.compare_digest(self.body_digest, digest)


class BodyDigest:
    """Of a body that comes in pieces."""

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
    """Makes and checks the header of forwarded calls."""

    def __init__(self, secret: bytes, clock: Clock, log: Log = SILENT) -> None:
        self._log = log
        self._told_of_clock = -math.inf
        self._key = hmac.digest(secret, b"calls between instances", "sha256")
        self._clock = clock
        # Until the other instances are known.
        self._sends_first_form = True
        self._reads_first_form_until = math.inf

    def note_form(self, form: int) -> None:
        """The newest form that all live instances read; to be told every few seconds."""
        self._sends_first_form = form < FORM
        if form < FORM or self._reads_first_form_until == math.inf:
            self._reads_first_form_until = self._clock.seconds() + FIRST_FORM_SECONDS

    def sign(
        self, method: str, target: bytes, host: bytes, call: ForwardedCall, body: bytes
    ) -> bytes:
        """The header's value, for a call that goes to this target."""
        scheme, again = "https" if call.secure else "http", "again" if call.repeated else "first"
        words = [call.request_id, call.client or _NOTHING, scheme, call.key or _NOTHING, again]
        if not self._sends_first_form:
            words.append(digest_body(body))
        said = f"{int(self._clock.now().timestamp())} {' '.join(words)}".encode("latin-1")
        return said + b" " + self._code(method, target, host, said)

    def verify(self, method: str, target: bytes, host: bytes, value: bytes) -> ForwardedCall | None:
        """Whom a call is for, if one of us sends it; None where anybody else made this up. The body
        is to be compared by `has_body` once it is there."""
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
        """A server whose clock is wrong, or an old header that somebody sends again; now and
        then."""
        if self._clock.seconds() - self._told_of_clock > TELL_SECONDS:
            self._told_of_clock = self._clock.seconds()
            self._log.warning("forwarded_call_too_old", seconds=round(off), request=request_id)

    def _code(self, method: str, target: bytes, host: bytes, said: bytes) -> bytes:
        text = b"%b %b %b\n%b" % (method.encode("latin-1"), target, host, said)
        return hashlib.blake2b(text, key=self._key, digest_size=_BYTES).hexdigest().encode()
