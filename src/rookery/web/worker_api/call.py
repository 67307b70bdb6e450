"""What all calls of workers have in common: who calls is checked before what is said.

The order is the contract's: the body is JSON, it names a user, the credentials are right,
the rest of it has the right form, the run and the task exist and are the caller's. An answer is
one JSON object with a `duration`; what is nobody's fault is raised and becomes a text that is no
JSON, which a worker takes for a lost connection and tries again.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from starlette.types import Receive, Scope, Send

from rookery.model.run import RunFault
from rookery.people.login import LoginRefused, Throttled, VerifiedUser
from rookery.protocol.codec import Reader, TooLarge, WireFault, encode_timed
from rookery.protocol.worker_answers import WorkerAnswer
from rookery.protocol.worker_heads import HEAD_BYTES, scan
from rookery.protocol.worker_requests import CREDENTIALS, Credentials, TaskRequest
from rookery.web.bodies import decoded, next_message, still_there
from rookery.web.faults import NotPrimary, TooManyRequests
from rookery.web.scope import body_in, facts_of, has_more, header, method_of
from rookery.web.site import Site
from rookery.web.worker_api.incoming import MachineCache, VerifiedCaller, caller_in
from rookery.web.worker_api.outgoing import Payloads

# The body of a call: small ones are read at once, large ones when it is known who sends them.


@dataclass(frozen=True, slots=True)
class Arriving:
    """A body of which the head has come: all of it where it is small."""

    head: bytes
    more: bool
    most_bytes: int

    @property
    def is_small(self) -> bool:
        return not self.more and len(self.head) <= HEAD_BYTES


async def arriving(scope: Scope, receive: Receive, most_bytes: int) -> Arriving:
    """Raises TooLarge where the body says that it is, or is so in its first pieces."""
    length = header(scope, b"content-length")
    if length.isdecimal() and int(length[:20]) > most_bytes:
        raise TooLarge(limit=most_bytes)
    # The first piece needs no time limit of its own: the connection has one up to there.
    message = still_there(await receive())
    head, more = body_in(message), has_more(message)
    while more and len(head) <= HEAD_BYTES:
        message = await next_message(receive)
        head += body_in(message)
        more = has_more(message)
    if len(head) > most_bytes:
        raise TooLarge(limit=most_bytes)
    return Arriving(head, more, most_bytes)


async def following(body: Arriving, receive: Receive) -> AsyncIterator[bytes]:
    """What comes after the head; raises TooLarge when it is too much."""
    size, more = len(body.head), body.more
    while more:
        message = await next_message(receive)
        size += len(body_in(message))
        if size > body.most_bytes:
            raise TooLarge(limit=body.most_bytes)
        yield body_in(message)
        more = has_more(message)


async def whole(body: Arriving, receive: Receive) -> bytes:
    """All of it in memory: for what is limited to a few megabytes."""
    gathered = bytearray(body.head)
    async for piece in following(body, receive):
        gathered += piece
    return bytes(gathered)


Promise = tuple[WorkerAnswer, "asyncio.Future[bool] | None"]
"""An answer, and what must come true before it may leave, if anything."""
R = TypeVar("R", bound=TaskRequest | Credentials)

_TYPE = (b"content-type", b"application/json")


async def send_json(send: Send, status: int, body: bytes, *more: tuple[bytes, bytes]) -> None:
    headers = [_TYPE, (b"content-length", b"%d" % len(body)), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class NotAllowed(Exception):
    """The caller is known, and may not do this."""


class WrongMethod(Exception):
    """this address takes POST only"""

    def __str__(self) -> str:
        return self.__doc__ or ""


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
    """An endpoint, as a bare ASGI app. Each says what it reads, does and answers."""

    path: ClassVar[str]
    reader: Reader[R]

    def __init__(self, site: Site, machines: MachineCache, payloads: Payloads) -> None:
        self.site = site
        self.machines = machines
        self.payloads = payloads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, body = await self.answer(scope, receive)
        await send_json(send, status, body)

    async def answer(self, scope: Scope, receive: Receive) -> tuple[int, bytes]:
        """Status and body; raises what is nobody's fault."""
        status, answer = await self._answered(scope, receive)
        seconds = self.site.clock.seconds() - facts_of(scope).started
        body = encode_timed(answer, seconds=seconds)
        # It may have waited for long, and memory says nothing about what happened since.
        if not self.site.is_primary():
            raise NotPrimary
        return status, body

    async def act(self, request: R, caller: VerifiedCaller) -> WorkerAnswer:
        """What the call is for."""
        raise NotImplementedError

    def act_at_once(self, request: R, caller: VerifiedCaller) -> Promise | None:
        """The same for the calls that come most often, where nothing but a commit need be awaited.
        None, or a fault that is raised, means that nothing has happened: `act` finds out."""
        del request, caller
        return None

    def refused(self, error: Exception, why: str) -> WorkerAnswer:
        """How a refusal looks."""
        del error
        return WorkerAnswer(error=why)

    async def check(self, name: str, password: str, client: str) -> VerifiedUser:
        """Asks whoever must be asked about credentials that are not known yet."""
        return await self.site.credentials.check(name, password, client)

    async def heard(self, scope: Scope, receive: Receive) -> WorkerAnswer:
        """The whole call."""
        body = await self._begun(scope, receive)
        if body.is_small:
            return await self.act(*await self.understood(scope, body.head))
        # Nothing large is taken from strangers, and not much of it at a time from anybody.
        said = scan(body.head[:HEAD_BYTES]).credentials()
        user = (await self._verified(said, facts_of(scope).client)).user
        async with self.site.worker_bodies.place(user.name):
            return await self.heard_at_length(scope, receive, body)

    async def received(self, scope: Scope, receive: Receive) -> tuple[R, VerifiedCaller]:
        """What is said, and who says it; for calls whose bodies are small."""
        body = await self._begun(scope, receive)
        return await self.understood(scope, body.head)

    async def heard_at_length(self, scope: Scope, receive: Receive, body: Arriving) -> WorkerAnswer:
        """The rest of a large body, whose sender is known."""
        content = await whole(body, receive)
        return await self.act(*await self.understood(scope, content))

    async def understood(self, scope: Scope, body: bytes) -> tuple[R, VerifiedCaller]:
        """What a whole body says, and who says it."""
        request = await decoded(body, self._read, self.site.threads)
        verified = await self._verified(request, facts_of(scope).client)
        if isinstance(request, _Unreadable):
            raise request.fault
        return request, caller_in(scope, verified, self.site.teams.of)

    async def _begun(self, scope: Scope, receive: Receive) -> Arriving:
        if method_of(scope) != "POST":
            raise WrongMethod
        return await arriving(scope, receive, self.reader.most_bytes)

    async def _answered(self, scope: Scope, receive: Receive) -> tuple[int, WorkerAnswer]:
        try:
            return 200, await self.heard(scope, receive)
        except Throttled as error:
            raise TooManyRequests from error
        except _REFUSALS as error:
            status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
            return status, self.refused(error, f"{self.path}: {error}")

    def _read(self, body: bytes) -> "R | _Unreadable":
        try:
            return self.reader.read(body)
        except WireFault as fault:
            return _Unreadable(CREDENTIALS.read(body), fault)

    async def _verified(
        self, request: "R | Credentials | _Unreadable", client: str
    ) -> VerifiedUser:
        said = request.credentials if isinstance(request, _Unreadable) else request
        name, password = said.worker_info.user, said.password
        known = self.site.credentials.find_verified(name, password)
        return known or await self.check(name, password, client)


class _Unreadable:
    """A body of which only the credentials can be read, and what is wrong with the rest."""

    __slots__ = ("credentials", "fault")

    def __init__(self, credentials: Credentials, fault: WireFault) -> None:
        self.credentials = credentials
        self.fault = fault
