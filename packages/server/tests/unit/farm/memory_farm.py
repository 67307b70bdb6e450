"""A fleet on twins, and ways to hold its commits back or to lose them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from rookery.core.model.engine import STANDARD
from rookery.core.model.kinds import Kind
from rookery.core.model.machine import Machine
from rookery.core.model.plan import Plan
from rookery.core.model.run import Run, create
from rookery.core.model.task import Task
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.rules.answers import Grant
from rookery.server.farm.rules.eligibility import Policy
from tests.eventually import eventually
from tests.fakes import HandClock, RecordedLog
from tests.makers import BOSS, make_machine, make_plan, run_id, sprt
from tests.twins.farm import MemoryStore

T = TypeVar("T")


class CountedChance:
    """Draws that are known beforehand."""

    def flips(self, size: int) -> bytes:
        return b"\xaa" * size

    def numbers(self, count: int) -> tuple[float, ...]:
        return (0.5,) * count


@dataclass(frozen=True, slots=True)
class MemoryFarm:
    """A fleet on a store in memory, with its clock and log."""

    fleet: Fleet
    store: MemoryStore
    clock: HandClock
    log: RecordedLog

    async def submit(
        self, name: str = "a", kind: Kind | None = None, plan: Plan | None = None
    ) -> Run:
        now = self.clock.now()
        run = create(run_id(name), plan or make_plan(), kind or sprt(), STANDARD, now)
        await self.fleet.commands.submit(run, approver=BOSS.name)
        return run

    async def granted(self, machine: Machine | None = None) -> Task:
        answer = await self.fleet.request_task(machine or make_machine(), limit=100)
        assert isinstance(answer, Grant), answer
        return answer.task

    def stored(self, name: str = "a") -> Run:
        return self.store.rows.runs[run_id(name)]

    async def rebuilt(self) -> None:
        """Until the fleet serves again after a loss."""
        await eventually(lambda: self.fleet.primary.is_serving)


async def is_waiting(work: "asyncio.Task[T]") -> bool:
    """Whether it has not ended after as many turns of the loop as anything here takes."""
    for _ in range(20):
        await asyncio.sleep(0)
    return not work.done()


def started(work: Awaitable[T]) -> "asyncio.Task[T]":
    return asyncio.ensure_future(work)


@asynccontextmanager
async def open_memory_farm(store: MemoryStore | None = None) -> AsyncIterator[MemoryFarm]:
    store, clock, log = store or MemoryStore(), HandClock(), RecordedLog()
    fleet = Fleet(store, clock, log, policy=Policy(simulated=True), chance=CountedChance())
    await fleet.primary.open()
    try:
        yield MemoryFarm(fleet, store, clock, log)
    finally:
        await fleet.primary.close()
