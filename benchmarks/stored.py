"""A fleet's store on an embedded server of its own, for benchmarks."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from rookery.server.db import migrations
from rookery.server.db.embedded.server import open_server
from rookery.server.db.lease import Lease
from rookery.server.db.pool import Queries, open_pool
from rookery.server.farm.store import FleetStore


@asynccontextmanager
async def stored(data: Path, queries: Queries) -> AsyncIterator[tuple[Lease, FleetStore]]:
    async with open_server(data) as server:
        await migrations.migrate(server.target, queries, migrations.load_migrations())
        async with open_pool(server.target, instance="benchmark") as pool:
            lease = Lease(pool, queries, instance="benchmark", address="")
            await lease.take(force=True)
            store = FleetStore(pool, queries, lease)
            yield lease, store
            await store.close()
