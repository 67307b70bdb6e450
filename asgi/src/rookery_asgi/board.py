"""What the processes of one server know of one another: shared memory with a slot for each.

A worker writes its counters into its own slot a few times a second. Slot 0 has the sums of the
workers that have ended, so that no counter ever falls.
"""

import mmap
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

COUNTERS = (
    *("connections", "requests", "websockets", "refused", "timeouts", "failures"),
    *("disconnects", "rests", "bytes_in", "bytes_out"),
)
GAUGES = ("open", "running")
CLASSES = 5
READY = 0
"""The first number of a slot says whether it is served; that of slot 0 is odd during a change."""
SUMS = slice(1, 1 + len(COUNTERS) + CLASSES)
SIZE = 1 + len(COUNTERS) + CLASSES + len(GAUGES)
TRIES = 1000


def flat(counters: Mapping[str, Any]) -> list[int]:
    """The core's counters as the numbers of a slot."""
    sums = [*(counters[name] for name in COUNTERS), *counters["responses"]]
    return [1, *sums, *(counters[name] for name in GAUGES)]


def named(numbers: Sequence[int]) -> dict[str, Any]:
    """The numbers of a slot as the core names them."""
    counters = numbers[1 : 1 + len(COUNTERS)]
    gauges = numbers[-len(GAUGES) :]
    return {
        **dict(zip(COUNTERS, counters, strict=True)),
        **dict(zip(GAUGES, gauges, strict=True)),
        "responses": tuple(numbers[1 + len(COUNTERS) : -len(GAUGES)]),
    }


class Board:
    """The shared memory behind a descriptor."""

    def __init__(self, fd: int) -> None:
        """The descriptor of a board that exists."""
        self.fd = fd
        size = os.fstat(fd).st_size
        self._numbers = memoryview(mmap.mmap(fd, size)).cast("Q")
        self.slots = size // (8 * SIZE)

    @classmethod
    def create(cls, slots: int) -> "Board":
        """A new one; children inherit it when its descriptor is passed to them."""
        fd = os.memfd_create("rookery-asgi")
        os.ftruncate(fd, 8 * SIZE * slots)
        return cls(fd)

    def write(self, slot: int, numbers: Sequence[int]) -> None:
        """Replace a slot's numbers, one by one: each is whole at every moment."""
        for at, number in enumerate(numbers, start=slot * SIZE):
            self._numbers[at] = number

    def read(self, slot: int) -> list[int]:
        """A slot's numbers."""
        return self._numbers[slot * SIZE : (slot + 1) * SIZE].tolist()

    def is_ready(self, slot: int) -> bool:
        """Whether the worker of that slot serves."""
        return bool(self._numbers[slot * SIZE + READY])

    def retire(self, slot: int) -> None:
        """Add an ended worker's sums to those of its predecessors, and free its slot."""
        gone, before = self.read(slot), self.read(0)
        sums = [a + b for a, b in zip(gone[SUMS], before[SUMS], strict=True)]
        self._numbers[READY] += 1
        self.write(0, [self._numbers[READY], *sums])
        self.write(slot, [0] * SIZE)
        self._numbers[READY] += 1

    def add_up(self, but: int, own: Sequence[int]) -> tuple[list[int], int]:
        """The numbers of all, with `own` in the place of one slot's, and how many serve."""
        for _ in range(TRIES):
            before = self._numbers[READY]
            slots = [self.read(slot) for slot in range(self.slots) if slot != but]
            if before % 2 == 0 and before == self._numbers[READY]:
                break
        served = 1 + sum(bool(numbers[READY]) for numbers in slots[1:])
        return [sum(column) for column in zip(own, *slots, strict=True)], served


@dataclass(frozen=True, slots=True)
class Share:
    """One worker's slot."""

    board: Board
    slot: int

    def put(self, counters: Mapping[str, Any]) -> None:
        """Tell the others; that there is something says that this worker serves."""
        self.board.write(self.slot, flat(counters))

    def total(self, counters: Mapping[str, Any]) -> dict[str, Any]:
        """The counters of all workers, and how many there are."""
        numbers, served = self.board.add_up(self.slot, flat(counters))
        return {**named(numbers), "workers": served}
