"""Serves the app in the running loop, with Rookery's own start, signal handling and stop.

An HTTP server would tell the app to stop only after every answer has ended, and a stream never
ends. Therefore this module controls the sequence:

    signal -> guard on, readiness 503 -> streams told to end -> jobs stopped
           -> accepted requests drained, up to a limit -> steps undone in reverse -> exit
"""

import asyncio
import contextlib
import faulthandler
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from starlette.applications import Starlette

from rookery.core.boundary.offload import Threads
from rookery.server.carriers import on_rookery_asgi, on_uvicorn
from rookery.server.carriers.serving import (
    ROOKERY_ASGI,
    HttpBackend,
    HttpServer,
    ListenAddress,
    address_of,
    bind_socket,
    explain_bind_error,
    raise_file_limit,
)
from rookery.server.http.steps import Phase, Process
from rookery.server.logs import Log

if TYPE_CHECKING:
    from rookery.server.app.site import Site

# Ends the process even if threads or tasks refuse to end.
#
# Python waits for every worker thread, and the event loop for every task. A thread that waits for
# something that never comes would keep a stopped server alive, so both waits get a deadline.

AT_ONCE = 130  # the exit code that a shell reports for a program ended by Ctrl-C


def leave_now(code: int, farewell: Callable[[], None]) -> None:
    """End the process without waiting for anything. `farewell` writes the last log lines."""
    farewell()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def leave_within(seconds: float, code: int, farewell: Callable[[], None]) -> None:
    """Give the ordinary end this much time, then end the process with the same code."""

    def end() -> None:
        time.sleep(seconds)
        leave_now(code, farewell)

    threading.Thread(target=end, name="leave-within", daemon=True).start()


def fail_after(seconds: float) -> None:
    """Set a deadline for a stop: if it hangs, dump every stack and end with code 1."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__ or sys.stderr)


def fail_never() -> None:
    """Cancel the deadline of `fail_after`, because the stop has completed."""
    faulthandler.cancel_dump_traceback_later()


# What the process does on signals.
#
# - SIGTERM and SIGINT stop it; a SIGINT after either ends it at once.
# - SIGUSR1 writes every thread's stack to stderr, even while the event loop is blocked.
# - SIGHUP is a log line and nothing else.


class StopRequest:
    """Set by the first signal that asks for a stop."""

    def __init__(self, end_now: Callable[[], None], log: Log) -> None:
        self._asked = asyncio.Event()
        self._listeners: list[Callable[[], None]] = []
        self._end_now = end_now
        self._log = log

    @property
    def made(self) -> bool:
        return self._asked.is_set()

    async def wait(self) -> None:
        await self._asked.wait()

    def on_first(self, act: Callable[[], None]) -> None:
        self._listeners.append(act)

    def make(self, number: int = signal.SIGTERM) -> None:
        if not self.made:
            self._log.info("stop_requested", signal=signal.Signals(number).name)
            self._asked.set()
            for act in self._listeners:
                act()
        elif number == signal.SIGINT:
            self._end_now()


@contextmanager
def signals_caught(request: StopRequest, log: Log) -> Iterator[None]:
    """Handle signals on the main thread's running loop for the length of the block."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, request.make, number)
    loop.add_signal_handler(signal.SIGHUP, lambda: log.info("hangup_ignored"))
    _dump_stacks_on(signal.SIGUSR1)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.remove_signal_handler(number)
        faulthandler.unregister(signal.SIGUSR1)


def _dump_stacks_on(number: int) -> None:
    # Written by a C handler, so it works even if the loop hangs.
    faulthandler.register(number, file=sys.__stderr__ or sys.stderr, all_threads=True, chain=False)


@dataclass(frozen=True, slots=True)
class StopTimes:
    """How long the parts of a stop may take, in seconds. After `whole` the process is ended by
    force."""

    drain: int = 4
    whole: float = 9.0
    exit: float = 0.5


DEFAULT_STOP_TIMES = StopTimes()


def do_nothing() -> None:
    """The default of `farewell`: does nothing."""


async def wait_for_nobody() -> None:
    """The default of `before_stop`: does nothing."""


Opening: TypeAlias = "AbstractAsyncContextManager[tuple[Starlette, Site]]"
"""Opens what is served, and closes it at the end of the block."""


@dataclass(frozen=True, slots=True)
class _Serving:
    place: ListenAddress
    backend: HttpBackend
    say: Callable[[str], object]
    stop_times: StopTimes
    before_stop: Callable[[], Awaitable[None]]


async def serve(
    opening: Opening,
    process: Process,
    place: ListenAddress,
    backend: HttpBackend,
    *,
    say: Callable[[str], object],
    farewell: Callable[[], None] = do_nothing,
    stop_times: StopTimes = DEFAULT_STOP_TIMES,
    before_stop: Callable[[], Awaitable[None]] = wait_for_nobody,
) -> int:
    """Run until a signal ends the server, and return the exit code. Complaints are raised.

    `say` gets the address once requests are answered. `before_stop` is awaited when a stop was
    requested, while requests are still answered. `farewell` is called if the process must end
    without returning to its callers.
    """
    raise_file_limit()
    request = StopRequest(lambda: leave_now(AT_ONCE, farewell), process.log)
    request.on_first(lambda: fail_after(stop_times.whole))
    with signals_caught(request, process.log):
        serving = _Serving(place, backend, say, stop_times, before_stop)
        code = await _serve_until(request, opening, process, serving)
    fail_never()
    leave_within(stop_times.exit, code, farewell)
    return code


async def _serve_until(
    request: StopRequest, opening: Opening, process: Process, serving: _Serving
) -> int:
    _let_signals_end_the_start(request, process)
    try:
        with contextlib.closing(await process.threads.io(bind_socket, serving.place)) as listening:
            process.lifecycle.bound = address_of(listening)
            async with opening as (app, site):
                await _answer_requests(request, app, site, listening, serving)
    except asyncio.CancelledError:
        if not request.made:
            raise
    failures = process.failures
    process.log.info("stopped", failed_steps=failures, threads_left=_threads_held(process.threads))
    return 1 if failures else 0


async def _answer_requests(
    request: StopRequest, app: Starlette, site: "Site", listening: socket.socket, how: _Serving
) -> None:
    server = how.backend.server(app, site, how.stop_times.drain)
    site.connections = server.connections
    serving = server.serve(listening, lambda: how.say(address_of(listening)))
    answering = asyncio.create_task(serving, name="http server")
    stop = asyncio.create_task(request.wait(), name="stop request")
    try:
        await asyncio.wait({answering, stop}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            await how.before_stop()
            await _stop(site, server)
        await answering
    except OSError as error:
        raise explain_bind_error(how.place, error) from None
    finally:
        stop.cancel()


async def _stop(site: "Site", server: HttpServer) -> None:
    """Take the steps of a stop up to the drain, which the HTTP server does when told to end."""
    await site.hand_over()
    site.lifecycle.stop()
    site.log.info("stopping", streams=site.streams.end_all(), threads=_threads_held(site.threads))
    await site.stop_jobs()
    server.stop()


def _let_signals_end_the_start(request: StopRequest, process: Process) -> None:
    this = asyncio.current_task()

    def end_start() -> None:
        if this is not None and process.lifecycle.phase is Phase.STARTING:
            this.cancel()

    request.on_first(end_start)


def _threads_held(threads: Threads) -> int:
    return sum(limiter.running for limiter in threads.stats())


# Chooses the HTTP server.


def choose_backend(wanted: str, log: Log) -> HttpBackend:
    """The HTTP server of that name. If it can't run here, a warning is logged and uvicorn is
    used."""
    if wanted != ROOKERY_ASGI:
        return on_uvicorn.make_backend()
    if (why := on_rookery_asgi.why_unavailable()) is not None:
        log.warning("serving_with_uvicorn", why=why)
        return on_uvicorn.make_backend()
    return on_rookery_asgi.make_backend()
