r"""Forwards calls that need the primary to the process that is primary, and waits while none is.

    here --this process is primary--> carried out here
    looking --a live lease of another--> sent --answer--> given back
        \<--no primary; nothing sent; the answer lost; "again"--/ \--time is up--> refused

Theory of operation. The row of the lease has the primary's address. While there are calls, one task
reads it four times a second, and at once when the database announces a change. When another process
has become primary, all calls that the old one has not answered are sent to the new one. A call may
therefore be sent twice. Either it has no further effect the second time, or it has a key by which
the primary recognises it (`farm.command_keys`).

A call that finds no primary waits for a few seconds, and at most a few thousand calls wait at once.
Time spent with a primary that then steps down does not count, but a call's whole time is limited. A
machine that waits for work waits no longer than it would with a single primary.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from rookery.server.db.lease import LeaseRow
from rookery.server.db.watching import DatabaseSilent
from rookery.server.http.faults import DatabaseAway, NotPrimary, Unavailable
from rookery.server.http.internal_calls import (
    AGAIN,
    FORWARDED,
    NO_CREDENTIALS,
    OUR_TIME,
    ForwardedCall,
    InternalKey,
    SignedRequest,
)
from rookery.server.http.primary_link import AnswerLate, AnswerLost, NotReached, PrimaryLink, Reply
from rookery.server.http.waiting import left_to_wait
from rookery.server.logs import Log

PATIENCE_SECONDS = 6.0
"""How long a call waits for a primary to be found. A takeover takes less."""
LEAST_SECONDS = 5.0
"""The least time that a primary gets to answer, even if an earlier one has used up the rest."""
MOST_INSIDE = 4096
"""How many calls may be forwarded or wait here at once. Requests that wait for work are not
counted."""
MOST_BYTES_INSIDE = 128 * 2**20
MOST_LOST = 5
"""How many answers to one call may get lost before the call is given up."""
IDLE_SECONDS = 30.0
"""How long the lease is watched after the last call."""
LOOK_SECONDS = 0.25
FAILED_LOOKS = 2
"""After how many failed reads of the lease in a row the database counts as away. A single one may
be due to a connection that was cut."""
STEP_SECONDS = 0.05
PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 1.0

_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"content-length",
        b"expect",
        b"keep-alive",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_NOT_SENT = _HOP_BY_HOP | {b"accept-encoding", b"forwarded", b"host", b"x-real-ip", b"x-request-id"}
_NOT_SENT_STARTS = (b"x-rookery-", b"x-forwarded-", b"proxy-")
COUNTRY = b"x-country-code"


class PrimaryLate(Unavailable):
    """The primary has not answered in time. It may still carry out the request: check in a moment,
    before you repeat it."""


class OutgoingCall(NamedTuple):
    """A call to be forwarded to the primary."""

    method: str
    target: bytes
    host: bytes
    headers: bytes
    """Encoded header lines to send along."""
    body: bytes
    who: ForwardedCall
    seconds: float
    """How long primaries may take to answer, in all if the call is sent to several."""
    held: bool = False
    """Whether the primary may keep the call waiting until there is work."""
    credentials: str = NO_CREDENTIALS
    """The digest of the credentials among the headers."""

    def after(self, seconds: float) -> "OutgoingCall":
        """The same call with the time limits that are left after so many seconds."""
        left = max(min(LEAST_SECONDS, self.seconds), self.seconds - seconds)
        body = shorten_wait(self.body, seconds) if self.held else self.body
        return self._replace(seconds=left, body=body)

    def encode(self, key: InternalKey, *, repeated: bool) -> bytes:
        who = self.who._replace(repeated=repeated)
        signed = SignedRequest(self.method, self.target, self.host, self.credentials)
        return b"%b %b HTTP/1.1\r\nhost: %b\r\n%bcontent-length: %d\r\n%b: %b\r\n\r\n%b" % (
            self.method.encode("latin-1"),
            self.target,
            self.host,
            self.headers,
            len(self.body),
            FORWARDED,
            key.sign(signed, who, self.body),
            self.body,
        )


def shorten_wait(body: bytes, waited: float) -> bytes:
    """A request for a task whose wait is shortened by the time already waited. A body that can't be
    parsed stays unchanged; the primary refuses it."""
    try:
        content = msgspec.json.decode(body)
        wish = content["rookery"]
        wish["wait"] = left_to_wait(wish["wait"], waited)
        return msgspec.json.encode(content)
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError, RecursionError):
        return body


def encode_headers(headers: list[tuple[bytes, bytes]], *, proxied: bool) -> bytes:
    """The header lines to forward: without hop-by-hop headers and without those that only trusted
    senders may set."""
    lines = bytearray()
    for name, value in headers:
        if name in _NOT_SENT or name.startswith(_NOT_SENT_STARTS):
            continue
        if name == COUNTRY and not proxied:
            continue
        if b"\r" in value or b"\n" in value or b"\0" in value:
            continue
        lines += b"%b: %b\r\n" % (name, value)
    return bytes(lines)


@dataclass(frozen=True, slots=True)
class ForwardingStats:
    """How many calls were sent to the primary so far, and how many are under way or wait now."""

    sent: int = 0
    repeated: int = 0
    refused: int = 0
    inside: int = 0
    connections: int = 0


class Forwarder:
    """Forwards the calls of one process to the primary. Used on the event loop only."""

    def __init__(
        self,
        key: InternalKey,
        log: Log,
        *,
        is_ready: Callable[[], bool],
        read_lease: Callable[[], Awaitable[LeaseRow | None]],
    ) -> None:
        """`is_ready` tells whether this process is primary and has read its memory."""
        self._key = key
        self._log = log
        self.own_address = ""
        """The address at which other processes reach this one; empty if it is the only process."""
        self.own_name = ""
        self.make_link: Callable[[str], PrimaryLink] = PrimaryLink
        self._is_ready = is_ready
        self._read_lease = read_lease
        self._epoch = self._told_of_address = -1
        self._failed_looks = 0
        self._link: PrimaryLink | None = None
        self._retired: PrimaryLink | None = None
        """The connection to the last primary, kept while there is no other primary."""
        self._changed = asyncio.Event()
        self._look_now = False
        self._watching: asyncio.Task[None] | None = None
        self._inside = self._held = 0
        self._bytes_inside = 0
        self._sent = self._repeated = self._refused = 0

    @property
    def may_forward(self) -> bool:
        """Whether other processes may exist, one of which may be primary."""
        return bool(self.own_address)

    def is_ready(self) -> bool:
        """Whether this process carries out calls that need the primary, even if it then refuses
        them. Otherwise they are forwarded."""
        return not self.own_address or self._is_ready()

    def stats(self) -> ForwardingStats:
        connections = len(self._link) if self._link else 0
        return ForwardingStats(self._sent, self._repeated, self._refused, self._inside, connections)

    def look_again(self, _told: str = "") -> None:
        """Read the lease soon, because it may have changed."""
        self._look_now = True

    async def aclose(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watching
        self._retire_link()
        self._drop_retired()

    async def ask(self, call: OutgoingCall) -> tuple[Reply | None, bool]:
        """The primary's answer, and whether the call may have been carried out before. The answer
        is None if this process has become primary and has to carry out the call itself. Raises
        NotPrimary, DatabaseAway or PrimaryLate."""
        if self._is_full(call):
            self._refused += 1
            raise NotPrimary
        self._count(call, 1)
        if self._watching is None or self._watching.done():
            self._failed_looks = 0
            self._watching = asyncio.create_task(self._watch(), name="lease watch")
        try:
            return await self._ask(call)
        except (NotPrimary, DatabaseAway, PrimaryLate):
            self._refused += 1
            raise
        finally:
            self._count(call, -1)

    def _count(self, call: OutgoingCall, by: int) -> None:
        if call.held:
            self._held += by
        else:
            self._inside += by
        self._bytes_inside += by * len(call.body)

    def ask_at_once(self, call: OutgoingCall) -> "asyncio.Future[Reply] | None":
        """Send a worker's call without awaiting, over a free connection to the primary. Returns
        None if there is no free connection or no known primary; `ask` covers these cases."""
        if self._link is None or self._inside >= MOST_INSIDE:
            return None
        request = call.encode(self._key, repeated=False)
        answer = self._link.ask_at_once(request, call.seconds)
        if answer is not None:
            self._sent += 1
            self._inside += 1
            answer.add_done_callback(self._end_call)
        return answer

    def _end_call(self, _answer: "asyncio.Future[Reply]") -> None:
        self._inside -= 1

    def _is_full(self, call: OutgoingCall) -> bool:
        return (
            self._inside >= MOST_INSIDE or self._bytes_inside + len(call.body) > MOST_BYTES_INSIDE
        )

    async def _ask(self, call: OutgoingCall) -> tuple[Reply | None, bool]:
        loop = asyncio.get_running_loop()
        began, lost, pause = loop.time(), 0, PAUSE_SECONDS
        until, over = began + PATIENCE_SECONDS, began + PATIENCE_SECONDS + call.seconds
        repeated, tried = call.who.repeated, False
        while not self.is_ready():
            if self._link is None:
                # Without the database nobody becomes primary, and nothing can be waited for.
                if self._failed_looks >= FAILED_LOOKS:
                    raise DatabaseAway
                await self._wait_for_change(min(until, over))
                continue
            sent = loop.time()
            present, tried = call.after(sent - began) if tried else call, True
            try:
                reply = await self._send(self._link, present, repeated=repeated)
            except AnswerLost:
                repeated = True
                lost, until = lost + 1, loop.time() + PATIENCE_SECONDS
                if lost > MOST_LOST:
                    raise PrimaryLate from None
            else:
                if reply is not None and not reply.header(AGAIN):
                    return reply, repeated
                # "Again" may follow a failed commit, whose outcome is unknown.
                repeated = repeated or reply is not None
                # Time that a primary spent on the call does not count as time without one.
                until = min(loop.time() + PATIENCE_SECONDS, until + loop.time() - sent)
            if loop.time() > min(until, over):
                raise NotPrimary
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return None, repeated

    async def _send(self, link: PrimaryLink, call: OutgoingCall, *, repeated: bool) -> Reply | None:
        """The answer, or None if the primary was not reached. Raises AnswerLost or PrimaryLate."""
        self._sent += 1
        self._repeated += repeated
        request = call.encode(self._key, repeated=repeated)
        try:
            reply = await link.ask(request, call.seconds, held=call.held)
        except NotReached:
            if self._link is link:
                self._retire_link()
        except AnswerLate as error:
            raise PrimaryLate from error
        except AnswerLost as error:
            why = str(error)
            self._log.warning("forwarded_answer_lost", request=call.who.request_id, why=why)
            if self._link is link:
                self._retire_link()
            self.look_again()
            raise
        else:
            if reply.header(AGAIN):
                self.look_again()
                self._key.note_refusal(link.address, reply.header(OUR_TIME))
            return reply
        self.look_again()
        return None

    async def _wait_for_change(self, until: float) -> None:
        try:
            async with asyncio.timeout_at(until):
                await self._changed.wait()
        except TimeoutError:
            raise NotPrimary from None

    # Watches the lease while there are calls.

    async def _watch(self) -> None:
        loop, next_look, was_ready = asyncio.get_running_loop(), 0.0, False
        idle_since = loop.time()
        while loop.time() - idle_since < IDLE_SECONDS:
            if self._inside or self._held:
                idle_since = loop.time()
            if self._look_now or loop.time() >= next_look:
                self._look_now, next_look = False, loop.time() + LOOK_SECONDS
                await self._look()
            if self.is_ready() != was_ready:
                was_ready = not was_ready
                self._tell()
            await asyncio.sleep(STEP_SECONDS)
        self._retire_link()
        self._drop_retired()

    async def _look(self) -> None:
        """Follow the lease. No calls are sent to a primary that can't be reached; calls already
        sent to it are kept open until another process is primary."""
        row = await self._read_row()
        if self._failed_looks >= FAILED_LOOKS:
            self._tell()
        if row is not None and row.live and row.epoch != self._epoch:
            # This also applies when this process has taken over: the old primary may never answer.
            self._retire_link()
            self._drop_retired()
            self._epoch = row.epoch
        if row is None or not row.live or row.address in ("", self.own_address):
            self._retire_link()
            if row is not None and row.live:
                self._tell_of_address(row)
            return
        if self._link is None:
            await self._open_link(row.address)

    def _tell_of_address(self, row: LeaseRow) -> None:
        """Log, once per term, that another process names our own address, so that nothing can be
        sent to it. This happens if servers on two machines listen on a loopback address."""
        if row.holder != self.own_name and row.epoch != self._told_of_address:
            self._told_of_address = row.epoch
            self._log.warning(
                "primary_at_own_address",
                primary=row.holder,
                address=row.address,
                meaning="nothing is sent to it: set ROOKERY_INTERNAL_URL for each server",
            )

    async def _read_row(self) -> LeaseRow | None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS / 2):
                row = await self._read_lease()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is asked again
            self._failed_looks += FAILED_LOOKS if isinstance(error, DatabaseSilent) else 1
            self._log.warning("lease_not_read", why=repr(error))
            return None
        self._failed_looks = 0
        return row

    async def _open_link(self, address: str) -> None:
        link = self._retired or self.make_link(address)
        self._retired = link
        try:
            await link.reach()
        except NotReached as error:
            self._log.warning("primary_not_reached", address=address, why=str(error))
        else:
            self._link, self._retired = link, None
            self._tell()

    def _retire_link(self) -> None:
        if self._link is not None:
            self._link, self._retired = None, self._link

    def _drop_retired(self) -> None:
        if self._retired is not None:
            self._retired.close()
            self._retired = None

    def _tell(self) -> None:
        """Wake all calls that wait for a primary."""
        told, self._changed = self._changed, asyncio.Event()
        told.set()
