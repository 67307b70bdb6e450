"""Runs a server in this process: its own loop, signals, and the exit status."""

import asyncio
import contextlib
import gc
import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING

from rookery_asgi import mongoose
from rookery_asgi.errors import BadOption, Unavailable
from rookery_asgi.mongoose.refused import TCP, refuse_options
from rookery_asgi.notify import Notifier, take_notifier
from rookery_asgi.options import Options
from rookery_asgi.types import App

if TYPE_CHECKING:
    from rookery_asgi.board import Share
    from rookery_asgi.server import Given, Server

ELSEWHERE = {
    "darwin": "its core needs epoll, which macOS has not; run it in a Linux container",
    "win32": "its core needs epoll, which Windows has not; run it under WSL or in a container",
}
ALIVE_SECONDS = 0.1
NO_CORE = "its C core was not built; install a C compiler and Python's headers, then reinstall it"


def need_core() -> None:
    """Raise Unavailable, with one sentence, where the package was installed without its C core, or
    can't have one."""
    if sys.platform in ELSEWHERE:
        raise Unavailable(ELSEWHERE[sys.platform])
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
    app: App,
    options: Options | None = None,
    given: "Given | None" = None,
    share: "Share | None" = None,
) -> bool:
    """Serve until a signal; True when the application shut down cleanly. A service manager that
    waits for sd_notify is told."""
    settings = options or Options()
    need(settings)
    if settings.core == "mongoose":
        if given is not None:
            raise BadOption("sockets with the core mongoose", TCP)
        return mongoose.run(app, settings)
    from rookery_asgi.loops import new_loop

    with asyncio.Runner(loop_factory=lambda: new_loop(settings.loop)) as runner:
        return runner.run(_serve(app, settings, given, share))


async def _serve(app: App, options: Options, given: "Given | None", share: "Share | None") -> bool:
    from rookery_asgi.server import Server

    server = Server(app, options, share=share)
    notifier = take_notifier(os.environ)
    watch_signals(server, asyncio.get_running_loop(), notifier)
    raise_descriptor_limit()
    beside = [
        asyncio.create_task(freeze_when_started(server)),
        asyncio.create_task(say_how_it_is(server, notifier)),
    ]
    try:
        return await server.serve(given)
    finally:
        for task in beside:
            task.cancel()


def watch_signals(server: "Server", loop: asyncio.AbstractEventLoop, notifier: Notifier) -> None:
    """SIGTERM and SIGINT stop, SIGHUP reloads the certificate."""

    def stop() -> None:
        notifier.stopping()
        server.stop()

    def reload() -> None:
        notifier.reloading()
        server.reload_certificate()
        notifier.ready("serving")

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    loop.add_signal_handler(signal.SIGHUP, reload)


async def say_how_it_is(server: "Server", notifier: Notifier) -> None:
    """Tell the service manager when clients are served, and then that the loop still turns."""
    await server.listening.wait()
    notifier.ready("serving")
    while notifier.watched:
        notifier.alive()
        await asyncio.sleep(ALIVE_SECONDS)


def raise_descriptor_limit() -> None:
    """As many connections as the system allows."""
    import resource  # which Windows has not

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def freeze_when_started(server: "Server") -> None:
    """What start-up has made lives as long as the process: the collector need not look again."""
    await server.listening.wait()
    gc.collect()
    gc.freeze()
