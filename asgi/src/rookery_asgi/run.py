"""Runs a server in this process: its own loop, signals, and the exit status."""

import asyncio
import contextlib
import gc
import importlib
import resource
import signal
import socket
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rookery_asgi import mongoose
from rookery_asgi.errors import BadOption, Unavailable
from rookery_asgi.mongoose.refused import TCP, refuse_options
from rookery_asgi.options import Options
from rookery_asgi.types import App

if TYPE_CHECKING:
    from rookery_asgi.server import Server

NO_CORE = "its C core was not built; install a C compiler and Python's headers, then reinstall it"


def need_core() -> None:
    """Raise Unavailable, with one sentence, where the package was installed without its C core."""
    try:
        importlib.import_module("rookery_asgi._core")
    except ImportError:
        raise Unavailable(NO_CORE) from None


def need(options: Options) -> None:
    """Raise Unavailable where what serves is not installed, BadOption for what it can't do."""
    if options.core == "mongoose":
        mongoose.need_cymongoose()
        refuse_options(options)
    else:
        need_core()


def unavailable() -> str | None:
    """Why the server can't run here, as one sentence, or None when it can."""
    try:
        need_core()
    except Unavailable as reason:
        return str(reason)
    return None


def run(
    app: App, options: Options | None = None, given: Iterable[socket.socket] | None = None
) -> bool:
    """Serve until a signal; True when the application shut down cleanly."""
    settings = options or Options()
    need(settings)
    if settings.core == "mongoose":
        if given is not None:
            raise BadOption("sockets with the core mongoose", TCP)
        return mongoose.run(app, settings)
    from rookery_asgi.loops import new_loop

    with asyncio.Runner(loop_factory=lambda: new_loop(settings.loop)) as runner:
        return runner.run(_serve(app, settings, given))


async def _serve(app: App, options: Options, given: Iterable[socket.socket] | None) -> bool:
    from rookery_asgi.server import Server

    server = Server(app, options)
    watch_signals(server, asyncio.get_running_loop())
    raise_descriptor_limit()
    freezing = asyncio.create_task(freeze_when_started(server))
    try:
        return await server.serve(given)
    finally:
        freezing.cancel()


def watch_signals(server: "Server", loop: asyncio.AbstractEventLoop) -> None:
    """SIGTERM and SIGINT stop, SIGHUP reloads the certificate."""
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stop)
    loop.add_signal_handler(signal.SIGHUP, server.reload_certificate)


def raise_descriptor_limit() -> None:
    """As many connections as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def freeze_when_started(server: "Server") -> None:
    """What start-up has made lives as long as the process: the collector need not look again."""
    await server.listening.wait()
    gc.collect()
    gc.freeze()
