"""Serves the app in the running loop, under our own start, signals and stop.

An HTTP server would tell the app to stop only after every answer has ended, which a stream never
does. So the sequence is ours:

    signal -> guard on, readiness 503 -> streams told to end -> jobs stopped
           -> accepted requests drained, up to a limit -> the steps down in reverse -> exit
"""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from starlette.applications import Starlette

from rookery.boundary.offload import Threads
from rookery.web.house import Basis, House
from rookery.web.leaving import AT_ONCE, fail_after, fail_never, leave_now, leave_within
from rookery.web.lifecycle import Phase
from rookery.web.listening import Place, address_of, bind, complaint_for, raise_file_limit
from rookery.web.serving import Carrier, HttpServer
from rookery.web.signals import StopRequest, signals_caught


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the parts of a stop may take, in seconds; `whole` ends it by force."""

    drain: int = 4
    whole: float = 9.0
    exit: float = 0.5


DEFAULT_PATIENCE = Patience()


def nothing() -> None:
    """No last words."""


async def nobody() -> None:
    """Nobody has to leave before the server does."""


@dataclass(frozen=True, slots=True)
class Site:
    """What is served: how it is opened and closed, and which of its steps failed to stop."""

    open: Callable[[], AbstractAsyncContextManager[tuple[Starlette, House]]]
    failures: Callable[[], Sequence[str]]


@dataclass(frozen=True, slots=True)
class _Serving:
    place: Place
    carrier: Carrier
    say: Callable[[str], object]
    patience: Patience
    see_off: Callable[[], Awaitable[None]]


async def serve(
    site: Site,
    basis: Basis,
    place: Place,
    carrier: Carrier,
    *,
    say: Callable[[str], object],
    farewell: Callable[[], None] = nothing,
    patience: Patience = DEFAULT_PATIENCE,
    see_off: Callable[[], Awaitable[None]] = nobody,
) -> int:
    """Runs until a signal ends it and gives the exit code; complaints come as exceptions.

    `say` is told the address once requests are answered; `see_off` is awaited when a stop was asked
    for and requests are still answered; `farewell` is called where the process must end without
    going through its callers.
    """
    raise_file_limit()
    request = StopRequest(lambda: leave_now(AT_ONCE, farewell), basis.log)
    request.on_first(lambda: fail_after(patience.whole))
    with signals_caught(request, basis.log):
        serving = _Serving(place, carrier, say, patience, see_off)
        code = await _serve_until(request, site, basis, serving)
    fail_never()
    leave_within(patience.exit, code, farewell)
    return code


async def _serve_until(request: StopRequest, site: Site, basis: Basis, serving: _Serving) -> int:
    _let_signals_end_the_start(request, basis)
    try:
        with contextlib.closing(await basis.threads.io(bind, serving.place)) as listening:
            async with site.open() as (app, house):
                await _answer_requests(request, app, house, listening, serving)
    except asyncio.CancelledError:
        if not request.made:
            raise
    failures = site.failures()
    basis.log.info("stopped", failed_steps=failures, threads_left=_threads_held(basis.threads))
    return 1 if failures else 0


async def _answer_requests(
    request: StopRequest, app: Starlette, house: House, listening: socket.socket, how: _Serving
) -> None:
    server = how.carrier.server(app, house, how.patience.drain)
    house.connections.put(server.connections)
    serving = server.serve(listening, lambda: how.say(address_of(listening)))
    answering = asyncio.create_task(serving, name="http server")
    stop = asyncio.create_task(request.wait(), name="stop request")
    try:
        await asyncio.wait({answering, stop}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            await how.see_off()
            await _stop(house, server)
        await answering
    except OSError as error:
        raise complaint_for(how.place, error) from None
    finally:
        stop.cancel()


async def _stop(house: House, server: HttpServer) -> None:
    """Everything up to the drain, which the server does when told to end."""
    house.lifecycle.stop()
    house.log.info(
        "stopping", streams=house.streams.end_all(), threads=_threads_held(house.threads)
    )
    await house.stairs.stop_early()
    server.stop()


def _let_signals_end_the_start(request: StopRequest, basis: Basis) -> None:
    this = asyncio.current_task()

    def end_start() -> None:
        if this is not None and basis.lifecycle.phase is Phase.STARTING:
            this.cancel()

    request.on_first(end_start)


def _threads_held(threads: Threads) -> int:
    return sum(limiter.running for limiter in threads.stats())
