"""The composition root: options and an application in, a running server out."""

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rookery_asgi import _core, sockets
from rookery_asgi.accesslog import AccessLog, Entry, choose_writer, wants_headers
from rookery_asgi.board import Share
from rookery_asgi.fields import read_fields
from rookery_asgi.lifespan import Lifespan
from rookery_asgi.metrics import MetricsPage
from rookery_asgi.options import Options
from rookery_asgi.proxy import ProxyHeaders, Trust
from rookery_asgi.tls import Tls, TlsFilter, make_tls
from rookery_asgi.types import App, Scope
from rookery_asgi.ws import handshake
from rookery_asgi.ws.session import Limits, Session

log = logging.getLogger("rookery_asgi")

TICK_SECONDS = 0.25
Given = Iterable[socket.socket | sockets.Listener]
Refused = Callable[[tuple[str, int | None] | None, int], object]
"""Told the address of a client whose request was refused, and the status; 408: it never came."""


class Hooks:
    """What the core asks Python for."""

    def __init__(
        self,
        options: Options,
        app: App,
        tls: Tls | None,
        refused: Refused | None = None,
        log: Callable[[Entry], object] | None = None,
    ) -> None:
        """Those that are not wanted are None, which costs nothing. `log` takes WebSockets' ends."""
        trust = Trust.parse(options.forwarded_allow_ips)
        self.refused = refused
        self.websocket = self._open_websocket if options.ws else None
        self.forwarded = ProxyHeaders(trust) if options.proxy_headers else None
        self.accepted = self._seal if tls is not None else None
        self.tls = tls
        self.sessions: set[Session] = set()
        self.now = time.monotonic
        self._app = app
        self._log = log
        self._limits = Limits(
            most=options.ws_max_size,
            deflate=options.ws_per_message_deflate,
            queued=options.high_water,
            ping_interval=options.ws_ping_interval,
            ping_timeout=options.ws_ping_timeout,
        )

    def _seal(self, conn: _core.Connection) -> TlsFilter | None:
        return TlsFilter(self.tls, conn) if self.tls is not None else None

    def failed(self, error: BaseException) -> None:
        """The application raised, or sent no whole response."""
        log.error("the application failed: %s", error, exc_info=error)

    def _open_websocket(self, conn: _core.Connection, scope: Scope) -> Session:
        """A client asks for a WebSocket."""
        offer = handshake.read_offer(scope["headers"])
        if isinstance(offer, handshake.Refusal):
            nothing = handshake.Offer(b"", (), "")
            session = Session(conn, scope, nothing, self._limits, self.now, self._log)
            session.refuse(offer.status, list(offer.headers))
            return session
        scope["subprotocols"] = list(offer.subprotocols)
        session = Session(conn, scope, offer, self._limits, self.now, self._log)
        session.task = asyncio.get_running_loop().create_task(session.run(self._app))
        self.sessions.add(session)
        session.task.add_done_callback(lambda _: self.sessions.discard(session))
        return session


class Server:
    """Serves one application in the running event loop."""

    def __init__(
        self,
        app: App,
        options: Options,
        *,
        refused: Refused | None = None,
        share: Share | None = None,
    ) -> None:
        """Opens nothing yet. `share` is where one of several workers tells the others of itself."""
        self._refused = refused
        self._share = share
        self._fields = read_fields(options.headers)
        self._page = MetricsPage(app, options.metrics_path) if options.metrics_path else None
        self._app: App = self._page or app
        self._options = options
        self._stop = asyncio.Event()
        self._hurry = asyncio.Event()
        self._core: _core.Core | None = None
        self._hooks: Hooks | None = None
        self._access: AccessLog | None = None
        self.addresses: list[str] = []
        self.listening = asyncio.Event()

    def stop(self) -> None:
        """Begin to stop; a second call stops waiting for running requests."""
        if self._stop.is_set():
            self._hurry.set()
        self._stop.set()

    def counters(self) -> dict[str, Any]:
        """The core's counters."""
        return self._core.counters() if self._core is not None else {}

    def _all_counters(self) -> dict[str, Any]:
        """Those of all workers, where there are several."""
        own = self.counters()
        return self._share.total(own) if self._share is not None and own else own

    def _tell(self, core: _core.Core) -> None:
        if self._share is not None:
            self._share.put(core.counters())

    def reload_certificate(self) -> None:
        """Use the certificate as it is on disk now for connections to come."""
        if self._hooks is None or self._hooks.tls is None:
            return
        try:
            self._hooks.tls = make_tls(self._options)
            log.info("certificate reloaded")
        except Exception as error:  # noqa: BLE001 - the old one goes on serving
            log.error("certificate not reloaded: %s", error)

    async def serve(self, given: Given | None = None) -> bool:
        """Serve until stopped; True when the application shut down cleanly.

        Nothing listens before the application's start-up has completed. A socket that is given
        without more speaks TLS where there is a certificate.
        """
        tls = make_tls(self._options)
        lifespan = Lifespan(self._app, mode=self._options.lifespan)
        await lifespan.start()
        try:
            with self._listening(given, lifespan, tls):
                await self._stop.wait()
                await self._end_requests()
        finally:
            clean = await lifespan.stop(seconds=self._options.timeout_lifespan)
        return clean

    @contextlib.contextmanager
    def _listening(
        self,
        given: Given | None,
        lifespan: Lifespan,
        tls: Tls | None,
    ) -> Iterator[None]:
        opened = (
            described(given, secure=tls is not None)
            if given is not None
            else sockets.bind(self._options)
        )
        self._access = access = self._make_log()
        log_end = access.entries.append if access is not None else None
        self._hooks = Hooks(self._options, self._app, tls, self._refused, log_end)
        loop = asyncio.get_running_loop()
        core = self._core = self._make_core(loop, lifespan)
        if self._page is not None:
            self._page.counters = self._all_counters
        try:
            for listener in opened:
                self._listen(core, listener)
            loop.add_reader(core.fileno(), core.poll)
            ticker = loop.create_task(self._tick(core))
            self._tell(core)
            self.listening.set()
            yield
            ticker.cancel()
        finally:
            self._close(loop, core, opened)

    def _make_log(self) -> AccessLog | None:
        if not self._options.access_log:
            return None
        return AccessLog(choose_writer(), self._options.access_log_format)

    def _make_core(self, loop: asyncio.AbstractEventLoop, lifespan: Lifespan) -> _core.Core:
        options = self._options
        return _core.Core(
            self._app,
            loop,
            self._hooks,
            lifespan.state,
            self._access.entries if self._access is not None else None,
            options.root_path,
            line_bytes=options.limit_request_line,
            head_bytes=options.limit_head,
            body_bytes=options.limit_body,
            high_water=options.high_water,
            connections=options.limit_connections,
            least_bytes=options.least_bytes,
            head_seconds=options.timeout_head,
            idle_seconds=options.timeout_keep_alive,
            body_seconds=options.timeout_body,
            write_seconds=options.timeout_write,
            date=options.date_header and "date" not in self._fields,
            server=options.server_header and "server" not in self._fields,
            fields=tuple(line for lines in self._fields.values() for line in lines),
            log_headers=wants_headers(options.access_log_format),
        )

    def _listen(self, core: _core.Core, listener: sockets.Listener) -> None:
        sock, secure = listener.sock, listener.secure
        sock.setblocking(False)
        sock.listen(self._options.backlog)
        core.listen(sock.fileno(), sockets.scope_address(sock), sockets.is_tcp(sock), secure)
        self.addresses.append(sockets.describe(sock, secure=secure))
        log.info("serving on %s", self.addresses[-1])

    def _close(
        self,
        loop: asyncio.AbstractEventLoop,
        core: _core.Core,
        opened: list[sockets.Listener],
    ) -> None:
        loop.remove_reader(core.fileno())
        self._tell(core)
        core.close()
        for listener in opened:
            listener.close()
        if self._access is not None:
            self._access.close()

    async def _tick(self, core: _core.Core) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            core.sweep()
            self._tell(core)
            if self._access is not None:
                self._access.flush()
            if (hooks := self._hooks) is not None:
                for session in list(hooks.sessions):
                    session.tick(hooks.now())

    async def _end_requests(self) -> None:
        assert self._core is not None
        assert self._hooks is not None
        log.info("stopping")
        core, sessions = self._core, self._hooks.sessions
        core.stop_listening()
        core.begin_stop()
        for session in list(sessions):
            session.go_away()
        await self._quiet(self._options.timeout_graceful_shutdown)
        if self._options.timeout_disconnect:
            core.disconnect()
            await self._quiet(self._options.timeout_disconnect)
        tasks = [*core.tasks(), *(s.task for s in sessions if s.task is not None)]
        for task in tasks:
            task.cancel()
        if tasks:
            log.warning("%d requests were cut off", len(tasks))
            await asyncio.wait(tasks, timeout=1.0)

    async def _quiet(self, seconds: float) -> None:
        """Wait until nothing runs and all is written, for that long at most."""
        end = time.monotonic() + seconds
        while self._busy() and time.monotonic() < end and not self._hurry.is_set():  # noqa: ASYNC110
            await asyncio.sleep(0.02)  # the core has no one to tell

    def _busy(self) -> bool:
        """Whether an application runs, for HTTP or a WebSocket, or a connection is open."""
        assert self._core is not None
        assert self._hooks is not None
        counters = self._core.counters()
        return bool(counters["running"] or self._hooks.sessions or counters["open"])


def described(given: Given, *, secure: bool) -> list[sockets.Listener]:
    """Sockets that somebody else has opened, whose files are not ours to delete."""
    return [
        sockets.Listener(one, secure) if isinstance(one, socket.socket) else one for one in given
    ]
