"""Makes both engines of a task, checks that they are what their author measured, and takes the
machine's speed."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import tanh
from time import monotonic

from rookery.core.engine import time_factor
from rookery.protocol.engine_record import EngineRecord, SpeedRecord
from rookery.worker.engines.bench import NOISY_SPREAD
from rookery.worker.engines.order import BenchFailed, BuildFailed, Built, Measured
from rookery.worker.engines.sandbox.sandbox import Sandbox
from rookery.worker.match.spec import EngineSpec
from rookery.worker.session.assignment import Assignment, Player
from rookery.worker.session.faults import TaskFailed, WrongBench
from rookery.worker.session.kit import Maker

FRESH_SECONDS = 1800.0
"""How long a measured speed is good for: machines get warm, and their owners busy."""

BenchCall = Callable[..., Awaitable[Measured]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Both players ready to sit down, and the speed by which their times were scaled."""

    new: EngineSpec
    base: EngineSpec
    new_digest: str
    base_digest: str
    nps: float
    factor: float
    noisy: bool


class Preparation:
    """Remembers what programs counted, and for a while how fast they were."""

    def __init__(self, workshop: Maker, bench: BenchCall) -> None:
        self._workshop = workshop
        self._bench = bench
        self._known: dict[tuple[Built, int], tuple[float, Measured]] = {}

    async def prepare(self, task: Assignment, slots: int) -> Prepared:
        """Raises TaskFailed, WrongBench among them."""
        base = await self._made(task.base)
        new = base if task.new.order == task.base.order else await self._made(task.new)
        # Where no clock is scaled the speed is only a figure to show, and one bench is enough.
        measured = await self._checked(task.base, base, slots if task.is_timed else 1)
        if (new, task.new.order.signature) != (base, task.base.order.signature):
            await self._checked(task.new, new, 1)
        _refuse_slow(task.base.order.record, measured.nps, slots)
        factor = time_factor(task.reference_nps, measured.nps) if task.is_timed else 1.0
        sandbox = await self._workshop.sandbox()
        return Prepared(
            _seated(task.new, new, factor, sandbox),
            _seated(task.base, base, factor, sandbox),
            new.digest,
            base.digest,
            measured.nps,
            factor,
            measured.spread > NOISY_SPREAD,
        )

    async def _made(self, player: Player) -> Built:
        try:
            return await self._workshop.make(player.order)
        except BuildFailed as failed:
            raise TaskFailed(failed.sentence, failed.log, failed.whose) from None

    async def _checked(self, player: Player, built: Built, slots: int) -> Measured:
        record, expected = player.order.record, player.order.signature
        found = await self._measured(built, record, slots)
        if expected is not None and record.bench.must_match and found.nodes != expected:
            engine = f"{record.name}-{player.order.commit or player.order.binary}"
            raise WrongBench(engine, expected=expected, found=found.nodes)
        return found

    async def _measured(self, built: Built, record: EngineRecord, slots: int) -> Measured:
        at, known = self._known.get((built, slots), (0.0, None))
        if known and monotonic() - at < FRESH_SECONDS:
            return known
        try:
            sandbox = await self._workshop.sandbox()
            found = await self._bench(built, record, slots=slots, sandbox=sandbox)
        except BenchFailed as failed:
            raise TaskFailed(failed.sentence, failed.log, "run") from None
        self._known[built, slots] = (monotonic(), found)
        return found


def _seated(player: Player, built: Built, factor: float, sandbox: Sandbox) -> EngineSpec:
    """The sandbox gives an engine its few variables; of ours it sees none."""
    return EngineSpec(
        player.name,
        sandbox.playing(built),
        (*built.options, *player.options),
        player.tc.scaled(factor),
        player.threads,
        environment=built.environment,
    )


def least_nps(speed: SpeedRecord, cores: int) -> float:
    """The floor for a machine; many busy cores may be slower each."""
    return speed.floor / (1 + speed.relief * tanh((cores - 1) / 8))


def _refuse_slow(record: EngineRecord, nps: float, cores: int) -> None:
    least = least_nps(record.speed, cores)
    if nps < least:
        raise TaskFailed(
            f"This machine is too slow for {record.name}: {nps:.0f} of {least:.0f} nodes a second."
        )
