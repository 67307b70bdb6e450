"""The long path of a worker's call: carried out by a coroutine, here or at the primary.

A worker's call may be repeated, so one that was not answered is simply made again in the process
that is primary by then (`web/at_primary.py`). What was decoded and verified goes along.
"""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Send

from rookery.server.http.answers import answer_error, outdated_answer, stopping_answer
from rookery.server.http.at_primary import carry_out_at_primary
from rookery.server.http.bodies import KeptBody, cancel_on_leave
from rookery.server.http.faults import NotPrimary
from rookery.server.http.forwarding import OutgoingCall
from rookery.server.http.guards import HostCheck
from rookery.server.http.primary_link import Reply
from rookery.server.http.to_primary import list_passed_on, make_outgoing
from rookery.server.worker_api.call import JSON_TYPE, ArrivedCall, WorkerCall

if TYPE_CHECKING:
    from rookery.server.app.site import Site

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


class LongPath:
    """The long path of one process. Used on the event loop only."""

    def __init__(self, site: "Site", hosts: HostCheck) -> None:
        self._site = site
        self._hosts = hosts

    async def answer(self, endpoint: Endpoint, call: ArrivedCall[Any], send: Send) -> int:
        """Send the answer to a call, also after an error. Returns its status."""
        info, scope = call.info, call.scope
        id_header = (b"x-request-id", info.request_id.encode())
        try:
            if self._site.lifecycle.stopping:
                return await _send_response(stopping_answer(), id_header, call, send)
            if info.forwarded is not None and info.forwarded.seconds_late:
                answer = outdated_answer(self._site.clock.now())
                return await _send_response(answer, id_header, call, send)
            self._hosts.check(scope)
            reply = await self._carry_out(endpoint, call)
        except asyncio.CancelledError:
            # The time for draining is over. The client is told that the server is stopping.
            if not self._site.lifecycle.stopping:
                raise
            return await _send_response(stopping_answer(), id_header, call, send)
        except Exception as error:  # noqa: BLE001 - whatever is raised becomes an answer
            answer = await answer_error(error, scope, self._site)
            return await _send_response(answer, id_header, call, send)
        return await send_reply(reply, id_header, send)

    async def _carry_out(self, endpoint: Endpoint, call: ArrivedCall[Any]) -> Reply:
        site, work = self._site, _Work(endpoint, call, self._site)
        if not endpoint.call.needs_primary:
            return await work.do_here()
        if call.info.forwarded is None and site.forwarder.may_forward:
            work.keep_body()
            return await carry_out_at_primary(work, site)
        if site.forwarder.is_ready() and site.is_primary():
            return await work.do_here()
        raise NotPrimary


class _Work:
    """A worker's call while it is carried out. Its outcome is an answer."""

    def __init__(self, endpoint: Endpoint, call: ArrivedCall[Any], site: "Site") -> None:
        self.info = call.info
        self._endpoint = endpoint
        self._call = call
        self._site = site
        self._receive = call.receive
        self._kept: KeptBody | None = None

    def keep_body(self) -> None:
        """Keep the pieces of the body, so that the call can be carried out again."""
        self._kept = KeptBody(self._receive)

    async def do_here(self) -> Reply:
        answering = self._endpoint.call.answer(self._from_beginning())
        status, body = await self._site.meter.measure(self._endpoint.name, answering)
        return _make_reply(status, body)

    async def ask_primary(self, spent: float) -> Reply | None:
        body = await self._endpoint.call.read_unanswered(self._from_beginning())
        if not isinstance(body, bytes):
            return _make_reply(*body)
        scope, info = self._call.scope, self.info
        if self._endpoint.may_be_held(body):
            call = make_outgoing(scope, body, info, seconds=HELD_SECONDS, held=True)
            return await self._wait_at_primary(call)
        call = make_outgoing(scope, body, info, seconds=CALL_SECONDS)
        return (await self._site.forwarder.ask(_later(call, spent)))[0]

    def may_repeat(self) -> bool:
        return True  # its answer is sent when it is complete

    async def _wait_at_primary(self, call: OutgoingCall) -> Reply | None:
        reply: Reply | None = None
        began = self._site.clock.seconds()
        with self._site.streams.join() as waiting:
            leaving = asyncio.ensure_future(cancel_on_leave(self._receive, waiting))
            try:
                reply, _ = await self._site.forwarder.ask(_later(call, self.info.waited))
            finally:
                leaving.cancel()
                self.info.add_wait(self._site.clock.seconds() - began)
        if waiting.cancelled_caught:
            reply = await self._ask_at_last(call)
        return reply

    async def _ask_at_last(self, call: OutgoingCall) -> Reply | None:
        """The answer for a worker that waits for work in a process that is stopping."""
        if not self._site.lifecycle.stopping:
            raise NotPrimary  # the client has left, so that nobody reads the answer
        return (await self._site.forwarder.ask(call.after(HELD_SECONDS)._replace(held=False)))[0]

    def _from_beginning(self) -> ArrivedCall[Any]:
        if self._kept is not None:
            self._call.receive = self._kept.again()
        return self._call


def _later(call: OutgoingCall, seconds: float) -> OutgoingCall:
    """The call with shorter time limits, if time has passed; otherwise unchanged."""
    return call.after(seconds) if seconds else call


def _make_reply(status: int, body: bytes) -> Reply:
    return Reply(status, [JSON_TYPE], body)


async def send_reply(reply: Reply, id_header: tuple[bytes, bytes], send: Send) -> int:
    """Send an answer, which may be the primary's. Returns its status."""
    headers = [*list_passed_on(reply), id_header]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
    return reply.status


async def _send_response(
    answer: Response, id_header: tuple[bytes, bytes], call: ArrivedCall[Any], send: Send
) -> int:
    answer.raw_headers.append(id_header)
    await answer(call.scope, call.receive, send)
    return answer.status_code
