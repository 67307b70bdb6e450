r"""The long path of a worker's call: carried out here or by whoever is primary, until one answers.

    here --answered------------------------------------------------> sent
     ^ \--no primary any more, or memory is lost--> asked elsewhere --/
     \---------this process is primary by then----------/

Theory of operation. A server that is told to step down, or finds that it is not primary, may be in
the middle of a call: one that it holds until there is work, or one that waits for a commit. Nobody
has been told anything then, and a worker's call may be made twice, so that it is made again where
the primary is now. A call that another instance has sent on is given back to that one, which does
so itself: nothing is sent on twice. Who is alone has nobody to ask, and tells the worker to try
again.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rookery.web.answers import answer_error, stopping_answer
from rookery.web.bodies import KeptBody, cancel_on_leave
from rookery.web.faults import UNDECIDED, NotPrimary
from rookery.web.forwarding import OutgoingCall
from rookery.web.guards import HostCheck
from rookery.web.primary_link import Reply
from rookery.web.scope import RequestInfo
from rookery.web.site import Site
from rookery.web.to_primary import MOST_ATTEMPTS, list_passed_on, make_outgoing
from rookery.web.worker_api.call import JSON_TYPE, WorkerCall, send_json

CALL_SECONDS = 25.0
"""A worker waits for thirty."""
HELD_SECONDS = 65.0
TASK_PATH = "/api/request_task"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A worker's call by its route, and the name under which its time on the loop is measured."""

    name: str
    route: Route
    call: WorkerCall[Any]

    def may_be_held(self, body: bytes) -> bool:
        """Whether a request may ask to be kept waiting for work."""
        return self.route.path == TASK_PATH and b'"wait"' in body


@dataclass(slots=True)
class _Request:
    """One call, with all that is needed to carry it out once more."""

    endpoint: Endpoint
    info: RequestInfo
    scope: Scope
    receive: Receive
    kept: KeptBody
    spent: float = 0.0
    """Seconds that attempts of this process took, but for those in which it waited for work."""


class LongPath:
    """One per process; the event loop alone uses it."""

    def __init__(self, site: Site, hosts: HostCheck) -> None:
        self._site = site
        self._hosts = hosts

    async def answer(
        self, endpoint: Endpoint, info: RequestInfo, scope: Scope, receive: Receive, send: Send
    ) -> int:
        """Send the answer to a call, whatever it is; gives its status."""
        id_header = (b"x-request-id", info.request_id.encode())
        try:
            if self._site.lifecycle.stopping:
                return await _send_response(stopping_answer(), id_header, scope, receive, send)
            self._hosts.check(scope)
            reply = await self._carry_out(endpoint, info, scope, receive)
        except asyncio.CancelledError:
            # The drain is over: the last that can be done for this client is to say so.
            if not self._site.lifecycle.stopping:
                raise
            return await _send_response(stopping_answer(), id_header, scope, receive, send)
        except Exception as error:  # noqa: BLE001 - whatever is raised becomes an answer
            answer = await answer_error(error, scope, self._site)
            return await _send_response(answer, id_header, scope, receive, send)
        if isinstance(reply, Reply):
            return await send_reply(reply, id_header, send)
        await send_json(send, *reply, id_header)
        return reply[0]

    async def _carry_out(
        self, endpoint: Endpoint, info: RequestInfo, scope: Scope, receive: Receive
    ) -> tuple[int, bytes] | Reply:
        if not endpoint.call.needs_primary:
            return await self._do_here(endpoint, scope, receive)
        forwarder = self._site.forwarder
        if info.forwarded is not None or not forwarder.may_forward:
            if not (forwarder.is_ready() and self._site.is_primary()):
                raise NotPrimary
            return await self._do_here(endpoint, scope, receive)
        kept = KeptBody(receive)
        return await self._insist(_Request(endpoint, info, scope, receive, kept))

    async def _do_here(
        self, endpoint: Endpoint, scope: Scope, receive: Receive
    ) -> tuple[int, bytes]:
        return await self._site.meter.measure(endpoint.name, endpoint.call.answer(scope, receive))

    async def _insist(self, request: _Request) -> tuple[int, bytes] | Reply:
        """The answer of whoever is primary, though that changes meanwhile."""
        failed: Exception = NotPrimary()
        for _ in range(MOST_ATTEMPTS):
            if not self._site.forwarder.is_ready():
                reply = await self._ask_primary(request)
                if reply is not None:
                    return reply
            began = self._site.clock.seconds() - request.info.waited
            try:
                return await self._do_here(request.endpoint, request.scope, request.kept.again())
            except UNDECIDED as error:
                failed = error
            request.spent += self._site.clock.seconds() - request.info.waited - began
        raise failed

    async def _ask_primary(self, request: _Request) -> Reply | None:
        """The answer of the process that is primary, if it is another; None where the call is to be
        carried out here by now."""
        info, scope = request.info, request.scope
        body = await request.endpoint.call.read_unanswered(scope, request.kept.again())
        if not isinstance(body, bytes):
            status, content = body
            return Reply(status, [JSON_TYPE], content)
        if not request.endpoint.may_be_held(body):
            call = make_outgoing(scope, body, info, seconds=CALL_SECONDS)
            return (await self._site.forwarder.ask(_later(call, request.spent)))[0]
        call = make_outgoing(scope, body, info, seconds=HELD_SECONDS, held=True)
        reply: Reply | None = None
        began = self._site.clock.seconds()
        with self._site.streams.join() as waiting:
            leaving = asyncio.ensure_future(cancel_on_leave(request.receive, waiting))
            try:
                reply, _ = await self._site.forwarder.ask(_later(call, info.waited))
            finally:
                leaving.cancel()
                info.add_wait(self._site.clock.seconds() - began)
        if waiting.cancelled_caught:
            reply = await self._ask_at_last(call)
        return reply

    async def _ask_at_last(self, call: OutgoingCall) -> Reply | None:
        """For a machine that can't be kept waiting here any longer, since this process ends."""
        if not self._site.lifecycle.stopping:
            raise NotPrimary  # the client has left, and nobody reads it
        return (await self._site.forwarder.ask(call.after(HELD_SECONDS)._replace(held=False)))[0]


def _later(call: OutgoingCall, seconds: float) -> OutgoingCall:
    """As it came, where it has not taken any time yet."""
    return call.after(seconds) if seconds else call


async def send_reply(reply: Reply, id_header: tuple[bytes, bytes], send: Send) -> int:
    """Send what the primary answered; gives its status."""
    headers = [*list_passed_on(reply), id_header]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
    return reply.status


async def _send_response(
    answer: Response, id_header: tuple[bytes, bytes], scope: Scope, receive: Receive, send: Send
) -> int:
    answer.raw_headers.append(id_header)
    await answer(scope, receive, send)
    return answer.status_code
