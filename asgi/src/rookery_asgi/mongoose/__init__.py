"""An ASGI server on cymongoose's public API: Mongoose polls in one thread, asyncio runs in another.

The optional half of the distribution (`pip install 'rookery-asgi[mongoose]'`, `--core mongoose`).
It follows cymongoose's published description of such an adapter; docs/adapter.md has each of its
statements with the test that holds it. Nothing here needs the C core, and the core needs nothing
from here.
"""

import asyncio
import importlib

from rookery_asgi.errors import Unavailable
from rookery_asgi.options import Options
from rookery_asgi.types import App

NO_WHEEL = "cymongoose is not installed; pip install 'rookery-asgi[mongoose]'"


def need_cymongoose() -> None:
    """Raise Unavailable, with one sentence, where the extra was not installed."""
    try:
        importlib.import_module("cymongoose")
    except ImportError:
        raise Unavailable(NO_WHEEL) from None


def run(app: App, options: Options) -> bool:
    """Serve until a signal; True when the application shut down cleanly."""
    from rookery_asgi.loops import base_loop

    with asyncio.Runner(loop_factory=base_loop(options.loop)) as runner:
        return runner.run(_serve(app, options))


async def _serve(app: App, options: Options) -> bool:
    from rookery_asgi.mongoose.server import Server, watch_signals
    from rookery_asgi.run import raise_descriptor_limit

    raise_descriptor_limit()
    server = Server(app, options)
    watch_signals(server, asyncio.get_running_loop())
    return await server.serve()
