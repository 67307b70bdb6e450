"""Two sites in one process: a primary that is really served, and a secondary that forwards to
it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

from starlette.applications import Starlette

from rookery.core.clock import Clock
from rookery.server.carriers.serving import ListenAddress, address_of, bind_socket
from rookery.server.db.lease import LeaseRow
from rookery.server.http.limits import read_hosts
from tests.http_servers import http_backend
from tests.twins.farm import MemoryStore
from tests.twins.farm_commits import MemoryRows
from tests.twins.people import MemoryUsers
from tests.twins.sites import MemorySite, OpenSite, make_site, open_site

SECONDARY_HOST = "node-b.example"
"""A host name to which only the secondary answers."""


class SharedLease:
    """The row of the lease that all instances read."""

    def __init__(self, address: str = "", *, live: bool = True) -> None:
        self.row = LeaseRow(1, "primary", address, live)
        self.is_away = False
        """Whether the database can't be reached."""

    def pass_to(self, address: str, *, live: bool = True) -> None:
        """Lets another process take over."""
        self.row = LeaseRow(self.row.epoch + 1, "next", address, live)

    async def read(self) -> LeaseRow:
        if self.is_away:
            raise ConnectionResetError
        return self.row


@asynccontextmanager
async def served(app: Starlette, site: MemorySite) -> AsyncIterator[str]:
    """Serves a site over real connections for the length of the block; yields its address."""
    with closing(bind_socket(ListenAddress("127.0.0.1", 0))) as listening:
        server = http_backend().server(app, site, 1)
        listens = asyncio.Event()
        task = asyncio.create_task(server.serve(listening, listens.set))
        await listens.wait()
        try:
            yield address_of(listening)
        finally:
            server.stop()
            await task


def make_secondary(
    lease: SharedLease,
    clock: Clock | None = None,
    users: MemoryUsers | None = None,
    rows: MemoryRows | None = None,
) -> MemorySite:
    """A site that is not primary and finds the primary by this lease."""
    site = make_site(clock=clock, users=users, store=MemoryStore(rows))
    site.rules.primary = False
    site.forwarder.own_address = "http://192.0.2.200:1"
    site.hosts = read_hosts(None, (SECONDARY_HOST,))
    site.read_lease = lease.read
    return site


@asynccontextmanager
async def open_secondary(
    lease: SharedLease,
    clock: Clock | None = None,
    users: MemoryUsers | None = None,
    rows: MemoryRows | None = None,
) -> AsyncIterator[OpenSite]:
    site = make_secondary(lease, clock, users, rows)
    async with open_site(site) as opened:
        try:
            yield opened
        finally:
            await site.forwarder.aclose()
