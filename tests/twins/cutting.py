"""A connection to the primary that breaks before answers arrive, as networks and dying processes
cause."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.twins.instances import SharedLease


@dataclass(slots=True)
class Cut:
    """The number of answers that will still be lost, and of those that were."""

    left: int
    lost: int = 0


@asynccontextmanager
async def cutting(lease: SharedLease, answers: int) -> AsyncIterator[Cut]:
    """Makes the lease point to a relay that forwards requests and loses the first answers."""
    place, cut = urlsplit(lease.row.address), Cut(answers)

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs, ours = await asyncio.open_connection(place.hostname, place.port)

        async def send() -> None:
            while data := await reader.read(65536):
                ours.write(data)

        sending = asyncio.ensure_future(send())
        try:
            while data := await theirs.read(65536):
                if cut.left:
                    cut.left, cut.lost = cut.left - 1, cut.lost + 1
                    return
                writer.write(data)
        finally:
            sending.cancel()
            ours.close()
            with suppress(OSError):
                writer.close()

    server = await asyncio.start_server(relay, "127.0.0.1", 0)
    async with server:
        lease.pass_to(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        yield cut
        lease.pass_to(place.geturl())
