"""The base of all workers' calls: reads a body, verifies the caller, acts and answers.

The contract fixes the order of checks: the body is JSON, it names a user, the credentials are
right, the rest of it is well-formed, the run and the task exist and belong to the caller. An answer
is one JSON object with a `duration`. Failures that are not the caller's mistake are raised and
become a text that is not JSON, which a worker treats as a lost connection, so that it tries again.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, TypeVar

from msgspec import Struct
from starlette.types import Receive, Scope, Send

from rookery.core.errors import message_in_docstring
from rookery.core.model.run import RunFault
from rookery.core.protocol.codec import Reader, TooLarge, WireFault, encode_timed
from rookery.core.protocol.worker_answers import WorkerAnswer
from rookery.core.protocol.worker_heads import HEAD_BYTES, scan_head
from rookery.core.protocol.worker_requests import CREDENTIALS, Credentials, TaskCall, TaskRequest
from rookery.server.boundary.domains import declaration_of
from rookery.server.farm.fleet import Pending
from rookery.server.farm.rules.answers import HeldTask
from rookery.server.farm.views import UnknownRun
from rookery.server.http.bodies import check_connected, decode_body, next_message, read_pieces
from rookery.server.http.faults import NotPrimary, TooManyRequests
from rookery.server.http.scope import (
    RequestInfo,
    body_in,
    has_more,
    header,
    method_of,
    request_info_of,
)
from rookery.server.identity.login import LoginRefused, Throttled
from rookery.server.identity.worker_credentials import VerifiedUser
from rookery.server.worker_api.incoming import (
    MachineCache,
    VerifiedCaller,
    make_caller,
    origin_in,
)
from rookery.server.worker_api.outgoing import Payloads

if TYPE_CHECKING:
    from rookery.server.app.site import Site

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


PendingAnswer = Pending[WorkerAnswer]
R = TypeVar("R", bound=TaskRequest | Credentials)


class Unreadable(NamedTuple):
    """A body with a mistake. Only its credentials could be decoded, or not even those."""

    credentials: Credentials | None
    fault: WireFault


class KnownCall(Struct, Generic[R], frozen=True):
    """What is known of a call once its body is decoded. It goes along with the call, so that no
    path decodes or verifies anything again."""

    body: R | Unreadable
    caller: VerifiedCaller | None = None
    """None as long as memory does not know the caller, or refuses them."""


@dataclass(slots=True)
class ArrivedCall(Generic[R]):
    """A call on its way through this process, which may be tried several times."""

    scope: Scope
    receive: Receive
    known: KnownCall[R] | None = None

    @property
    def info(self) -> RequestInfo:
        return request_info_of(self.scope)


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
    of its body, and implements `act`. One with `at_once` also implements `act_at_once`."""

    path: ClassVar[str]
    at_once: ClassVar[bool] = False
    """Whether most of these calls can be carried out without awaiting anything."""
    reader: Reader[R]

    def __init__(self, site: "Site", machines: MachineCache, payloads: Payloads) -> None:
        self.site = site
        self.machines = machines
        self.payloads = payloads
        declared = declaration_of(self)
        self.needs_primary = declared is not None and declared.needs_primary

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, body = await self.answer(ArrivedCall(scope, receive))
        await send_json(send, status, body)

    async def answer(self, call: ArrivedCall[R]) -> tuple[int, bytes]:
        """The status and body of the response. Raises errors that are not the caller's mistake."""
        status, answer = await self._handle_or_refuse(call)
        body = encode_timed(answer, seconds=self.site.clock.seconds() - call.info.started)
        # The call may have waited for long, and this process may no longer be primary.
        if self.needs_primary and not self.site.is_primary():
            raise NotPrimary
        return status, body

    async def read_unanswered(self, call: ArrivedCall[R]) -> bytes | tuple[int, bytes]:
        """The whole body of a call that another process answers. If it is too large, or its sender
        is not known, the refusal instead."""
        try:
            return await self._read_to_send_on(call)
        except Throttled as error:
            raise TooManyRequests from error
        except _REFUSALS as error:
            status, answer = self._refuse(error)
            seconds = self.site.clock.seconds() - call.info.started
            return status, encode_timed(answer, seconds=seconds)

    async def act(self, request: R, caller: VerifiedCaller) -> WorkerAnswer:
        """Carry out a decoded request of a verified caller, and answer it once it is committed."""
        raise NotImplementedError

    def act_at_once(self, request: R, caller: VerifiedCaller) -> PendingAnswer | None:
        """Carry out a request without awaiting anything. If that is not possible, it returns None
        or raises, and `act` is called instead; nothing has changed then that `act` would not change
        as well."""
        raise NotImplementedError

    def refusal_answer(self, error: Exception, why: str) -> WorkerAnswer:
        """The body of the response to a call that is refused."""
        del error
        return WorkerAnswer(error=why)

    async def verify_unknown(self, name: str, password: str, client: str) -> VerifiedUser:
        """Verify credentials that are not in the cache: reads the user and hashes the password."""
        return await self.site.credentials.check(name, password, client)

    def decode(self, body: bytes) -> R | Unreadable:
        """Decode a whole body. Wrong credentials must be reported before any other mistake, so the
        mistake is returned beside them."""
        try:
            return self.reader.read(body)
        except WireFault as fault:
            return _find_credentials(body, fault)

    async def handle(self, call: ArrivedCall[R]) -> WorkerAnswer:
        """Read, verify and carry out one request."""
        body = await self._read_head(call)
        if body.is_small:
            return await self.act(*await self.decode_request(call, body.head))
        async with self._place_for_large_body(call, body):
            return await self.handle_large_body(call, body)

    async def read_request(self, call: ArrivedCall[R]) -> tuple[R, VerifiedCaller]:
        """The decoded request and its verified caller, for calls whose bodies are always small."""
        body = await self._read_head(call)
        return await self.decode_request(call, body.head)

    async def handle_large_body(self, call: ArrivedCall[R], body: PartialBody) -> WorkerAnswer:
        """Read the rest of a large body, whose sender is verified, and carry out the request."""
        content = await read_all(body, call.receive)
        return await self.act(*await self.decode_request(call, content))

    async def decode_request(self, call: ArrivedCall[R], body: bytes) -> tuple[R, VerifiedCaller]:
        """Decode a whole body and verify its caller, unless both are known already."""
        known = call.known or KnownCall(await decode_body(body, self.decode, self.site.threads))
        content, caller = known.body, known.caller
        if caller is None:
            verified = await self._verify(content, call)
            caller = make_caller(verified, origin_in(call.scope), self.site.teams.of)
            call.known = KnownCall(content, caller)
        if isinstance(content, Unreadable):
            raise content.fault
        return content, caller

    async def held_task(self, request: TaskCall, caller: VerifiedCaller) -> HeldTask:
        """The task that a request is about; raises UnknownRun as `check_sight` does."""
        machine = self.machines.machine(request.worker_info, caller)
        call = HeldTask(request.run_id, request.task_id, machine)
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

    async def _read_head(self, call: ArrivedCall[R]) -> PartialBody:
        if method_of(call.scope) != "POST":
            raise WrongMethod
        return await read_head(call.scope, call.receive, self.reader.most_bytes)

    @asynccontextmanager
    async def _place_for_large_body(
        self, call: ArrivedCall[R], body: PartialBody
    ) -> AsyncIterator[None]:
        """Nothing large is read from unverified senders, and little at a time from verified
        ones."""
        credentials = scan_head(body.head[:HEAD_BYTES]).read_credentials()
        sender = await self._verify(credentials, call)
        async with self.site.worker_bodies.place(sender.user.name):
            yield

    async def _read_to_send_on(self, call: ArrivedCall[R]) -> bytes:
        body = await self._read_head(call)
        if body.is_small:
            return body.head
        async with self._place_for_large_body(call, body):
            return await read_all(body, call.receive)

    async def _handle_or_refuse(self, call: ArrivedCall[R]) -> tuple[int, WorkerAnswer]:
        try:
            return 200, await self.handle(call)
        except Throttled as error:
            raise TooManyRequests from error
        except _REFUSALS as error:
            return self._refuse(error)

    def _refuse(self, error: Exception) -> tuple[int, WorkerAnswer]:
        status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
        return status, self.refusal_answer(error, f"{self.path}: {error}")

    async def _verify(
        self, content: R | Credentials | Unreadable, call: ArrivedCall[R]
    ) -> VerifiedUser:
        if isinstance(content, Unreadable):
            if content.credentials is None:
                raise content.fault
            content = content.credentials
        name, password = content.worker_info.user, content.password
        known = None if call.known else self.site.credentials.find_verified(name, password)
        return known or await self.verify_unknown(name, password, call.info.client)


def _find_credentials(body: bytes, fault: WireFault) -> Unreadable:
    try:
        return Unreadable(CREDENTIALS.read(body), fault)
    except WireFault as no_credentials:
        return Unreadable(None, no_credentials)
