"""Runs as server-sent events, each encoded once for all who read it."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from rookery.boundary.offload import Threads
from rookery.core.run import Run
from rookery.protocol import v1
from rookery.service.events import Bus
from rookery.service.fleet.fleet import Fleet
from rookery.service.fleet.views import Pulse
from rookery.service.joined import Joined
from rookery.service.privacy import without_sources
from rookery.web.api.v1.views import details_of

MOST_BYTES = 16 * 1024 * 1024
RUN_BYTES = 4096
"""About what a run takes in memory."""

Encode = Callable[[Run, Pulse], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Item:
    """A run as it was read after a commit."""

    run: Run
    sequence: int
    event: bytes

    @property
    def size(self) -> int:
        return RUN_BYTES + len(self.event)


class News:
    """One per app; the event loop alone uses it."""

    def __init__(self, fleet: Fleet, bus: Bus, encode: Encode) -> None:
        self._fleet = fleet
        self._bus = bus
        self._encode = encode
        self._kept: OrderedDict[str, Item] = OrderedDict()
        self._bytes = 0
        self._looks: Joined[tuple[str, int], Item | None] = Joined()

    async def item(self, run_id: str) -> Item | None:
        """The run as it stands; None when there is no such run."""
        kept, changed = self._kept.get(run_id), self._bus.last_change(run_id)
        if kept is not None and kept.sequence >= changed:
            return kept
        # Whoever asks after a change must not be given what was read before it.
        return await self._looks((run_id, changed), lambda: self._look(run_id))

    async def _look(self, run_id: str) -> Item | None:
        sequence = self._bus.seen
        run = await self._fleet.run(run_id)
        if run is None:
            return None
        item = Item(run, sequence, await self._encode(run, self._fleet.pulse(run_id)))
        self._keep(item)
        return item

    def _keep(self, item: Item) -> None:
        self._drop(item.run.id)
        self._kept[item.run.id] = item
        self._bytes += item.size
        while self._bytes > MOST_BYTES:
            self._drop(next(iter(self._kept)))

    def _drop(self, run_id: str) -> None:
        old = self._kept.pop(run_id, None)
        self._bytes -= old.size if old else 0


def in_full(threads: Threads) -> Encode:
    """All about a run, which costs some statistics."""

    async def encode(run: Run, pulse: Pulse) -> bytes:
        # One text for all: of a run that nobody has approved, what a stranger may read.
        shown = run if run.status.approved or run.tally.tasks else without_sources(run)
        return await threads.cpu(lambda: _event(details_of(shown, pulse)))

    return encode


async def in_brief(run: Run, _pulse: Pulse) -> bytes:
    """For those who look by themselves at what changed."""
    return _event(v1.RunMark(id=run.id, state=run.display))


def _event(shown: v1.RunDetails | v1.RunMark) -> bytes:
    """JSON has no line breaks in it, so that it is one line of data."""
    return b"event: run\ndata: " + msgspec.json.encode(shown) + b"\n\n"
