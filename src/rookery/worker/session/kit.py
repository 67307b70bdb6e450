"""What a worker works with, from its start to its end."""

import enum
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rookery.boundary.offload import Threads
from rookery.protocol.worker.answers import PARTS
from rookery.worker.engines.order import Built, Order
from rookery.worker.engines.sandbox.sandbox import Sandbox
from rookery.worker.session.books import Books
from rookery.worker.session.conversation import Conversation
from rookery.worker.session.heart import PERIOD_SECONDS
from rookery.worker.session.identity import Identity
from rookery.worker.session.reporting import HOUSE, Patience
from rookery.worker.session.stopping import Stop
from rookery.worker.session.watching import Watcher


class Outcome(enum.Enum):
    """How a round of the worker's life ended."""

    DONE = "done"
    IDLE = "no work"
    RUN_FAULT = "the run's fault"
    SERVER_FAULT = "the server's fault"
    MACHINE_FAULT = "this machine's fault"
    STOPPED = "stopped"


class Maker(Protocol):
    """The workshop, as far as the session needs it."""

    async def make(self, order: Order) -> Built: ...

    async def sandbox(self) -> Sandbox: ...


@dataclass(frozen=True, slots=True)
class Kit:
    """Everything has one owner: the process's composition, `rookery worker`."""

    talk: Conversation
    identity: Identity
    workshop: Maker
    books: Books
    scratch: Path
    stop: Stop
    threads: Threads
    watch: Watcher
    nodes: tuple[frozenset[int], ...] = ()
    """The processors of each NUMA node."""
    syzygy: tuple[str, ...] = ()
    fastchess: str = ""
    patience: Patience = HOUSE
    beat_seconds: float = PERIOD_SECONDS
    chance: Callable[[], float] = field(default=random.random)

    @property
    def house(self) -> bool:
        """Whether the server is one of ours."""
        return self.identity.house

    @property
    def in_parts(self) -> bool:
        """Whether the server takes any number of whole pairs, late ones among them."""
        return PARTS in self.identity.features
