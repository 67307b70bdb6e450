r"""The long path of a worker's call: carried out here or by the primary, until there is an answer.

    here --answered------------------------------------------------> sent
     ^ \--no primary any more, or memory is lost--> asked elsewhere --/
     \---------this process is primary by then----------/

Theory of operation. A process may step down, or find that it is no longer primary, in the middle of
a call that waits for work or for a commit. No answer has been sent then, and a worker's call may be
repeated, so the call is made again in the process that is primary now. A call that another instance
has forwarded is returned to that instance, which repeats it: no call is forwarded twice. A process
that is alone can't ask another one, and tells the worker to try again.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rookery.server.app.site import Site
from rookery.server.farm.worker_api.call import JSON_TYPE, WorkerCall, send_json
from rookery.server.http.answers import answer_error, outdated_answer, stopping_answer
from rookery.server.http.bodies import KeptBody, cancel_on_leave
from rookery.server.http.faults import RETRIED_AT_NEXT_PRIMARY, NotPrimary
from rookery.server.http.forwarding import OutgoingCall
from rookery.server.http.guards import HostCheck
from rookery.server.http.primary_link import Reply
from rookery.server.http.scope import RequestInfo
from rookery.server.http.to_primary import MOST_ATTEMPTS, list_passed_on, make_outgoing

CALL_SECONDS = 25.0
"""How long a forwarded call may take. A worker waits for thirty seconds."""
HELD_SECONDS = 65.0
TASK_PATH = "/api/request_task"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The route of a worker's call, and the name under which its loop time is measured."""

    name: str
    route: Route
    call: WorkerCall[Any]

    def may_be_held(self, body: bytes) -> bool:
        """Whether a request may ask to wait until there is work."""
        return self.route.path == TASK_PATH and b'"wait"' in body


@dataclass(slots=True)
class _Request:
    """One call, with everything that is needed to carry it out again."""

    endpoint: Endpoint
    info: RequestInfo
    scope: Scope
    receive: Receive
    kept: KeptBody
    spent: float = 0.0
    """How long the attempts in this process took, in seconds, without the time spent waiting for
    work."""


class LongPath:
    """The long path of one process. Used on the event loop only."""

    def __init__(self, site: Site, hosts: HostCheck) -> None:
        self._site = site
        self._hosts = hosts

    async def answer(
        self, endpoint: Endpoint, info: RequestInfo, scope: Scope, receive: Receive, send: Send
    ) -> int:
        """Send the answer to a call, also after an error. Returns its status."""
        id_header = (b"x-request-id", info.request_id.encode())
        try:
            if self._site.lifecycle.stopping:
                return await _send_response(stopping_answer(), id_header, scope, receive, send)
            if info.forwarded is not None and info.forwarded.seconds_late:
                answer = outdated_answer(self._site.clock.now())
                return await _send_response(answer, id_header, scope, receive, send)
            self._hosts.check(scope)
            reply = await self._carry_out(endpoint, info, scope, receive)
        except asyncio.CancelledError:
            # The time for draining is over. The client is told that the server is stopping.
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
        return await self._carry_out_at_primary(_Request(endpoint, info, scope, receive, kept))

    async def _do_here(
        self, endpoint: Endpoint, scope: Scope, receive: Receive
    ) -> tuple[int, bytes]:
        return await self._site.meter.measure(endpoint.name, endpoint.call.answer(scope, receive))

    async def _carry_out_at_primary(self, request: _Request) -> tuple[int, bytes] | Reply:
        """The answer of the process that is primary, even if another one becomes primary
        meanwhile."""
        failed: Exception = NotPrimary()
        for _ in range(MOST_ATTEMPTS):
            if not self._site.forwarder.is_ready():
                reply = await self._ask_primary(request)
                if reply is not None:
                    return reply
            began = self._site.clock.seconds() - request.info.waited
            try:
                return await self._do_here(request.endpoint, request.scope, request.kept.again())
            except RETRIED_AT_NEXT_PRIMARY as error:
                failed = error
            request.spent += self._site.clock.seconds() - request.info.waited - began
        raise failed

    async def _ask_primary(self, request: _Request) -> Reply | None:
        """The answer of another process that is primary. None if this process has become primary
        and has to carry out the call itself."""
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
        """The answer for a worker that waits for work in a process that is stopping."""
        if not self._site.lifecycle.stopping:
            raise NotPrimary  # the client has left, so that nobody reads the answer
        return (await self._site.forwarder.ask(call.after(HELD_SECONDS)._replace(held=False)))[0]


def _later(call: OutgoingCall, seconds: float) -> OutgoingCall:
    """The call with shorter time limits, if time has passed; otherwise unchanged."""
    return call.after(seconds) if seconds else call


async def send_reply(reply: Reply, id_header: tuple[bytes, bytes], send: Send) -> int:
    """Send the primary's answer. Returns its status."""
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
