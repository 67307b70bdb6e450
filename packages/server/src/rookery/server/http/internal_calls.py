"""Signs forwarded calls: shows that a call comes from another instance, and for which client.

A secondary forwards a call that needs the primary as it arrived, with one more header. This has the
client and digests of the body and of the credentials, and ends with a code over its content and the
target of the call. The code is made with a key that only the processes on the same database have; a
header with a wrong code is ignored. A right one from another time is refused: the clocks of the two
servers disagree, or somebody repeats what was sent before.

    first form:   time, request, client, scheme, key, again, code
    second form:  the same with a digest of the body before the code
    third form:   the same with a digest of the credentials after that of the body

Instances of an earlier version know only the earlier forms. Each instance notes in its row the
newest form that it reads. All send the newest form that each of them reads, and accept it and later
ones, so that old and new versions run side by side during an upgrade. Some time after the last sign
of such an instance, its form is no longer accepted.
"""

import hashlib
import hmac
import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from rookery.core.clock import Clock
from rookery.server.logs import Log, SilentLog

FORWARDED = b"x-rookery-forwarded"
AGAIN = b"x-rookery-again"
"""The header of an answer that says: nothing was decided here, so the call may be sent to the next
primary."""
OUR_TIME = b"x-rookery-time"
"""The header of an answer to an outdated call: the time at the server that refused it."""
SECONDS_OFF = 30
"""How far the clocks of two instances may differ, and how long a signed header is valid. The header
is signed anew for each attempt. A clock that is 10 seconds off fails `rookery doctor`."""
FORM = 3
"""The newest form of the header that this version reads."""
FORM_SECONDS = 20.0
"""How long an earlier form is still accepted after the last sign of an instance that needs it.
Until then others may not know that it is gone."""
TELL_SECONDS = 60.0
MOST_TIME = 40
SILENT = SilentLog()
_NOTHING = "-"
NO_CREDENTIALS = _NOTHING
_BYTES = 16
_PLAIN_WORDS = 5
"""The words of a header between its time and its digests."""
_CREDENTIALS = (b"authorization", b"cookie")


class SignedRequest(NamedTuple):
    """The parts of a request for which alone its header is valid."""

    method: str
    target: bytes
    host: bytes
    credentials: str
    """What `digest_credentials` gives for its headers."""


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
    """The digest of the call's body; empty if an instance of an earlier version sent it."""
    seconds_late: int = 0
    """How far our clock is ahead of the time in the header, if that is too far; negative if it is
    behind."""

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


def digest_credentials(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The digest of the headers that say who asks: a token and cookies."""
    shown = [pair for pair in headers if pair[0] in _CREDENTIALS]
    if not shown:
        return NO_CREDENTIALS
    # Sorting keeps the order of headers with the same name.
    ordered = sorted(shown, key=lambda pair: pair[0])
    return digest_body(b"\n".join(b"%b: %b" % (name, value.strip()) for name, value in ordered))


class InternalKey:
    """Signs and verifies the header of forwarded calls."""

    def __init__(self, secret: bytes, clock: Clock, log: Log = SILENT) -> None:
        self._log = log
        self._told_of_clock = self._told_of_refusal = -math.inf
        self._key = hmac.digest(secret, b"calls between instances", "sha256")
        self._clock = clock
        # Until the other instances are known, assume that one of them reads only the first form.
        self._form = 1
        self._needed_until = {1: math.inf}

    def note_form(self, form: int) -> None:
        """Set the newest form that all live instances read. To be called every few seconds."""
        self._form = min(form, FORM)
        until = self._clock.seconds() + FORM_SECONDS
        self._needed_until[1] = min(self._needed_until[1], until)
        self._needed_until[self._form] = until

    def sign(self, request: SignedRequest, call: ForwardedCall, body: bytes) -> bytes:
        """The value of the header for this request."""
        scheme, again = "https" if call.secure else "http", "again" if call.repeated else "first"
        words = [call.request_id, call.client or _NOTHING, scheme, call.key or _NOTHING, again]
        digests = [digest_body(body), request.credentials]
        words += digests[: self._form - 1]
        said = f"{int(self._clock.now().timestamp())} {' '.join(words)}".encode("latin-1")
        return said + b" " + self._code(request, said)

    def verify(self, request: SignedRequest, value: bytes) -> ForwardedCall | None:
        """The forwarded call that a header describes, also if it is outdated; None if it is not
        valid for this request. The body is checked with `has_body` once it is there."""
        said, _, code = value.rpartition(b" ")
        if not hmac.compare_digest(code, self._code(request, said)):
            return None
        made, *words = said.decode("latin-1").split(" ")
        if not self._reads(1 + len(words) - _PLAIN_WORDS):
            return None
        request_id, client, scheme, key, again, *digests = words
        if digests[1:] and not hmac.compare_digest(digests[1], request.credentials):
            return None
        return ForwardedCall(
            request_id,
            "" if client == _NOTHING else client,
            scheme == "https",
            "" if key == _NOTHING else key,
            again == "again",
            digests[0] if digests else "",
            self._find_lateness(int(made), request_id),
        )

    def note_refusal(self, address: str, their_time: bytes) -> None:
        """Log, at most once a minute, that another instance refuses our headers because its clock
        differs from ours. `their_time` is empty if it refused for another reason."""
        if not their_time or self._clock.seconds() - self._told_of_refusal <= TELL_SECONDS:
            return
        self._told_of_refusal = self._clock.seconds()
        self._log.warning(
            "clocks_apart",
            other=address,
            their_clock=their_time.decode("latin-1")[:MOST_TIME],
            our_clock=self._clock.now().isoformat(),
            meaning="it refuses what is forwarded to it: let both machines ask a time server",
        )

    def _reads(self, form: int) -> bool:
        now = self._clock.seconds()
        needed = (lowest for lowest, until in self._needed_until.items() if now < until)
        return min(needed, default=FORM) <= form <= FORM

    def _find_lateness(self, made: int, request_id: str) -> int:
        late = round(self._clock.now().timestamp() - made)
        if abs(late) <= SECONDS_OFF:
            return 0
        self._tell_of_clock(made, late, request_id)
        return late

    def _tell_of_clock(self, made: int, late: int, request_id: str) -> None:
        """Log a valid header outside of its time, at most once a minute: the clock of a server is
        wrong, or somebody replays an old header."""
        if self._clock.seconds() - self._told_of_clock <= TELL_SECONDS:
            return
        self._told_of_clock = self._clock.seconds()
        self._log.warning(
            "forwarded_call_too_old",
            sent=datetime.fromtimestamp(made, UTC).isoformat(),
            our_clock=self._clock.now().isoformat(),
            seconds=late,
            request=request_id,
        )

    def _code(self, request: SignedRequest, said: bytes) -> bytes:
        method = request.method.encode("latin-1")
        text = b"%b %b %b\n%b" % (method, request.target, request.host, said)
        return hashlib.blake2b(text, key=self._key, digest_size=_BYTES).hexdigest().encode()
