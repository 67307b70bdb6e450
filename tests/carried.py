"""Which HTTP server the test's own server processes use: uvicorn, or the one in ROOKERY_HTTP."""

import os
from collections.abc import Callable

from starlette.applications import Starlette

from rookery.logs import logger
from rookery.web.house import House
from rookery.web.server import choose, serve
from rookery.web.serving import Carrier, Place
from tests.wire.houses import in_memory_site


def carrier() -> Carrier:
    return choose(os.environ.get("ROOKERY_HTTP", "uvicorn"), logger())


async def serve_in_memory(
    app: Starlette, house: House, port: int, farewell: Callable[[], None]
) -> int:
    """An app on in-memory twins, until it is stopped; prints its address when it listens."""
    site, basis = in_memory_site(app, house)
    return await serve(
        site,
        basis,
        Place("127.0.0.1", port),
        carrier(),
        say=lambda address: print(address, flush=True),
        farewell=farewell,
    )
