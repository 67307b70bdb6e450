"""Runs as server-sent events, each encoded once for all who read it."""

from collections import OrderedDict
from dataclasses import dataclass

import msgspec

from rookery.boundary.offload import Threads
from rookery.core.run import Run
from rookery.service.events import Bus
from rookery.service.fleet.fleet import Fleet
from rookery.service.fleet.views import Pulse
from rookery.service.joined import Joined
from rookery.web.api.v1.views import details_of

MOST_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Item:
    """A run as it was after a commit, or later."""

    run: Run
    sequence: int
    event: bytes


class News:
    """One per app; the event loop alone uses it."""

    def __init__(self, fleet: Fleet, bus: Bus, threads: Threads, most: int = MOST_BYTES) -> None:
        self._fleet = fleet
        self._bus = bus
        self._threads = threads
        self._most = most
        self._kept: OrderedDict[str, Item] = OrderedDict()
        self._bytes = 0
        self._looks: Joined[tuple[str, int], Item | None] = Joined()
        self.encoded = 0

    async def item(self, run_id: str, sequence: int) -> Item | None:
        """The run after that commit; None when there is no such run."""
        kept = self._kept.get(run_id)
        if kept is not None and kept.sequence >= sequence:
            return kept
        # Whoever asks after a later commit must not be given what was read before it.
        return await self._looks((run_id, self._bus.seen), lambda: self._look(run_id))

    async def _look(self, run_id: str) -> Item | None:
        sequence = self._bus.seen
        run = await self._fleet.run(run_id)
        if run is None:
            return None
        event = await self._threads.cpu(_event, run, self._fleet.pulse(run_id))
        item = Item(run, sequence, event)
        self._keep(item)
        return item

    def _keep(self, item: Item) -> None:
        self.encoded += 1
        self._drop(item.run.id)
        self._kept[item.run.id] = item
        self._bytes += len(item.event)
        while self._bytes > self._most:
            self._drop(next(iter(self._kept)))

    def _drop(self, run_id: str) -> None:
        old = self._kept.pop(run_id, None)
        self._bytes -= len(old.event) if old else 0


def _event(run: Run, pulse: Pulse) -> bytes:
    """JSON has no line breaks in it, so that it is one line of data."""
    return b"event: run\ndata: " + msgspec.json.encode(details_of(run, pulse)) + b"\n\n"
