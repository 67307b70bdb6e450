"""Runs a server in this process: its own loop, signals, and the exit status."""

import asyncio
import socket
from collections.abc import Iterable

from rookery_asgi import mongoose
from rookery_asgi.options import Options
from rookery_asgi.types import App


def run(
    app: App, options: Options | None = None, given: Iterable[socket.socket] | None = None
) -> bool:
    """Serve until a signal; True when the application shut down cleanly."""
    settings = options or Options()
    mongoose.bind()
    # these need the C core, whose absence must be told in one sentence first
    from rookery_asgi.loops import new_loop

    with asyncio.Runner(loop_factory=lambda: new_loop(settings.loop)) as runner:
        return runner.run(_serve(app, settings, given))


async def _serve(app: App, options: Options, given: Iterable[socket.socket] | None) -> bool:
    from rookery_asgi.server import Server, watch_signals

    server = Server(app, options)
    watch_signals(server, asyncio.get_running_loop())
    return await server.serve(given)
