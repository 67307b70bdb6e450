"""The base of all workers' calls: reads a body, verifies the caller, acts and answers.

The contract fixes the order of checks: the body is JSON, it names a user, the credentials are
right, the rest of it is well-formed, the run and the task exist and belong to the caller. An answer
is one JSON object with a `duration`. Failures that are not the caller's mistake are raised and
become a text that is not JSON, which a worker treats as a lost connection, so that it tries again.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from starlette.types import Receive, Scope, Send

from rookery.core.errors import message_in_docstring
from rookery.core.model.run import RunFault
from rookery.core.protocol.codec import Reader, TooLarge, WireFault, encode_timed
from rookery.core.protocol.worker_answers import WorkerAnswer
from rookery.core.protocol.worker_heads import HEAD_BYTES, scan_head
from rookery.core.protocol.worker_requests import CREDENTIALS, Credentials, TaskCall, TaskRequest
from rookery.server.app.site import Site
from rookery.server.boundary.domains import declaration_of
from rookery.server.farm.rules.answers import HeldTask
from rookery.server.farm.views import UnknownRun
from rookery.server.farm.worker_api.incoming import MachineCache, VerifiedCaller, verified_caller
from rookery.server.farm.worker_api.outgoing import Payloads
from rookery.server.http.bodies import check_connected, decode_body, next_message, read_pieces
from rookery.server.http.faults import NotPrimary, TooManyRequests
from rookery.server.http.scope import body_in, has_more, header, method_of, request_info_of
from rookery.server.people.login import LoginRefused, Throttled
from rookery.server.people.worker_credentials import VerifiedUser

# The body of a call. Small ones are read at once, large ones once their sender is verified.


@dataclass(frozen=True, slots=True)
class PartialBody:
    """The first bytes of a request's body; the whole body if it is small."""

    head: bytes
    more: bool
    most_bytes: int

    @property
    def is_small(self) -> bool:
        return not self.more and len(self.head) <= HEAD_BYTES


async def read_head(scope: Scope, receive: Receive, most_bytes: int) -> PartialBody:
    """Receive up to HEAD_BYTES of a body, or a little more. Raises TooLarge if its declared length
    or the received part exceeds `most_bytes`."""
    length = header(scope, b"content-length")
    if length.isdecimal() and int(length[:20]) > most_bytes:
        raise TooLarge(limit=most_bytes)
    # The first piece needs no time limit here: the connection limits the time up to it.
    message = check_connected(await receive())
    head, more = body_in(message), has_more(message)
    while more and len(head) <= HEAD_BYTES:
        message = await next_message(receive)
        head += body_in(message)
        more = has_more(message)
    if len(head) > most_bytes:
        raise TooLarge(limit=most_bytes)
    return PartialBody(head, more, most_bytes)


async def read_rest(body: PartialBody, receive: Receive) -> AsyncIterator[bytes]:
    """The pieces of a body after its head; raises TooLarge beyond the limit."""
    size = len(body.head)
    if not body.more:
        return
    async for piece in read_pieces(receive):
        size += len(piece)
        if size > body.most_bytes:
            raise TooLarge(limit=body.most_bytes)
        yield piece


async def read_all(body: PartialBody, receive: Receive) -> bytes:
    """The whole body in memory, for calls whose bodies are limited to a few megabytes."""
    gathered = bytearray(body.head)
    async for piece in read_rest(body, receive):
        gathered += piece
    return bytes(gathered)


PendingAnswer = tuple[WorkerAnswer, "asyncio.Future[bool] | None"]
"""An answer, and the commit to wait for before it is sent; None if it may be sent at once."""
R = TypeVar("R", bound=TaskRequest | Credentials)

JSON_TYPE = (b"content-type", b"application/json")


async def send_json(send: Send, status: int, body: bytes, *more: tuple[bytes, bytes]) -> None:
    headers = [JSON_TYPE, (b"content-length", b"%d" % len(body)), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class NotAllowed(Exception):
    """The caller is known, and may not do this."""


class WrongMethod(Exception):
    """this address takes POST only"""

    def __str__(self) -> str:
        return message_in_docstring(type(self))


STATUS: dict[type[Exception], int] = {
    WireFault: 400,
    TooLarge: 413,
    RunFault: 400,
    LoginRefused: 401,
    NotAllowed: 401,
    WrongMethod: 405,
}
_REFUSALS = tuple(STATUS)


class WorkerCall(Generic[R]):
    """One endpoint of the worker API, as a bare ASGI app. A subclass declares its path and the type
    of its body, and implements `act`."""

    path: ClassVar[str]
    reader: Reader[R]

    def __init__(self, site: Site, machines: MachineCache, payloads: Payloads) -> None:
        self.site = site
        self.machines = machines
        self.payloads = payloads
        declared = declaration_of(self)
        self.needs_primary = declared is not None and declared.needs_primary

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, body = await self.answer(scope, receive)
        await send_json(send, status, body)

    async def answer(self, scope: Scope, receive: Receive) -> tuple[int, bytes]:
        """The status and body of the response. Raises errors that are not the caller's mistake."""
        status, answer = await self._handle_or_refuse(scope, receive)
        seconds = self.site.clock.seconds() - request_info_of(scope).started
        body = encode_timed(answer, seconds=seconds)
        # The call may have waited for long, and this process may no longer be primary.
        if self.needs_primary and not self.site.is_primary():
            raise NotPrimary
        return status, body

    async def read_unanswered(self, scope: Scope, receive: Receive) -> bytes | tuple[int, bytes]:
        """The whole body of a call that another process answers. If it is too large, or its sender
        is not known, the refusal instead."""
        try:
            return await self._read_to_send_on(scope, receive)
        except Throttled as error:
            raise TooManyRequests from error
        except _REFUSALS as error:
            status, answer = self._refuse(error)
            seconds = self.site.clock.seconds() - request_info_of(scope).started
            return status, encode_timed(answer, seconds=seconds)

    async def act(self, request: R, caller: VerifiedCaller) -> WorkerAnswer:
        """Carry out a decoded request of a verified caller, and answer it once it is committed."""
        raise NotImplementedError

    def act_at_once(self, request: R, caller: VerifiedCaller) -> PendingAnswer | None:
        """Carry out a request without awaiting anything, for the short path. If that is not
        possible, it returns None or raises without having changed anything, and `act` is called
        instead."""
        del request, caller
        return None

    def refusal_answer(self, error: Exception, why: str) -> WorkerAnswer:
        """The body of the response to a call that is refused."""
        del error
        return WorkerAnswer(error=why)

    async def verify_unknown(self, name: str, password: str, client: str) -> VerifiedUser:
        """Verify credentials that are not in the cache: reads the user and hashes the password."""
        return await self.site.credentials.check(name, password, client)

    async def handle(self, scope: Scope, receive: Receive) -> WorkerAnswer:
        """Read, verify and carry out one request."""
        body = await self._read_head(scope, receive)
        if body.is_small:
            return await self.act(*await self.decode_request(scope, body.head))
        # Nothing large is read from unverified senders, and little at a time from verified ones.
        credentials = scan_head(body.head[:HEAD_BYTES]).read_credentials()
        user = (await self._verify(credentials, request_info_of(scope).client)).user
        async with self.site.worker_bodies.place(user.name):
            return await self.handle_large_body(scope, receive, body)

    async def read_request(self, scope: Scope, receive: Receive) -> tuple[R, VerifiedCaller]:
        """The decoded request and its verified caller, for calls whose bodies are always small."""
        body = await self._read_head(scope, receive)
        return await self.decode_request(scope, body.head)

    async def handle_large_body(
        self, scope: Scope, receive: Receive, body: PartialBody
    ) -> WorkerAnswer:
        """Read the rest of a large body, whose sender is verified, and carry out the request."""
        content = await read_all(body, receive)
        return await self.act(*await self.decode_request(scope, content))

    async def decode_request(self, scope: Scope, body: bytes) -> tuple[R, VerifiedCaller]:
        """Decode a whole body and verify its caller. Wrong credentials are reported before any
        other mistake in the body."""
        request = await decode_body(body, self._decode_body, self.site.threads)
        verified = await self._verify(request, request_info_of(scope).client)
        if isinstance(request, _Unreadable):
            raise request.fault
        return request, verified_caller(scope, verified, self.site.teams.of)

    async def held_task(self, request: TaskCall, caller: VerifiedCaller) -> HeldTask:
        """The task that a request is about; raises UnknownRun as `check_sight` does."""
        call = self.machines.call(request, caller)
        await self.check_sight(call, caller)
        return call

    async def check_sight(self, call: HeldTask, caller: VerifiedCaller) -> None:
        """Raises UnknownRun for a task of others on a run that the caller may not see, so that
        private runs can't be told from runs that don't exist."""
        site, user = self.site, caller.user.name
        if not site.privacy.hidden(user):
            return
        run = await site.fleet.views.run(call.run)
        if run is None or site.privacy.may_see(user, run):
            return
        task = await site.fleet.views.task(call.run, call.task)
        if task is None or task.machine.user != user:
            raise UnknownRun(run=call.run)

    async def _read_head(self, scope: Scope, receive: Receive) -> PartialBody:
        if method_of(scope) != "POST":
            raise WrongMethod
        return await read_head(scope, receive, self.reader.most_bytes)

    async def _read_to_send_on(self, scope: Scope, receive: Receive) -> bytes:
        body = await self._read_head(scope, receive)
        if body.is_small:
            return body.head
        credentials = scan_head(body.head[:HEAD_BYTES]).read_credentials()
        user = (await self._verify(credentials, request_info_of(scope).client)).user
        async with self.site.worker_bodies.place(user.name):
            return await read_all(body, receive)

    async def _handle_or_refuse(self, scope: Scope, receive: Receive) -> tuple[int, WorkerAnswer]:
        try:
            return 200, await self.handle(scope, receive)
        except Throttled as error:
            raise TooManyRequests from error
        except _REFUSALS as error:
            return self._refuse(error)

    def _refuse(self, error: Exception) -> tuple[int, WorkerAnswer]:
        status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
        return status, self.refusal_answer(error, f"{self.path}: {error}")

    def _decode_body(self, body: bytes) -> "R | _Unreadable":
        try:
            return self.reader.read(body)
        except WireFault as fault:
            return _Unreadable(CREDENTIALS.read(body), fault)

    async def _verify(self, request: "R | Credentials | _Unreadable", client: str) -> VerifiedUser:
        credentials = request.credentials if isinstance(request, _Unreadable) else request
        name, password = credentials.worker_info.user, credentials.password
        known = self.site.credentials.find_verified(name, password)
        return known or await self.verify_unknown(name, password, client)


class _Unreadable:
    """A body of which only the credentials could be decoded, and the error in the rest."""

    __slots__ = ("credentials", "fault")

    def __init__(self, credentials: Credentials, fault: WireFault) -> None:
        self.credentials = credentials
        self.fault = fault
