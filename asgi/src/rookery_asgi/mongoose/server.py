"""The adapter's composition root: options and an application in, two running threads out."""

import asyncio
import concurrent.futures
import contextlib
import logging
import signal
import time
from typing import Any

import cymongoose

from rookery_asgi import sockets
from rookery_asgi.accesslog import AccessLog, choose_writer
from rookery_asgi.errors import CannotBind
from rookery_asgi.lifespan import Lifespan
from rookery_asgi.mongoose.head import Head, make_scope
from rookery_asgi.mongoose.http import Around, HttpCall
from rookery_asgi.mongoose.line import Line
from rookery_asgi.mongoose.poll import Poll, scope_fields
from rookery_asgi.mongoose.refused import refuse_options
from rookery_asgi.mongoose.state import _ConnState
from rookery_asgi.mongoose.websocket import WebSocketCall
from rookery_asgi.options import Options
from rookery_asgi.proxy import ProxyHeaders, Trust
from rookery_asgi.types import App

log = logging.getLogger("rookery_asgi")

LIFESPAN_STOP_SECONDS = 5.0
FLUSH_SECONDS = 0.25
LAST_BYTES_SECONDS = 2.0


class Server:
    """Serves one application: its coroutines run in this loop, its sockets in the poll thread."""

    def __init__(self, app: App, options: Options) -> None:
        """Opens nothing yet; raises BadOption for what can't be honoured."""
        refuse_options(options)
        self._app = app
        self._options = options
        self._lifespan = Lifespan(app, mode=options.lifespan)
        self._proxy = ProxyHeaders(Trust.parse(options.forwarded_allow_ips))
        self._access = None
        if options.access_log:
            self._access = AccessLog(choose_writer(), options.access_log_format)
        noted = self._access.entries.append if self._access is not None else None
        self._around = Around(options.date_header, options.server_header, self._failed, noted)
        self._tasks: set[concurrent.futures.Future[None]] = set()
        self._poll: Poll | None = None
        self._stop = asyncio.Event()
        self._hurry = asyncio.Event()
        self._ticker: asyncio.Task[None] | None = None
        self.addresses: list[tuple[str, int]] = []

    async def serve(self) -> bool:
        """Start, serve until `begin_stop`, stop; True when the application shut down cleanly."""
        await self.start()
        await self._stop.wait()
        return await self.stop()

    def begin_stop(self) -> None:
        """Make `serve` return; a second call stops waiting for running requests."""
        if self._stop.is_set():
            self._hurry.set()
        self._stop.set()

    async def start(self) -> None:
        """Run the application's start-up, and only then bind."""
        await self._lifespan.start()
        loop = asyncio.get_running_loop()
        self._poll = Poll(self._options, loop, self._begin, self._launch)
        try:
            self.addresses = listen(self._poll, self._options.host, self._options.port)
        except CannotBind:
            self._poll.end()
            await self._lifespan.stop(seconds=LIFESPAN_STOP_SECONDS)
            raise
        self._poll.begin()
        self._ticker = loop.create_task(self._tick())
        for address in self.addresses:
            log.info("serving on %s", url_of(*address))

    async def stop(self) -> bool:
        """End the requests, then the poll thread, then the application's lifespan."""
        if self._poll is not None:
            log.info("stopping")
            self._poll.stop_accepting()
            await self._end_tasks()
            await self._until(self._poll.is_quiet, LAST_BYTES_SECONDS)
            self._poll.end()
        if self._ticker is not None:
            self._ticker.cancel()
        if self._access is not None:
            self._access.close()
        return await self._lifespan.stop(seconds=LIFESPAN_STOP_SECONDS)

    @property
    def _lifespan_supported(self) -> bool:
        return self._lifespan.takes_part

    # called by the poll thread

    def _begin(self, conn: cymongoose.Connection, head: Head, kind: str) -> _ConnState:
        state = self._lifespan.state.copy()
        fields = scope_fields(conn)
        scope = make_scope(head, kind, root_path=self._options.root_path, state=state, **fields)
        if self._options.proxy_headers:
            self._proxy(scope)
        return _ConnState(scope)

    def _launch(self, conn_id: int, state: _ConnState) -> None:
        assert self._poll is not None
        line = Line(conn_id, state, self._poll.wakeups)
        call: HttpCall | WebSocketCall = (
            WebSocketCall(line, self._failed)
            if state.is_websocket
            else HttpCall(line, self._around)
        )
        loop = self._poll.loop
        state.task = asyncio.run_coroutine_threadsafe(call.run(self._app), loop)
        self._tasks.add(state.task)
        state.task.add_done_callback(self._tasks.discard)

    # the asyncio thread's own

    def _failed(self, error: BaseException) -> None:
        log.error("the application failed: %s", error, exc_info=error)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            if self._access is not None:
                self._access.flush()

    async def _end_tasks(self) -> None:
        assert self._poll is not None
        await self._until(lambda: not self._tasks, self._options.timeout_graceful_shutdown)
        if self._options.timeout_disconnect:
            self._poll.order(self._poll.disconnect)
            await self._until(lambda: not self._tasks, self._options.timeout_disconnect)
        if self._tasks:
            log.warning("%d requests were cut off", len(self._tasks))
        for task in list(self._tasks):
            task.cancel()
        self._hurry.clear()
        await self._until(lambda: not self._tasks, 1.0)

    async def _until(self, condition: Any, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end and not self._hurry.is_set():  # noqa: ASYNC110
            await asyncio.sleep(0.02)  # the other thread has no one to tell


def url_of(host: str, port: int) -> str:
    """The address as people write it."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def listen(poll: Poll, host: str, port: int) -> list[tuple[str, int]]:
    """Listen on each address of the host, all on one port; one that can't be had is left out where
    there is another."""
    bound: list[tuple[str, int]] = []
    for _, address in sockets.addresses_of(host):
        with contextlib.suppress(RuntimeError):
            bound.append(poll.listen(url_of(str(address[0]), port)))
            port = bound[0][1]
    if not bound:
        raise CannotBind(f"{host}:{port}", "Mongoose could not bind it")
    return bound


def watch_signals(server: Server, loop: asyncio.AbstractEventLoop) -> None:
    """SIGTERM and SIGINT stop."""
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, server.begin_stop)
