"""The HTTP server of tests' own server processes: uvicorn, or the one in ROOKERY_HTTP."""

import os
from collections.abc import Callable, Sequence

from starlette.routing import BaseRoute

from rookery.server.carriers.server import choose_backend, serve
from rookery.server.carriers.serving import HttpBackend, ListenAddress
from rookery.server.logs import logger
from tests.twins.sites import MemorySite, Trouble, open_app


def http_backend() -> HttpBackend:
    return choose_backend(os.environ.get("ROOKERY_HTTP", "uvicorn"), logger())


async def serve_in_memory(
    site: MemorySite,
    port: int,
    farewell: Callable[[], None],
    routes: Sequence[BaseRoute] = (),
    *troubles: Trouble,
) -> int:
    """Serves a site in memory until it is stopped; prints its address when it listens."""
    return await serve(
        open_app(site, routes, *troubles),
        site.process,
        ListenAddress("127.0.0.1", port),
        http_backend(),
        say=lambda address: print(address, flush=True),
        farewell=farewell,
    )
