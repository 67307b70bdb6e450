"""Takes nets in through the API and lets them go; the same net is kept once, whoever sends it."""

from collections.abc import AsyncIterator, Iterable

from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.core.lifecycle import Actor
from rookery.core.run import Run
from rookery.service.blobs import Blobs
from rookery.service.nets import (
    Net,
    NetExists,
    NetInUse,
    Nets,
    NotYourNet,
    UnknownNet,
    is_needed,
)
from rookery.service.quotas import QuotaExceeded
from rookery.service.sources.net_reading import NetReading
from rookery.service.sources.uploads import received


class NetIntake:
    """One per app."""

    def __init__(
        self,
        nets: Nets,
        blobs: Blobs,
        threads: Threads,
        clock: Clock,
        *,
        limit: int | None = None,
    ) -> None:
        """Everybody may keep `limit` bytes, unless something else is said of them."""
        self._nets = nets
        self._blobs = blobs
        self._threads = threads
        self._clock = clock
        self._limit = limit

    async def take(
        self, pieces: AsyncIterator[bytes], file_name: str, user: str
    ) -> tuple[Net, bool]:
        """The net that is kept, and whether it is new; raises NetRefused or QuotaExceeded."""
        reading = NetReading(file_name)
        found, text = await received(pieces, self._blobs, self._threads, reading, computing=True)
        new = Net(text.name, found.blob, text.packed, user, self._clock.now())
        try:
            await self._nets.add(new, limit=self._limit)
        except QuotaExceeded:
            await self._threads.io(self._blobs.remove, new.blob)
            raise
        except NetExists:
            await self._threads.io(self._blobs.remove, new.blob)
            return await self._nets.by_name(new.name) or new, False
        return new, True

    async def remove(self, name: str, actor: Actor, unfinished: Iterable[Run]) -> Net:
        """By who gave it or an approver; raises UnknownNet, NotYourNet or NetInUse."""
        net = await self._nets.by_name(name)
        if net is None:
            raise UnknownNet(name=name)
        if not (actor.approver or actor.name == net.user):
            raise NotYourNet
        if any(is_needed(name, run) for run in unfinished):
            raise NetInUse(name=name)
        await self._nets.remove(name)
        await self._threads.io(self._blobs.remove, net.blob)
        return net
