"""Makes both engines of a task, checks that they are what their author measured, and takes the
machine's speed.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic

from msgspec import UNSET, UnsetType

from rookery.boundary.offload import Threads
from rookery.http_client import CallRefused, NoAnswer
from rookery.match.job import EngineSpec
from rookery.model.bounds import LONGEST_MESSAGE
from rookery.model.engine import EngineRecord, time_factor
from rookery.protocol.worker_requests import LONGEST_LOG, Failure
from rookery.worker.assignment import Assignment, Player
from rookery.worker.conversation import Conversation, TaskName
from rookery.worker.engines.bench import NOISY_SPREAD
from rookery.worker.engines.order import BenchFailed, BuildFailed, Measured
from rookery.worker.identity import Identity
from rookery.worker.kit import Maker
from rookery.worker.reporting import Patience, insist
from rookery.worker.sandbox.sandbox import Built, Sandbox
from rookery.worker.stopping import Watcher
from rookery.worker.transport import TaskFailed, WrongBench

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
        str(player.tc.scaled(factor)),
        player.threads,
        environment=built.environment,
    )


def _refuse_slow(record: EngineRecord, nps: float, cores: int) -> None:
    least = record.speed.least(cores)
    if nps < least:
        raise TaskFailed(
            f"This machine is too slow for {record.name}: {nps:.0f} of {least:.0f} nodes a second."
        )


# Tells the server that a task can't be played, with all that helps to find out why.

HEAD_SHARE = 0.75
"""The first compiler error stands at the head of a log, the last words at its end."""
CUT = "\n[...]\n"


class Complaints:
    """About one task."""

    def __init__(
        self,
        talk: Conversation,
        identity: Identity,
        name: TaskName,
        threads: Threads,
        watch: Watcher,
    ) -> None:
        self._talk = talk
        self._identity = identity
        self._name = name
        self._threads = threads
        self._watch = watch

    async def tell(self, failed: TaskFailed, patience: Patience) -> None:
        """A wrong bench is the run's; everything else ends this task alone."""
        message, more = self.message(failed)
        wrong = isinstance(failed, WrongBench)
        call = self._talk.stop_run if wrong else self._talk.failed
        info = self._identity.info
        try:
            await insist(
                lambda: call(info, self._name, message, more), patience, self._threads, self._watch
            )
        except CallRefused as refused:
            self._watch.say(f"The server says: {refused}")
        except NoAnswer as error:
            self._watch.say(f"The server could not be told: {error}")

    def message(self, failed: TaskFailed) -> tuple[str, Failure | UnsetType]:
        """In full to a server of ours; to another the beginning and the end, within the message."""
        if self._identity.house:
            bench = failed.found if isinstance(failed, WrongBench) else 0
            return failed.sentence, Failure(log=cut(failed.log, LONGEST_LOG), bench=bench)
        text = f"{failed.sentence}\n{failed.log}".strip()
        return cut(text, LONGEST_MESSAGE), UNSET


def cut(text: str, most: int) -> str:
    """Three quarters from its head, the rest from its end."""
    if len(text) <= most:
        return text
    head = int(most * HEAD_SHARE)
    return text[:head] + CUT + text[len(text) - (most - head - len(CUT)) :]
